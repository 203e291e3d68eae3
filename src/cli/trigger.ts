/** godwit trigger: causes an event in the test environment, with a test number, and waits for it. */
import { randomUUID } from "node:crypto";
import { pause } from "../lib/wait.ts";
import { readClientConfig } from "./client-config.ts";
import { callRepeatedly, expectSuccess } from "./client.ts";
import { didYouMean } from "../lib/nearest.ts";
import { EXIT, interruption, readDuration, UsageError, type Command, type Input } from "./command.ts";
import { eventSubject } from "./follow-events.ts";
import { print, say } from "./output.ts";

const DEFAULT_WAIT_SECONDS = 30;
const POLL_MS = 300;
// How long one request is repeated.
const CALL_MS = 15_000;
const TEXT = "Test message of godwit trigger";

type ApiRecord = Readonly<Record<string, unknown>>;
/** Calls the API. A refusal ends the command. */
type Call = (method: string, path: string, body?: object) => Promise<ApiRecord>;

const DELIVERED = "+15005550006";
const REPLIES_STOP = "+15005550010";

/** The message that causes an event, without its text. docs/test-numbers.md lists the numbers. `run` knows the events
 *  that need more than a message. message.expired takes days, because the wait for a receipt must end. */
const CAUSES: Readonly<Record<string, () => ApiRecord>> = {
  "message.scheduled": () => ({ recipient: DELIVERED, send_at: inSeconds(60) }),
  "message.queued": () => ({ recipient: DELIVERED }),
  "message.sending": () => ({ recipient: DELIVERED }),
  "message.sent": () => ({ recipient: DELIVERED }),
  "message.delivered": () => ({ recipient: DELIVERED }),
  "message.read": () => ({ recipient: DELIVERED, channel: "whatsapp" }),
  "message.undelivered": () => ({ recipient: "+15005550005" }),
  "message.failed": () => ({ recipient: "+15005550002" }),
  "message.canceled": () => ({ recipient: DELIVERED, send_at: inSeconds(3_600) }),
  "message.received": () => ({ recipient: "+15005550008" }),
  "message.fallback_started": () => ({
    recipient: "+15005550015",
    channel: "whatsapp",
    fallback: [{ channel: "sms", body: TEXT, after_seconds: 60 }],
  }),
  "recipient.opted_out": () => ({ recipient: REPLIES_STOP }),
  "recipient.opted_in": () => ({ recipient: REPLIES_STOP }),
  "media.ready": () => ({ recipient: "+15005550019", channel: "whatsapp" }),
  "batch.completed": () => ({ recipient: DELIVERED }),
};

const inSeconds = (seconds: number): string => new Date(Date.now() + seconds * 1_000).toISOString();

export const trigger: Command = {
  name: "trigger",
  about: [
    "Causes an event in the test environment: sends a message to a test number, waits for the event and prints it. Webhook endpoints and `godwit listen` also receive the events before it.",
    "Needs a test key with messages:send and events:read; for recipient events also suppressions:read and suppressions:write.",
    `The events: ${Object.keys(CAUSES).join(", ")}.`,
  ],
  usage: ["trigger", "trigger EVENT [--timeout TIME]"],
  flags: { timeout: { value: "TIME", fallback: "30s", help: "time limit" } },
  settings: "client",
  examples: [
    ["A message that is not delivered:", "godwit trigger message.undelivered"],
    ["A reply, as JSON:", "godwit trigger message.received --json | jq .data.message.body"],
  ],
  exitCodes: { [EXIT.unknown]: "the event did not occur in time" },
  async run(input) {
    const [type] = input.words;
    if (type === undefined) return list(input);
    const cause = CAUSES[type];
    if (cause === undefined) throw new UsageError(explainUnknownEvent(type));
    const seconds = readDuration(input, "timeout") ?? DEFAULT_WAIT_SECONDS;
    const signal = interruption();
    const call = caller(input, signal);
    if ((await call("GET", "/v1/credential"))["environment"] !== "test")
      throw new UsageError("the key is of the environment live: trigger needs a test key, so that no message reaches a phone");
    const caused = await run(call, type, { channel: "sms", body: TEXT, ...cause() });
    const event = await waitFor(call, type, caused, { deadline: performance.now() + seconds * 1_000, signal });
    if (event === undefined) {
      say(`godwit: ${type} did not occur within ${seconds} s; is a node with the role dispatch running?`);
      return EXIT.unknown;
    }
    show(input, event);
    return EXIT.done;
  },
};

