/** What carriers say later. A receipt finds its message by the name the carrier gave it, or by ours where the carrier gives it
 *  back, within its link. One that comes before its name is known is parked, and taken up when the name appears. */
import { setTimeout as sleep } from "node:timers/promises";
import { decodeId, encodeId, idKey } from "../lib/id.ts";
import { errorFields, type Log } from "../lib/log.ts";
import type { Advancer } from "../messages/advance.ts";
import { changeBy, noteOn, type Change, type Signal } from "../messages/change.ts";
import type { Message } from "../messages/message.ts";
import { applyToPart } from "../messages/parts.ts";
import type { Receipt } from "../providers/provider.ts";
import { findForgotten, findParked, forgetParked, parkReceipts, type ParkedRow } from "./receipt-queries.ts";
import type { CarrierId, ProviderReference } from "../messages/provider-reference.ts";
import { isDatabaseTrouble, type Database } from "../storage/database.ts";
import type { Tracing } from "../tracing/tracing.ts";
import type { DeliveryWatch } from "./watch.ts";
import { findByCarrierIds, readMessages, type MatchedMessage } from "./queries.ts";
import { RecentMessages } from "./recent-messages.ts";

// Statements take so many at a time; a carrier may hand us more.
const MAX_BATCH = 200;
const MAX_ROUNDS = 20;
const LOOK_EVERY_MS = 50;
const LOOK_AGAIN_MS = 500;

export type ReceiptsParts = {
  db: Database;
  advancer: Advancer;
  wakeWebhooks: () => void;
  watch: DeliveryWatch;
  receiptWaitMs: number;
  log: Log;
  tracing?: Tracing | undefined;
};

export class Receipts {
  readonly #parts: ReceiptsParts;
  readonly #recent = new RecentMessages();
  /** Names that have become known since it was last looked whether something is parked for them. */
  readonly #fresh: CarrierId[] = [];
  #looking: Promise<void> | undefined;
  #isStopped = false;
  /** Receipts that are being parked. */
  readonly #parking = new Set<string>();
  #takingUp: Promise<unknown> = Promise.resolve();

  constructor(parts: ReceiptsParts) {
    this.#parts = parts;
  }

  /** Resolves when every one of them is committed, as a change, an ignored entry, or parked. */
  async receive(link: string, receipts: readonly Receipt[]): Promise<void> {
    for (let from = 0; from < receipts.length; from += MAX_BATCH) {
      const batch = receipts.slice(from, from + MAX_BATCH);
      const unmatched = await this.#apply(link, batch);
      if (unmatched.length === 0) continue;
      await this.#park(link, unmatched);
    }
  }

