/** Answers that go on: frames of text, written as fast as the client reads and no faster. A client that stops reading is let go. */
import type { ServerResponse } from "node:http";

// Longer than a phone takes to change networks. Until then what waits for the client is one buffer of its socket.
const STALL_MS = 30_000;

/** Aborted when the client has left, or when the service says so. */
export function goneSignal(response: ServerResponse, stopping: AbortSignal): AbortSignal {
  const left = new AbortController();
  response.once("close", () => left.abort());
  return AbortSignal.any([left.signal, stopping]);
}

export async function pumpFrames(response: ServerResponse, frames: AsyncGenerator<string>, stallMs = STALL_MS): Promise<void> {
  for await (const frame of frames) {
    if (response.destroyed) break;
    if (!response.write(frame) && !(await hasDrained(response, stallMs))) break;
  }
  if (response.writableNeedDrain) response.destroy();
  else response.end();
}

/** False when the client has left, or has not read for too long. */
const hasDrained = (response: ServerResponse, stallMs: number): Promise<boolean> =>
  new Promise((resolve) => {
    const end = (isDrained: boolean) => (): void => {
      clearTimeout(timer);
      response.off("drain", drained);
      response.off("close", closed);
      resolve(isDrained);
    };
    const [drained, closed] = [end(true), end(false)];
    const timer = setTimeout(closed, stallMs);
    response.once("drain", drained);
    response.once("close", closed);
  });
