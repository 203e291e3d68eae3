/** Receipts and messages that the carrier delivers. Each is acknowledged when the host has committed it. The carrier is asked to send
 *  again what the host did not commit. */
import { within } from "../../lib/wait.ts";
import { errorFields } from "../../model/log.ts";
import type { AddressType, InboundAddresses, InboundMessage, LeasedHost, Receipt } from "../provider.ts";
import { parsePart, type PartPosition } from "./inbound-part.ts";
import { STATUS, type Address, type ShortMessage } from "./pdu.ts";
import { Reassembly, type MessagePart, type ReassembledMessage } from "./reassembly.ts";
import { parseReceipt } from "./receipt.ts";
import { Repeats } from "./repeats.ts";
import { smppTimes, type SmppSettings, type SmppTimes } from "./settings.ts";
import { decodeText } from "./text.ts";

// The largest number of receipts in one commit.
const MAX_BATCH = 100;
/** Replaces a part that never came. */
const MISSING_PART = "[…]";

/** `stored`: the receipts that are none, or undefined if the batch could not be stored. */
type Batch = { receipts: Receipt[]; stored: Promise<readonly Receipt[] | undefined> };

export class Inbox {
  readonly #settings: SmppSettings;
  readonly #times: SmppTimes;
  readonly #host: LeasedHost;
  readonly #reassembly: Reassembly;
  readonly #repeats = new Repeats();
  /** Calls of the host that are running. */
  readonly #calls = new Set<Promise<unknown>>();
  readonly #closed = new AbortController();
  #batch: Batch | undefined;
  #isClosing = false;

  constructor(settings: SmppSettings, host: LeasedHost) {
    this.#settings = settings;
    this.#times = smppTimes(settings);
    this.#host = host;
    this.#reassembly = new Reassembly({ waitMs: this.#times.partsWaitMs, store: (message) => this.#storeMessage(message) });
  }

  /** Stores a receipt or message. Resolves with the status of the response; never rejects. */
  async receive(short: ShortMessage): Promise<number> {
    if (this.#isClosing) return STATUS.temporaryError;
    const receipt = parseReceipt(short);
    if (receipt === "unreadable") {
      // The carrier would send the same receipt again, so it is acknowledged.
      this.#host.log.warn({ event: "smpp.receipt_without_id", esm_class: short.esmClass }, "smpp: a receipt names no message");
      return STATUS.ok;
    }
    const isStored = await (receipt === undefined ? this.#receiveMessage(short) : this.#receiveReceipt(receipt, short));
    return isStored ? STATUS.ok : STATUS.temporaryError;
  }

  /** Expects the repetition of a stored message whose acknowledgement could not be written. `Reassembly` recognizes a repeated part, and
   *  receipts may come twice. */
  expectRepeat(short: ShortMessage): void {
    const { position, part } = readPart(short);
    if (position !== null || parseReceipt(short) !== undefined) return;
    this.#repeats.expect(this.#toMessage({ ...part, runs: [part] }), Promise.resolve(true), performance.now());
  }

  /** Stores receipts for which the carrier waits for no acknowledgement. */
  forward(receipts: readonly Receipt[]): void {
    for (const receipt of receipts) void this.#store(receipt);
  }

  /** Accepts nothing more, and waits for the running calls, within the limit. Afterwards the host is not called. */
  async close(): Promise<void> {
    this.#isClosing = true;
    await this.#within(this.#drain(), this.#times.drainMs);
    this.#closed.abort();
    this.#reassembly.abandon();
  }

  async #drain(): Promise<void> {
    await this.#reassembly.close();
    await Promise.all(this.#calls);
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
    const { position, part } = readPart(short);
    if (position === null) return this.#storeMessage({ ...part, runs: [part] });
    // A carrier may wait for the response to one part before it sends the next. So a part is acknowledged soon, though a crash would
    // lose it. Mostly the others come at once, and all are committed before any is acknowledged.
    return (await this.#within(this.#reassembly.add(position, part), this.#times.partAckMs)) ?? !this.#isClosed;
  }

  async #storeMessage(reassembled: ReassembledMessage): Promise<boolean> {
    const message = this.#toMessage(reassembled);
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

  #toMessage({ addresses, runs }: ReassembledMessage): InboundMessage {
    const { alphabet } = this.#settings;
    const text = runs.map((run) => (run === "missing" ? MISSING_PART : decodeText(run.text, run.dataCoding, alphabet))).join("");
    return { providerMessageId: null, channel: "sms", ...addresses, text, inReplyTo: null };
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
      (error: unknown) => {
        if (!this.#isClosed)
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

/** A part with its addresses, and its position in a message of several parts. */
function readPart(short: ShortMessage): { position: PartPosition | null; part: MessagePart } {
  const { position, text } = parsePart(short);
  return { position, part: { addresses: toAddresses(short.source, short.destination), dataCoding: short.dataCoding, text } };
}

const ADDRESS_TYPES: Readonly<Record<number, AddressType>> = {
  1: "international",
  2: "national",
  5: "other",
  6: "other",
};

/** The addresses of an inbound message. Of the types unknown (0), network-specific (3) and
 *  subscriber number (4), and of reserved ones, the form of the address decides. */
export function toAddresses(source: Address, destination: Address): InboundAddresses {
  const [fromType, toType] = [ADDRESS_TYPES[source.ton], ADDRESS_TYPES[destination.ton]];
  return {
    from: source.text,
    ...(fromType === undefined ? {} : { fromType }),
    to: destination.text,
    ...(toType === undefined ? {} : { toType }),
  };
}