  /** Parked first, then looked for again: whoever makes the name known does it in the opposite order, so one of the two sees the
   *  other. Until that is done nobody else in this process takes them up, or a receipt would be worked in twice. */
  async #park(link: string, receipts: readonly Receipt[]): Promise<void> {
    const keys = receipts.flatMap((receipt) => keysOf(link, receipt));
    for (const key of keys) this.#parking.add(key);
    try {
      await parkReceipts(
        this.#parts.db,
        receipts.flatMap((receipt) =>
          carrierIds(link, receipt).map((name) => ({ ...name, status: receipt.status, receipt: JSON.stringify(receipt) })),
        ),
      );
      const unmatched = await this.#apply(link, receipts);
      await this.#unpark(
        link,
        receipts.filter((receipt) => !unmatched.includes(receipt)),
      );
      this.#parts.watch.parked(link, unmatched.length);
    } finally {
      for (const key of keys) this.#parking.delete(key);
    }
  }

  /** A name became known with this change, which is committed: what was parked for it will be taken up. */
  referenceStored({ reference, after }: Change): void {
    if (reference === null) return;
    const { link, providerMessageId, furtherPartIds = [] } = reference;
    // Of a message in parts each receipt is worked in under its lock, and what is remembered of it would be out of date.
    if (furtherPartIds.length === 0) this.#recent.remember(reference, after);
    this.#fresh.push(...[providerMessageId, ...furtherPartIds].map((name) => ({ link, providerMessageId: name })));
    if (!this.#isStopped) this.#looking ??= this.#lookSoon();
  }

  /** Whoever makes a name known looks for what is parked under it, and may end before it does: then anybody takes it up.
   *  Returns how many there were. */
  async takeUpForgotten(): Promise<number> {
    return this.#takeUp(() => findForgotten(this.#parts.db, MAX_BATCH));
  }

  /** Resolves when nothing is left to look for. */
  async settled(): Promise<void> {
    while (this.#looking !== undefined) await this.#looking;
  }

  /** Nothing is looked for any more: the database is about to go. Whoever is left finds what was parked. */
  stop(): void {
    this.#isStopped = true;
  }

  /** Every message that a carrier takes has a name to look for, and hardly any has a receipt parked: many share a look. */
  async #lookSoon(): Promise<void> {
    await sleep(LOOK_EVERY_MS);
    const names = this.#fresh.splice(0, MAX_BATCH);
    try {
      await this.#takeUp(() => findParked(this.#parts.db, names));
    } catch (error) {
      this.#parts.log.error({ event: "delivery.receipt_match_failed", ...errorFields(error) }, "parked receipts could not be matched");
      // Tried again while it can help; what is not, is found when the carrier repeats itself.
      if (isDatabaseTrouble(error)) this.#fresh.unshift(...names);
      await sleep(LOOK_AGAIN_MS);
    } finally {
      this.#looking = this.#fresh.length > 0 && !this.#isStopped ? this.#lookSoon() : undefined;
    }
  }

  /** One after the other: two that found the same receipt would work it in twice. Returns how many were found. */
  #takeUp(find: () => Promise<ParkedRow[]>): Promise<number> {
    const turn = this.#takingUp.then(async () => {
      const parked = await find();
      for (const row of parked) await this.#takeUpOne(row);
      return parked.length;
    });
    // The caller gets the error; the next turn only waits for the end of this one.
    this.#takingUp = turn.catch(() => undefined);
    return turn;
  }

  async #takeUpOne({ link, receipt: parked }: ParkedRow): Promise<void> {
    const receipt = parked as Receipt;
    // What is being parked just now is found by the next look for what was forgotten, if its own look has missed it.
    const isBeingParked = (): boolean => keysOf(link, receipt).some((key) => this.#parking.has(key));
    if (isBeingParked()) return;
    // Whoever parked it may have worked it in since it was found.
    const still = await findParked(this.#parts.db, carrierIds(link, receipt));
    if (isBeingParked() || !still.some(({ receipt: other }) => (other as Receipt).status === receipt.status)) return;
    await this.#apply(link, [receipt]);
    await this.#unpark(link, [receipt]);
  }

  async #unpark(link: string, receipts: readonly Receipt[]): Promise<void> {
    if (receipts.length === 0) return;
    await forgetParked(
      this.#parts.db,
      receipts.flatMap((receipt) => carrierIds(link, receipt).map((name) => ({ ...name, status: receipt.status }))),
    );
  }

  /** Works the receipts in, in their order for each message; returns those of which nobody knows the message. */
  async #apply(link: string, receipts: readonly Receipt[]): Promise<Receipt[]> {
    const found = await this.#match(link, receipts);
    const unmatched: Receipt[] = [];
    const byMessage = new Map<string, { message: Message; receipts: { receipt: Receipt; part: number | null }[] }>();
    for (const [place, receipt] of receipts.entries()) {
      const named = found.get(place);
      if (named === undefined) {
        unmatched.push(receipt);
        continue;
      }
      const { message, part } = named;
      const id = idKey(message.id);
      const group = byMessage.get(id) ?? { message, receipts: [] };
      group.receipts.push({ receipt, part });
      byMessage.set(id, group);
    }
    await Promise.all(Array.from(byMessage.values(), (group) => this.#workIn(link, group.message, group.receipts)));
    return unmatched;
  }

  /** By the carrier's name where there is one, by ours otherwise; from memory where it was this process that sent it. */
  async #match(link: string, receipts: readonly Receipt[]): Promise<Map<number, MatchedMessage>> {
    const messages = new Map<number, MatchedMessage>();
    const asked: { name: CarrierId; place: number }[] = [];
    receipts.forEach((receipt, place) => {
      const names = carrierIds(link, receipt);
      const known = names.map((name) => this.#recent.find(name)).find((message) => message !== undefined);
      if (known !== undefined) messages.set(place, { message: known, part: null });
      else asked.push(...names.map((name) => ({ name, place })));
    });
    if (asked.length === 0) return messages;
    const found = await findByCarrierIds(
      this.#parts.db,
      asked.map(({ name }) => name),
    );
    asked.forEach(({ place }, index) => {
      const named = found.get(index);
      if (named !== undefined && !messages.has(place)) messages.set(place, named);
    });
    return messages;
  }

  async #workIn(link: string, message: Message, receipts: readonly { receipt: Receipt; part: number | null }[]): Promise<void> {
    let current = message;
    for (const { receipt, part } of receipts) {
      const span = this.#parts.tracing?.begin("receipt", "consumer", message.trace, {
        "godwit.message_id": encodeId("msg", message.id),
        "godwit.link": link,
        "godwit.receipt_status": receipt.status,
      });
      try {
        if (part === null) current = await this.#advanceBy(link, current, receipt);
        else await this.#advancePart(link, current, part, receipt);
      } finally {
        span?.end();
      }
    }
  }

  async #advancePart(link: string, message: Message, part: number, receipt: Receipt): Promise<void> {
    const { db, wakeWebhooks, advancer, watch, receiptWaitMs } = this.#parts;
    const nowMs = advancer.now();
    const { signal } = signalOf(link, message, receipt, { nowMs, receiptWaitMs, part });
    const change = await db.transaction((tx) => applyToPart(tx, message, part, { signal: { ...signal, reference: null }, nowMs }));
    wakeWebhooks();
    if (change !== undefined && change.after.sequence > change.before.sequence) watch.advanced(change.after);
    watch.received(link, receipt.status, change?.entry.isIgnored ?? true);
  }

  async #advanceBy(link: string, message: Message, receipt: Receipt): Promise<Message> {
    const { db, advancer, watch } = this.#parts;
    let current = message;
    for (let round = 0; round < MAX_ROUNDS; round += 1) {
      const change = this.#decide(link, current, receipt);
      if (await advancer.submit(change)) {
        this.#recent.update(change.after);
        this.referenceStored(change);
        watch.received(link, receipt.status, change.entry.isIgnored);
        return change.after;
      }
      const [now] = await readMessages(db, [current]);
      if (now === undefined) return current;
      current = now;
    }
    throw new Error("a receipt could not be worked in: the message changes all the time");
  }

  #decide(link: string, message: Message, receipt: Receipt): Change {
    const nowMs = this.#parts.advancer.now();
    const { signal, provider, reference } = signalOf(link, message, receipt, {
      nowMs,
      receiptWaitMs: this.#parts.receiptWaitMs,
      part: null,
    });
    const change = changeBy(message, signal, nowMs);
    if (change !== undefined) return change;
    const note = noteOn(message, nowMs, {
      type: `message.${signal.status}`,
      isIgnored: true,
      detail: signal.detail,
      move: { kind: "stay" },
    });
    return { ...note, after: { ...note.after, provider }, reference };
  }
}

