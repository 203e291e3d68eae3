/** What the carrier delivers: receipts and messages. Each is acknowledged when the host has committed it; what it did not commit
 *  the carrier is asked to send again. */
import { errorFields } from "../../lib/log.ts";
import type { Host, InboundMessage, Receipt } from "../provider.ts";
import { numberOf } from "./address.ts";
import { MessageIds } from "./ids.ts";
import { partOf } from "./parts.ts";
import { STATUS, type Short } from "./pdu.ts";
import { Reassembly, type PartText, type Whole } from "./reassembly.ts";
import { receiptOf } from "./receipt.ts";
import { Repeats } from "./repeats.ts";
import { timesOf, type SmppSettings, type SmppTimes } from "./settings.ts";
import { decodeText } from "./text.ts";

// Receipts that come together are committed together; more than this many are another commit.
const MAX_BATCH = 100;
/** Stands where a part is missing that never came. */
const MISSING = "[…]";

type Batch = { receipts: Receipt[]; taken: Promise<boolean> };

export class Inbox {
  readonly ids: MessageIds;
  readonly #settings: SmppSettings;
  readonly #times: SmppTimes;
  readonly #host: Host;
  readonly #reassembly: Reassembly;
  readonly #repeats = new Repeats();
  /** Calls of the host that are not answered. */
  readonly #underWay = new Set<Promise<unknown>>();
  readonly #giveUps = new Set<() => void>();
  #batch: Batch | undefined;
  #isClosing = false;
  #isClosed = false;

  constructor(settings: SmppSettings, host: Host) {
    this.#settings = settings;
    this.#times = timesOf(settings);
    this.#host = host;
    this.ids = new MessageIds(settings.receiptIds ?? "learn", (again) => this.pass(again));
    this.#reassembly = new Reassembly({ waitMs: this.#times.partsWaitMs, pass: (whole) => this.#passMessage(whole) });
  }

  /** The status to answer with. Never rejects. */
  async take(short: Short): Promise<number> {
    if (this.#isClosing) return STATUS.temporaryError;
    const receipt = receiptOf(short);
    if (receipt === "unreadable") {
      // To have it sent again would help nobody.
      this.#host.log.warn({ event: "smpp.receipt_without_id", esm_class: short.esmClass }, "smpp: a receipt names no message");
      return STATUS.ok;
    }
    const isTaken = await (receipt === undefined ? this.#takeMessage(short) : this.#takeReceipt(this.ids.named(receipt)));
    return isTaken ? STATUS.ok : STATUS.temporaryError;
  }

  /** It was taken, and the carrier was not told. Of a part that comes again the reassembly knows, and receipts may come twice. */
  unheard(short: Short): void {
    const { place, text } = partOf(short);
    if (place !== null || receiptOf(short) !== undefined) return;
    const { source, destination, dataCoding } = short;
    const from = numberOf(source);
    const to = numberOf(destination);
    const message = this.#messageOf({ from, to, runs: [{ from, to, dataCoding, text }] });
    this.#repeats.expect(message, Promise.resolve(true), performance.now());
  }

  /** Receipts that the carrier has no answer to wait for. */
  pass(receipts: readonly Receipt[]): void {
    for (const receipt of receipts) void this.#takeReceipt(receipt);
  }

  /** Nothing is taken any more; what is under way is waited for, within the limit. After that the host is not called. */
  async close(): Promise<void> {
    this.#isClosing = true;
    await this.#within(this.#settle(), this.#times.drainMs);
    this.#isClosed = true;
    for (const giveUp of this.#giveUps) giveUp();
    this.#reassembly.abandon();
  }

  async #settle(): Promise<void> {
    await this.#reassembly.close();
    await Promise.all(this.#underWay);
  }

  #takeReceipt(receipt: Receipt): Promise<boolean> {
    if (this.#batch === undefined || this.#batch.receipts.length >= MAX_BATCH) {
      const receipts: Receipt[] = [];
      this.#batch = { receipts, taken: this.#call(() => this.#receiveBatch(receipts)) };
    }
    this.#batch.receipts.push(receipt);
    return this.#batch.taken;
  }

  async #receiveBatch(receipts: readonly Receipt[]): Promise<void> {
    // Those that came with the same bytes are in it by then.
    await new Promise((resolve) => setImmediate(resolve));
    if (this.#batch?.receipts === receipts) this.#batch = undefined;
    if (this.#isClosed) throw new Error("the link is closed");
    await this.#host.receive(receipts);
  }

  async #takeMessage(short: Short): Promise<boolean> {
    const { place, text } = partOf(short);
    const part: PartText = { from: numberOf(short.source), to: numberOf(short.destination), dataCoding: short.dataCoding, text };
    if (place === null) return this.#passMessage({ from: part.from, to: part.to, runs: [part] });
    // A carrier may wait for the answer to one part before it sends the next. So this one is acknowledged soon, though a crash
    // would lose it; mostly the others come at once, and all are committed before any is acknowledged.
    return (await this.#within(this.#reassembly.add(place, part), this.#times.partAckMs)) ?? !this.#isClosed;
  }

  async #passMessage(whole: Whole): Promise<boolean> {
    const message = this.#messageOf(whole);
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

  #messageOf({ from, to, runs }: Whole): InboundMessage {
    const { alphabet } = this.#settings;
    const text = runs.map((run) => (run === "missing" ? MISSING : decodeText(run.text, run.dataCoding, alphabet))).join("");
    return { providerMessageId: null, channel: "sms", from, to, text, inReplyTo: null };
  }

  /** Undefined when it takes longer, or when the link is closed first: no timer outlives that. */
  #within<T>(promise: Promise<T>, limitMs: number): Promise<T | undefined> {
    return new Promise((resolve) => {
      const settle = (value: T | undefined): void => {
        clearTimeout(timer);
        this.#giveUps.delete(giveUp);
        resolve(value);
      };
      const giveUp = (): void => settle(undefined);
      const timer = setTimeout(giveUp, limitMs);
      this.#giveUps.add(giveUp);
      void promise.then(settle);
    });
  }

  /** Whether it succeeded in time. What takes longer may be committed all the same, and the carrier brings it again: `tooLong` is told
   *  how it ends. Of receipts the host knows repetitions. */
  async #call(run: () => Promise<void>, tooLong: (isCommitted: Promise<boolean>) => void = () => undefined): Promise<boolean> {
    const succeeded = run().then(
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
    const limited = this.#within(succeeded, this.#times.hostMs).then((isTaken) => {
      if (isTaken === undefined) tooLong(succeeded);
      return isTaken ?? false;
    });
    this.#underWay.add(limited);
    void limited.finally(() => this.#underWay.delete(limited));
    return limited;
  }
}
