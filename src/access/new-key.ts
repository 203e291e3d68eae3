/** What a request may say of a key: which one is made, and how one is rotated. */
import { SCOPES } from "./scope.ts";
import type { Fault } from "../http/problem.ts";
import { oneOf, optional, timeParameter, Type, type Static } from "../http/schema.ts";

export const NewKeyBody = Type.Object(
  {
    scopes: Type.Array(oneOf(SCOPES), {
      minItems: 1,
      maxItems: SCOPES.length,
      uniqueItems: true,
      description: "What the key may do: at most what the credential that makes it may do.",
    }),
    name: optional(Type.String({ minLength: 1, maxLength: 64, description: "For people." })),
    expires_at: timeParameter("When it stops working. Never later than the key that makes it; without it, together with that one."),
  },
  { additionalProperties: false, title: "NewKey" },
);
export type NewKey = Static<typeof NewKeyBody>;

/** A key that is over before it begins is a mistake. */
export function checkNewKey({ expires_at: expiresAt }: Readonly<Record<string, unknown>>): Fault[] {
  if (typeof expiresAt !== "string" || Date.parse(expiresAt) > Date.now()) return [];
  return [{ pointer: "/expires_at", code: "in_the_past", detail: "must be an RFC 3339 time in the future" }];
}

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
