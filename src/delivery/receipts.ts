/** Applies delivery receipts. `match-receipts.ts` finds the message of a receipt, and `parked-receipts.ts` keeps a receipt until its message is
 *  known. */
import { encodeId, idKey } from "../model/id.ts";
import { ERASED } from "../model/phone-number.ts";
import type { Advancer } from "../messages/advance.ts";
import { changeBy, noteOn, type Change, type ProviderReference, type Signal, type StoredParts } from "../messages/change.ts";
import type { Message } from "../messages/message.ts";
import { logOutcome } from "../messages/log-outcome.ts";
import { applyToPart } from "../messages/parts.ts";
import { RECIPIENT_OPTED_OUT, type Receipt } from "../providers/provider.ts";
import type { CarrierConsent } from "./carrier-consent.ts";
import type { DeliveryContext } from "./context.ts";
import { firstIds, isRecipient, ReceiptMatcher, RecentMessages, type Match } from "./match-receipts.ts";
import { MAX_BATCH, ParkedReceipts } from "./parked-receipts.ts";
import { readMessages } from "./queries.ts";

const MAX_ROUNDS = 20;

export type ReceiptsParts = DeliveryContext & { advancer: Advancer; consent: CarrierConsent };

/** Called before receipts are parked, with their number. */
export type AdmitUnmatched = (count: number) => Promise<void>;

type Applied = { unmatched: Receipt[]; forged: Receipt[] };

// A carrier sends many receipts together.
const MAX_NAMED = 5;

export class Receipts {
  readonly parked: ParkedReceipts;
  readonly #parts: ReceiptsParts;
  readonly #recent = new RecentMessages();
  readonly #matcher: ReceiptMatcher;
  /** The changes that store carrier ids, by link and id. */
  readonly #storing = new Map<string, Promise<unknown>>();
  /** The last receipts of each message that are being applied. */
  readonly #applying = new Map<string, Promise<void>>();

