/** An endpoint: a URL of a customer that receives events. Its statuses, its record in the API and the schema of the record. */
import { EVENT_TYPES } from "../events/event.ts";
import { createdByField, nullable, openEnum, timestamp, Type, type Static } from "../http/schema.ts";
import { encodeId, type AccountId, type EndpointId } from "../lib/id.ts";
import { isoTime } from "../lib/time.ts";
import { uuidTimeMs, type Uuid } from "../lib/uuid.ts";
import type { Environment } from "../storage/owner.ts";

export const ENDPOINT_STATUSES = ["enabled", "disabled"] as const;
export type EndpointStatus = (typeof ENDPOINT_STATUSES)[number];

/** Why an endpoint is disabled: a client requested it, it responded with 410, or all attempts failed for days. */
const DISABLED_REASONS = ["requested", "gone", "failing"] as const;
export type DisabledReason = (typeof DISABLED_REASONS)[number];

/** Endpoints of one environment. The transaction of an event matches it against all of them. */
export const MAX_ENDPOINTS_EACH = 250;

export type Endpoint = {
  accountId: AccountId;
  environment: Environment;
  id: EndpointId;
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
    reached: timestamp("Events up to here have been looked through."),
    until: timestamp("Events up to here will be."),
  },
  { title: "Recovery", description: "A recovery that is under way." },
);

export const EndpointRecord = Type.Object(
  {
    id: Type.String({ examples: ["whe_01k9zs3v8mf4tb2xg1qj6n0d5c"] }),
    object: Type.Literal("webhook_endpoint"),
    environment: openEnum(["test", "live"]),
    url: Type.String({ examples: ["https://example.com/hooks/godwit"] }),
    description: nullable(Type.String()),
    event_types: Type.Array(Type.String({ examples: ["message.*"] }), {
      description: `What it is told of: types, \`message.*\` for all of a kind, \`*\` for all. Types today: ${EVENT_TYPES.join(", ")}.`,
    }),
    status: openEnum(ENDPOINT_STATUSES),
    disabled_reason: nullable(
      openEnum(DISABLED_REASONS, "`requested` by you, `gone`: it answered 410, `failing`: nothing but failures for five days."),
    ),
    failing_since: nullable(timestamp("Since when there has been nothing but failures. Null when the last delivery succeeded.")),
    previous_secret_until: nullable(timestamp("Until when deliveries are also signed by the secret before the last rotation.")),
    recovery: nullable(Recovery),
    created_at: timestamp("When it was made."),
    updated_at: timestamp("When it was last changed."),
    created_by: createdByField,
  },
  { title: "WebhookEndpoint", description: "A URL that is told of events." },
);

export type EndpointRecord = Static<typeof EndpointRecord>;

/** The record with its secret, which is shown only when the secret is created. */
export const EndpointWithSecret = Type.Object(
  {
    ...EndpointRecord.properties,
    secret: Type.String({ examples: ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"], description: "Shown once." }),
  },
  { title: "WebhookEndpointWithSecret", description: "A URL that is told of events, with the secret that its deliveries are signed by." },
);

const timeOrNull = (timeMs: number | null): string | null => (timeMs === null ? null : isoTime(timeMs));

export function endpointRecord(endpoint: Endpoint): EndpointRecord {
  const { id, environment, url, description, eventTypes, status, disabledReason, failingSinceMs, recoverAfter, recoverUntil } = endpoint;
  return {
    id: encodeId("whe", id),
    object: "webhook_endpoint",
    environment,
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

/** The purpose that a secret of this endpoint is sealed for: it cannot be opened as the secret of another. */
export const secretContext = ({ id }: { id: EndpointId }): string => `webhook_endpoint ${id.toString("hex")}`;
