/** A host for providers under test: takes down what they pass, and waits for it with a limit. */
import assert from "node:assert/strict";
import { encodeId, newId } from "../../src/lib/id.ts";
import { createLog } from "../../src/lib/log.ts";
import { poll, within } from "../../src/lib/wait.ts";
import type { InboundMessage, LeasedHost, Outgoing, Receipt, SendOutcome } from "../../src/providers/provider.ts";
import type { ReviewUpdate } from "../../src/providers/business-account.ts";
import { LIMIT_MS } from "./expect.ts";
import { recipientOf } from "./recipient.ts";

type HostBehaviour = "takes" | "rejects" | "hangs";

/** Takes receipts down, and takes them badly when told to. */
export class RecordingHost implements LeasedHost {
  readonly log = createLog("silent").log;
  /** Every call of `receive`, also of those that failed. */
  readonly calls: (readonly Receipt[])[] = [];
  /** What was acknowledged, in order. */
  readonly receipts: Receipt[] = [];
  readonly messages: InboundMessage[] = [];
  readonly verdicts: ReviewUpdate[] = [];
  /** How often it was told that templates are otherwise than we believe. */
  doubts = 0;
  /** Whether the link is this node's, of those that one node has at a time. */
  isLeaseHeld = true;
  #behaviour: HostBehaviour = "takes";

  async receive(receipts: readonly Receipt[]): Promise<void> {
    this.calls.push(receipts.slice());
    if (this.#behaviour === "rejects") throw new Error("the database is away");
    if (this.#behaviour === "hangs") await new Promise(() => undefined);
    this.receipts.push(...receipts);
  }

  async receiveMessages(messages: readonly InboundMessage[]): Promise<void> {
    if (this.#behaviour === "rejects") throw new Error("the database is away");
    if (this.#behaviour === "hangs") await new Promise(() => undefined);
    this.messages.push(...messages);
  }

  async receiveReviews(verdicts: readonly ReviewUpdate[]): Promise<void> {
    if (this.#behaviour === "rejects") throw new Error("the database is away");
    if (this.#behaviour === "hangs") await new Promise(() => undefined);
    this.verdicts.push(...verdicts);
  }

  templatesChanged(): void {
    this.doubts += 1;
  }

  behave(behaviour: HostBehaviour): this {
    this.#behaviour = behaviour;
    return this;
  }

  hasLease(): boolean {
    return this.isLeaseHeld;
  }

  now(): number {
    return Date.now();
  }

  changed(): void {}

  /** Waits until enough receipts about a message were acknowledged, and gives all about it so far. */
  async until(message: Outgoing, outcome: SendOutcome, isEnough: (receipts: readonly Receipt[]) => boolean): Promise<Receipt[]> {
    const about = (): Receipt[] => this.receipts.filter((receipt) => isAbout(receipt, message, outcome));
    const found = await poll(async () => (isEnough(about()) ? about() : undefined), { timeoutMs: LIMIT_MS, everyMs: 2 });
    assert.ok(found !== undefined, `the receipts did not come: ${JSON.stringify(about())}`);
    return found;
  }

  async untilCalled(times = 1): Promise<void> {
    const isCalled = await poll(async () => (this.calls.length >= times ? true : undefined), { timeoutMs: LIMIT_MS, everyMs: 2 });
    assert.ok(isCalled, `no receipts were passed ${times} times`);
  }
}

const isAbout = (receipt: Receipt, message: Outgoing, outcome: SendOutcome): boolean =>
  receipt.reference === message.id || (outcome.kind === "accepted" && receipt.providerMessageId === outcome.providerMessageId);

/** For `until`. */
export const has = (status: Receipt["status"]) => (receipts: readonly Receipt[]) => receipts.some((receipt) => receipt.status === status);

export type OutgoingFields = Partial<Omit<Outgoing, "recipient"> & { recipient: string }>;

/** A message for a provider, with an id of its own. */
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

/** A promise that must settle. */
export async function settled<T>(promise: Promise<T>, what: string, limitMs = LIMIT_MS): Promise<T> {
  const boxed = await within(
    promise.then((value) => ({ value })),
    limitMs,
  );
  assert.ok(boxed !== undefined, `${what} did not settle within ${limitMs} ms`);
  return boxed.value;
}
