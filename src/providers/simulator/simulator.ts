/** A simulated carrier: messages go through the real pipeline and reach no phone. `scenarios.ts` defines the fate of a message by its
 *  recipient. */
import { assert } from "../../lib/assert.ts";
import { randomBase62, toBase62 } from "../../lib/base62.ts";
import { LINK_CLOSED, NOT_SENT, throttled, WITHDRAWN } from "../provider.ts";
import type { Begin, Connection, Host, InboundMessage, Outgoing, Provider } from "../provider.ts";
import type { Receipt, ReceiptStatus, SendOutcome } from "../provider.ts";
import { openPicture } from "./picture.ts";
import { ReportQueue } from "./report-queue.ts";
import { scenarioFor, type Scenario, type ScriptedReceipt } from "./scenarios.ts";
import { REAL_TIMERS, TimerWheel, waitFor } from "./timer-wheel.ts";

/** `speed` divides every delay: at 100, a second becomes ten milliseconds. */
export type SimulatorSettings = { speed: number };

const WINDOW = 1_000;
const RESPONSE_MS = 20;
// A send with a shorter delay checks its signal when the response is due; only a slower one pays for a listener.
const PROMPT_MS = 50;
// A pending item has a few hundred bytes. Beyond this number the host does not store the receipts, and further messages would only
// fill the memory.
const MAX_PENDING = 200_000;
const OVERLOAD_WAIT_MS = 1_000;
const REPLY_AFTER_MS = 500;
// `Connection.close` has seconds, not minutes.
const CLOSE_MS = 5_000;

const LIMITS = { timers: REAL_TIMERS, maxPending: MAX_PENDING, closeMs: CLOSE_MS };

/** The carrier's own names of the statuses, like those of SMPP. */
const RAW_STATUSES: Readonly<Record<ReceiptStatus, string>> = {
  sent: "ENROUTE",
  delivered: "DELIVRD",
  read: "READ",
  undelivered: "UNDELIV",
  expired: "EXPIRED",
  failed: "REJECTD",
};

const NO_RESPONSE: SendOutcome = { kind: "unknown", detail: "the time limit passed before the carrier's response" };
const OVERLOADED = throttled(OVERLOAD_WAIT_MS, "sim-busy");

type PendingSend = {
  kind: "response";
  message: Outgoing;
  scenario: Scenario;
  signal: AbortSignal;
  respond: (outcome: SendOutcome) => void;
  stopListening: (() => void) | null;
};
type Pending = PendingSend | { kind: "receipt"; receipt: Receipt } | { kind: "reply"; reply: InboundMessage };

export class SimulatedLink implements Connection {
  readonly window = WINDOW;
  readonly isReady = true;
  readonly #speed: number;
  readonly #receipts: ReportQueue<Receipt>;
  readonly #replies: ReportQueue<InboundMessage>;
  readonly #wheel: TimerWheel<Pending>;
  readonly #limits: typeof LIMITS;
  // Random, since a link that is opened again, or on another node, must not use an id twice.
  readonly #idPrefix = `sim_${randomBase62(12)}`;
  #count = 0;
  /** Responses, receipts and replies to come, including those of messages without a response. */
  #pending = 0;
  #isClosed = false;

