/** Applies delivery receipts. A receipt finds its message within its link, by the carrier id, or by our message id where the carrier
 *  returns it. A receipt that arrives before its carrier id is known is parked, and applied when the id becomes known. */
import { setTimeout as sleep } from "node:timers/promises";
import { decodeId, encodeId, idKey } from "../model/id.ts";
import { errorFields, type Log } from "../model/log.ts";
import { ERASED } from "../model/phone-number.ts";
import type { Advancer } from "../messages/advance.ts";
import { changeBy, noteOn, type Change, type Signal } from "../messages/change.ts";
import type { Message } from "../messages/message.ts";
import { applyToPart } from "../messages/parts.ts";
import type { CarrierId, ProviderReference, StoredParts } from "../messages/provider-reference.ts";
import { RECIPIENT_OPTED_OUT, type Receipt } from "../providers/provider.ts";
import { isDatabaseTrouble, type Database } from "../database/database.ts";
import type { Tracing } from "../tracing/tracing.ts";
import type { CarrierConsent } from "./carrier-consent.ts";
import { findByCarrierIds, readMessages, type MatchedMessage } from "./queries.ts";
import { findMissed, findParked, deleteParked, parkReceipts, type ParkedRow } from "./receipt-queries.ts";
import { RecentMessages } from "./recent-messages.ts";
import type { DeliveryWatch } from "./watch.ts";

// The limit of one statement. A carrier may send more receipts at once.
const MAX_BATCH = 200;
const MAX_ROUNDS = 20;
const MATCH_EVERY_MS = 50;
const MATCH_RETRY_MS = 500;

export type ReceiptsParts = {
  db: Database;
  advancer: Advancer;
  consent: CarrierConsent;
  wakeWebhooks: () => void;
  watch: DeliveryWatch;
  receiptWaitMs: number;
  /** The other links with the same account at the carrier, which may send a receipt on any of them. */
  siblings: (link: string) => readonly string[];
  log: Log;
  tracing?: Tracing | undefined;
};

export class Receipts {
  readonly #parts: ReceiptsParts;
  readonly #recent = new RecentMessages();
  /** Carrier ids that have become known since parked receipts were last matched. */
  readonly #newIds: CarrierId[] = [];
  #matching: Promise<void> | undefined;
  #isStopped = false;
  /** The keys of the receipts that this node is parking. */
  readonly #parking = new Set<string>();
  #applying: Promise<unknown> = Promise.resolve();

  constructor(parts: ReceiptsParts) {
    this.#parts = parts;
  }

  /** Resolves when every receipt is committed: as a change, as an ignored entry of the timeline, or as a parked receipt. Returns the
   *  items that turn out not to be receipts. */
  async receive(link: string, receipts: readonly Receipt[]): Promise<readonly Receipt[]> {
    const refused: Receipt[] = [];
    for (let from = 0; from < receipts.length; from += MAX_BATCH) {
      const batch = receipts.slice(from, from + MAX_BATCH);
      const { unmatched, forged } = await this.#apply(link, batch);
      if (unmatched.length > 0) await this.#park(link, unmatched);
      await this.#unpark(link, batch.flatMap(asParked));
      refused.push(...forged);
    }
    return refused;
  }

