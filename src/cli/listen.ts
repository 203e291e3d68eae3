/** godwit listen: shows events as they happen, and can pass them on to a local URL as a webhook would. */
import { readClientConfig } from "../config.ts";
import { newSecret, signatureOf, signingKey } from "../endpoints/signature.ts";
import { textFlag, UsageError, type Command } from "./command.ts";
import { followEvents, type FollowedEvent } from "./follow-events.ts";
import { say } from "./say.ts";

const FORWARD_TIMEOUT_MS = 15_000;

export const listen: Command = {
  name: "listen",
  usage: ["listen [--type TYPE] [--forward-to URL] [--url URL] [--json]   (the API key is read from GODWIT_KEY)"],
  isClient: true,
  flags: {
    type: { type: "string", help: "only events of this type, such as message.delivered, or message.* for all of a kind" },
    "forward-to": { type: "string", help: "a URL to which each event is posted, signed by a secret that is shown at the start" },
  },
  async run({ flags }) {
    const { url, key } = readClientConfig(flags);
    const stopping = new AbortController();
    const forward = textFlag(flags, "forward-to");
    const forwarder = forward === undefined ? undefined : createForwarder(readUrl(forward), stopping.signal);
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => stopping.abort());
    // Whoever read our output has had enough, as `head` does.
    process.stdout.once("error", () => stopping.abort());
    if (forwarder !== undefined) say(`forwarding to ${forward}, signed by ${forwarder.secret}`);
    const events = followEvents({
      url,
      key,
      type: textFlag(flags, "type"),
      signal: stopping.signal,
      onState: (state) =>
        say(state === "connected" ? `listening to ${url}` : `${state.lost}; trying again in ${(state.retryMs / 1_000).toFixed(1)} s`),
    });
    for await (const event of events) {
      process.stdout.write(flags["json"] === true ? `${event.data}\n` : `${lineOf(event)}\n`);
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

/** For people: when, what, and to what it happened. */
function lineOf({ id, type, data }: FollowedEvent): string {
  const event = JSON.parse(data) as {
    timestamp: string;
    data: { message?: { id: string; recipient: string }; webhook_endpoint?: { id: string } };
  };
  const { message, webhook_endpoint: endpoint } = event.data;
  const what = message === undefined ? (endpoint?.id ?? "") : `${message.id}  ${message.recipient}`;
  return `${event.timestamp}  ${type.padEnd(19)}  ${what}  (${id})`;
}

/** Posts events as a webhook would, each once: what it tells is what a receiver made of it. */
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
      const { message, cause } = error as Error;
      return `not delivered: ${cause instanceof Error ? cause.message : message}`;
    }
  };
  return { secret, post };
}
