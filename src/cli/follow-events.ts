/** Follows the event stream of a service: reconnects when the stream ends, and continues after the last event. And an event as one line for
 *  people. */
import { backoffMs } from "../lib/backoff.ts";
import { pause } from "../lib/wait.ts";
import { StartupError } from "../database/startup-error.ts";
import { NO_LIMITS } from "../lib/scan-json.ts";
import { parseJsonObject } from "../providers/carrier-fields.ts";
import { describeStatus, explainProblem, serviceFailure, toApiResponse } from "./client.ts";
import { paint, paintStatus } from "./output.ts";

export type FollowedEvent = { id: string; type: string; data: string };

export type FollowOptions = {
  url: string;
  key: string;
  type: string | undefined;
  /** The id of the last event that is already known. Undefined: only new events. */
  after?: string | undefined;
  signal: AbortSignal;
  /** Called when the stream is connected, and when the connection is lost. */
  onState: (state: "connected" | { lost: string; retryMs: number }) => void;
};

const FIRST_RETRY_MS = 500;
const MAX_RETRY_MS = 15_000;
// The server sends an event or a comment at least every 15 seconds.
const SILENCE_MS = 45_000;

/** Yields events until the signal aborts. Throws if the server refuses the request permanently. */
export async function* followEvents({ url, key, type, after, signal, onState }: FollowOptions): AsyncGenerator<FollowedEvent> {
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
        if (id !== undefined && name !== undefined && data !== undefined) yield { id, type: name, data };
      }
    } catch (error) {
      if (error instanceof StartupError) throw error;
      reason = serviceFailure(error as Error);
    }
    if (signal.aborted) return;
    failures += 1;
    const retryMs = Math.round(backoffMs(failures, FIRST_RETRY_MS, MAX_RETRY_MS));
    onState({ lost: reason, retryMs });
    await pause(retryMs, signal);
  }
}

type StreamRequest = Pick<FollowOptions, "url" | "key" | "type" | "signal"> & { last: string | undefined; onOpen: () => void };
/** One block of the stream. A block without an event can still carry the id at which the stream is. */
type Block = Partial<FollowedEvent>;

async function* readStream({ url, key, type, signal, last, onOpen }: StreamRequest): AsyncGenerator<Block> {
  const silence = new AbortController();
  const startSilenceTimer = (): NodeJS.Timeout =>
    setTimeout(() => silence.abort(new Error("the server sent nothing for 45 seconds")), SILENCE_MS);
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
      // The caller may take long to process the events; that time does not count as silence of the server.
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

/** Throws a `StartupError` for a refusal that only the user can fix, and a plain error, which is retried, for a temporary one. */
async function checkStatus(response: Response): Promise<void> {
  const isStream = /^text\/event-stream\b/.test(response.headers.get("content-type") ?? "");
  if (response.ok && isStream) return;
  if (response.ok) throw new StartupError("the response is not an event stream: is it the URL of Godwit?");
  const problem = await toApiResponse(response);
  if (response.status >= 500 || response.status === 429) throw new Error(describeStatus(problem));
  throw new StartupError(explainProblem(problem, (field) => (field === "type" ? "--type" : field)));
}

/** Parses the fields of a block and drops its comments. */
function parseBlock(block: string): Block {
  const fields = new Map<string, string>();
  for (const line of block.split("\n")) {
    const colon = line.indexOf(":");
    if (colon > 0) fields.set(line.slice(0, colon), line.slice(colon + 1).replace(/^ /, ""));
  }
  return Object.fromEntries([...fields].map(([name, value]) => [name === "event" ? "type" : name, value]));
}

type EventSubject = {
  id?: string;
  direction?: string;
  sender?: string | null;
  recipient?: string;
  in_reply_to?: string | null;
  source?: string;
  /** Null if there is none. */
  errorCode: string | null;
};

/** Returns the subject of the event: the one record that its data contains. The error of a message has a code, and that of media is one. */
export function eventSubject(data: unknown): { name: string; record: EventSubject } {
  const records = (data ?? {}) as Record<string, EventSubject & { error?: { code: string } | string | null }>;
  const [name = "", record] = Object.entries(records).find(([, value]) => typeof value === "object" && value !== null) ?? [];
  const error = record?.error ?? null;
  return { name, record: { ...record, errorCode: typeof error === "object" ? (error?.code ?? null) : error } };
}

/** Returns the id of the message that the event is about. */
export function subjectMessageId({ data }: FollowedEvent): string | undefined {
  const { name, record } = eventSubject(parseJsonObject({ text: data }, NO_LIMITS)?.["data"]);
  return name === "message" ? record.id : undefined;
}

/** Formats the event: time, type, subject, and the error if there is one. */
export function eventLine({ id, type, data }: FollowedEvent): string {
  const event = parseJsonObject({ text: data }, NO_LIMITS) ?? {};
  const { record } = eventSubject(event["data"]);
  // The person has sent an inbound message; its recipient is our own number.
  const person = record.direction === "inbound" ? (record.sender ?? undefined) : record.recipient;
  const what = [record.id, person].filter((part) => part !== undefined).join("  ");
  const status = type.slice(type.indexOf(".") + 1);
  const error = record.errorCode === null ? "" : `  ${paintStatus(status, record.errorCode)}`;
  const timestamp = typeof event["timestamp"] === "string" ? event["timestamp"] : "";
  return `${paint("dim", timestamp)}  ${paintStatus(status, type.padEnd(19))}  ${what}${error}  ${paint("dim", `(${id})`)}`;
}
