/** godwit trigger: causes an event in the test environment, with a test number, and waits for it. */
import { unreachable } from "../lib/assert.ts";
import { pause } from "../lib/wait.ts";
import { ApiClient, type ApiRecord } from "./client.ts";
import { didYouMean, EXIT, readDuration, UsageError, type Command, type Input } from "./command.ts";
import { print, say } from "./output.ts";

const DEFAULT_WAIT_SECONDS = 30;
const POLL_MS = 300;
const TEXT = "Test message of godwit trigger";

/** How an event is caused: by a message, by a batch of one message, or by a suppression that is lifted. */
type Cause =
  | { kind: "message"; recipient: string; channel?: "whatsapp"; delaySeconds?: number; isCanceled?: true; hasFallback?: true }
  | { kind: "batch"; recipient: string }
  | { kind: "opt_in"; recipient: string };

const DELIVERED = "+15005550006";
const REPLIES_STOP = "+15005550010";

// docs/test-numbers.md lists the numbers. message.expired takes days, because the wait for a receipt must end.
const CAUSES: Readonly<Record<string, Cause>> = {
  "message.scheduled": { kind: "message", recipient: DELIVERED, delaySeconds: 60 },
  "message.queued": { kind: "message", recipient: DELIVERED },
  "message.sending": { kind: "message", recipient: DELIVERED },
  "message.sent": { kind: "message", recipient: DELIVERED },
  "message.delivered": { kind: "message", recipient: DELIVERED },
  "message.read": { kind: "message", recipient: DELIVERED, channel: "whatsapp" },
  "message.undelivered": { kind: "message", recipient: "+15005550005" },
  "message.failed": { kind: "message", recipient: "+15005550002" },
  "message.canceled": { kind: "message", recipient: DELIVERED, delaySeconds: 3_600, isCanceled: true },
  "message.received": { kind: "message", recipient: "+15005550008" },
  "message.fallback_started": { kind: "message", recipient: "+15005550015", channel: "whatsapp", hasFallback: true },
  "recipient.opted_out": { kind: "message", recipient: REPLIES_STOP },
  "recipient.opted_in": { kind: "opt_in", recipient: REPLIES_STOP },
  "batch.completed": { kind: "batch", recipient: DELIVERED },
};

export const trigger: Command = {
  name: "trigger",
  about: [
    "Causes an event in the test environment, to try an integration: it sends a message to the test number that leads to the event, waits for the event, and prints it. Webhook endpoints and godwit listen receive all events on the way, as for any other message. No message reaches a phone.",
    "Needs a test key with the scopes messages:send and events:read; the events of recipients also need suppressions:read and suppressions:write.",
    `The events that it can cause: ${Object.keys(CAUSES).join(", ")}. Without an event it lists them.`,
  ],
  usage: ["trigger [--json]", "trigger EVENT [--timeout TIME] [--json]"],
  flags: { timeout: { type: "string", value: "TIME", fallback: "30s", help: "how long to wait for the event" } },
  settings: "client",
  examples: [
    ["A message that the carrier does not deliver:", "godwit trigger message.undelivered"],
    ["A reply, as JSON:", "godwit trigger message.received --json | jq .data.message.body"],
  ],
  exitCodes: { [EXIT.unknown]: "the event did not occur in time" },
  async run(input) {
    const [type] = input.words;
    if (type === undefined) return list(input);
    const cause = CAUSES[type];
    if (cause === undefined)
      throw new UsageError(`there is no event ${type} to cause${didYouMean(type, Object.keys(CAUSES), "godwit trigger ")}`);
    const seconds = readDuration(input, "timeout") ?? DEFAULT_WAIT_SECONDS;
    const client = new ApiClient(input.flags);
    if ((await client.get("/v1/credential"))["environment"] !== "test")
      throw new UsageError("the key is of the environment live: trigger needs a test key, so that no message reaches a phone");
    const event = await waitFor(client, type, await run(client, cause), seconds);
    if (event === undefined) {
      say(`godwit: ${type} did not occur within ${seconds} s; is a node with the role dispatch running?`);
      return EXIT.unknown;
    }
    show(input, event);
    return EXIT.done;
  },
};