type Surroundings = { nowMs: number; receiptWaitMs: number; part: number | null };

/** What a receipt means for its message. */
function signalOf(link: string, message: Message, receipt: Receipt, { nowMs, receiptWaitMs, part }: Surroundings) {
  const { status, error, providerMessageId, raw } = receipt;
  const detail = {
    receipt: {
      link,
      status,
      ...(part === null ? {} : { part }),
      ...(providerMessageId === null ? {} : { provider_message_id: providerMessageId }),
      ...(error === null ? {} : { error_code: error.code, provider_code: error.providerCode }),
      raw: { ...raw },
    },
  };
  // A message of unknown outcome gets its carrier's name from the receipt, and one that was sent again a second name, also
  // where the receipt moves nothing: the next one may speak of the message by that alone.
  const name = providerMessageId === message.provider?.messageId ? null : providerMessageId;
  const reference: ProviderReference | null = name === null ? null : { link, providerMessageId: name, expiresAtMs: nowMs + receiptWaitMs };
  const provider = message.provider && { ...message.provider, messageId: message.provider.messageId ?? name };
  const signal: Signal = {
    status,
    ...(error === null
      ? {}
      : { error: { code: error.code, message: error.message, permanent: error.isPermanent, provider_code: error.providerCode } }),
    provider,
    detail,
    // Nothing is left to do for what the carrier has.
    move: { kind: "leave" },
    reference,
  };
  return { signal, provider, reference };
}

const carrierIds = (link: string, { providerMessageId, reference }: Receipt): CarrierId[] => [
  ...(providerMessageId === null ? [] : [{ link, providerMessageId }]),
  // Only what can be an id of ours: the names of a link are one set.
  ...(reference === null || decodeId("msg", reference) === undefined ? [] : [{ link, providerMessageId: reference }]),
];

const keysOf = (link: string, receipt: Receipt): string[] =>
  carrierIds(link, receipt).map(({ providerMessageId }) => `${link} ${receipt.status} ${providerMessageId}`);