  /** Parks receipts, then looks for their messages once more. A node that stores a carrier id does it in the opposite order, so that one of
   *  the two sees the other. Until then no other task of this node applies the parked receipts, so that none is applied twice. */
  async #park(link: string, receipts: readonly Receipt[]): Promise<void> {
    const keys = receipts.flatMap((receipt) => parkingKeys(link, receipt));
    const receivedAtMs = this.#parts.advancer.now();
    for (const key of keys) this.#parking.add(key);
    try {
      await parkReceipts(
        this.#parts.db,
        receipts.flatMap((receipt) =>
          carrierIds(link, receipt).map((id) => ({
            ...id,
            status: receipt.status,
            receipt: JSON.stringify({ ...receipt, parkedAs: undefined }),
            receivedAtMs,
          })),
        ),
      );
      const { unmatched } = await this.#apply(link, receipts);
      await this.#unpark(
        link,
        receipts.filter((receipt) => !unmatched.includes(receipt)),
      );
      // A repeated receipt is parked already. Every other one was written by a commit of this node.
      await this.#parts.db.confirmRead();
      this.#parts.watch.parked(link, unmatched.length);
    } finally {
      for (const key of keys) this.#parking.delete(key);
    }
  }

  /** Notes that a committed change has stored a carrier id. Receipts that are parked for it are applied soon. */
  referenceStored({ reference, after }: Change): void {
    if (reference === null) return;
    const { link, providerMessageId, parts } = reference;
    // A message in parts is not kept in memory: its receipts are applied with the message locked, which would make the copy outdated.
    if (parts === undefined) this.#recent.remember(reference, after);
    const ids = new Set([providerMessageId, ...(parts?.ids ?? [])]);
    const links = [link, ...this.#parts.siblings(link)];
    this.#newIds.push(...Array.from(ids, (id) => links.map((each) => ({ link: each, providerMessageId: id }))).flat());
    if (!this.#isStopped) this.#matching ??= this.#matchSoon();
  }

  /** Applies parked receipts that the node that stored their carrier id has missed, because it stopped before. Returns their number. */
  async applyMissed(): Promise<number> {
    return this.#applyParked(() => findMissed(this.#parts.db, this.#parts.advancer.now(), MAX_BATCH));
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
      await this.#applyParked(() => findParked(this.#parts.db, ids));
    } catch (error) {
      this.#parts.log.error({ event: "delivery.receipt_match_failed", ...errorFields(error) }, "parked receipts could not be matched");
      // Retried only where a retry can help. Other receipts are matched when the carrier repeats them.
      if (isDatabaseTrouble(error)) this.#newIds.unshift(...ids);
      await sleep(MATCH_RETRY_MS);
    } finally {
      this.#matching = this.#newIds.length > 0 && !this.#isStopped ? this.#matchSoon() : undefined;
    }
  }

  /** Applies the parked receipts that `find` returns, and returns their number. Calls run one after the other: two that found the same
   *  receipt would apply it twice. */
  #applyParked(find: () => Promise<ParkedRow[]>): Promise<number> {
    const turn = this.#applying.then(async () => {
      const parked = await find();
      for (const row of parked) await this.#applyParkedOne(row);
      return parked.length;
    });
    // The caller gets the error; the next turn only waits for the end of this one.
    this.#applying = turn.catch(() => undefined);
    return turn;
  }

  async #applyParkedOne({ link, receipt: parked }: ParkedRow): Promise<void> {
    const receipt = parked as Receipt;
    // `#park` looks for the message of this receipt itself. Should it miss the message, `applyMissed` finds the receipt later.
    const isBeingParked = (): boolean => parkingKeys(link, receipt).some((key) => this.#parking.has(key));
    if (isBeingParked()) return;
    // The task that parked the receipt may have applied it meanwhile.
    const still = await findParked(this.#parts.db, carrierIds(link, receipt));
    if (isBeingParked() || !still.some(({ receipt: other }) => (other as Receipt).status === receipt.status)) return;
    await this.#apply(link, [receipt]);
    await this.#unpark(link, [receipt]);
  }

  async #unpark(link: string, receipts: readonly Receipt[]): Promise<void> {
    if (receipts.length === 0) return;
    await deleteParked(
      this.#parts.db,
      receipts.flatMap((receipt) => carrierIds(link, receipt).map((id) => ({ ...id, status: receipt.status }))),
    );
  }

  /** Applies the receipts, in their order for each message. Returns the receipts of unknown messages, and the texts that look like
   *  receipts and do not come from the recipient. */
  async #apply(link: string, receipts: readonly Receipt[]): Promise<{ unmatched: Receipt[]; forged: Receipt[] }> {
    const found = await this.#matchAnywhere(link, receipts);
    const unmatched: Receipt[] = [];
    const forged: Receipt[] = [];
    const byMessage = new Map<string, { message: Message; receipts: { receipt: Receipt; part: number | null }[] }>();
    for (const [index, receipt] of receipts.entries()) {
      const match = found.get(index);
      if (match === undefined) {
        unmatched.push(receipt);
        continue;
      }
      const { message, part } = match;
      if (!mayReport(receipt, message)) {
        forged.push(receipt);
        continue;
      }
      const id = idKey(message.id);
      const group = byMessage.get(id) ?? { message, receipts: [] };
      group.receipts.push({ receipt, part });
      byMessage.set(id, group);
    }
    await Promise.all(Array.from(byMessage.values(), (group) => this.#applyToMessage(link, group.message, group.receipts)));
    if (forged.length > 0)
      this.#parts.log.warn(
        { event: "delivery.receipt_forged", link, count: forged.length },
        "texts that look like receipts are about messages to others: they are no receipts",
      );
    return { unmatched, forged };
  }

  /** Finds the messages of receipts: on the link, or else on another link of the same account, where only one message has the id. */
  async #matchAnywhere(link: string, receipts: readonly Receipt[]): Promise<Map<number, MatchedMessage>> {
    const found = await this.#match(link, receipts);
    const siblings = found.size < receipts.length ? this.#parts.siblings(link) : [];
    if (siblings.length === 0) return found;
    const missing = receipts.flatMap((receipt, index) =>
      found.has(index) || receipt.providerMessageId === null ? [] : [{ receipt, index }],
    );
    const others = await Promise.all(
      siblings.map((sibling) =>
        this.#match(
          sibling,
          missing.map(({ receipt }) => receipt),
        ),
      ),
    );
    missing.forEach(({ index }, position) => {
      const [only, ...more] = others.flatMap((matches) => matches.get(position) ?? []);
      if (only !== undefined && more.length === 0) found.set(index, only);
    });
    return found;
  }

  /** Finds the messages of receipts, by position in the list: by the carrier id, otherwise by our message id. Messages that this node
   *  submitted lately come from memory. */
  async #match(link: string, receipts: readonly Receipt[]): Promise<Map<number, MatchedMessage>> {
    const messages = new Map<number, MatchedMessage>();
    const wanted: { carrierId: CarrierId; index: number }[] = [];
    receipts.forEach((receipt, index) => {
      const ids = carrierIds(link, receipt);
      const recent = ids.map((id) => this.#recent.find(id)).find((message) => message !== undefined);
      if (recent !== undefined) messages.set(index, { message: recent, part: null });
      else wanted.push(...ids.map((carrierId) => ({ carrierId, index })));
    });
    if (wanted.length === 0) return messages;
    const found = await findByCarrierIds(
      this.#parts.db,
      wanted.map(({ carrierId }) => carrierId),
    );
    wanted.forEach(({ index }, position) => {
      const match = found.get(position);
      if (match !== undefined && !messages.has(index)) messages.set(index, match);
    });
    return messages;
  }

  async #applyToMessage(link: string, message: Message, receipts: readonly { receipt: Receipt; part: number | null }[]): Promise<void> {
    let current = message;
    for (const { receipt, part } of receipts) {
      const span = this.#parts.tracing?.begin("receipt", "consumer", message.trace, {
        "godwit.message_id": encodeId("msg", message.id),
        "godwit.link": link,
        "godwit.receipt_status": receipt.status,
      });
      try {
        // A repeated receipt must not undo an opt-in that came after the first one.
        if (receipt.error?.code === RECIPIENT_OPTED_OUT && current.error?.code !== RECIPIENT_OPTED_OUT)
          await this.#parts.consent.refused(link, current);
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
    const signalFor = (locked: Message): Signal => ({
      ...receiptSignal(link, locked, receipt, { nowMs, receiptWaitMs, part }).signal,
      reference: null,
    });
    const change = await db.transaction((tx) => applyToPart(tx, message, part, { signalFor, nowMs }));
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
    throw new Error("a receipt could not be applied: the message changes all the time");
  }

  #decide(link: string, message: Message, receipt: Receipt): Change {
    const nowMs = this.#parts.advancer.now();
    const { signal, provider, reference } = receiptSignal(link, message, receipt, {
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

type ReceiptContext = { nowMs: number; receiptWaitMs: number; part: number | null };

/** The signal of a receipt for its message. */
function receiptSignal(link: string, message: Message, received: Receipt, { nowMs, receiptWaitMs, part }: ReceiptContext) {
  // The words of a carrier name the recipient, and some carrier ids contain the number.
  const receipt = message.recipient === ERASED ? eraseReceipt(received) : received;
  const { status, error, raw, partIds } = receipt;
  const providerMessageId = receipt.providerMessageId ?? partIds?.[0] ?? null;
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
  // A message of unknown outcome gets its carrier id from the receipt, and a message that was sent again gets a second one. That holds
  // for an ignored receipt, too: the next receipt may contain only that id.
  const newId = providerMessageId === message.provider?.messageId ? null : providerMessageId;
  const reference: ProviderReference | null =
    newId === null ? null : { link, providerMessageId: newId, expiresAtMs: nowMs + receiptWaitMs, ...partsOf(partIds) };
  const provider = message.provider && { ...message.provider, messageId: message.provider.messageId ?? newId };
  const signal: Signal = {
    status,
    ...(error === null
      ? {}
      : { error: { code: error.code, message: error.message, permanent: error.isPermanent, provider_code: error.providerCode } }),
    provider,
    detail,
    // The carrier has the message, so the queue row is no longer needed.
    move: { kind: "leave" },
    reference,
  };
  return { signal, provider, reference };
}

// A shorter address is a short code, with which many numbers end.
const MIN_NUMBER_DIGITS = 7;

/** Whether a receipt may be about a message: an unmarked one must come from its recipient, whose number carriers write in several forms. */
function mayReport({ unmarkedFrom }: Receipt, { recipient }: Message): boolean {
  if (unmarkedFrom === undefined) return true;
  const numbers = unmarkedFrom.map((text) => text.replaceAll(/\D/g, "").replace(/^0+/, ""));
  return numbers.some((number) => number.length >= MIN_NUMBER_DIGITS && recipient.endsWith(number));
}

const partsOf = (ids: readonly string[] | undefined): { parts?: StoredParts } =>
  ids === undefined ? {} : { parts: { ids, total: ids.length, reference: null } };

const eraseReceipt = ({ error, reference, status }: Receipt): Receipt => ({
  providerMessageId: null,
  reference,
  status,
  error: error && { ...error, message: ERASED },
  raw: {},
});

/** The receipt as it may be parked already, where it was passed on with another carrier id before. */
const asParked = ({ parkedAs, ...receipt }: Receipt): Receipt[] =>
  parkedAs === undefined || parkedAs === receipt.providerMessageId ? [] : [{ ...receipt, providerMessageId: parkedAs, reference: null }];

const carrierIds = (link: string, { providerMessageId, reference }: Receipt): CarrierId[] => [
  ...(providerMessageId === null ? [] : [{ link, providerMessageId }]),
  // Only a valid message id of ours: carrier ids and our own ids share one set for each link.
  ...(reference === null || decodeId("msg", reference) === undefined ? [] : [{ link, providerMessageId: reference }]),
];

const parkingKeys = (link: string, receipt: Receipt): string[] =>
  carrierIds(link, receipt).map(({ providerMessageId }) => `${link} ${receipt.status} ${providerMessageId}`);
