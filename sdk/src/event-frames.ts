/** Server-Sent Events, as the HTML standard has them: bytes in, blocks out. */
import { GodwitError } from "./errors.ts";

/** A block may be without data, and still say where the stream is. */
export type Frame = { id?: string; event?: string; data?: string };

// An event is under 20 kB.
const MAX_CHARACTERS = 1_000_000;

/** Takes text as it comes and gives the blocks that it completes. */
export class FrameReader {
  readonly #decoder = new TextDecoder();
  #text = "";
  #lines: string[] = [];
  #characters = 0;

  take(bytes: Uint8Array): Frame[] {
    this.#text += this.#decoder.decode(bytes, { stream: true });
    // A carriage return at the end may be half of a line's end.
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
