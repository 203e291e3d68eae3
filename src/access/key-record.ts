/** An API key as the outside sees it: its secret is shown when it is made, and never again. */
import type { KeyRow } from "./queries.ts";
import { keyFields } from "./keys.ts";
import { SCOPES } from "./scope.ts";
import { nullable, openEnum, timestamp, Type, type Static } from "../http/schema.ts";

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
};

export const KeyRecord = Type.Object(fields, { title: "Key", description: "An API key." });
export type KeyRecord = Static<typeof KeyRecord>;

export const KeyWithSecret = Type.Object(
  { key: Type.String({ description: "The key itself: keep it, it is not shown again." }), ...fields },
  { title: "KeyWithSecret" },
);

export const keyRecord = (row: KeyRow): KeyRecord => ({ ...keyFields(row), object: "key" });
