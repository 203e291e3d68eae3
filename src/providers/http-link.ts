/** A link to a carrier with an HTTP API. Sends at the carrier's rate and within its window, and stops while the carrier asks for it.
 *  The provider supplies the requests and the meaning of the responses. */
import { assert, unreachable } from "../lib/assert.ts";
import { HttpCaller, type HttpOutcome, type HttpRequest, type HttpResponse } from "./http-call.ts";
import { Pace } from "./pace.ts";
import { hasLease, notSent, WITHDRAWN } from "./provider.ts";
import type { Begin, Connection, LeasedHost, LinkState, Outgoing, SendOutcome } from "./provider.ts";
import { RecipientThrottle } from "./recipient-throttle.ts";

/** The meaning of a response. `paused`: the carrier accepts nothing on this link until a person acts. */
export type ResponseOutcome = SendOutcome | { kind: "paused"; reason: string; providerCode: string | null };

export type HttpCarrier = {
  name: string;
  baseUrl: string;
  window: number;
  /** The rate, in the unit of `sizeOf`. */
  perSecond: number;
  timeoutMs: number | undefined;
  toRequest: (message: Outgoing) => HttpRequest;
  sizeOf: (message: Outgoing) => number;
  /** `message.attempt` counts the throttled responses for this recipient in a row, this one included. */
  interpret: (response: HttpResponse, message: Outgoing) => ResponseOutcome;
};

// Carriers respond within a second or two. This time and the wait for a turn together stay below the limit of an attempt.
const TIMEOUT_MS = 30_000;
const MAX_TURN_WAIT_MS = 10_000;
// A message waits at most half of MAX_TURN_WAIT_MS for its turn, where every message has size 1.
const WINDOW_SECONDS = 5;
const MAX_WINDOW = 500;
// A person needs minutes to act; one message in this time does no harm at the carrier.
const PAUSE_MS = 180_000;
// The wait where the carrier names none.
const DEFAULT_WAIT_MS = 1_000;
const UNREACHABLE_WAIT_MS = 2_000;

const CONNECTED: LinkState = { kind: "connected", reason: null };
const CLOSED = notSent("link_closed");
const LEASE_LOST = notSent("link_elsewhere");
// Not `unknown`, since nothing was sent: the next process sends a message that waits for its turn when this process ends.
const NOT_SENT = notSent("not_sent");

export class HttpLink implements Connection {
  readonly isReady = true;
  readonly #carrier: HttpCarrier;
  readonly #host: LeasedHost;
  readonly #caller: HttpCaller;
  readonly #pace: Pace;
  readonly #recipients = new RecipientThrottle();
  readonly #window: number;
  #state: LinkState = CONNECTED;
  #stateChangedAt = 0;
  /** The link sends no message before this time. */
  #blockedUntil = 0;
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

  /** A paused link sends one message at a time, to find out whether a person has acted. */
  get window(): number {
    return this.#state.kind === "paused" ? 1 : this.#window;
  }

