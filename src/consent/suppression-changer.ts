/** The operations of clients on suppressions. Each write is one transaction with its idempotency key, its events and its response. */
import { jsonResponse } from "../http/json-response.ts";
import { Problem } from "../http/problem.ts";
import { Once, type AuditedCall, type Executed, type Replay } from "../idempotency/once.ts";
import { encodeId, type SuppressionId } from "../model/id.ts";
import type { ChangeOrigin } from "../model/origin.ts";
import type { Clock } from "../database/database-clock.ts";
import type { Database, Tx } from "../database/database.ts";
import { Type, type Static } from "../http/schema.ts";
import { recordChange } from "../audit/record-change.ts";
import type { Owner } from "../model/owner.ts";
import { lift, optOut, shareConsent, optOutAll, type Cause } from "./change-consent.ts";
import { pairOf, type NewSuppression } from "./new-suppression.ts";
import { lockSuppression } from "./queries.ts";
import { suppressionRecord, inFlightField, pairName, type Pair } from "./suppression.ts";

type SuppressionCall = Pick<AuditedCall, "credential" | "origin" | "claim">;

type SuppressionChangerParts = { db: Database; clock: Clock; wakeWebhooks: () => void };

export class SuppressionChanger {
  readonly #parts: SuppressionChangerParts;
  readonly #once: Once;

  constructor(parts: SuppressionChangerParts) {
    this.#parts = parts;
    this.#once = new Once(parts.db, parts.clock, undefined, parts.wakeWebhooks);
  }

  /** Responds with 201 when the suppression became active, new or again, and with 200 when it was active. */
  add(call: SuppressionCall, request: NewSuppression): Promise<Executed | Replay> {
    return this.#once.transaction(call.credential, call.claim, async (tx) => {
      const cause = { source: "api", note: request.note ?? null, origin: call.origin() } as const;
      const { suppression, isChanged, inFlight } = await optOut(tx, this.#now(), pairOf(call.credential, request), cause);
      return {
        status: isChanged ? 201 : 200,
        location: isChanged ? `/v1/suppressions/${encodeId("sup", suppression.id)}` : null,
        body: JSON.stringify({ ...suppressionRecord(suppression), in_flight: inFlight }),
        recipient: suppression.recipient,
      };
    });
  }

  lift({ credential, origin }: Omit<SuppressionCall, "claim">, id: SuppressionId | undefined): Promise<Executed | Replay> {
    return this.#once.transaction(credential, undefined, async (tx) => {
      await shareConsent(tx, credential);
      const stored = id && (await lockSuppression(tx, credential, id));
      if (stored === undefined) throw noSuchSuppression();
      return jsonResponse(
        suppressionRecord(stored.isActive ? await lift(tx, this.#now(), stored, { source: "api", origin: origin() }) : stored),
      );
    });
  }

  import(call: SuppressionCall, entries: readonly NewSuppression[]): Promise<Executed | Replay> {
    return this.#once.transaction(call.credential, call.claim, async (tx) => {
      return jsonResponse(await importSuppressions(tx, this.#now(), { ...call, origin: call.origin() }, entries));
    });
  }

  #now(): number {
    return this.#parts.clock.now();
  }
}

export const noSuchSuppression = (): Problem => new Problem("not_found", { detail: "no such suppression in this environment" });

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

/** Imports a list of recipients that opted out elsewhere, all or none. The first of several entries for the same recipient and sender
 *  counts. */
async function importSuppressions(
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