  constructor(parts: ReceiptsParts) {
    this.#parts = parts;
    this.#matcher = new ReceiptMatcher(parts, this.#recent);
    this.parked = new ParkedReceipts(parts, async (link, receipts) => (await this.#apply(link, receipts)).unmatched);
  }

  /** Resolves when every receipt is committed: as a change, as an ignored entry of the timeline, or as a parked receipt. Returns the unmarked
   *  texts about a message to somebody else, which are not receipts. `admit` rejects if the link may park no more. */
  async receive(link: string, receipts: readonly Receipt[], admit?: AdmitUnmatched): Promise<readonly Receipt[]> {
    const refused: Receipt[] = [];
    for (let from = 0; from < receipts.length; from += MAX_BATCH) {
      const applied = await this.#applyStored(link, receipts.slice(from, from + MAX_BATCH));
      const unmatched = applied.flatMap((each) => each.unmatched);
      const forged = applied.flatMap((each) => each.forged);
      if (unmatched.length > 0) {
        await admit?.(unmatched.length);
        await this.parked.park(link, unmatched);
      }
      refused.push(...forged);
    }
    return refused;
  }

  /** Stores the outcome of an attempt. Receipts for its carrier id wait for it here, and need not be parked. */
  async store(change: Change): Promise<boolean> {
    const stored = this.#parts.advancer.submit(change);
    const { reference, after } = change;
    const ids = reference === null ? [] : [...idsIn(reference), encodeId("msg", after.id)];
    const keys = ids.map((id) => `${reference?.link} ${id}`);
    for (const key of keys) this.#storing.set(key, stored);
    try {
      if (!(await stored)) return false;
      this.#referenceStored(change);
      return true;
    } finally {
      for (const key of keys) if (this.#storing.get(key) === stored) this.#storing.delete(key);
    }
  }

  /** Notes that a committed change has stored a carrier id. Receipts that are parked for it are applied soon. */
  #referenceStored({ reference, after }: Change): void {
    if (reference === null) return;
    const { link, parts } = reference;
    // A message in parts is not kept in memory: its receipts are applied with the message locked, which would make the copy outdated.
    if (parts === undefined) this.#recent.remember(reference, after);
    const ids = idsIn(reference);
    const links = [link, ...this.#parts.linkDirectory.current.siblingsOf(link)];
    this.parked.idsStored(ids.flatMap((id) => links.map((each) => ({ link: each, providerMessageId: id }))));
  }

  /** Applies receipts, and each whose carrier id is being stored after that. */
  #applyStored(link: string, receipts: readonly Receipt[]): Promise<Applied[]> {
    const groups = Map.groupBy(receipts, (receipt) => this.#storingOf(link, receipt));
    return Promise.all(
      Array.from(groups, async ([storing, group]) => {
        await storing?.catch(() => undefined);
        return this.#apply(link, group);
      }),
    );
  }

  #storingOf(link: string, receipt: Receipt): Promise<unknown> | undefined {
    if (this.#storing.size === 0) return undefined;
    const id = firstIds(receipt).find((each) => this.#storing.has(`${link} ${each}`));
    return id === undefined ? undefined : this.#storing.get(`${link} ${id}`);
  }

  /** Applies the receipts, in their order for each message. Returns the receipts without a known message, and the unmarked texts that are not
   *  from the recipient of their message. */
  async #apply(link: string, receipts: readonly Receipt[]): Promise<Applied> {
    const found = await this.#matcher.match(link, receipts);
    const unmatched: Receipt[] = [];
    // The receipts as they were given: their caller looks for them in its list.
    const forged: Match[] = [];
    const matches: Match[] = [];
    for (const [index, receipt] of receipts.entries()) {
      const match = found.get(index);
      if (match === undefined) unmatched.push(receipt);
      else if (receipt.unmarkedFrom !== undefined && isRecipient(receipt, match.message) !== true) forged.push({ ...match, receipt });
      else matches.push(match);
    }
    const byMessage = Map.groupBy(matches, ({ message }) => idKey(message.id));
    await Promise.all(Array.from(byMessage, ([key, group]) => this.#inOrder(key, () => this.#applyToMessage(link, group))));
    if (forged.length > 0)
      this.#parts.log.warn(
        {
          event: "delivery.receipt_forged",
          link,
          count: forged.length,
          message_ids: forged.slice(0, MAX_NAMED).map(({ message }) => encodeId("msg", message.id)),
        },
        "texts that look like receipts are about messages to others: they are no receipts",
      );
    return { unmatched, forged: forged.map(({ receipt }) => receipt) };
  }

  /** Applies receipts after those of the same message that are still being stored: otherwise a `read` could overtake its `delivered`, which is then
   *  ignored. */
  async #inOrder(key: string, apply: () => Promise<void>): Promise<void> {
    const earlier = this.#applying.get(key);
    const applied = earlier === undefined ? apply() : earlier.then(apply, apply);
    this.#applying.set(key, applied);
    try {
      await applied;
    } finally {
      if (this.#applying.get(key) === applied) this.#applying.delete(key);
    }
  }

  async #applyToMessage(link: string, matches: readonly Match[]): Promise<void> {
    let current: Message | undefined;
    for (const { message, part, receipt } of matches) {
      current ??= message;
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
    const { db, wakeWebhooks, advancer, watch, log, receiptWaitMs } = this.#parts;
    const nowMs = advancer.now();
    const signalFor = (locked: Message): Signal => ({
      ...receiptSignal(link, locked, receipt, { nowMs, receiptWaitMs, part }).signal,
      reference: null,
    });
    const change = await db.transaction((tx) => applyToPart(tx, message, part, { signalFor, nowMs }));
    wakeWebhooks();
    if (change !== undefined) {
      if (change.after.sequence > change.before.sequence) watch.advanced(change.after);
      logOutcome(log, change);
    }
    watch.received(link, receipt.status, change?.entry.isIgnored ?? true);
  }

  async #advanceBy(link: string, message: Message, receipt: Receipt): Promise<Message> {
    const { db, advancer, watch } = this.#parts;
    let current = message;
    for (let round = 0; round < MAX_ROUNDS; round += 1) {
      const change = this.#decide(link, current, receipt);
      if (await advancer.submit(change)) {
        this.#recent.update(change.after);
        this.#referenceStored(change);
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
  // An attempt of a message that was sent again has failed, perhaps not its last one. A receipt for the other can still be `delivered`.
  const isOneOfSeveral = message.hasUnknown && message.attempts > 1;
  const signal: Signal = {
    status: status === "failed" && isOneOfSeveral ? "undelivered" : status,
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

const partsOf = (ids: readonly string[] | undefined): { parts?: StoredParts } =>
  ids === undefined ? {} : { parts: { ids, total: ids.length, reference: null } };

const eraseReceipt = ({ error, reference, status }: Receipt): Receipt => ({
  providerMessageId: null,
  reference,
  status,
  error: error && { ...error, message: ERASED },
  raw: {},
});

/** The carrier ids of all parts. */
const idsIn = ({ providerMessageId, parts }: ProviderReference): string[] => [...new Set([providerMessageId, ...(parts?.ids ?? [])])];
