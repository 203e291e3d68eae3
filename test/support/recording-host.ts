/** A host for providers under test: records the receipts and messages that they pass, and waits for them with a time limit. */
import assert from "node:assert/strict";
import { encodeId, newId } from "../../src/model/id.ts";
import { createLog } from "../../src/model/log.ts";
import { poll, within } from "../../src/lib/wait.ts";
import type {
  Begin,
  InboundMessage,
  LeasedHost,
  Outgoing,
  Preference,
  Receipt,
  SendOutcome,
  UnmatchedReports,
} from "../../src/providers/provider.ts";
import type { ReviewUpdate } from "../../src/providers/business-account.ts";
import { LIMIT_MS } from "./expect.ts";
import { recipientOf } from "./recipient.ts";

/** Lets every message leave. */
export const mayLeave: Begin = async () => true;

type HostBehavior = "accepts" | "rejects" | "hangs";

/** Records receipts, messages and review updates; rejects them or hangs when the test sets this behavior. */
export class RecordingHost implements LeasedHost {
  readonly log = createLog("silent").log;
  /** Every call of `receive`, including failed ones. */
  readonly calls: (readonly Receipt[])[] = [];
  /** The acknowledged receipts, in order. */
  readonly receipts: Receipt[] = [];
  readonly messages: InboundMessage[] = [];
  readonly preferences: Preference[] = [];
  readonly unmatched: UnmatchedReports[] = [];
  readonly reviewUpdates: ReviewUpdate[] = [];
  /** The number of calls of `templatesChanged`. */
  templateChanges = 0;
  /** Whether this node has the lease of the link. */
  isLeaseHeld = true;
  #behavior: HostBehavior = "accepts";

  async receive(receipts: readonly Receipt[]): Promise<readonly Receipt[]> {
    this.calls.push(receipts.slice());
    if (this.#behavior === "rejects") throw new Error("the database is unavailable");
    if (this.#behavior === "hangs") await new Promise(() => undefined);
    this.receipts.push(...receipts);
    return [];
  }

  async receiveMessages(messages: readonly InboundMessage[]): Promise<void> {
    if (this.#behavior === "rejects") throw new Error("the database is unavailable");
    if (this.#behavior === "hangs") await new Promise(() => undefined);
    this.messages.push(...messages);
  }

  async receivePreferences(preferences: readonly Preference[]): Promise<void> {
    if (this.#behavior === "rejects") throw new Error("the database is unavailable");
    if (this.#behavior === "hangs") await new Promise(() => undefined);
    this.preferences.push(...preferences);
  }

  async receiveUnmatched(reports: UnmatchedReports): Promise<void> {
    if (this.#behavior === "rejects") throw new Error("the database is unavailable");
    if (this.#behavior === "hangs") await new Promise(() => undefined);
    this.unmatched.push(reports);
  }

  async receiveReviews(updates: readonly ReviewUpdate[]): Promise<void> {
    if (this.#behavior === "rejects") throw new Error("the database is unavailable");
    if (this.#behavior === "hangs") await new Promise(() => undefined);
    this.reviewUpdates.push(...updates);
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

  changed(): void {}

  /** Waits until enough receipts about a message are acknowledged, and returns all of them. */
  async until(message: Outgoing, outcome: SendOutcome, isEnough: (receipts: readonly Receipt[]) => boolean): Promise<Receipt[]> {
    const about = (): Receipt[] => this.receipts.filter((receipt) => isAbout(receipt, message, outcome));
    const found = await poll(async () => (isEnough(about()) ? about() : undefined), { timeoutMs: LIMIT_MS, everyMs: 2 });
    assert.ok(found !== undefined, `the receipts did not arrive: ${JSON.stringify(about())}`);
    return found;
  }

  async untilCalled(times = 1): Promise<void> {
    const isCalled = await poll(async () => (this.calls.length >= times ? true : undefined), { timeoutMs: LIMIT_MS, everyMs: 2 });
    assert.ok(isCalled, `receipts were passed fewer than ${times} times`);
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
