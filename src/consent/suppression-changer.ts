/** The operations of clients on suppressions. Each write is one transaction with its idempotency key, its events and its response. */
import type { Credential } from "../access/authenticate.ts";
import { Problem } from "../http/problem.ts";
import type { IdempotencyClaim } from "../idempotency/key.ts";
import { Once, type Executed, type Replay, type WriteResponse } from "../idempotency/once.ts";
import { encodeId, type SuppressionId } from "../model/id.ts";
import type { ChangeOrigin } from "../model/origin.ts";
import type { Clock } from "../database/database-clock.ts";
import type { Database, Tx } from "../database/database.ts";
import { lift, optOut, shareConsent } from "./change-consent.ts";
import { importSuppressions } from "./import-suppressions.ts";
import { pairOf, type NewSuppression } from "./new-suppression.ts";
import { lockSuppression } from "./queries.ts";
import { suppressionRecord, type Suppression } from "./suppression.ts";

export type SuppressionCall = { credential: Credential; origin: () => ChangeOrigin; claim: IdempotencyClaim | undefined };

export type SuppressionChangerParts = { db: Database; clock: Clock; wakeWebhooks: () => void };

export class SuppressionChanger {
  readonly #parts: SuppressionChangerParts;
  readonly #once: Once;

  constructor(parts: SuppressionChangerParts) {
    this.#parts = parts;
    this.#once = new Once(parts.db, parts.clock);
  }

  /** Responds with 201 when the suppression became active, new or again, and with 200 when it was active. */
  add(call: SuppressionCall, request: NewSuppression): Promise<Executed | Replay> {
    return this.#write(call, async (tx) => {
      const cause = { source: "api", note: request.note ?? null, origin: call.origin() } as const;
      const { suppression, isChanged, inFlight } = await optOut(tx, this.#now(), pairOf(call.credential, request), cause);
      return {
        status: isChanged ? 201 : 200,
        location: isChanged ? `/v1/suppressions/${encodeId("sup", suppression.id)}` : null,
        body: JSON.stringify({ ...suppressionRecord(suppression), in_flight: inFlight }),
        eventId: null,
        recipient: suppression.recipient,
      };
    });
  }

  lift({ credential, origin }: Omit<SuppressionCall, "claim">, id: SuppressionId | undefined): Promise<Executed | Replay> {
    return this.#write({ credential, origin, claim: undefined }, async (tx) => {
      await shareConsent(tx, credential);
      const stored = id && (await lockSuppression(tx, credential, id));
      if (stored === undefined) throw noSuchSuppression();
      return shown(stored.isActive ? await lift(tx, this.#now(), stored, { source: "api", origin: origin() }) : stored);
    });
  }

  /** Imports all entries or none. */
  import(call: SuppressionCall, entries: readonly NewSuppression[]): Promise<Executed | Replay> {
    return this.#write(call, async (tx) => {
      const imported = await importSuppressions(tx, this.#now(), { ...call, origin: call.origin() }, entries);
      return { status: 200, location: null, body: JSON.stringify(imported), eventId: null };
    });
  }

  async #write({ credential, claim }: SuppressionCall, work: (tx: Tx) => Promise<WriteResponse>): Promise<Executed | Replay> {
    const answer = await this.#once.transaction(credential, claim, work);
    if (answer.kind === "executed") this.#parts.wakeWebhooks();
    return answer;
  }

  #now(): number {
    return this.#parts.clock.now();
  }
}

export const noSuchSuppression = (): Problem => new Problem("not_found", { detail: "no such suppression in this environment" });

const shown = (suppression: Suppression): WriteResponse => ({
  status: 200,
  location: null,
  body: JSON.stringify(suppressionRecord(suppression)),
  eventId: null,
});
