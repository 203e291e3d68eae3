/** Parked receipts: receipts whose message is not known yet. A receipt may arrive before the response with its carrier id is stored, or at
 *  another node. It is applied when the id becomes known. A receipt with an id in another form is tried again from time to time. */
import { setTimeout as sleep } from "node:timers/promises";
import { nullable, oneOf, optional, Type } from "../http/schema.ts";
import { compile } from "../http/validate.ts";
import { errorFields } from "../model/log.ts";
import type { CarrierId } from "../messages/change.ts";
import { RECEIPT_IDS, RECEIPT_STATUSES, type Receipt } from "../providers/provider.ts";
import { isDatabaseTrouble } from "../database/database.ts";
import type { DeliveryContext } from "./context.ts";
import { referenceOf } from "./match-receipts.ts";
import { deleteParked, findDueParked, findParked, parkReceipts, retryParkedLater, type ParkedRow } from "./receipt-queries.ts";

// The limit of one statement. A carrier may send more receipts at once.
export const MAX_BATCH = 200;
const MATCH_EVERY_MS = 50;
const MATCH_RETRY_MS = 500;

// By then the node that stored the carrier id has applied the parked receipts itself, unless it stopped before.
const FIRST_RETRY_MS = 2_000;
const MAX_RETRY_MS = 3_600_000;
// A receipt that is unmatched for so long is not early. Each wait is as long as the time before it, so this happens once to a receipt.
const WARN_AFTER_MS = 60_000;

// After the receipt is deleted (retention/old-rows.ts).
const NEVER_MS = 30 * 24 * 3_600_000;

const text = Type.String({ maxLength: 1_000_000 });
const texts = Type.Array(text, { maxItems: 1_000 });
const checkStored = compile(
  Type.Object({
    providerMessageId: nullable(text),
    reference: nullable(text),
    status: oneOf(RECEIPT_STATUSES),
    error: nullable(Type.Object({ code: text, message: text, providerCode: nullable(text), isPermanent: Type.Boolean() })),
    raw: Type.Record(text, { maxProperties: 10_000 }),
    partIds: optional(texts),
    idForm: optional(oneOf(RECEIPT_IDS)),
    addresses: optional(texts),
    unmarkedFrom: optional(texts),
  }),
  "body",
);

/** Applies receipts, and returns those whose message is not known. */
type Apply = (link: string, receipts: readonly Receipt[]) => Promise<readonly Receipt[]>;

export class ParkedReceipts {
  readonly #context: DeliveryContext;
  readonly #apply: Apply;
  /** Carrier ids that have become known since parked receipts were last matched. */
  readonly #newIds: CarrierId[] = [];
  #matching: Promise<void> | undefined;
  #isStopped = false;
  /** The keys of the receipts that this node is parking. */
  readonly #parking = new Set<string>();
  #applying: Promise<unknown> = Promise.resolve();

  constructor(context: DeliveryContext, apply: Apply) {
    this.#context = context;
    this.#apply = apply;
  }

