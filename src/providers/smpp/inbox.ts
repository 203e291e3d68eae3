/** Receipts and messages that the carrier delivers. Each is acknowledged when the host has committed it. The carrier is asked to send
 *  again what the host did not commit. */
import { within } from "../../lib/wait.ts";
import { errorFields } from "../../model/log.ts";
import {
  ReportsThrottled,
  type AddressType,
  type InboundAddresses,
  type InboundMessage,
  type LeasedHost,
  type Receipt,
} from "../provider.ts";
import { contentOf, joinParts, positionOf, type PartPosition } from "./parts.ts";
import { STATUS, type Address, type ShortMessage } from "./pdu.ts";
import { parseReceipt } from "./receipt.ts";
import { smppTimes, type SmppSettings, type SmppTimes } from "./settings.ts";
import { BoundedMap } from "../../lib/bounded-map.ts";

// The largest number of receipts in one commit.
const MAX_BATCH = 100;
// The wait of a report that the host refuses because there are too many.
const THROTTLED_MS = 1_000;

/** `stored`: the receipts that are none, or undefined if the batch could not be stored. */
type Batch = { receipts: Receipt[]; stored: Promise<readonly Receipt[] | undefined> };

export class Inbox {
  readonly #settings: SmppSettings;
  readonly #times: SmppTimes;
  readonly #host: LeasedHost;
  readonly #repeats = new Repeats();
  /** For each committed part: reports that its response was written. */
  readonly #answered = new WeakMap<ShortMessage, () => void>();
  /** Calls of the host that are running. */
  readonly #calls = new Set<Promise<unknown>>();
  readonly #closed = new AbortController();
  #batch: Batch | undefined;
  #isClosing = false;

  constructor(settings: SmppSettings, host: LeasedHost) {
    this.#settings = settings;
    this.#times = smppTimes(settings);
    this.#host = host;
  }

  /** Stores a receipt or message. Resolves with the status of the response; never rejects. */
  async receive(short: ShortMessage): Promise<number> {
    if (this.#isClosing) return STATUS.temporaryError;
    const receipt = parseReceipt(short, this.#settings);
    if (receipt === "unreadable") {
      // The carrier would send the same receipt again, so it is acknowledged.
      this.#host.log.warn({ event: "smpp.receipt_without_id", esm_class: short.esmClass }, "smpp: a receipt names no message");
      return STATUS.ok;
    }
    const isStored = await (receipt === undefined ? this.#receiveMessage(short) : this.#receiveReceipt(receipt, short));
    return isStored ? STATUS.ok : STATUS.temporaryError;
  }

  /** Reports whether the acknowledgement of what was stored could be written. If not, the carrier sends it again: the repetition of a message is
   *  expected here, that of a part by the host, and receipts may come twice. */
  acknowledged(short: ShortMessage, isWritten: boolean): void {
    if (isWritten) this.#answered.get(short)?.();
    else if (positionOf(short) === null && parseReceipt(short) === undefined)
      this.#repeats.expect(this.#toMessage(short), Promise.resolve(true), performance.now());
  }

  /** Stores receipts for which the carrier waits for no acknowledgement. */
  forward(receipts: readonly Receipt[]): void {
    for (const receipt of receipts) void this.#store(receipt);
  }

  /** Accepts nothing more, and waits for the running calls, within the limit. Afterwards the host is not called. */
  async close(): Promise<void> {
    this.#isClosing = true;
    await this.#within(Promise.all(this.#calls), this.#times.drainMs);
    this.#closed.abort();
  }

  /** Stores a receipt. A text that is none after all is stored as a message. */
  async #receiveReceipt(parsed: Receipt, short: ShortMessage): Promise<boolean> {
    const receipt = { ...parsed, idForm: this.#settings.receiptIds };
    const refused = await this.#store(receipt);
    return refused !== undefined && (!refused.includes(receipt) || this.#receiveMessage(short));
  }

  /** Stores a receipt together with others. */
  #store(receipt: Receipt): Promise<readonly Receipt[] | undefined> {
    if (this.#batch === undefined || this.#batch.receipts.length >= MAX_BATCH) {
      const receipts: Receipt[] = [];
      const refused: Receipt[] = [];
      const isStored = this.#call(async () => void refused.push(...(await this.#storeBatch(receipts))));
      this.#batch = { receipts, stored: isStored.then((is) => (is ? refused : undefined)) };
    }
    this.#batch.receipts.push(receipt);
    return this.#batch.stored;
  }

  async #storeBatch(receipts: readonly Receipt[]): Promise<readonly Receipt[]> {
    // The receipts of one read of the socket join the batch meanwhile.
    await new Promise((resolve) => setImmediate(resolve));
    if (this.#batch?.receipts === receipts) this.#batch = undefined;
    if (this.#isClosed) throw new Error("the link is closed");
    return this.#host.receive(receipts);
  }

  async #receiveMessage(short: ShortMessage): Promise<boolean> {
    const position = positionOf(short);
    return position === null ? this.#storeMessage(this.#toMessage(short)) : this.#storePart(short, position);
  }

  /** A part that comes again after a call that took too long is recognized by the host. */
  #storePart(short: ShortMessage, position: PartPosition): Promise<boolean> {
    const addresses = toAddresses(short.source, short.destination);
    const part = { ...position, ...contentOf(short), addresses, waitMs: this.#times.partsWaitMs };
    return this.#call(async () => {
      if (this.#isClosed) throw new Error("the link is closed");
      this.#answered.set(short, await this.#host.receivePart(part));
    });
  }

  async #storeMessage(message: InboundMessage): Promise<boolean> {
    const earlier = this.#repeats.take(message, performance.now());
    const isStored = earlier === undefined ? false : await this.#within(earlier, this.#times.hostMs);
    if (isStored === true) return true;
    const expect = (isCommitted: Promise<boolean>): void => this.#repeats.expect(message, isCommitted, performance.now());
    if (isStored === undefined && earlier !== undefined) {
      expect(earlier);
      return false;
    }
    return this.#call(async () => {
      if (this.#isClosed) throw new Error("the link is closed");
      await this.#host.receiveMessages([message]);
    }, expect);
  }

