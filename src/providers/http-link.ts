/** A link to a carrier that takes messages by HTTP: at its rate, within its window, and quiet while the carrier wants quiet. What is
 *  the carrier's own (its requests, and what its answers mean) is handed in. */
import { assert, unreachable } from "../lib/assert.ts";
import { HttpCaller, type HttpAnswer, type HttpReply, type HttpRequest } from "./http-call.ts";
import { Pace } from "./pace.ts";
import { Pairs } from "./pairs.ts";
import { hasLease, notSent, type Connection, type LeasedHost, type LinkState, type Outgoing, type SendOutcome } from "./provider.ts";

/** What an answer means: an outcome, or that nothing will be taken until a person has acted. */
export type Reading = SendOutcome | { kind: "paused"; reason: string; providerCode: string | null };

export type HttpCarrier = {
  name: string;
  baseUrl: string;
  window: number;
  /** Of what `sizeOf` counts. */
  perSecond: number;
  timeoutMs: number | undefined;
  requestOf: (message: Outgoing) => HttpRequest;
  sizeOf: (message: Outgoing) => number;
  /** `attempt` is how often in a row it would be, were this recipient too much now. */
  read: (answer: HttpAnswer, message: Outgoing) => Reading;
};

// Carriers answer within a second or two. Together with the wait for a turn it stays below the limit of a try.
const TIMEOUT_MS = 30_000;
const MAX_TURN_WAIT_MS = 10_000;
// What is handed over waits half of that at most, where every message has the size of one.
const WINDOW_SECONDS = 5;
const MAX_WINDOW = 500;
// Whoever has to act needs minutes; asking at this pace harms nobody.
const PAUSE_MS = 180_000;
const UNSAID_WAIT_MS = 1_000;
const UNREACHABLE_WAIT_MS = 2_000;

const CONNECTED: LinkState = { kind: "connected", reason: null };
const UNSENT: SendOutcome = { kind: "unknown", detail: "given up before it was sent" };
const CLOSED = notSent("link_closed");
const ELSEWHERE = notSent("link_elsewhere");
// Said rather than unknown, since it is known: what waits for its turn when the process ends is sent by the next.
const NOT_SENT = notSent("not_sent");

export class HttpLink implements Connection {
  readonly isReady = true;
  readonly #carrier: HttpCarrier;
  readonly #host: LeasedHost;
  readonly #caller: HttpCaller;
  readonly #pace: Pace;
  readonly #pairs = new Pairs();
  readonly #window: number;
  #state: LinkState = CONNECTED;
  /** When the state began, and until when nothing is to be sent. */
  #since = 0;
  #quietUntil = 0;
  #isClosed = false;

  constructor(carrier: HttpCarrier, host: LeasedHost) {
    const { baseUrl, window, perSecond, timeoutMs = TIMEOUT_MS } = carrier;
    assert(Number.isFinite(perSecond) && perSecond > 0, `the rate of ${carrier.name} is above zero`);
    assert(Number.isSafeInteger(window) && window > 0, `the window of ${carrier.name} is a number above zero`);
    this.#carrier = carrier;
    this.#host = host;
    this.#window = Math.min(window, MAX_WINDOW, Math.ceil(perSecond * WINDOW_SECONDS));
    this.#caller = new HttpCaller({ baseUrl, connections: this.#window, timeoutMs });
    this.#pace = new Pace(perSecond, MAX_TURN_WAIT_MS);
  }

  get state(): LinkState {
    return this.#state;
  }

  /** While it is paused, one message at a time finds out whether somebody has acted. */
  get window(): number {
    return this.#state.kind === "paused" ? 1 : this.#window;
  }

