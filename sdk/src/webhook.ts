/** Verifies webhooks as defined by Standard Webhooks 1.0. */
import { GodwitError } from "./errors.ts";
import { checkOptions, typeOf, type OptionNames } from "./option-names.ts";
import { checkNumber } from "./retry.ts";
import type { Event } from "./schema.ts";

/** The headers of a Fetch-style request, or of a request of Node's `http` module. */
export type WebhookHeaders = { get: (name: string) => string | null } | Readonly<Record<string, string | readonly string[] | undefined>>;
/** The reason why a webhook was refused. */
export type WebhookFault =
  | "missing_headers"
  | "invalid_timestamp"
  | "timestamp_too_old"
  | "timestamp_too_new"
  | "no_matching_signature"
  | "invalid_payload";

export type WebhookOptions = {
  /** The maximum difference between the timestamp of the webhook and the local clock. Limits replays by an attacker. Default: 300. */
  toleranceSeconds?: number | undefined;
};

/** The webhook does not come from the service, or it is too old. Respond with 400 and ignore it. */
export class WebhookError extends GodwitError {
  override readonly name = "WebhookError";
  readonly reason: WebhookFault;

  constructor(reason: WebhookFault, detail: string) {
    super(`${reason}: ${detail}`);
    this.reason = reason;
  }
}

const OPTIONS: OptionNames<WebhookOptions> = { toleranceSeconds: true };
const TOLERANCE_SECONDS = 300;
// The service sends at most two, while a secret is rotated.
const MAX_SIGNATURES = 20;
const PREFIX = "whsec_";

/** Verifies a webhook and returns its event, or throws a `WebhookError`. `payload` must be the unchanged bytes of the body, not parsed and
 *  serialized JSON. If several secrets are given, any of them may have signed the webhook. */
export async function verifyWebhook(
  payload: string | Uint8Array | ArrayBuffer,
  headers: WebhookHeaders,
  secrets: string | readonly string[],
  options: WebhookOptions = {},
): Promise<Event> {
  checkOptions(options, OPTIONS, "verifyWebhook");
  // A comparison with NaN is never true: a webhook of any age would pass.
  const toleranceSeconds = checkNumber("toleranceSeconds", options.toleranceSeconds ?? TOLERANCE_SECONDS, { least: 0, most: Infinity });
  const keys = secretList(secrets).map(secretBytes);
  const body = bytesOf(payload);
  const [id, timestamp, signatures] = ["id", "timestamp", "signature"].map((name) => readHeader(headers, `webhook-${name}`));
  if (!id || !timestamp || !signatures)
    throw new WebhookError("missing_headers", "the headers webhook-id, webhook-timestamp and webhook-signature are required");
  checkTime(timestamp, toleranceSeconds);
  if (!(await isSigned(concatenate(`${id}.${timestamp}.`, body), parseSignatures(signatures), keys)))
    throw new WebhookError("no_matching_signature", "no signature matches one of these secrets");
  return parseEvent(body);
}

/** The verification of webhooks as a member of the client. */
export class Webhooks {
  /** Verifies a webhook and returns its event, or throws a `WebhookError`. The same as `verifyWebhook`. */
  verify(...input: Parameters<typeof verifyWebhook>): Promise<Event> {
    return verifyWebhook(...input);
  }
}

/** Frameworks give the parsed body, or none, to a receiver that does not ask for the bytes. Their types permit to pass it on. */
function bytesOf(payload: unknown): Uint8Array {
  if (typeof payload === "string") return new TextEncoder().encode(payload);
  if (payload instanceof ArrayBuffer) return new Uint8Array(payload);
  if (ArrayBuffer.isView(payload)) return new Uint8Array(payload.buffer, payload.byteOffset, payload.byteLength);
  throw new TypeError("the payload of a webhook is its raw body, as text or bytes; in Express, use express.raw() for this route");
}

function checkTime(text: string, toleranceSeconds: number): void {
  if (!/^\d{1,12}$/.test(text)) throw new WebhookError("invalid_timestamp", "webhook-timestamp is not a number of seconds");
  const ageSeconds = Date.now() / 1_000 - Number(text);
  if (ageSeconds > toleranceSeconds) throw new WebhookError("timestamp_too_old", `it is ${Math.round(ageSeconds)} seconds old`);
  if (ageSeconds < -toleranceSeconds) throw new WebhookError("timestamp_too_new", `it is ${Math.round(-ageSeconds)} seconds ahead`);
}

type Bytes = Uint8Array<ArrayBuffer>;

/** Compares with the runtime's own `verify`, whose duration does not depend on how much of the signature is right. */
async function isSigned(content: Bytes, signatures: readonly Bytes[], secrets: readonly Bytes[]): Promise<boolean> {
  for (const secret of secrets) {
    const key = await crypto.subtle.importKey("raw", secret, { name: "HMAC", hash: "SHA-256" }, false, ["verify"]);
    for (const signature of signatures) if (await crypto.subtle.verify("HMAC", key, signature, content)) return true;
  }
  return false;
}

/** Parses `v1,<base64>`. Several signatures are separated by spaces; other versions are ignored. */
const parseSignatures = (text: string): Bytes[] =>
  text
    .split(" ")
    .slice(0, MAX_SIGNATURES)
    .flatMap((each) => (each.startsWith("v1,") ? (fromBase64(each.slice(3)) ?? []) : []));

const secretList = (secrets: unknown): readonly unknown[] => (Array.isArray(secrets) ? secrets : [secrets]);

function secretBytes(secret: unknown): Bytes {
  if (typeof secret !== "string")
    throw new TypeError(`a webhook secret is ${PREFIX} followed by base64, and its type is ${typeOf(secret)}`);
  const bytes = fromBase64(secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : secret);
  // A mistake of the receiver, not of the sender: with an empty secret anyone could sign a webhook.
  if (bytes === undefined || bytes.length === 0) throw new TypeError(`a webhook secret is ${PREFIX} followed by base64`);
  return bytes;
}

function fromBase64(text: string): Bytes | undefined {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}

function concatenate(head: string, body: Uint8Array): Bytes {
  const start = new TextEncoder().encode(head);
  const whole = new Uint8Array(start.length + body.length);
  whole.set(start);
  whole.set(body, start.length);
  return whole;
}

/** Returns the header. Ignores the case of the name. A header that occurs twice counts as missing. */
function readHeader(headers: WebhookHeaders, name: string): string | undefined {
  // A check for the method instead of the class: frameworks have their own header classes.
  if (typeof headers.get === "function") return headers.get(name) ?? undefined;
  const [, value] = Object.entries(headers).find(([each]) => each.toLowerCase() === name) ?? [];
  return typeof value === "string" ? value : undefined;
}

function parseEvent(body: Uint8Array): Event {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body)) as Event;
  } catch {
    throw new WebhookError("invalid_payload", "the body is not JSON");
  }
}
