/** Parses Server-Sent Events as defined in the HTML standard. */
import { GodwitError } from "./errors.ts";

/** One block of the stream. A block without data can still carry the id at which the stream is. */
export type Frame = { id?: string; event?: string; data?: string };

// An event has less than 20 kB. The limit stops a server that never ends a block.
const MAX_CHARACTERS = 1_000_000;

/** Collects the bytes of the stream and returns each block that is complete. */
export class FrameReader {
  readonly #decoder = new TextDecoder();
  #text = "";
  #lines: string[] = [];
  #characters = 0;

  take(bytes: Uint8Array): Frame[] {
    this.#text += this.#decoder.decode(bytes, { stream: true });
    // A carriage return at the end may be the first half of CR LF.
    const lines = this.#text.split(/\r\n|\n|\r(?!$)/);
    this.#text = lines.pop() ?? "";
    const frames = lines.flatMap((line) => this.#line(line));
    if (this.#characters + this.#text.length > MAX_CHARACTERS) throw new GodwitError("a block of the event stream is too long");
    return frames;
  }

  #line(line: string): Frame[] {
    if (line !== "") {
      this.#lines.push(line);
      this.#characters += line.length;
      return [];
    }
    const frame = parseBlock(this.#lines);
    [this.#lines, this.#characters] = [[], 0];
    return [frame];
  }
}

function parseBlock(lines: readonly string[]): Frame {
  const frame: Frame = {};
  for (const line of lines) {
    const [, name, value = ""] = /^([^:]*)(?:: ?(.*))?$/.exec(line) ?? [];
    if (name === "data") frame.data = frame.data === undefined ? value : `${frame.data}\n${value}`;
    else if (name === "id" || name === "event") frame[name] = value;
  }
  return frame;
}