  async send(message: Outgoing, signal: AbortSignal): Promise<SendOutcome> {
    if (this.#isClosed) return CLOSED;
    if (signal.aborted) return UNSENT;
    const waitMs = this.#quietMs() || this.#pace.excessMs;
    if (waitMs > 0) return throttled(waitMs, null);
    const heldMs = this.#pairs.heldMs(message.recipient, performance.now());
    if (heldMs > 0) return { kind: "throttled", scope: "recipient", retryAfterMs: heldMs, providerCode: null };
    if (!(await this.#pace.turn(this.#carrier.sizeOf(message), signal))) return NOT_SENT;
    if (!hasLease(this.#host)) return ELSEWHERE;
    // Another's answer may have come meanwhile.
    if (this.#quietMs() > 0) return throttled(this.#quietMs(), null);
    const startedAt = performance.now();
    return this.#conclude(await this.#caller.post(this.#carrier.requestOf(message), signal), message, startedAt);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#pace.stop();
    await this.#caller.close();
  }

  #quietMs(): number {
    return Math.max(0, Math.ceil(this.#quietUntil - performance.now()));
  }

  #conclude(reply: HttpReply, message: Outgoing, startedAt: number): SendOutcome {
    switch (reply.kind) {
      case "unreachable":
        this.#turn({ kind: "connecting", reason: `no connection to the carrier: ${reply.cause}` }, startedAt);
        // No fault of the message, however long it lasts: it waits in the queue, or takes another link.
        return throttled(UNREACHABLE_WAIT_MS, "carrier_unreachable");
      case "unanswered":
        return { kind: "unknown", detail: reply.cause };
      case "answered":
        return this.#heed(this.#readPair(reply, message), startedAt);
      default:
        return unreachable(reply);
    }
  }

  /** What an answer says, also about its recipient. */
  #readPair(answer: HttpAnswer, message: Outgoing): Reading {
    const { recipient } = message;
    const reading = this.#carrier.read(answer, { ...message, attempt: this.#pairs.next(recipient) });
    if (reading.kind === "accepted") this.#pairs.release(recipient);
    else if (reading.kind === "throttled" && reading.scope === "recipient")
      this.#pairs.hold(recipient, performance.now() + (reading.retryAfterMs ?? UNSAID_WAIT_MS));
    return reading;
  }

  /** What an answer says about the link as a whole. */
  #heed(reading: Reading, startedAt: number): SendOutcome {
    if (reading.kind === "paused") {
      this.#quiet(PAUSE_MS);
      this.#turn({ kind: "paused", reason: reading.reason }, startedAt, reading.providerCode);
      return throttled(PAUSE_MS, reading.providerCode);
    }
    if (reading.kind === "throttled" && reading.scope === "link") {
      this.#quiet(reading.retryAfterMs ?? UNSAID_WAIT_MS);
      this.#turn({ kind: "throttled", reason: `the carrier asks for less: ${reading.providerCode ?? "no code"}` }, startedAt);
    } else if (reading.kind === "accepted" || (reading.kind === "refused" && this.#state.kind !== "paused"))
      this.#turn(CONNECTED, startedAt);
    return reading;
  }

  #quiet(ms: number): void {
    this.#quietUntil = Math.max(this.#quietUntil, performance.now() + ms);
  }

  /** Told once for each turn, and not by what was asked before the last one: that knows less. */
  #turn(state: LinkState, startedAt: number, code: string | null = null): void {
    const { kind, reason } = this.#state;
    if (startedAt < this.#since || (kind === state.kind && reason === state.reason)) return;
    // Only a message that is taken ends a pause: that there is no connection, or too much haste, says nothing about its cause.
    if (kind === "paused" && state.kind !== "connected" && state.kind !== "paused") return;
    this.#state = state;
    this.#since = performance.now();
    const facts = { provider: this.#carrier.name, state: state.kind, reason: state.reason, code };
    if (state.kind === "paused") this.#host.log.error({ event: "links.paused", ...facts }, "the link is paused until an operator acts");
    else if (state.kind === "connected") this.#host.log.info(facts, "the link is connected again");
    else this.#host.log.warn({ event: "links.interrupted", ...facts }, "the link is interrupted");
    this.#host.changed();
  }
}

const throttled = (retryAfterMs: number, providerCode: string | null): SendOutcome => ({
  kind: "throttled",
  scope: "link",
  retryAfterMs,
  providerCode,
});

/** The object that an answer has as JSON; undefined where it has none. */
export function wordsOf({ text }: HttpAnswer): Record<string, unknown> | undefined {
  try {
    const words: unknown = JSON.parse(text);
    return typeof words === "object" && words !== null && !Array.isArray(words) ? (words as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

// About the request itself, whoever said it.
const REQUEST_FAULTS: ReadonlySet<number> = new Set([400, 413, 414, 422, 431]);
// Something in between waited for the carrier, or for us: nobody knows how far the request came.
const IN_DOUBT: ReadonlySet<number> = new Set([408, 425, 499]);

/** An answer without the carrier's own words may come from something in between, which does not know what became of the message. */
export function readWordless({ status, retryAfterMs }: HttpAnswer): Reading {
  const providerCode = String(status);
  if (status === 429) return { kind: "throttled", scope: "link", retryAfterMs, providerCode };
  if (REQUEST_FAULTS.has(status))
    return { kind: "refused", code: "rejected_by_carrier", message: "The carrier refused the request", providerCode, isPermanent: true };
  if (status >= 300 && status < 500 && !IN_DOUBT.has(status))
    return { kind: "paused", reason: `HTTP ${status} that is not in the carrier's form: is the base URL right?`, providerCode };
  return { kind: "unknown", detail: `HTTP ${status} that is not in the carrier's form` };
}
