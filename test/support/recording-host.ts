/** A host for providers under test: records all that they pass and log, and waits for it with a time limit. */
import assert from "node:assert/strict";
import pino from "pino";
import { encodeId, newId } from "../../src/model/id.ts";
import { within } from "../../src/lib/wait.ts";
import {
  ReportsThrottled,
  type Begin,
  type InboundMessage,
  type InboundPart,
  type LeasedHost,
  type Outgoing,
  type Preference,
  type Receipt,
  type SendOutcome,
  type UnmatchedReports,
} from "../../src/providers/provider.ts";
import type { ReviewUpdate } from "../../src/providers/business-account.ts";
import { LIMIT_MS, until } from "./expect.ts";
import { recipientOf } from "./recipient.ts";

/** Lets every message leave. */
export const mayLeave: Begin = async () => true;

type HostBehavior = "accepts" | "rejects" | "hangs" | "throttles";

/** Records receipts, messages and review updates; rejects them or hangs when the test sets this behavior. */
export class RecordingHost implements LeasedHost {
  /** The lines of the log. */
  lines = "";
  readonly log = pino({ level: "trace" }, { write: (line) => void (this.lines += line) });
  /** Every call of `receive`, including failed ones. */
  readonly calls: (readonly Receipt[])[] = [];
  /** The acknowledged receipts, in order. */
  readonly receipts: Receipt[] = [];
  readonly messages: InboundMessage[] = [];
  readonly parts: InboundPart[] = [];
  /** The parts whose responses were written. */
  readonly answeredParts: InboundPart[] = [];
  /** Every call of `receiveMessages`, including failed ones. */
  readonly messageCalls: (readonly InboundMessage[])[] = [];
  readonly preferences: Preference[] = [];
  readonly unmatched: UnmatchedReports[] = [];
  readonly reviewUpdates: ReviewUpdate[] = [];
  /** The number of calls of `templatesChanged`, and of `changed`. */
  templateChanges = 0;
  changes = 0;
  /** Whether this node has the lease of the link. */
  isLeaseHeld = true;
  #behavior: HostBehavior = "accepts";

  async receive(receipts: readonly Receipt[]): Promise<readonly Receipt[]> {
    this.calls.push(receipts.slice());
    await this.#store(this.receipts, receipts);
    return [];
  }

  async receiveMessages(messages: readonly InboundMessage[]): Promise<void> {
    this.messageCalls.push(messages.slice());
    await this.#store(this.messages, messages);
  }

  async receivePart(part: InboundPart): Promise<() => void> {
    await this.#store(this.parts, [part]);
    return () => void this.answeredParts.push(part);
  }

  async receivePreferences(preferences: readonly Preference[]): Promise<void> {
    await this.#store(this.preferences, preferences);
  }

  async receiveUnmatched(reports: UnmatchedReports): Promise<void> {
    await this.#store(this.unmatched, [reports]);
  }

  async receiveReviews(updates: readonly ReviewUpdate[]): Promise<void> {
    await this.#store(this.reviewUpdates, updates);
  }

  async #store<T>(list: T[], items: readonly T[]): Promise<void> {
    if (this.#behavior === "rejects") throw new Error("the database is unavailable");
    if (this.#behavior === "throttles") throw new ReportsThrottled("the link has brought too many");
    if (this.#behavior === "hangs") await new Promise(() => undefined);
    list.push(...items);
  }

  templatesChanged(): void {
    this.templateChanges += 1;
  }

  behave(behavior: HostBehavior): this {
    this.#behavior = behavior;
    return this;
  }

  hasLease(): boolean {
    return this.isLeaseHeld;
  }

  now(): number {
    return Date.now();
  }

  changed(): void {
    this.changes += 1;
  }

  /** Waits until enough receipts about a message are acknowledged, and returns all of them. */
  async until(message: Outgoing, outcome: SendOutcome, isEnough: (receipts: readonly Receipt[]) => boolean): Promise<Receipt[]> {
    const about = (): Receipt[] => this.receipts.filter((receipt) => isAbout(receipt, message, outcome));
    await until(
      () => `enough receipts; there are ${JSON.stringify(about())}`,
      () => isEnough(about()),
    );
    return about();
  }

  async untilCalled(times = 1): Promise<void> {
    await until(`receipts to be passed ${times} times`, () => this.calls.length >= times);
  }

  async untilReceived(count: number): Promise<InboundMessage[]> {
    await until(`${count} inbound messages`, () => this.messages.length >= count);
    return this.messages;
  }
}

const isAbout = (receipt: Receipt, message: Outgoing, outcome: SendOutcome): boolean =>
  receipt.reference === message.id || (outcome.kind === "accepted" && receipt.providerMessageId === outcome.providerMessageId);

/** A condition for `until`: a receipt with the status has arrived. */
export const has = (status: Receipt["status"]) => (receipts: readonly Receipt[]) => receipts.some((receipt) => receipt.status === status);

export type OutgoingFields = Partial<Omit<Outgoing, "recipient"> & { recipient: string }>;

/** A message for a provider, with a new id. */
export const outgoing = ({ recipient, ...fields }: OutgoingFields & { recipient: string }): Outgoing => ({
  id: encodeId("msg", newId("msg", Date.now())),
  attempt: 1,
  channel: "sms",
  recipient: recipientOf(recipient),
  sender: null,
  body: "Your code is 123456",
  template: null,
  expiresAtMs: Date.now() + 3_600_000,
  ...fields,
});

/** Waits for a promise, and fails if it does not settle within the limit. */
export async function settled<T>(promise: Promise<T>, what: string, limitMs = LIMIT_MS): Promise<T> {
  const boxed = await within(
    promise.then((value) => ({ value })),
    limitMs,
  );
  assert.ok(boxed !== undefined, `${what} did not settle within ${limitMs} ms`);
  return boxed.value;
}
