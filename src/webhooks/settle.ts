/** Stores the outcomes of deliveries, many in one commit, and disables endpoints that have failed for too long. */
import { setTimeout as sleep } from "node:timers/promises";
import { encodeId } from "../model/id.ts";
import { errorFields, reportError, type Log } from "../model/log.ts";
import type { Clock } from "../database/database-clock.ts";
import { isRowRefused, type Database } from "../database/database.ts";
import { GroupCommit, LOCK_TIMEOUT_MS } from "../database/group-commit.ts";
import { isLockRefused } from "../database/short-locks.ts";
import type { DisabledReason, Endpoint } from "./endpoint.ts";
import { disableEndpoint } from "./maintain-endpoints.ts";
import { storeSettlements, type Settlement } from "./queries.ts";

const TRIES = 4;
const AGAIN_MS = 500;
// No call waits for the outcome of another one.
const REST = { restMs: 15, restUpTo: 64 };

export type SettlerParts = {
  db: Database;
  clock: Clock;
  wakeWebhooks: () => void;
  onDisabled: (reason: DisabledReason) => void;
  /** A delivery waits for its next attempt, until that time. */
  onLater: (settlement: Settlement, dueAtMs: number) => void;
  log: Log;
};

export class Settler {
  readonly #parts: SettlerParts;
  readonly #commits: GroupCommit<Settlement, void>;
  #pending = 0;

  constructor(parts: SettlerParts) {
    this.#parts = parts;
    this.#commits = new GroupCommit({
      run: (settlements, mayWait) => this.#store(settlements, mayWait ? 0 : LOCK_TIMEOUT_MS),
      isItemFault: isRowRefused,
      isBlocked: isLockRefused,
      maxBatch: 200,
      maxWaiting: 10_000,
      maxConcurrent: 2,
      minConcurrentBatch: 64,
      maxWaitMs: 50,
      ...REST,
    });
  }

  /** Settlements that are not committed yet. */
  get pending(): number {
    return this.#pending;
  }

  settle(settlement: Settlement): void {
    this.#pending += 1;
    void this.#submit(settlement).finally(() => {
      this.#pending -= 1;
    });
  }

  async disable({ accountId, environment, id }: Pick<Endpoint, "accountId" | "environment" | "id">, reason: DisabledReason): Promise<void> {
    const { db, clock, wakeWebhooks, onDisabled, log } = this.#parts;
    if (!(await disableEndpoint(db, clock, { accountId, environment, id }, reason))) return;
    onDisabled(reason);
    log.warn({ event: "webhooks.endpoint_disabled", endpoint: encodeId("whe", id), reason }, "an endpoint was disabled");
    wakeWebhooks();
  }

  /** Waits for a database that is briefly unavailable. If that takes longer, the lease expires and the delivery is due again. */
  async #submit(settlement: Settlement): Promise<void> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await this.#commits.submit(settlement);
      } catch (error) {
        if (tries === TRIES || isRowRefused(error)) {
          const { log } = this.#parts;
          return log.error(
            { event: "webhooks.settle_failed", ...errorFields(error) },
            "the result of a webhook delivery could not be stored",
          );
        }
        await sleep(AGAIN_MS * tries);
      }
    }
  }

  async #store(settlements: readonly Settlement[], lockTimeoutMs: number): Promise<void[]> {
    const nowMs = this.#parts.clock.now();
    const failing = await storeSettlements(this.#parts.db, settlements, nowMs, lockTimeoutMs);
    for (const settlement of settlements) {
      const { outcome, delayMs } = settlement;
      if (outcome === "later" && delayMs !== null) this.#parts.onLater(settlement, nowMs + delayMs);
    }
    for (const { account_id: accountId, environment, endpoint_id: id } of failing) {
      void this.disable({ accountId, environment, id }, "failing").catch(
        reportError(this.#parts.log, "webhooks.disable_failed", "a failing endpoint could not be disabled"),
      );
    }
    return settlements.map(() => undefined);
  }
}
