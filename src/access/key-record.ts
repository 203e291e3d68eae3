/** The schemas of API keys: the record, whose secret is shown only once, and the bodies of requests that create and rotate a key. */
import type { Fault } from "../http/problem.ts";
import {
  environmentField,
  createdByField,
  nullable,
  oneOf,
  openEnum,
  optional,
  timeParameter,
  timestamp,
  Type,
  type Static,
} from "../http/schema.ts";
import { parseCidr } from "../lib/addresses.ts";
import { encodeId } from "../model/id.ts";
import type { KeyRow } from "./queries.ts";
import { SCOPES } from "./scope.ts";

/** A key is for few places. The database has the same limit. */
export const MAX_ALLOWED_IPS = 20;

const fields = {
  id: Type.String({ examples: ["key_01k9zs3v8mf4tb2xg1qj6n0d5c"], description: "The id of the key." }),
  object: Type.Literal("key"),
  account_id: Type.String({ description: "The id of the account." }),
  environment: environmentField,
  name: nullable(Type.String({ description: "The name of the key." })),
  hint: Type.String({ description: "The beginning of the key, to tell keys apart.", examples: ["gw_test_Ab3x…"] }),
  scopes: Type.Array(openEnum(SCOPES), { description: "The permissions of the key." }),
  created_at: timestamp("The time of creation."),
  expires_at: nullable(timestamp("The time at which the key stops working. Null if it is valid until it is revoked.")),
  revoked_at: nullable(timestamp("The time at which the key was revoked.")),
  last_used_at: nullable(timestamp("The time of the last use, to the minute.")),
  allowed_ips: nullable(
    Type.Array(Type.String(), { description: "The addresses from which the key can be used, as CIDR blocks. Null: any address." }),
  ),
  created_by: createdByField,
};

export const KeyRecord = Type.Object(fields, { title: "Key", description: "The record of an API key, without the key itself." });
export type KeyRecord = Static<typeof KeyRecord>;

export const KeyWithSecret = Type.Object(
  { key: Type.String({ description: "The API key. Store it: it is shown only in this response." }), ...fields },
  { title: "KeyWithSecret", description: "The record of an API key, with the key itself." },
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
      description: "The permissions of the key. A credential can grant only scopes that it has itself.",
    }),
    name: optional(Type.String({ minLength: 1, maxLength: 64, description: "A name, such as the service that uses the key." })),
    expires_at: timeParameter(
      "The time at which the key stops working. It cannot be later than the expiry of the credential that creates it, or than the maximum lifetime of keys in the account. Absent: as late as possible.",
    ),
    allowed_ips: optional(
      Type.Array(Type.String({ minLength: 2, maxLength: 50 }), {
        minItems: 1,
        maxItems: MAX_ALLOWED_IPS,
        description:
          "The addresses from which the key can be used, as CIDR blocks, within those of the key that creates it. Absent: the same as those.",
        examples: [["192.0.2.0/24", "2001:db8::/32"]],
      }),
    ),
  },
  { additionalProperties: false, title: "NewKey", description: "A key to create." },
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
        description: `The seconds for which the old key stays valid. Default: ${DEFAULT_OVERLAP_SECONDS} (a day).`,
      }),
    ),
  },
  { additionalProperties: false, title: "RotateKey", description: "The rotation of a key." },
);
export type RotateKey = Static<typeof RotateKeyBody>;
