/** godwit listen: shows events as they happen, and can forward them to a local URL in the form of webhooks. */
import { parseBoundedUrl, requireUrl } from "../lib/urls.ts";
import { EVENT_TYPES } from "../events/event.ts";
import { secretFrom, signatureOf, signingKey } from "../webhooks/signature.ts";
import { failureReason } from "./client.ts";
import { readClientConfig } from "./client-config.ts";
import { interruption, textFlag, UsageError, type Command } from "./command.ts";
import { followEvents, eventLine, subjectMessageId, type FollowedEvent } from "./follow-events.ts";
import { say } from "./output.ts";

const FORWARD_TIMEOUT_MS = 15_000;

export const listen: Command = {
  name: "listen",
  about: [
    "Prints a line for each event, with --json the event as in the API. After a lost connection it continues after the last event. Needs the scope events:read.",
    "With --forward-to it also posts each event to a URL, as webhooks do but only once, and prints the response. The secret of the signatures is derived from the API key and printed at the start.",
  ],
  usage: ["listen [flags]"],
  flags: {
    type: { value: "TYPE", choices: ["*", "message.*", ...EVENT_TYPES], help: "only this type or group of events" },
    message: { value: "ID", help: "only events of this message" },
    after: { value: "EVENT_ID", help: "start after this event" },
    "forward-to": { value: "URL", help: "post each event to this URL" },
  },
  settings: "client",
  examples: [
    ["Webhooks for a program on this machine:", "godwit listen --type 'message.*' --forward-to http://localhost:3000/hooks"],
    ["The errors of failed messages:", "godwit listen --type message.failed --json | jq -r '.data.message.error.code'"],
  ],
  exitCodes: {
    0: "stopped by Ctrl-C or SIGTERM, or the reader of the output has ended",
    1: "the service refused the key, its scope or a flag",
  },
  async run({ flags }) {
    const { url, key } = readClientConfig(flags);
    const signal = interruption();
    const forward = textFlag(flags, "forward-to");
    const forwarder = forward === undefined ? undefined : createForwarder(readUrl(forward), key, signal);
    if (forwarder !== undefined) say(`forwarding to ${forward}, signed by ${forwarder.secret}`);
    const events = followEvents({
      url,
      key,
      type: textFlag(flags, "type"),
      after: textFlag(flags, "after"),
      signal,
      onState: (state) =>
        say(
          state === "connected"
            ? `listening to ${url}`
            : `${state.lost}; the next attempt follows in ${(state.retryMs / 1_000).toFixed(1)} s`,
        ),
    });
    const message = textFlag(flags, "message");
    for await (const event of events) {
      if (message !== undefined && subjectMessageId(event) !== message) continue;
      process.stdout.write(flags["json"] === true ? `${event.data}\n` : `${eventLine(event)}\n`);
      if (forwarder !== undefined) say(`  ${await forwarder.post(event)}`);
      if (signal.aborted) break;
    }
    return 0;
  },
};

function readUrl(text: string): string {
  const url = parseBoundedUrl(text);
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new UsageError(`--forward-to must be a URL such as http://localhost:3000/hooks, not ${text}`);
  return text;
}

// Distinguishes this secret from other uses of the key.
const SECRET_PURPOSE = "godwit listen --forward-to";

/** Posts each event once, in the form of a webhook. `post` returns the response of the receiver as text. */
function createForwarder(
  url: string,
  key: string,
  stopping: AbortSignal,
): { secret: string; post: (event: FollowedEvent) => Promise<string> } {
  // Derived, so that it is the same at the next start and is stored nowhere. The key cannot be computed from it.
  const secret = secretFrom(key, SECRET_PURPOSE);
  const keys = [signingKey(secret)];
  let isRefusalExplained = false;
  const explain = (error: Error): string => {
    const isRefused = (error.cause as NodeJS.ErrnoException | undefined)?.code === "ECONNREFUSED";
    if (!isRefused || isRefusalExplained) return "";
    isRefusalExplained = true;
    return `\n  no program accepts connections at ${requireUrl(url).host}: is your program running, and is this its port?`;
  };
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
      return `not delivered: ${failureReason(error as Error)}${explain(error as Error)}`;
    }
  };
  return { secret, post };
}
