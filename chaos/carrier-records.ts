/** The records of all carriers of a run, and the behavior that they share: every message with its time and its outcome, and receipts that are
 *  repeated until a node has acknowledged them. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Random } from "./random.ts";

/** `dropped`: the carrier took the message, and gave no response. `discarded`: it gave none, and did not take the message. */
type Outcome = "accepted" | "dropped" | "refused" | "discarded";

/** `id`: the id of the message, or its client reference if the carrier does not get the id. Receipts then name only the phone and `sid`. */
export type Submission = { id: string; isNamed: boolean; sid: string; to: string; atMs: number; outcome: Outcome };

export type ReceiptStatus = "sent" | "delivered" | "undelivered";

/** A receipt that a node has acknowledged. */
export type AcknowledgedReceipt = { id: string; isNamed: boolean; status: ReceiptStatus };

/** Sends a receipt once. Returns whether a node has acknowledged it. */
type SendReceipt = (status: ReceiptStatus) => Promise<boolean>;

const DROPPED_SHARE = 0.01;
const REFUSED_SHARE = 0.02;
const REPEATED_RECEIPT_SHARE = 0.1;
const UNDELIVERED_SHARE = 0.05;
const RECEIPT_REPEAT_MS = 300;
export const RECEIPT_LIMIT_MS = 10_000;

export class CarrierRecords {
  readonly submissions: Submission[] = [];
  readonly acknowledged: AcknowledgedReceipt[] = [];
  /** Gives few messages a response, and discards some. */
  isDropping = false;
  /** Responds after seconds. The receipts do not wait for the response. */
  isSlow = false;
  readonly random: Random;
  readonly signal: AbortSignal;
  #openReceipts = 0;

  constructor(random: Random, signal: AbortSignal) {
    this.random = random;
    this.signal = signal;
  }

  /** The number of messages whose receipts are not all acknowledged. */
  get openReceipts(): number {
    return this.#openReceipts;
  }

  /** Records a message that has arrived, and decides its outcome. */
  take(message: Pick<Submission, "id" | "isNamed" | "sid" | "to">): Submission {
    const submission = { ...message, atMs: Date.now(), outcome: this.#outcome() };
    this.submissions.push(submission);
    return submission;
  }

  async beforeResponse(): Promise<void> {
    if (this.isSlow) await sleep(this.random.between(200, 4_000), undefined, { signal: this.signal });
  }

  #outcome(): Outcome {
    if (this.isDropping && this.random.chance(0.5)) return "discarded";
    if (this.random.chance(this.isDropping ? 0.6 : DROPPED_SHARE)) return "dropped";
    return this.random.chance(REFUSED_SHARE) ? "refused" : "accepted";
  }

  /** Sends the receipts of a message that was taken, which may come before the response, twice or out of order. */
  async report({ id, isNamed, outcome }: Submission, send: SendReceipt): Promise<void> {
    if (outcome === "refused" || outcome === "discarded") return;
    const end: ReceiptStatus = this.random.chance(UNDELIVERED_SHARE) ? "undelivered" : "delivered";
    const statuses = this.random.pick<readonly ReceiptStatus[]>([[end], ["sent", end], [end, "sent"]]);
    const repeated = this.random.chance(REPEATED_RECEIPT_SHARE) ? [...statuses, end] : statuses;
    this.#openReceipts += 1;
    try {
      // Some of them come after a message with an unknown outcome has failed.
      await this.#pause(this.random.between(5, outcome === "dropped" ? 6_000 : 1_500));
      for (const status of repeated) {
        while (!(await send(status))) await this.#pause(RECEIPT_REPEAT_MS);
        this.acknowledged.push({ id, isNamed, status });
      }
      this.#openReceipts -= 1;
    } catch (error) {
      if (!this.signal.aborted) throw error;
    }
  }

  #pause(ms: number): Promise<undefined> {
    return sleep(ms, undefined, { signal: this.signal });
  }
}