/** People often leave out the group of an event. */
function explainUnknownEvent(type: string): string {
  const known = Object.keys(CAUSES);
  const near = didYouMean(type.includes(".") ? type : `message.${type}`, known, "godwit trigger ");
  return `there is no event ${type} to cause${near}\nThe events: ${known.join(", ")}`;
}

function caller({ flags }: Input, signal: AbortSignal): Call {
  const client = readClientConfig(flags);
  return async (method, path, body) => {
    const request = { method, path, body, headers: { "idempotency-key": randomUUID() } };
    const outcome = await callRepeatedly(client, request, { signal, deadline: performance.now() + CALL_MS });
    return expectSuccess(outcome, client, flags).json ?? {};
  };
}

const list = ({ flags }: Input): void =>
  print(
    flags,
    Object.entries(CAUSES).map(([event, cause]) => ({ event, recipient: cause()["recipient"] })),
  );

/** The record that the event is about, and the time before which the event did not occur. */
type Caused = { subject: ApiRecord; sinceMs: number };

async function run(call: Call, type: string, message: ApiRecord): Promise<Caused> {
  if (type === "batch.completed") return caused(await call("POST", "/v1/batches", { items: [message] }));
  if (type === "recipient.opted_in") {
    const suppression = await call("POST", "/v1/suppressions", { recipient: REPLIES_STOP, note: TEXT });
    return caused(await lift(call, suppression), "updated_at");
  }
  if (type === "recipient.opted_out") {
    // An opt-out of an earlier run would refuse the message.
    const { data } = await call("GET", `/v1/suppressions?recipient=${encodeURIComponent(REPLIES_STOP)}&status=active&limit=100`);
    for (const suppression of (data ?? []) as ApiRecord[]) await lift(call, suppression);
  }
  const accepted = await call("POST", "/v1/messages", message);
  if (type === "message.canceled") await call("POST", `/v1/messages/${String(accepted["id"])}/cancel`);
  return caused(accepted);
}

const lift = (call: Call, { id }: ApiRecord): Promise<ApiRecord> => call("DELETE", `/v1/suppressions/${String(id)}`);

const caused = (subject: ApiRecord, timeField = "created_at"): Caused => ({ subject, sinceMs: Date.parse(String(subject[timeField])) });

// The times of events are those of commits on several nodes.
const MARGIN_MS = 1_000;

async function waitFor(
  call: Call,
  type: string,
  { subject, sinceMs }: Caused,
  { deadline, signal }: { deadline: number; signal: AbortSignal },
): Promise<ApiRecord | undefined> {
  const after = new Date(sinceMs - MARGIN_MS).toISOString();
  while (!signal.aborted) {
    const { data } = await call("GET", `/v1/events?type=${type}&created_after=${after}&limit=100`);
    const found = ((data ?? []) as readonly ApiRecord[]).find((event) => isAbout(event, subject, sinceMs));
    if (found !== undefined || performance.now() > deadline) return found;
    await pause(POLL_MS, signal);
  }
  return undefined;
}

/** Whether the event is about the record, or about a reply of its recipient. */
function isAbout({ data, timestamp }: ApiRecord, subject: ApiRecord, sinceMs: number): boolean {
  const { name, record } = eventSubject(data);
  const isNew = Date.parse(String(timestamp)) >= sinceMs;
  if (name === "suppression") return record.recipient === subject["recipient"] && isNew;
  if (name === "media") return record.source === "inbound" && isNew;
  return record.id === subject["id"] || record.in_reply_to === subject["id"];
}

function show({ flags }: Input, event: ApiRecord): void {
  if (flags["json"] === true) return print(flags, event);
  const { id, type, timestamp, data } = event;
  const { record } = eventSubject(data);
  print(flags, { event: id, type, timestamp, subject: record.id, recipient: record.recipient ?? null, error: record.errorCode });
}
