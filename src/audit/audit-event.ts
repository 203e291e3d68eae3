/** An entry of the audit log: who changed what. Its actions, its record in the API and the schema of the record. */
import { nullable, openEnum, timestamp, Type, type Static } from "../http/schema.ts";
import { encodeId, type AccountId, type AuditEventId } from "../model/id.ts";
import { ACTOR_TYPES, type Actor } from "../model/origin.ts";
import { isoTime } from "../lib/time.ts";
import { uuidTimeMs } from "../lib/uuid.ts";
import type { Environment } from "../model/owner.ts";

/** The actions, by the type of their target. */
export const ACTIONS = [
  "account.created",
  "account.changed",
  "compatible_credential.created",
  "compatible_credential.revoked",
  "consent_settings.changed",
  "environment.tier_changed",
  "endpoint.created",
  "endpoint.changed",
  "endpoint.deleted",
  "endpoint.disabled",
  "endpoint.recovered",
  "endpoint.secret_rotated",
  "key.created",
  "key.rotated",
  "key.revoked",
  "link.created",
  "link.changed",
  "link.deleted",
  "link.paused",
  "link.resumed",
  "link.tested",
  "media.deleted",
  "message.assigned",
  "message.canceled",
  "message.edited",
  "message.redacted",
  "message.searched",
  "recipient.erased",
  "recipient.exported",
  "route.created",
  "route.changed",
  "route.deleted",
  "sender.created",
  "sender.changed",
  "sender.deleted",
  "signing_key.rotated",
  "suppression.created",
  "suppression.imported",
  "suppression.lifted",
  "template.archived",
  "template.created",
  "template.changed",
  "tier.changed",
] as const;
export type Action = (typeof ACTIONS)[number];

const TARGET_TYPES = [
  "account",
  "compatible_credential",
  "consent_settings",
  "environment",
  "webhook_endpoint",
  "key",
  "link",
  "media",
  "message",
  "recipient",
  "route",
  "sender",
  "signing_key",
  "suppression",
  "template",
  "tier",
] as const;

/** `id` is null if the target has none, such as an import of suppressions. A recipient has a keyed hash, since its number may be erased. */
export type Target = { type: (typeof TARGET_TYPES)[number]; id: string | null };

/** A change as its feature reports it. `changes` has the new values of what changed, and never a secret, a text or a number. */
export type AuditedChange = { action: Action; target: Target; changes?: Readonly<Record<string, unknown>> };

/** An entry as it is stored. */
export type AuditRow = {
  account_id: AccountId;
  id: AuditEventId;
  environment: Environment | null;
  actor_type: Actor["type"];
  actor_id: string | null;
  actor_name: string | null;
  action: Action;
  target_type: Target["type"];
  target_id: string | null;
  changes: Readonly<Record<string, unknown>>;
  peer: string | null;
  request_id: string | null;
};

export const AuditEventRecord = Type.Object(
  {
    id: Type.String({ examples: ["aud_01k9zs3v8mf4tb2xg1qj6n0d5c"], description: "The id of the entry." }),
    object: Type.Literal("audit_event"),
    environment: nullable(openEnum(["test", "live"], "The environment. Null for a change of the whole account.")),
    actor: Type.Object(
      {
        type: openEnum(ACTOR_TYPES, "The type of the actor. An access token is recorded with its key."),
        id: nullable(Type.String({ examples: ["key_01k9zs3v8mf4tb2xg1qj6n0d5c"], description: "The id of the key or link." })),
        name: nullable(Type.String({ description: "The name of the key, of the operator's system user, or of the link." })),
      },
      { description: "The actor that made the change." },
    ),
    action: openEnum(ACTIONS, "The kind of change."),
    target: Type.Object(
      {
        type: openEnum(TARGET_TYPES, "The type of the record."),
        id: nullable(Type.String({ description: "The id of the record. For a recipient, a keyed hash of its number." })),
      },
      { description: "The record that was changed." },
    ),
    changes: Type.Record(Type.Unsafe<unknown>({}), {
      description: "The new values. Never contains secrets, texts of messages or phone numbers.",
    }),
    peer: nullable(Type.String({ description: "The address that the request came from.", examples: ["192.0.2.7"] })),
    request_id: nullable(Type.String({ description: "The id of the request." })),
    created_at: timestamp("The time of the change."),
    hash: nullable(
      Type.String({
        description:
          "The hash that links the entry to the previous ones of the account, in hexadecimal digits. Null until the entry is sealed, moments after the change.",
      }),
    ),
  },
  { title: "AuditEvent", description: "One change and its actor." },
);
export type AuditEventRecord = Static<typeof AuditEventRecord>;

export const auditEventRecord = (row: AuditRow, hash: Buffer | null): AuditEventRecord => ({
  id: encodeId("aud", row.id),
  object: "audit_event",
  environment: row.environment,
  actor: { type: row.actor_type, id: row.actor_id, name: row.actor_name },
  action: row.action,
  target: { type: row.target_type, id: row.target_id },
  changes: { ...row.changes },
  peer: row.peer,
  request_id: row.request_id,
  created_at: isoTime(uuidTimeMs(row.id)),
  hash: hash === null ? null : hash.toString("hex"),
});