const list = ({ flags }: Input): void =>
  print(
    flags,
    Object.entries(CAUSES).map(([event, { recipient }]) => ({ event, recipient })),
  );

/** The record that the event is about, and the time before which the event did not occur. */
type Caused = { subject: ApiRecord; sinceMs: number };

async function run(client: ApiClient, cause: Cause): Promise<Caused> {
  switch (cause.kind) {
    case "message":
      return causeByMessage(client, cause);
    case "batch":
      return caused(await client.post("/v1/batches", { items: [{ recipient: cause.recipient, channel: "sms", body: TEXT }] }));
    case "opt_in": {
      const suppression = await client.post("/v1/suppressions", { recipient: cause.recipient, note: TEXT });
      return caused(await client.delete(`/v1/suppressions/${String(suppression["id"])}`), "updated_at");
    }
    default:
      return unreachable(cause);
  }
}

async function causeByMessage(client: ApiClient, cause: Extract<Cause, { kind: "message" }>): Promise<Caused> {
  const { recipient, channel = "sms", delaySeconds, isCanceled, hasFallback } = cause;
  // An opt-out of an earlier run would refuse the message.
  if (recipient === REPLIES_STOP) await liftAll(client, recipient);
  const message = await client.post("/v1/messages", {
    recipient,
    channel,
    body: TEXT,
    ...(delaySeconds === undefined ? {} : { send_at: new Date(Date.now() + delaySeconds * 1_000).toISOString() }),
    ...(hasFallback === true ? { fallback: [{ channel: "sms", body: TEXT, after_seconds: 60 }] } : {}),
  });
  if (isCanceled === true) await client.post(`/v1/messages/${String(message["id"])}/cancel`);
  return caused(message);
}

const caused = (subject: ApiRecord, timeField = "created_at"): Caused => ({ subject, sinceMs: Date.parse(String(subject[timeField])) });

async function liftAll(client: ApiClient, recipient: string): Promise<void> {
  for await (const page of client.pages("/v1/suppressions", { recipient, status: "active" }))
    for (const { id } of page) await client.delete(`/v1/suppressions/${String(id)}`);
}

// The times of events are those of commits on several nodes.
const MARGIN_MS = 1_000;

async function waitFor(client: ApiClient, type: string, { subject, sinceMs }: Caused, seconds: number): Promise<ApiRecord | undefined> {
  const deadline = performance.now() + seconds * 1_000;
  const after = new Date(sinceMs - MARGIN_MS).toISOString();
  while (!client.signal.aborted) {
    const { data } = await client.get("/v1/events", { type, created_after: after, limit: "100" });
    const found = ((data ?? []) as readonly ApiRecord[]).find((event) => isAbout(event, subject, sinceMs));
    if (found !== undefined || performance.now() > deadline) return found;
    await pause(POLL_MS, client.signal);
  }
  return undefined;
}

type EventData = { message?: ApiRecord; suppression?: ApiRecord; batch?: ApiRecord };

/** Whether the event is about the record, or about a reply of its recipient. */
function isAbout({ data, timestamp }: ApiRecord, subject: ApiRecord, sinceMs: number): boolean {
  const { message, suppression, batch } = data as EventData;
  if (batch !== undefined) return batch["id"] === subject["id"];
  if (suppression !== undefined) return suppression["recipient"] === subject["recipient"] && Date.parse(String(timestamp)) >= sinceMs;
  return message?.["id"] === subject["id"] || message?.["in_reply_to"] === subject["id"];
}

function show({ flags }: Input, event: ApiRecord): void {
  if (flags["json"] === true) return print(flags, event);
  const { id, type, timestamp, data } = event;
  const { message, suppression, batch } = data as EventData;
  const subject = message ?? suppression ?? batch ?? {};
  const error = (subject["error"] as { code?: string } | null | undefined)?.code ?? null;
  print(flags, { event: id, type, timestamp, subject: subject["id"], recipient: subject["recipient"] ?? null, error });
}