  /** Parks receipts, then looks for their messages once more. A node that stores a carrier id does it in the opposite order, so that one of
   *  the two sees the other. Until then no other task of this node applies the parked receipts, so that none is applied twice. */
  async park(link: string, receipts: readonly Receipt[]): Promise<void> {
    const { db, clock, watch } = this.#context;
    const keys = receipts.flatMap((receipt) => keysOf(link, receipt));
    const receivedAtMs = clock.now();
    for (const key of keys) this.#parking.add(key);
    try {
      await parkReceipts(
        db,
        receipts.flatMap((receipt) => {
          const retryAtMs = receipt.idForm === undefined ? null : receivedAtMs + FIRST_RETRY_MS;
          return rowsOf(link, receipt).map((row) => ({ ...row, receipt: JSON.stringify(receipt), receivedAtMs, retryAtMs }));
        }),
      );
      const unmatched = await this.#apply(link, receipts);
      await this.#unpark(
        link,
        receipts.filter((receipt) => !unmatched.includes(receipt)),
      );
      // A repeated receipt is parked already. Every other one was written by a commit of this node.
      await db.confirmRead();
      watch.parked(link, unmatched.length);
    } finally {
      for (const key of keys) this.#parking.delete(key);
    }
  }

  /** Applies the receipts that are parked for new carrier ids, soon. */
  idsStored(ids: readonly CarrierId[]): void {
    this.#newIds.push(...ids);
    if (!this.#isStopped) this.#matching ??= this.#matchSoon();
  }

  /** Applies parked receipts whose carrier id is known, because the node that stored the id stopped before it applied them, and tries those
   *  again whose time has come. Returns the number of applied receipts. */
  async applyDue(): Promise<number> {
    const nowMs = this.#context.clock.now();
    return this.#applyParked(() => findDueParked(this.#context.db, { nowMs, untilMs: nowMs - FIRST_RETRY_MS, max: MAX_BATCH }));
  }

  /** Resolves when no carrier id is left to match. */
  async settled(): Promise<void> {
    while (this.#matching !== undefined) await this.#matching;
  }

  /** Stops matching, before the database is closed. Other nodes find the receipts that stay parked. */
  stop(): void {
    this.#isStopped = true;
  }

  /** Matches new carrier ids with parked receipts. Every accepted message has a carrier id and very few have a parked receipt, so many ids
   *  share one query. */
  async #matchSoon(): Promise<void> {
    await sleep(MATCH_EVERY_MS);
    const ids = this.#newIds.splice(0, MAX_BATCH);
    try {
      await this.#applyParked(() => findParked(this.#context.db, ids));
    } catch (error) {
      this.#context.log.error({ event: "delivery.receipt_match_failed", ...errorFields(error) }, "parked receipts could not be matched");
      // Retried only if a retry can help. Other receipts are matched when the carrier repeats them.
      if (isDatabaseTrouble(error)) this.#newIds.unshift(...ids);
      await sleep(MATCH_RETRY_MS);
    } finally {
      this.#matching = this.#newIds.length > 0 && !this.#isStopped ? this.#matchSoon() : undefined;
    }
  }

  /** Applies the parked receipts that `find` returns, and returns the number of matched ones. Calls run one after the other: two that found
   *  the same receipt would apply it twice. */
  #applyParked(find: () => Promise<ParkedRow[]>): Promise<number> {
    const turn = this.#applying.then(async () => {
      let matched = 0;
      for (const row of await find()) if (await this.#tryApply(row)) matched += 1;
      return matched;
    });
    // The caller gets the error; the next turn only waits for the end of this one.
    this.#applying = turn.catch(() => undefined);
    return turn;
  }

  /** A receipt that cannot be applied delays no other. One that cannot be read, because another release or a person has written it, is not
   *  tried again. */
  async #tryApply(row: ParkedRow): Promise<boolean> {
    const [fault] = checkStored(row.receipt);
    try {
      if (fault === undefined) return await this.#applyOne(row.link, row.receipt as Receipt, row.received_at);
      const where = "pointer" in fault ? `${fault.pointer} ` : "";
      await this.#putOff(row, NEVER_MS, new Error(`the receipt cannot be read: ${where}${fault.detail}`));
    } catch (error) {
      if (isDatabaseTrouble(error)) throw error;
      await this.#putOff(row, MAX_RETRY_MS, error);
    }
    return false;
  }

  async #putOff({ link, provider_message_id: providerMessageId, status }: ParkedRow, ms: number, error: unknown): Promise<void> {
    const { db, clock, log } = this.#context;
    log.error({ event: "delivery.receipt_match_failed", link, ...errorFields(error) }, "a parked receipt could not be applied");
    await retryParkedLater(db, [{ link, providerMessageId, status }], clock.now() + ms);
  }

  async #applyOne(link: string, receipt: Receipt, receivedAt: Date): Promise<boolean> {
    const { db, clock, log } = this.#context;
    // `park` looks for the message of this receipt itself. Should it miss the message, `applyDue` finds the receipt later.
    const isBeingParked = (): boolean => keysOf(link, receipt).some((key) => this.#parking.has(key));
    if (isBeingParked()) return false;
    // The task that parked the receipt may have applied it meanwhile.
    const still = await findParked(db, rowsOf(link, receipt));
    if (isBeingParked() || !still.some(({ status }) => status === receipt.status)) return false;
    if ((await this.#apply(link, [receipt])).length === 0) {
      await this.#unpark(link, [receipt]);
      return true;
    }
    const ageMs = clock.now() - receivedAt.getTime();
    if (ageMs >= WARN_AFTER_MS && ageMs < 2 * WARN_AFTER_MS) {
      const facts = { event: "delivery.receipt_unmatched", link, provider_message_id: receipt.providerMessageId } as const;
      log.warn(facts, "a receipt matches no message, more than one, or one to another phone: it stays parked");
    }
    await retryParkedLater(db, rowsOf(link, receipt), clock.now() + Math.min(MAX_RETRY_MS, Math.max(FIRST_RETRY_MS, ageMs)));
    return false;
  }

  async #unpark(link: string, receipts: readonly Receipt[]): Promise<void> {
    if (receipts.length > 0)
      await deleteParked(
        this.#context.db,
        receipts.flatMap((receipt) => rowsOf(link, receipt)),
      );
  }
}

/** A receipt is parked by its carrier id and by our message id, as far as it has them. */
const rowsOf = (link: string, receipt: Receipt): (CarrierId & { status: string })[] =>
  [...(receipt.providerMessageId === null ? [] : [receipt.providerMessageId]), ...referenceOf(receipt)].map((providerMessageId) => ({
    link,
    providerMessageId,
    status: receipt.status,
  }));

const keysOf = (link: string, receipt: Receipt): string[] =>
  rowsOf(link, receipt).map(({ status, providerMessageId }) => `${link} ${status} ${providerMessageId}`);
