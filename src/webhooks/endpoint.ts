/** An endpoint: a URL of a customer that receives events. Its statuses, its record in the API and the schema of the record. */
import { EVENT_TYPES } from "../events/event.ts";
import { environmentField, createdByField, nullable, openEnum, timestamp, Type, type Static } from "../http/schema.ts";
import { SOURCES, type MessageSource } from "../messages/message.ts";
import { encodeId, type AccountId, type EndpointId } from "../model/id.ts";
import { isoTime } from "../lib/time.ts";
import { uuidTimeMs, type Uuid } from "../lib/uuid.ts";
import type { Environment } from "../model/owner.ts";

export const ENDPOINT_STATUSES = ["enabled", "disabled"] as const;
type EndpointStatus = (typeof ENDPOINT_STATUSES)[number];

/** Why an endpoint is disabled: a client requested it, it responded with 410, or all attempts failed for days. */
export const DISABLED_REASONS = ["requested", "gone", "failing"] as const;
export type DisabledReason = (typeof DISABLED_REASONS)[number];

/** Endpoints of one environment. The transaction of an event matches it against all of them. */
export const MAX_ENDPOINTS_EACH = 250;

export type Endpoint = {
  accountId: AccountId;
  environment: Environment;
  id: EndpointId;
  /** The compatible API in whose form it is called, and whose credential has the same UUID. Null: our own form. */
  source: MessageSource | null;
  url: string;
  description: string | null;
  eventTypes: readonly string[];
  status: EndpointStatus;
  disabledReason: DisabledReason | null;
  /** Sealed, like the previous one. */
  secret: string;
  previousSecret: string | null;
  /** Until then deliveries are signed with the previous secret as well. */
  previousSecretUntilMs: number | null;
  failingSinceMs: number | null;
  recoverAfter: Uuid | null;
  recoverUntil: Uuid | null;
  updatedAtMs: number;
  createdBy: string | null;
};

const Recovery = Type.Object(
  {
    reached: timestamp("Events up to this time have been processed."),
    until: timestamp("Events up to this time will be processed."),
  },
  { title: "Recovery", description: "The progress of a recovery. Null if none is under way." },
);

export const EndpointRecord = Type.Object(
  {
    id: Type.String({ examples: ["whe_01k9zs3v8mf4tb2xg1qj6n0d5c"], description: "The id of the endpoint." }),
    object: Type.Literal("webhook_endpoint"),
    environment: environmentField,
    source: nullable(
      openEnum(
        SOURCES,
        "The compatible API in whose form the endpoint is called. Null: our own form. Such an endpoint belongs to a credential of that API.",
      ),
    ),
    url: Type.String({
      examples: ["https://example.com/hooks/godwit"],
      description: "The URL that receives the events. Empty if the messages of a compatible API name their own.",
    }),
    description: nullable(Type.String({ description: "Your own description." })),
    event_types: Type.Array(Type.String({ examples: ["message.*"] }), {
      description: `The types of events that it receives: single types, \`message.*\` for all of a kind, or \`*\` for all. The types are ${EVENT_TYPES.join(", ")}.`,
    }),
    status: openEnum(ENDPOINT_STATUSES, "Whether it receives events."),
    disabled_reason: nullable(
      openEnum(
        DISABLED_REASONS,
        "Why it is disabled. `requested`: by a request. `gone`: it responded with 410. `failing`: all attempts failed for five days.",
      ),
    ),
    failing_since: nullable(timestamp("The time since which all attempts have failed. Null if the last attempt succeeded.")),
    previous_secret_until: nullable(timestamp("The time until which deliveries are also signed with the previous secret.")),
    recovery: nullable(Recovery),
    created_at: timestamp("The time of creation."),
    updated_at: timestamp("The time of the last change."),
    created_by: createdByField,
  },
  { title: "WebhookEndpoint", description: "A URL that receives events." },
);

export type EndpointRecord = Static<typeof EndpointRecord>;

/** The record with its secret, which is shown only when the secret is created. */
export const EndpointWithSecret = Type.Object(
  {
    ...EndpointRecord.properties,
    secret: Type.String({
      examples: ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"],
      description: "The secret for verifying signatures. It is shown only in this response.",
    }),
  },
  { title: "WebhookEndpointWithSecret", description: "A URL that receives events, with the secret that signs its deliveries." },
);

const timeOrNull = (timeMs: number | null): string | null => (timeMs === null ? null : isoTime(timeMs));

export function endpointRecord(endpoint: Endpoint): EndpointRecord {
  const { id, environment, source, url, description, eventTypes, status, disabledReason, failingSinceMs, recoverAfter, recoverUntil } =
    endpoint;
  return {
    id: encodeId("whe", id),
    object: "webhook_endpoint",
    environment,
    source,
    url,
    description,
    event_types: [...eventTypes],
    status,
    disabled_reason: disabledReason,
    failing_since: timeOrNull(failingSinceMs),
    previous_secret_until: timeOrNull(endpoint.previousSecretUntilMs),
    recovery:
      recoverAfter === null || recoverUntil === null
        ? null
        : { reached: isoTime(uuidTimeMs(recoverAfter)), until: isoTime(uuidTimeMs(recoverUntil)) },
    created_at: isoTime(uuidTimeMs(id)),
    updated_at: isoTime(endpoint.updatedAtMs),
    created_by: endpoint.createdBy,
  };
}

/** The fields that a change of the status changes. An endpoint that is enabled again starts without failures. */
export const statusChange = (status: EndpointStatus, reason: DisabledReason): Partial<Endpoint> =>
  status === "enabled"
    ? { status, disabledReason: null, failingSinceMs: null }
    : { status, disabledReason: reason, recoverAfter: null, recoverUntil: null };

/** The endpoint as it is created. */
export const newEndpoint = (
  fields: Omit<
    Endpoint,
    "status" | "disabledReason" | "previousSecret" | "previousSecretUntilMs" | "failingSinceMs" | "recoverAfter" | "recoverUntil"
  >,
): Endpoint => ({
  ...fields,
  status: "enabled",
  disabledReason: null,
  previousSecret: null,
  previousSecretUntilMs: null,
  failingSinceMs: null,
  recoverAfter: null,
  recoverUntil: null,
});

/** The purpose that a secret of this endpoint is sealed for: it cannot be opened as the secret of another. */
export const secretContext = ({ id }: { id: EndpointId }): string => `webhook_endpoint ${id.toString("hex")}`;