  /** `limits`: others for tests. */
  constructor({ speed }: SimulatorSettings, host: Host, limits: Partial<typeof LIMITS> = {}) {
    this.#speed = speed;
    this.#limits = { ...LIMITS, ...limits };
    const { timers } = this.#limits;
    const { log } = host;
    this.#wheel = new TimerWheel((items) => this.#settle(items), timers);
    this.#receipts = new ReportQueue({ name: "receipts", log, timers, store: async (receipts) => void (await host.receive(receipts)) });
    const storeReplies = async (replies: readonly InboundMessage[]): Promise<void> => {
      // A person replies after the delivery, so receipts go first. A host that does not store receipts still gets the replies.
      await waitFor(this.#receipts.drained, REPLY_AFTER_MS, timers);
      await host.receiveMessages(replies);
    };
    this.#replies = new ReportQueue({ name: "replies", log, timers, store: storeReplies });
  }

  async send(message: Outgoing, signal: AbortSignal, begin: Begin): Promise<SendOutcome> {
    if (this.#isClosed) return LINK_CLOSED;
    if (signal.aborted) return NOT_SENT;
    if (this.#pending + this.#receipts.size + this.#replies.size >= this.#limits.maxPending) return OVERLOADED;
    if (!(await begin())) return WITHDRAWN;
    if (this.#isClosed) return LINK_CLOSED;
    const scenario = scenarioFor(message);
    this.#pending += 1 + scenario.receipts.length + (scenario.replies?.length ?? 0);
    const delayMs = RESPONSE_MS / this.#speed;
    return new Promise((respond) => {
      const stopListening = delayMs > PROMPT_MS ? onAbort(signal, () => respond(NO_RESPONSE)) : null;
      this.#wheel.add({ kind: "response", message, scenario, signal, respond, stopListening }, delayMs);
    });
  }

  /** Passes all pending responses, receipts and replies at once. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (let items = this.#wheel.drain(); items.length > 0; items = this.#wheel.drain()) this.#settle(items);
    // At the same time, so that a host that stores neither is waited for once.
    await Promise.all([this.#receipts, this.#replies].map((queue) => queue.close(this.#limits.closeMs)));
  }

  #settle(items: readonly Pending[]): void {
    const receipts: Receipt[] = [];
    const replies: InboundMessage[] = [];
    for (const item of items) {
      this.#pending -= 1;
      if (item.kind === "response") this.#respond(item);
      else if (item.kind === "receipt") receipts.push(item.receipt);
      else replies.push(item.reply);
    }
    if (receipts.length > 0) this.#receipts.add(receipts);
    if (replies.length > 0) this.#replies.add(replies);
  }

  #respond({ message, scenario, signal, respond, stopListening }: PendingSend): void {
    stopListening?.();
    const id = this.#nextId();
    const outcome = signal.aborted ? NO_RESPONSE : this.#outcome(scenario, id);
    respond(outcome);
    // Like most carriers, the simulator identifies a message by its own id. A caller without the response needs the reference.
    const reference = outcome.kind === "accepted" ? null : message.id;
    for (const scripted of scenario.receipts)
      this.#wheel.add({ kind: "receipt", receipt: toReceipt(scripted, id, reference) }, scripted.afterMs / this.#speed);
    for (const { afterMs, ...reply } of scenario.replies ?? [])
      this.#wheel.add({ kind: "reply", reply: this.#replyTo(message, id, reply) }, afterMs / this.#speed);
  }

  #outcome({ response }: Scenario, providerMessageId: string): SendOutcome {
    if (response.kind === "accepted") return { kind: "accepted", providerMessageId };
    if (response.kind !== "throttled") return response;
    // Scoped to the recipient, so that the other messages of the link continue.
    return { ...response, scope: "recipient", retryAfterMs: Math.ceil(response.retryAfterMs / this.#speed) };
  }

  #replyTo({ channel, recipient, sender }: Outgoing, inReplyTo: string, reply: Pick<InboundMessage, "text" | "content">): InboundMessage {
    return { providerMessageId: this.#nextId(), channel, from: recipient, to: sender ?? "", ...reply, inReplyTo };
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

const toReceipt = ({ status, error }: ScriptedReceipt, providerMessageId: string, reference: string | null): Receipt => ({
  providerMessageId,
  reference,
  status,
  error,
  raw: {
    id: providerMessageId,
    status: RAW_STATUSES[status],
    ...(error === null ? {} : { error: error.providerCode ?? error.code }),
  },
});

export const simulator: Provider<SimulatorSettings> = {
  name: "simulator",
  openFile: (_settings, carrierFile) => openPicture(carrierFile),
  async open(settings, host) {
    assert(Number.isFinite(settings.speed) && settings.speed > 0, "the simulator's speed is above zero");
    return new SimulatedLink(settings, host);
  },
};
