/** godwit listen: shows events as they happen, and can forward them to a local URL in the form of webhooks. */
import { EVENT_TYPES } from "../events/event.ts";
import { newSecret, signatureOf, signingKey } from "../webhooks/signature.ts";
import { failureReason, parseObject } from "./api.ts";
import { readClientConfig } from "./client-config.ts";
import { textFlag, UsageError, type Command } from "./command.ts";
import { followEvents, type FollowedEvent } from "./follow-events.ts";
import { paint, paintStatus, say } from "./output.ts";

const FORWARD_TIMEOUT_MS = 15_000;

export const listen: Command = {
  name: "listen",
  about: [
    "Follows the event stream of a running service, with a key that has the scope events:read, and shows a line for each event: when, what, to what it happened, and the error if there is one. With --json each line is the event as the API has it. When the connection ends it comes back and goes on where it was: nothing is left out, and nothing is shown twice.",
    "With --forward-to each event is also posted to a URL, as a webhook would be: for a receiver on this machine that nobody can call from outside. Each is posted once and in order; the secret it is signed by is shown at the start. Ctrl-C ends it.",
  ],
  usage: ["listen [flags]"],
  flags: {
    type: { type: "string", value: "TYPE", choices: ["*", "message.*", ...EVENT_TYPES], help: "only events of this type, or of this kind" },
    message: { type: "string", value: "ID", help: "only events of this message" },
    after: {
      type: "string",
      value: "EVENT_ID",
      help: "begin where an earlier run ended, after this event",
    },
    "forward-to": {
      type: "string",
      value: "URL",
      help: "a URL to which each event is posted, signed by a secret that is shown at the start",
    },
  },
  settings: "client",
  examples: [
    ["Everything that happens:", "godwit listen"],
    ["Webhooks for a receiver on this machine:", "godwit listen --type 'message.*' --forward-to http://localhost:3000/hooks"],
    ["What failed, and why:", "godwit listen --type message.failed --json | jq -r '.data.message.error.code'"],
  ],
  exitCodes: {
    0: "ended by Ctrl-C, SIGTERM, or because nobody reads the output any more",
    1: "the service refused: the key, its scope, or a flag",
  },
  async run({ flags }) {
    const { url, key } = readClientConfig(flags);
    const stopping = new AbortController();
    const forward = textFlag(flags, "forward-to");
    const forwarder = forward === undefined ? undefined : createForwarder(readUrl(forward), stopping.signal);
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => stopping.abort());
    // The reader of the output, such as `head`, has closed the pipe.
    process.stdout.once("error", () => stopping.abort());
    if (forwarder !== undefined) say(`forwarding to ${forward}, signed by ${forwarder.secret}`);
    const events = followEvents({
      url,
      key,
      type: textFlag(flags, "type"),
      after: textFlag(flags, "after"),
      signal: stopping.signal,
      onState: (state) =>
        say(state === "connected" ? `listening to ${url}` : `${state.lost}; trying again in ${(state.retryMs / 1_000).toFixed(1)} s`),
    });
    const message = textFlag(flags, "message");
    for await (const event of events) {
      if (message !== undefined && subjectMessageId(event) !== message) continue;
      process.stdout.write(flags["json"] === true ? `${event.data}\n` : `${eventLine(event)}\n`);
      if (forwarder !== undefined) say(`  ${await forwarder.post(event)}`);
      if (stopping.signal.aborted) break;
    }
    return 0;
  },
};

function readUrl(text: string): string {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new UsageError(`--forward-to must be a URL such as http://localhost:3000/hooks, not ${text}`);
  return text;
}

type EventSubject = { id?: string; recipient?: string; error?: { code: string } | null };

/** Returns the subject of the event: the one record that its data contains. */
function eventSubject({ data }: FollowedEvent): { timestamp: string; name: string; record: EventSubject } {
  const { timestamp, data: about = {} } = (parseObject(data) ?? {}) as { timestamp?: string; data?: Record<string, EventSubject> };
  const [name = "", record = {}] = Object.entries(about).find(([, value]) => typeof value === "object" && value !== null) ?? [];
  return { timestamp: timestamp ?? "", name, record };
}

function subjectMessageId(event: FollowedEvent): string | undefined {
  const { name, record } = eventSubject(event);
  return name === "message" ? record.id : undefined;
}

/** Formats the event for people: time, type, subject, and the error if there is one. */
function eventLine(event: FollowedEvent): string {
  const { id, type } = event;
  const { timestamp, record } = eventSubject(event);
  const what = [record.id, record.recipient].filter((part) => part !== undefined).join("  ");
  const status = type.slice(type.indexOf(".") + 1);
  const error = record.error ? `  ${paintStatus(status, record.error.code)}` : "";
  return `${paint("dim", timestamp)}  ${paintStatus(status, type.padEnd(19))}  ${what}${error}  ${paint("dim", `(${id})`)}`;
}

/** Posts each event once, in the form of a webhook. `post` returns the response of the receiver as text. */
function createForwarder(url: string, stopping: AbortSignal): { secret: string; post: (event: FollowedEvent) => Promise<string> } {
  const secret = newSecret();
  const keys = [signingKey(secret)];
  const post = async ({ id, data }: FollowedEvent): Promise<string> => {
    const timestamp = String(Math.floor(Date.now() / 1_000));
    const startedAt = performance.now();
    try {
      const response = await fetch(url, {
        method: "POST",
        redirect: "manual",
        headers: {
          "content-type": "application/json",
          "webhook-id": id,
          "webhook-timestamp": timestamp,
          "webhook-signature": signatureOf({ id, timestamp, body: data }, keys),
        },
        body: data,
        signal: AbortSignal.any([stopping, AbortSignal.timeout(FORWARD_TIMEOUT_MS)]),
      });
      await response.body?.cancel();
      return `${response.status} in ${Math.round(performance.now() - startedAt)} ms`;
    } catch (error) {
      return `not delivered: ${failureReason(error as Error)}`;
    }
  };
  return { secret, post };
}
