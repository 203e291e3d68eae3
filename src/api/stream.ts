/** Answers that go on: frames of text, written as fast as the client reads and no faster. A client that stops reading is let go. */
import type { ServerResponse } from "node:http";

// Longer than a phone takes to change networks. Until then what waits for the client is one buffer of its socket.
const STALL_MS = 30_000;
// A client that does not read does not take the end of its answer either.
const LAST_WORDS_MS = 500;

/** Aborted when the client has left, or when the service says so. */
export function goneSignal(response: ServerResponse, stopping: AbortSignal): AbortSignal {
  const left = new AbortController();
  response.once("close", () => left.abort());
  return AbortSignal.any([left.signal, stopping]);
}

export async function pumpFrames(
  response: ServerResponse,
  frames: AsyncGenerator<string>,
  { signal, stallMs = STALL_MS }: { signal: AbortSignal; stallMs?: number },
): Promise<void> {
  const isHead = response.req.method === "HEAD";
  for await (const frame of frames) {
    if (response.destroyed || isHead) break;
    if (!response.write(frame) && !(await happens(response, "drain", { signal, limitMs: stallMs }))) break;
  }
  if (response.writableNeedDrain) response.destroy();
  else response.end();
  if (!response.closed && !(await happens(response, "close", { limitMs: LAST_WORDS_MS }))) response.destroy();
}

/** False when the client has left, when the service stops, or when it takes too long. */
const happens = (
  response: ServerResponse,
  event: "drain" | "close",
  { signal, limitMs }: { signal?: AbortSignal; limitMs: number },
): Promise<boolean> =>
  new Promise((resolve) => {
    const end = (hasHappened: boolean) => (): void => {
      clearTimeout(timer);
      response.off(event, happened);
      response.off("close", missed);
      signal?.removeEventListener("abort", missed);
      resolve(hasHappened);
    };
    const [happened, missed] = [end(true), end(false)];
    const timer = setTimeout(missed, limitMs);
    response.once(event, happened);
    response.once("close", missed);
    signal?.addEventListener("abort", missed);
    if (signal?.aborted === true) missed();
  });
