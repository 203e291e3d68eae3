/** Streaming responses: frames of text or bytes, written as fast as the client reads. A client that stops reading is disconnected. */
import type { ServerResponse } from "node:http";

type Frames = AsyncGenerator<string | Buffer>;

// Longer than a phone takes to change networks. Meanwhile one buffer of the socket waits for the client.
const STALL_MS = 30_000;
// A client that does not read does not receive the end of the response either.
const END_MS = 500;

/** A signal that aborts when the client disconnects, or when the service stops. */
export function goneSignal(response: ServerResponse, stopping: AbortSignal): AbortSignal {
  const closed = new AbortController();
  response.once("close", () => closed.abort());
  return AbortSignal.any([closed.signal, stopping]);
}

/** Waits for the first frame. If it fails, the request fails, and its response is a problem with a status. */
export async function begin(frames: Frames): Promise<Frames> {
  const first = await frames.next();
  return continued(first, frames);
}

async function* continued(first: IteratorResult<string | Buffer>, frames: Frames): Frames {
  try {
    if (first.done !== true) yield first.value;
    yield* frames;
  } finally {
    await frames.return(undefined);
  }
}

export async function pumpFrames(
  response: ServerResponse,
  frames: Frames,
  { signal, stallMs = STALL_MS }: { signal: AbortSignal; stallMs?: number },
): Promise<void> {
  const isHead = response.req.method === "HEAD";
  for await (const frame of frames) {
    if (response.destroyed || isHead) break;
    if (!response.write(frame) && !(await waitFor(response, "drain", { signal, limitMs: stallMs }))) break;
  }
  if (response.writableNeedDrain) response.destroy();
  else response.end();
  if (!response.closed && !(await waitFor(response, "close", { limitMs: END_MS }))) response.destroy();
}

/** Waits for an event. Returns false when the client disconnects, the service stops, or the limit passes. */
const waitFor = (
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
