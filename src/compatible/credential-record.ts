/** The schemas of the credentials of compatible APIs: the record, whose secret is shown only once, and the body of a request that creates
 *  a credential. */
import { SCOPES } from "../access/scope.ts";
import { createdByField, environmentField, nullable, oneOf, openEnum, optional, timestamp, Type, type Static } from "../http/schema.ts";
import { isoTime } from "../lib/time.ts";
import { uuidTimeMs } from "../lib/uuid.ts";
import { SOURCES } from "../messages/message.ts";
import { encodeId, toId } from "../model/id.ts";
import { MAX_SECRET, MAX_USER_NAME } from "./authenticate.ts";
import type { CompatibleRow } from "./queries.ts";

// As long as a URL may be.
const MAX_SETTING = 2_048;

const settingsOf = (description: string) =>
  Type.Record(Type.String({ maxLength: MAX_SETTING }), {
    maxProperties: 20,
    propertyNames: Type.String({ minLength: 1, maxLength: 40 }),
    description,
  });

const fields = {
  id: Type.String({ examples: ["key_01k9zs3v8mf4tb2xg1qj6n0d5c"], description: "The id of the credential." }),
  object: Type.Literal("compatible_credential"),
  account_id: Type.String({ description: "The id of the account." }),
  environment: environmentField,
  source: openEnum(SOURCES, "The API that the credential is for."),
  user_name: Type.String({ description: "The user name with which the client signs in." }),
  scopes: Type.Array(openEnum(SCOPES), { description: "The permissions of the credential." }),
  settings: settingsOf("The settings of the API for this client."),
  endpoint_id: Type.String({ description: "The id of the webhook endpoint that records the callbacks to this client." }),
  created_at: timestamp("The time of creation."),
  revoked_at: nullable(timestamp("The time at which the credential was revoked.")),
  last_used_at: nullable(timestamp("The time of the last use, to the minute.")),
  created_by: createdByField,
};

export const CompatibleCredentialRecord = Type.Object(fields, {
  title: "CompatibleCredential",
  description: "A user name and a password for an API that is compatible with that of another product.",
});
type CompatibleCredentialRecord = Static<typeof CompatibleCredentialRecord>;

export const CompatibleCredentialWithSecret = Type.Object(
  { secret: Type.String({ description: "The password. Store it: it is shown only in this response." }), ...fields },
  { title: "CompatibleCredentialWithSecret", description: "A credential of a compatible API, with its password." },
);

export const credentialRecord = (row: CompatibleRow): CompatibleCredentialRecord => ({
  id: encodeId("key", row.id),
  object: "compatible_credential",
  account_id: encodeId("acct", row.account_id),
  environment: row.environment,
  source: row.source,
  user_name: row.user_name,
  scopes: row.scopes,
  settings: row.settings,
  endpoint_id: encodeId("whe", toId("whe", row.id)),
  created_at: isoTime(uuidTimeMs(row.id)),
  revoked_at: row.revoked_at?.toISOString() ?? null,
  last_used_at: row.last_used_at?.toISOString() ?? null,
  created_by: row.created_by,
});

export const NewCredentialBody = Type.Object(
  {
    source: oneOf(SOURCES, { description: "The API that the credential is for." }),
    user_name: optional(
      Type.String({
        minLength: 1,
        maxLength: MAX_USER_NAME,
        pattern: "^[!-~]+$",
        description: "The user name, which no other credential of the service may have. Absent: the API chooses it, if it can.",
      }),
    ),
    secret: optional(
      Type.String({ minLength: 8, maxLength: MAX_SECRET, pattern: "^[!-~]+$", description: "The password. Absent: a random one." }),
    ),
    scopes: optional(
      Type.Array(oneOf(SCOPES), {
        minItems: 1,
        maxItems: SCOPES.length,
        uniqueItems: true,
        description: "The permissions. A credential can grant only scopes that it has itself. Absent: those that the API needs.",
      }),
    ),
    settings: optional(settingsOf("The settings of the API for this client. Each API has its own.")),
  },
  { additionalProperties: false, title: "NewCompatibleCredential", description: "A credential of a compatible API to create." },
);
export type NewCredential = Static<typeof NewCredentialBody>;
