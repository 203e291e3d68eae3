/** The request for a message: the variables of its templates, and their values. */
import { segmentsOf } from "../../model/segments.ts";
import type { HttpRequest } from "../../outbound/http-client.ts";
import type { Outgoing } from "../provider.ts";
import type { RequestDefinition } from "./definition.ts";
import type { DefinitionReader } from "./reader.ts";
import { compileCall } from "./call.ts";
import type { ValueOf } from "./template.ts";

const MESSAGE_VARIABLES = [
  "recipient",
  "recipient_digits",
  "sender",
  "sender_digits",
  "body",
  "id",
  "expires_seconds",
  "expires_at",
  "encoding",
] as const;
type MessageVariable = (typeof MESSAGE_VARIABLES)[number];

const PLAIN_VARIABLES: readonly MessageVariable[] = ["recipient", "recipient_digits", "id"];

/** The limits of the carrier for the time to live. */
type ExpiryLimits = { least: number; most: number };

// No carrier keeps a message for more than a week.
const DEFAULT_EXPIRY: ExpiryLimits = { least: 1, most: 604_800 };

/** The request for each message. */
export type CarrierRequests = { baseUrl: string; toRequest: (message: Outgoing, nowMs: number) => HttpRequest };

export function compileRequests(reader: DefinitionReader, definition: RequestDefinition): CarrierRequests {
  const limits = { ...DEFAULT_EXPIRY, ...definition.expires_seconds };
  const variables = { names: MESSAGE_VARIABLES, plainNames: PLAIN_VARIABLES };
  const { baseUrl, toRequest } = compileCall<MessageVariable>(reader, definition, "request", variables);
  return { baseUrl, toRequest: (message, nowMs) => toRequest(messageValues(message, nowMs, limits), nowMs) };
}

function messageValues(message: Outgoing, nowMs: number, { least, most }: ExpiryLimits): ValueOf<MessageVariable> {
  const { id, recipient, sender, body, expiresAtMs } = message;
  const seconds = Math.min(most, Math.max(least, Math.floor((expiresAtMs - nowMs) / 1_000)));
  const values: Readonly<Record<MessageVariable, () => string | number | null>> = {
    recipient: () => recipient,
    recipient_digits: () => recipient.slice(1),
    sender: () => sender?.toWellFormed() ?? null,
    sender_digits: () => sender?.replace(/^\+/, "").toWellFormed() ?? null,
    body: () => body.toWellFormed(),
    id: () => id,
    expires_seconds: () => seconds,
    expires_at: () => new Date(nowMs + seconds * 1_000).toISOString(),
    encoding: () => (segmentsOf(body).encoding === "gsm7" ? "text" : "unicode"),
  };
  return (name) => values[name]();
}
