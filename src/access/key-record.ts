/** The schemas of API keys: the record, whose secret is shown only once, and the bodies of requests that create and rotate a key. */
import type { Fault } from "../http/problem.ts";
import { createdByField, nullable, oneOf, openEnum, optional, timeParameter, timestamp, Type, type Static } from "../http/schema.ts";
import { parseCidr } from "../lib/addresses.ts";
import { encodeId } from "../lib/id.ts";
import type { KeyRow } from "./queries.ts";
import { SCOPES } from "./scope.ts";

/** A key is for few places. The database has the same limit. */
export const MAX_ALLOWED_IPS = 20;

const fields = {
  id: Type.String({ examples: ["key_01k9zs3v8mf4tb2xg1qj6n0d5c"] }),
  object: Type.Literal("key"),
  account_id: Type.String(),
  environment: openEnum(["test", "live"]),
  name: nullable(Type.String({ description: "For people." })),
  hint: Type.String({ description: "How the key begins, by which people tell keys apart.", examples: ["gw_test_Ab3x…"] }),
  scopes: Type.Array(openEnum(SCOPES)),
  created_at: timestamp("When it was made."),
  expires_at: nullable(timestamp("When it stops working; null when it lives until it is revoked.")),
  revoked_at: nullable(timestamp("When it was revoked.")),
  last_used_at: nullable(timestamp("When it was last used, to the minute.")),
  allowed_ips: nullable(Type.Array(Type.String(), { description: "The addresses from which it can be used. Null: any address." })),
  created_by: createdByField,
};

export const KeyRecord = Type.Object(fields, { title: "Key", description: "An API key." });
export type KeyRecord = Static<typeof KeyRecord>;

export const KeyWithSecret = Type.Object(
  { key: Type.String({ description: "The key itself: keep it, it is not shown again." }), ...fields },
  { title: "KeyWithSecret" },
);

export const keyRecord = (key: KeyRow): KeyRecord => ({
  id: encodeId("key", key.id),
  object: "key",
  account_id: encodeId("acct", key.account_id),
  environment: key.environment,
  name: key.name,
  hint: key.hint,
  scopes: key.scopes,
  created_at: key.created_at.toISOString(),
  expires_at: key.expires_at?.toISOString() ?? null,
  revoked_at: key.revoked_at?.toISOString() ?? null,
  last_used_at: key.last_used_at?.toISOString() ?? null,
  allowed_ips: key.allowed_ips,
  created_by: key.created_by,
});

export const NewKeyBody = Type.Object(
  {
    scopes: Type.Array(oneOf(SCOPES), {
      minItems: 1,
      maxItems: SCOPES.length,
      uniqueItems: true,
      description: "What the key may do: at most what the credential that makes it may do.",
    }),
    name: optional(Type.String({ minLength: 1, maxLength: 64, description: "For people." })),
    expires_at: timeParameter(
      "When it stops working: not after the credential that creates it, and not after the longest life of the account's keys. Without it, as late as possible.",
    ),
    allowed_ips: optional(
      Type.Array(Type.String({ minLength: 2, maxLength: 50 }), {
        minItems: 1,
        maxItems: MAX_ALLOWED_IPS,
        description:
          "The addresses from which it can be used, as CIDR blocks: within those of the key that creates it. Without it, the same as those.",
        examples: [["192.0.2.0/24", "2001:db8::/32"]],
      }),
    ),
  },
  { additionalProperties: false, title: "NewKey" },
);
export type NewKey = Static<typeof NewKeyBody>;

export function checkNewKey({ expires_at: expiresAt, allowed_ips: allowedIps }: Readonly<Record<string, unknown>>): Fault[] {
  return [...pastFaults(expiresAt), ...(Array.isArray(allowedIps) ? blockFaults(allowedIps.slice(0, MAX_ALLOWED_IPS)) : [])];
}

/** A key that has expired before its creation is a mistake. */
function pastFaults(expiresAt: unknown): Fault[] {
  if (typeof expiresAt !== "string" || Date.parse(expiresAt) > Date.now()) return [];
  return [{ pointer: "/expires_at", code: "in_the_past", detail: "must be an RFC 3339 time in the future" }];
}

const blockFaults = (blocks: readonly unknown[]): Fault[] =>
  blocks.flatMap((block, index) =>
    typeof block === "string" && parseCidr(block) === undefined
      ? [{ pointer: `/allowed_ips/${index}`, code: "invalid_format", detail: "must be an address or a CIDR block such as 192.0.2.0/24" }]
      : [],
  );

const DAY_SECONDS = 86_400;
export const DEFAULT_OVERLAP_SECONDS = DAY_SECONDS;
const MAX_OVERLAP_SECONDS = 30 * DAY_SECONDS;

export const RotateKeyBody = Type.Object(
  {
    overlap_seconds: optional(
      Type.Integer({
        minimum: 0,
        maximum: MAX_OVERLAP_SECONDS,
        description: `How long the old key goes on working. Default ${DEFAULT_OVERLAP_SECONDS}: a day.`,
      }),
    ),
  },
  { additionalProperties: false, title: "RotateKey" },
);
export type RotateKey = Static<typeof RotateKeyBody>;
