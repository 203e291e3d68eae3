/** Imports a list of recipients that opted out elsewhere, all or none. */
import { Type, type Static } from "../http/schema.ts";
import { recordChange } from "../audit/record-change.ts";
import { encodeId } from "../model/id.ts";
import type { ChangeOrigin } from "../model/origin.ts";
import type { Tx } from "../database/database.ts";
import type { Owner } from "../model/owner.ts";
import { optOutAll, type Cause } from "./change-consent.ts";
import { pairOf, type NewSuppression } from "./new-suppression.ts";
import { inFlightField, pairName, type Pair } from "./suppression.ts";

export const ImportRecord = Type.Object(
  {
    object: Type.Literal("suppression_import"),
    added: Type.Integer({ description: "The number of suppressions that became active, each with an event." }),
    already_active: Type.Integer({ description: "The number of suppressions that were already active and are unchanged." }),
    in_flight: inFlightField(
      "The number of messages to these recipients that were `sending` when the import took effect and cannot be stopped.",
    ),
    suppression_ids: Type.Array(Type.String({ examples: ["sup_01k9zs3v8mf4tb2xg1qj6n0d5c"] }), {
      description: "The id of the suppression of each entry, in the order of the entries.",
    }),
  },
  { title: "SuppressionImport", description: "The result of an import." },
);

/** The first of several entries for the same recipient and sender counts. */
export async function importSuppressions(
  tx: Tx,
  nowMs: number,
  { credential: owner, origin }: { credential: Owner; origin: ChangeOrigin },
  entries: readonly NewSuppression[],
): Promise<Static<typeof ImportRecord>> {
  const named = entries.map((entry) => {
    const pair = pairOf(owner, entry);
    return { entry, pair, name: pairName(pair) };
  });
  const wishes = new Map<string, { pair: Pair; cause: Cause }>();
  for (const { entry, pair, name } of named)
    if (!wishes.has(name)) wishes.set(name, { pair, cause: { source: "import", note: entry.note ?? null, origin } });
  const done = await optOutAll(tx, nowMs, [...wishes.values()]);
  const added = done.filter(({ isChanged }) => isChanged).length;
  const target = { type: "suppression", id: null } as const;
  await recordChange(tx, nowMs, { ...owner, origin }, { action: "suppression.imported", target, changes: { added } });
  const ids = new Map(done.map(({ suppression }) => [pairName(suppression), encodeId("sup", suppression.id)]));
  return {
    object: "suppression_import",
    added,
    already_active: done.length - added,
    in_flight: done.reduce((sum, { inFlight }) => sum + inFlight, 0),
    suppression_ids: named.map(({ name }) => ids.get(name) as string),
  };
}
