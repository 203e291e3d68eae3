/** Follows a server's event stream: reconnects when it ends, goes on after the last event it saw, and leaves out repeats. */
import { backoffMs } from "../lib/backoff.ts";
import { pause } from "../lib/wait.ts";
import { StartupError } from "../storage/startup-error.ts";
import { failureReason } from "./api.ts";

export type FollowedEvent = { id: string; type: string; data: string };

export type FollowOptions = {
  url: string;
  key: string;
  type: string | undefined;
  /** The last event that was seen; without it, from now on. */
  after?: string | undefined;
  signal: AbortSignal;
  /** Told when the connection is there, and why it is not. */
  onState: (state: "connected" | { lost: string; retryMs: number }) => void;
};

const FIRST_RETRY_MS = 500;
const MAX_RETRY_MS = 15_000;
// The server speaks every fifteen seconds at least.
const SILENCE_MS = 45_000;
// The last twenty seconds may come again.
const MAX_REMEMBERED = 100_000;

/** Until the signal; throws when the server refuses the request for good. */
export async function* followEvents({ url, key, type, after, signal, onState }: FollowOptions): AsyncGenerator<FollowedEvent> {
  const seen = new Set<string>(after === undefined ? [] : [after]);
  let last = after;
  let failures = 0;
  while (!signal.aborted) {
    let reason = "the server closed the stream";
    const onOpen = (): void => {
      failures = 0;
      onState("connected");
    };
    try {
      for await (const { id, type: name, data } of readStream({ url, key, type, signal, last, onOpen })) {
        last = id ?? last;
        if (id === undefined || name === undefined || data === undefined || seen.has(id)) continue;
        if (seen.size >= MAX_REMEMBERED) seen.delete(seen.values().next().value ?? "");
        seen.add(id);
        yield { id, type: name, data };
      }
    } catch (error) {
      if (error instanceof StartupError) throw error;
      reason = failureReason(error as Error);
    }
    if (signal.aborted) return;
    failures += 1;
    const retryMs = Math.round(backoffMs(failures, FIRST_RETRY_MS, MAX_RETRY_MS));
    onState({ lost: reason, retryMs });
    await pause(retryMs, signal);
  }
}

type StreamRequest = Pick<FollowOptions, "url" | "key" | "type" | "signal"> & { last: string | undefined; onOpen: () => void };
/** A block of the stream. One without an event may still say where the stream is. */
type Block = Partial<FollowedEvent>;

async function* readStream({ url, key, type, signal, last, onOpen }: StreamRequest): AsyncGenerator<Block> {
  const silence = new AbortController();
  const startSilenceTimer = (): NodeJS.Timeout => setTimeout(() => silence.abort(new Error("nothing was heard of the server")), SILENCE_MS);
  let timer = startSilenceTimer();
  try {
    const response = await fetch(
      `${url.replace(/\/$/, "")}/v1/events/stream${type === undefined ? "" : `?type=${encodeURIComponent(type)}`}`,
      {
        headers: { authorization: `Bearer ${key}`, accept: "text/event-stream", ...(last === undefined ? {} : { "last-event-id": last }) },
        redirect: "error",
        signal: AbortSignal.any([signal, silence.signal]),
      },
    );
    await checkStatus(response);
    onOpen();
    const decoder = new TextDecoder();
    let text = "";
    for await (const chunk of response.body ?? []) {
      // Whoever takes the events may take long: that is no silence of the server's.
      clearTimeout(timer);
      text += decoder.decode(chunk as Uint8Array, { stream: true });
      const blocks = text.split("\n\n");
      text = blocks.pop() ?? "";
      for (const block of blocks) yield parseBlock(block);
      timer = startSilenceTimer();
    }
  } finally {
    clearTimeout(timer);
  }
}

/** What the person at the terminal must mend ends it; what may pass is tried again. */
async function checkStatus(response: Response): Promise<void> {
  const isStream = /^text\/event-stream\b/.test(response.headers.get("content-type") ?? "");
  if (response.ok && isStream) return;
  if (response.ok) throw new StartupError("what answers there is no event stream: is it the URL of a godwit?");
  const problem = (await response.json().catch(() => ({}))) as { title?: string; detail?: string };
  const description = `${response.status} ${[problem.title, problem.detail].filter((part) => part !== undefined).join(": ")}`.trim();
  if (response.status >= 500 || response.status === 429) throw new Error(description);
  throw new StartupError(`the server refused: ${description}`);
}

/** A block without its comments. */
function parseBlock(block: string): Block {
  const fields = new Map<string, string>();
  for (const line of block.split("\n")) {
    const colon = line.indexOf(":");
    if (colon > 0) fields.set(line.slice(0, colon), line.slice(colon + 1).replace(/^ /, ""));
  }
  return Object.fromEntries([...fields].map(([name, value]) => [name === "event" ? "type" : name, value]));
}