  async send(message: Outgoing, signal: AbortSignal, begin: Begin): Promise<SendOutcome> {
    if (this.#isClosed) return CLOSED;
    if (signal.aborted) return NOT_SENT;
    const waitMs = this.#blockedMs() || this.#pace.excessMs;
    if (waitMs > 0) return throttled(waitMs, null);
    const recipientMs = this.#recipients.waitMs(message.recipient, performance.now());
    if (recipientMs > 0) return { kind: "throttled", scope: "recipient", retryAfterMs: recipientMs, providerCode: null };
    if (!(await this.#pace.waitTurn(this.#carrier.sizeOf(message), signal))) return NOT_SENT;
    if (!hasLease(this.#host)) return LEASE_LOST;
    // The response to another message may have blocked the link during the wait.
    if (this.#blockedMs() > 0) return throttled(this.#blockedMs(), null);
    if (!(await begin())) return WITHDRAWN;
    if (!hasLease(this.#host)) return LEASE_LOST;
    const startedAt = performance.now();
    return this.#settle(await this.#caller.post(this.#carrier.toRequest(message), signal), message, startedAt);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#pace.stop();
    await this.#caller.close();
  }

  #blockedMs(): number {
    return Math.max(0, Math.ceil(this.#blockedUntil - performance.now()));
  }

  #settle(outcome: HttpOutcome, message: Outgoing, startedAt: number): SendOutcome {
    switch (outcome.kind) {
      case "unreachable":
        this.#changeState({ kind: "connecting", reason: `no connection to the carrier: ${outcome.cause}` }, startedAt);
        // The message is not the cause, however long this lasts: it waits in the queue, or takes another link.
        return throttled(UNREACHABLE_WAIT_MS, "carrier_unreachable");
      case "no_response":
        return { kind: "unknown", detail: outcome.cause };
      case "response":
        return this.#applyToLink(this.#interpret(outcome, message), startedAt);
      default:
        return unreachable(outcome);
    }
  }

  /** Interprets a response, and throttles its recipient or ends that throttling. */
  #interpret(response: HttpResponse, message: Outgoing): ResponseOutcome {
    const { recipient } = message;
    const outcome = this.#carrier.interpret(response, { ...message, attempt: this.#recipients.nextCount(recipient) });
    if (outcome.kind === "accepted") this.#recipients.clear(recipient);
    else if (outcome.kind === "throttled" && outcome.scope === "recipient")
      this.#recipients.throttle(recipient, performance.now() + (outcome.retryAfterMs ?? DEFAULT_WAIT_MS));
    return outcome;
  }

  /** Pauses, throttles or reconnects the link, as the outcome says. */
  #applyToLink(outcome: ResponseOutcome, startedAt: number): SendOutcome {
    if (outcome.kind === "paused") {
      this.#blockFor(PAUSE_MS);
      this.#changeState({ kind: "paused", reason: outcome.reason }, startedAt, outcome.providerCode);
      return throttled(PAUSE_MS, outcome.providerCode);
    }
    if (outcome.kind === "throttled" && outcome.scope === "link") {
      this.#blockFor(outcome.retryAfterMs ?? DEFAULT_WAIT_MS);
      this.#changeState({ kind: "throttled", reason: `the carrier asks for less: ${outcome.providerCode ?? "no code"}` }, startedAt);
    } else if (outcome.kind === "accepted" || (outcome.kind === "refused" && this.#state.kind !== "paused"))
      this.#changeState(CONNECTED, startedAt);
    return outcome;
  }

  #blockFor(ms: number): void {
    this.#blockedUntil = Math.max(this.#blockedUntil, performance.now() + ms);
  }

  /** Logs each change once. Ignores the response to a request that started before the last change: it is older information. */
  #changeState(state: LinkState, startedAt: number, code: string | null = null): void {
    const { kind, reason } = this.#state;
    if (startedAt < this.#stateChangedAt || (kind === state.kind && reason === state.reason)) return;
    // Only an accepted message ends a pause: a missing connection or throttling says nothing about the cause of the pause.
    if (kind === "paused" && state.kind !== "connected" && state.kind !== "paused") return;
    this.#state = state;
    this.#stateChangedAt = performance.now();
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

// These statuses reject the request itself, whether the carrier or a proxy responds.
const REJECTED_STATUSES: ReadonlySet<number> = new Set([400, 413, 414, 422, 431]);
// A proxy waited for the carrier, or for us: the request may have reached the carrier.
const UNKNOWN_STATUSES: ReadonlySet<number> = new Set([408, 425, 499]);

/** Interprets a response that is not in the carrier's form, by its status. It may come from a proxy, which does not know what became
 *  of the message. */
export function interpretStatus({ status, retryAfterMs }: HttpResponse): ResponseOutcome {
  const providerCode = String(status);
  if (status === 429) return { kind: "throttled", scope: "link", retryAfterMs, providerCode };
  if (REJECTED_STATUSES.has(status))
    return { kind: "refused", code: "rejected_by_carrier", message: "The carrier refused the request", providerCode, isPermanent: true };
  if (status >= 300 && status < 500 && !UNKNOWN_STATUSES.has(status))
    return { kind: "paused", reason: `HTTP ${status} that is not in the carrier's form: is the base URL right?`, providerCode };
  return { kind: "unknown", detail: `HTTP ${status} that is not in the carrier's form` };
}