  #toMessage(short: ShortMessage): InboundMessage {
    const text = joinParts(this.#settings, [contentOf(short)]);
    return { providerMessageId: null, channel: "sms", ...toAddresses(short.source, short.destination), text, inReplyTo: null };
  }

  /** Resolves with undefined after the limit, or when the link is closed: no timer remains then. */
  #within<T>(promise: Promise<T>, limitMs: number): Promise<T | undefined> {
    return within(promise, limitMs, this.#closed.signal);
  }

  get #isClosed(): boolean {
    return this.#closed.signal.aborted;
  }

  /** Returns whether the call succeeded in time. A call that takes longer may still commit, and the carrier sends the message again:
   *  `onTimeout` gets the promise of its result. The host recognizes repeated receipts itself. */
  async #call(run: () => Promise<void>, onTimeout: (isCommitted: Promise<boolean>) => void = () => undefined): Promise<boolean> {
    const isCommitted = run().then(
      () => true,
      async (error: unknown) => {
        // The response waits, and with a hundred of them the socket is not read.
        if (error instanceof ReportsThrottled) await this.#within(new Promise(() => undefined), THROTTLED_MS);
        else if (!this.#isClosed)
          this.#host.log.warn(
            { event: "providers.receive_failed", provider: "smpp", ...errorFields(error) },
            "smpp: a receipt or message was not stored: the carrier is asked to send it again",
          );
        return false;
      },
    );
    const limited = this.#within(isCommitted, this.#times.hostMs).then((inTime) => {
      if (inTime === undefined) onTimeout(isCommitted);
      return inTime ?? false;
    });
    this.#calls.add(limited);
    void limited.finally(() => this.#calls.delete(limited));
    return limited;
  }
}

const ADDRESS_TYPES: Readonly<Record<number, AddressType>> = {
  1: "international",
  2: "national",
  5: "other",
  6: "other",
};

/** The addresses of an inbound message. Of the types unknown (0), network-specific (3) and
 *  subscriber number (4), and of reserved ones, the form of the address decides. */
export function toAddresses(source: Address, destination: Address): InboundAddresses & { to: string } {
  const [fromType, toType] = [ADDRESS_TYPES[source.ton], ADDRESS_TYPES[destination.ton]];
  return {
    from: source.text,
    ...(fromType === undefined ? {} : { fromType }),
    to: destination.text,
    ...(toType === undefined ? {} : { toType }),
  };
}

// Carriers repeat an unacknowledged message after the next bind, or within minutes.
const EXPECTED_MS = 600_000;
const MAX_EXPECTED = 1_000;

type Expected = { isCommitted: Promise<boolean>; untilMs: number };

const messageKey = ({ from, to, text }: InboundMessage): string => JSON.stringify([from, to, text]);

/** Inbound messages that may be stored without an acknowledgement: the commit took too long, or the connection ended before the
 *  response. The carrier sends such a message again, without an id, and it must be stored once. A person may also write the same text
 *  twice, so only an expected message counts as a repetition, and only once. */
export class Repeats {
  readonly #expected = new BoundedMap<string, Expected>(MAX_EXPECTED);

  /** Expects a message to come again. `isCommitted` resolves with whether it is stored. */
  expect(message: InboundMessage, isCommitted: Promise<boolean>, nowMs: number): void {
    this.#expected.renew(messageKey(message), { isCommitted, untilMs: nowMs + EXPECTED_MS });
  }

  /** Resolves with whether an expected message is stored. Undefined if the message was not expected. */
  take(message: InboundMessage, nowMs: number): Promise<boolean> | undefined {
    const key = messageKey(message);
    const found = this.#expected.get(key);
    this.#expected.delete(key);
    return found !== undefined && nowMs < found.untilMs ? found.isCommitted : undefined;
  }
}
