/** A carrier that is not there: messages go through the real pipeline and reach nobody. What becomes of one is written in
 *  `scenarios.ts`, by its recipient. */
import { assert } from "../../lib/assert.ts";
import { randomBase62, toBase62 } from "../../lib/base62.ts";
import { within } from "../../lib/wait.ts";
import { notSent, type Connection, type Host, type InboundMessage, type Outgoing, type Provider } from "../provider.ts";
import type { Receipt, ReceiptStatus, SendOutcome } from "../provider.ts";
import { Feed } from "./feed.ts";
import { scenarioFor, type Scenario, type Step } from "./scenarios.ts";
import { Wheel } from "./wheel.ts";

/** `speed` divides every delay: at 100, what takes a second takes ten milliseconds. */
export type SimulatorSettings = { speed: number };

const WINDOW = 1_000;
const ANSWER_MS = 20;
// A send that is answered sooner than this looks at its signal then; only slower ones pay for a listener.
const PROMPT_MS = 50;
// What is kept of a message is a few hundred bytes. Past this many the receipts are not being taken, and sending more would
// only fill the memory.
const MAX_HELD = 200_000;
const OVERLOAD_WAIT_MS = 1_000;
const REPLY_AFTER_MS = 500;

/** The carrier's own words, after those of SMPP. */
const CARRIER_WORDS: Readonly<Record<ReceiptStatus, string>> = {
  sent: "ENROUTE",
  delivered: "DELIVRD",
  read: "READ",
  undelivered: "UNDELIV",
  expired: "EXPIRED",
  failed: "REJECTD",
};

const UNSENT: SendOutcome = { kind: "unknown", detail: "given up before it was sent" };
const UNHEARD: SendOutcome = { kind: "unknown", detail: "given up before the carrier's answer came" };
const OVERLOADED: SendOutcome = { kind: "throttled", scope: "link", retryAfterMs: OVERLOAD_WAIT_MS, providerCode: "sim-busy" };
const CLOSED = notSent("link_closed");

type Unanswered = {
  kind: "answer";
  message: Outgoing;
  scenario: Scenario;
  signal: AbortSignal;
  answer: (outcome: SendOutcome) => void;
  stopListening: (() => void) | null;
};
type Pending = Unanswered | { kind: "receipt"; receipt: Receipt } | { kind: "reply"; reply: InboundMessage };

class SimulatedLink implements Connection {
  readonly window = WINDOW;
  readonly isReady = true;
  readonly #speed: number;
  readonly #receipts: Feed<Receipt>;
  readonly #replies: Feed<InboundMessage>;
  readonly #wheel = new Wheel<Pending>((items) => this.#settle(items));
  // Random, since a link that is opened again, or on another node, must not give an id a second time.
  readonly #idPrefix = `sim_${randomBase62(12)}`;
  #count = 0;
  /** Answers and receipts still to come, those of unanswered messages included. */
  #coming = 0;
  #isClosed = false;

  constructor({ speed }: SimulatorSettings, host: Host) {
    this.#speed = speed;
    this.#receipts = new Feed("receipts", host.log, (receipts) => host.receive(receipts));
    this.#replies = new Feed("replies", host.log, async (replies) => {
      // Nobody answers what has not reached them; but who does not hear of the one may still hear of the other.
      await within(this.#receipts.taken, REPLY_AFTER_MS);
      await host.receiveMessages(replies);
    });
  }

  async send(message: Outgoing, signal: AbortSignal): Promise<SendOutcome> {
    if (this.#isClosed) return CLOSED;
    if (signal.aborted) return UNSENT;
    if (this.#coming + this.#receipts.waiting + this.#replies.waiting >= MAX_HELD) return OVERLOADED;
    const scenario = scenarioFor(message);
    this.#coming += 1 + scenario.receipts.length + (scenario.replies?.length ?? 0);
    const delayMs = ANSWER_MS / this.#speed;
    return new Promise((answer) => {
      const stopListening = delayMs > PROMPT_MS ? onAbort(signal, () => answer(UNHEARD)) : null;
      this.#wheel.add({ kind: "answer", message, scenario, signal, answer, stopListening }, delayMs);
    });
  }

  /** Nobody waits for the clock of a carrier that is closed: what it has still to say, it says now. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (let items = this.#wheel.drain(); items.length > 0; items = this.#wheel.drain()) this.#settle(items);
    // Together: who takes neither is waited for once.
    await Promise.all([this.#receipts.close(), this.#replies.close()]);
  }

  #settle(items: readonly Pending[]): void {
    const receipts: Receipt[] = [];
    const replies: InboundMessage[] = [];
    for (const item of items) {
      this.#coming -= 1;
      if (item.kind === "answer") this.#answer(item);
      else if (item.kind === "receipt") receipts.push(item.receipt);
      else replies.push(item.reply);
    }
    if (receipts.length > 0) this.#receipts.pass(receipts);
    if (replies.length > 0) this.#replies.pass(replies);
  }

  #answer({ message, scenario, signal, answer, stopListening }: Unanswered): void {
    stopListening?.();
    const id = this.#nextId();
    const outcome = signal.aborted ? UNHEARD : this.#outcome(scenario, id);
    answer(outcome);
    // Like most carriers, it names a message by its own id. Whoever did not hear that needs the reference.
    const reference = outcome.kind === "accepted" ? null : message.id;
    for (const step of scenario.receipts)
      this.#wheel.add({ kind: "receipt", receipt: receiptOf(step, id, reference) }, step.afterMs / this.#speed);
    for (const { afterMs, text } of scenario.replies ?? [])
      this.#wheel.add({ kind: "reply", reply: this.#replyTo(message, id, text) }, afterMs / this.#speed);
  }

  #outcome({ answer }: Scenario, providerMessageId: string): SendOutcome {
    if (answer.kind === "accepted") return { kind: "accepted", providerMessageId };
    if (answer.kind !== "throttled") return answer;
    // Scoped to the recipient: what else is on the link goes on.
    return { ...answer, scope: "recipient", retryAfterMs: Math.ceil(answer.retryAfterMs / this.#speed) };
  }

  #replyTo({ channel, recipient, sender }: Outgoing, inReplyTo: string, text: string): InboundMessage {
    return { providerMessageId: this.#nextId(), channel, from: recipient, to: sender ?? "", text, inReplyTo };
  }

  #nextId(): string {
    this.#count += 1;
    return this.#idPrefix + toBase62(this.#count, 8);
  }
}

function onAbort(signal: AbortSignal, run: () => void): () => void {
  signal.addEventListener("abort", run, { once: true });
  return () => signal.removeEventListener("abort", run);
}

const receiptOf = ({ status, error }: Step, providerMessageId: string, reference: string | null): Receipt => ({
  providerMessageId,
  reference,
  status,
  error,
  raw: {
    id: providerMessageId,
    status: CARRIER_WORDS[status],
    ...(error === null ? {} : { error: error.providerCode ?? error.code }),
  },
});

export const simulator: Provider<SimulatorSettings> = {
  name: "simulator",
  async open(settings, host) {
    assert(Number.isFinite(settings.speed) && settings.speed > 0, "the simulator's speed is above zero");
    return new SimulatedLink(settings, host);
  },
};
