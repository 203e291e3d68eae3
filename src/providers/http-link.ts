/** A link to a carrier with an HTTP API. Sends at the carrier's rate and within its window, and stops while the carrier asks for it.
 *  The provider supplies the requests and the meaning of the responses.
 *
 *  A message begins only when it has its own open connection. When none can be opened the link is down: it takes no messages, and tries to
 *  connect, less and less often, until it succeeds. */
import { assert, unreachable } from "../lib/assert.ts";
import { backoffMs } from "../lib/backoff.ts";
import type { AddressGate } from "../outbound/address-gate.ts";
import { causeOf } from "../outbound/failure.ts";
import type { HttpOutcome, HttpRequest, HttpResponse } from "../outbound/http-client.ts";
import { HeldConnection, OriginClient } from "../outbound/origin-client.ts";
import type { Place } from "./last-second.ts";
import { Pace } from "./pace.ts";
import { hasLease, LINK_CLOSED, LINK_ELSEWHERE, NOT_SENT, throttled, WITHDRAWN } from "./provider.ts";
import type { Begin, Connection, LeasedHost, LinkState, Outgoing, SendOutcome } from "./provider.ts";
import { RecipientThrottle } from "./recipient-throttle.ts";

/** The meaning of a response. `paused`: the carrier accepts nothing on this link until a person acts. */
export type ResponseOutcome = SendOutcome | { kind: "paused"; reason: string; providerCode: string | null };

/** The waits between attempts to connect to a carrier that cannot be reached: doubled from the first to the longest. */
export type Reconnect = { firstMs: number; maxMs: number };

export type HttpLinkSettings = {
  window: number;
  /** How long a response may take. */
  timeoutMs?: number;
  reconnect?: Reconnect;
  /** The addresses that the owner of the link may connect to; undefined for all. */
  gate?: AddressGate | undefined;
  /** Certificates to trust instead of the system's, for tests. */
  ca?: string | undefined;
};

/** Why there are no credentials for a request. `isRefused`: a person must act. */
export type CredentialsFailure = { isRefused: boolean; reason: string };

/** Credentials that must be obtained before a request is made. */
export type LinkCredentials = {
  /** Resolves with the failure, if there is one. */
  ready: (signal: AbortSignal) => Promise<CredentialsFailure | undefined>;
  /** Whether a response refuses credentials that new ones may replace. The request is then made once more. */
  isStale: (request: HttpRequest, response: HttpResponse) => boolean;
};

export type HttpCarrier = {
  name: string;
  /** The origin of all requests. */
  origin: string;
  /** The rate, in the unit of `sizeOf`. */
  perSecond: number;
  settings: HttpLinkSettings;
  credentials?: LinkCredentials | undefined;
  toRequest: (message: Outgoing) => HttpRequest;
  sizeOf: (message: Outgoing) => number;
  /** Prepares a message with a content before it takes its turn, such as by uploading its file. Nothing of the message leaves here. */
  prepare?: (message: Outgoing, signal: AbortSignal) => Promise<Outgoing | ResponseOutcome>;
  /** `message.attempt` counts the throttled responses for this recipient in a row, this one included. */
  interpret: (response: HttpResponse, message: Outgoing) => ResponseOutcome;
  /** Ends the work that the provider does beside the link. */
  stop?: (() => Promise<void>) | undefined;
};

/** A message that may be sent, as far as the rate and the connection are concerned. */
type Ready = { connection: HeldConnection; place: Place; message: Outgoing };

// Carriers respond within a second or two. This time, the wait for a turn and the opening of a connection together stay below the limit of
// an attempt.
const TIMEOUT_MS = 30_000;
const MAX_TURN_WAIT_MS = 10_000;
// A message that has no connection for longer takes another turn: otherwise all messages that waited for slow handshakes would leave together.
const TURN_LASTS_MS = 1_000;
// A message waits at most half of MAX_TURN_WAIT_MS for its turn, if every message has size 1.
const WINDOW_SECONDS = 5;
const MAX_WINDOW = 500;
// A person needs minutes to act; one message in this time does no harm at the carrier.
const PAUSE_MS = 180_000;
// The wait if the carrier names none.
const DEFAULT_WAIT_MS = 1_000;
// The wait after a token could not be obtained, for whatever reason.
const CREDENTIALS_WAIT_MS = 5_000;
// A carrier that restarts is back within seconds. In an outage of hours a message waits two minutes more at most, and the carrier's network
// sees one attempt in this time.
const RECONNECT: Reconnect = { firstMs: 1_000, maxMs: 120_000 };

const CONNECTED: LinkState = { kind: "connected", reason: null };

export class HttpLink implements Connection {
  readonly #carrier: HttpCarrier;
  readonly #host: LeasedHost;
  readonly #client: OriginClient;
  readonly #pace: Pace;
  readonly #recipients = new RecipientThrottle();
  readonly #window: number;
  readonly #reconnect: Reconnect;
  #state: LinkState = CONNECTED;
  #stateChangedAt = 0;
  /** The link sends no message before this time. */
  #blockedUntil = 0;
  /** The wait for the next attempt to connect, while the carrier cannot be reached. */
  #reconnecting: NodeJS.Timeout | undefined;
  #isDown = false;
  /** Attempts to connect that failed since the last response. */
  #failures = 0;
  #isClosed = false;

  constructor(carrier: HttpCarrier, host: LeasedHost) {
    const { perSecond, settings } = carrier;
    const { window, timeoutMs = TIMEOUT_MS, reconnect = RECONNECT, gate, ca } = settings;
    assert(Number.isFinite(perSecond) && perSecond > 0, `the rate of ${carrier.name} is above zero`);
    assert(Number.isSafeInteger(window) && window > 0, `the window of ${carrier.name} is a number above zero`);
    this.#carrier = carrier;
    this.#host = host;
    this.#window = Math.min(window, MAX_WINDOW, Math.ceil(perSecond * WINDOW_SECONDS));
    this.#client = new OriginClient(carrier.origin, { gate, connections: this.#window, timeoutMs, ca });
    this.#pace = new Pace(perSecond, MAX_TURN_WAIT_MS);
    this.#reconnect = reconnect;
  }

  get state(): LinkState {
    return this.#state;
  }

  get isReady(): boolean {
    return !this.#isDown;
  }

  /** A link that was interrupted sends one message at a time, until a response shows that it works again. */
  get window(): number {
    return this.#state.kind !== "connected" || this.#failures > 0 ? 1 : this.#window;
  }

  async send(message: Outgoing, signal: AbortSignal, begin: Begin, renew?: () => AbortSignal): Promise<SendOutcome> {
    const { prepare } = this.#carrier;
    if (prepare === undefined || !message.content || this.#isClosed || signal.aborted) return this.#sendPrepared(message, signal, begin);
    const startedAt = performance.now();
    const prepared = await prepare(message, signal);
    if ("kind" in prepared) return prepared.kind === "paused" ? this.#applyToLink(prepared, startedAt) : prepared;
    return this.#sendPrepared(prepared, renew?.() ?? signal, begin);
  }

  async #sendPrepared(message: Outgoing, signal: AbortSignal, begin: Begin): Promise<SendOutcome> {
    if (this.#isClosed) return LINK_CLOSED;
    if (signal.aborted) return NOT_SENT;
    const waitMs = this.#blockedMs() || this.#pace.excessMs;
    if (waitMs > 0) return throttled(waitMs, null);
    const recipientMs = this.#recipients.waitMs(message.recipient, performance.now());
    if (recipientMs > 0) return { kind: "throttled", scope: "recipient", retryAfterMs: recipientMs, providerCode: null };
    for (;;) {
      const refused = this.#carrier.credentials && (await this.#awaitCredentials(this.#carrier.credentials, signal));
      if (refused !== undefined) return refused;
      const connection = await this.#takeConnection(this.#carrier.sizeOf(message), signal);
      if (!(connection instanceof HeldConnection)) return connection;
      const outcome = await this.#postInPlace(connection, message, signal, begin).finally(() => this.#client.giveBack(connection));
      if (outcome !== undefined) return outcome;
    }
  }

  /** Waits for a turn and an open connection, or returns why the message is not sent. */
  async #takeConnection(size: number, signal: AbortSignal): Promise<HeldConnection | SendOutcome> {
    for (let connection: HeldConnection | undefined; ;) {
      if (!(await this.#pace.waitTurn(size, signal))) {
        if (connection !== undefined) this.#client.giveBack(connection);
        return NOT_SENT;
      }
      if (connection?.isOpen === true) return connection;
      const turnAt = performance.now();
      const taken = await this.#client.take(signal);
      if (taken === undefined || this.#isClosed) return NOT_SENT;
      if (taken instanceof Error) return this.#goDown(taken, turnAt);
      connection = taken;
      if (performance.now() - turnAt <= TURN_LASTS_MS) return connection;
    }
  }

  /** Sends a message on its connection when there is a place in the last second: messages whose commits end together do not leave together.
   *  Returns undefined if it must be sent again. */
  async #postInPlace(connection: HeldConnection, message: Outgoing, signal: AbortSignal, begin: Begin): Promise<SendOutcome | undefined> {
    const place = await this.#pace.waitPlace(this.#carrier.sizeOf(message), signal);
    if (place === undefined) return NOT_SENT;
    return this.#post({ connection, place, message }, signal, begin).finally(() => place.release());
  }

  /** Returns undefined if the message must be sent again: the connection was closed before the first byte, or the carrier refused credentials
   *  that new ones replace. */
  async #post({ connection, place, message }: Ready, signal: AbortSignal, begin: Begin): Promise<SendOutcome | undefined> {
    if (!connection.isOpen) return undefined;
    if (!hasLease(this.#host)) return LINK_ELSEWHERE;
    // The response to another message may have blocked the link during the wait.
    if (this.#blockedMs() > 0) return throttled(this.#blockedMs(), null);
    if (!(await begin())) return WITHDRAWN;
    if (this.#isClosed) return LINK_CLOSED;
    if (!hasLease(this.#host)) return LINK_ELSEWHERE;
    if (!connection.isOpen) return undefined;
    const startedAt = performance.now();
    const request = this.#carrier.toRequest(message);
    place.write(performance.now());
    const outcome = await connection.call(request, signal);
    if (outcome.kind === "response" && this.#carrier.credentials?.isStale(request, outcome) === true) return undefined;
    return this.#settle(outcome, message, startedAt);
  }

  /** Returns why the message is not sent. Others may have taken the next turns meanwhile. */
  async #awaitCredentials(credentials: LinkCredentials, signal: AbortSignal): Promise<SendOutcome | undefined> {
    const failure = await credentials.ready(signal);
    if (failure !== undefined) return this.#withoutCredentials(failure);
    const waitMs = this.#pace.excessMs;
    return waitMs > 0 ? throttled(waitMs, null) : undefined;
  }

  /** Nothing has left, and the message is not the cause. */
  #withoutCredentials({ isRefused, reason }: CredentialsFailure): SendOutcome {
    const providerCode = "no_access_token";
    if (isRefused) return this.#applyToLink({ kind: "paused", reason, providerCode }, performance.now());
    this.#blockFor(CREDENTIALS_WAIT_MS);
    this.#changeState({ kind: "throttled", reason }, performance.now());
    return throttled(CREDENTIALS_WAIT_MS, providerCode);
  }

  /** Sends nothing more. Calls under way end by themselves. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#reconnecting);
    this.#pace.stop();
    this.#client.close();
    await this.#carrier.stop?.();
  }

  #blockedMs(): number {
    return Math.max(0, Math.ceil(this.#blockedUntil - performance.now()));
  }

  #settle(outcome: HttpOutcome, message: Outgoing, startedAt: number): SendOutcome {
    switch (outcome.kind) {
      case "unreachable":
        return this.#goDown(outcome.error, startedAt);
      case "no_response":
        return { kind: "unknown", detail: causeOf(outcome.error) };
      case "response":
        this.#reached();
        return this.#applyToLink(this.#interpret(outcome, message), startedAt);
      default:
        return unreachable(outcome);
    }
  }

  /** Takes no more messages until there is a connection. The message is not the cause, however long this lasts: it waits in the queue, or
   *  takes another link. */
  #goDown(failure: Error, startedAt: number): SendOutcome {
    // The failure of an attempt that started before the last change is older information.
    if (!this.#isDown && !this.#isClosed && startedAt >= this.#stateChangedAt) {
      this.#isDown = true;
      this.#connectLater(failure);
    }
    return throttled(this.#reconnect.firstMs, "carrier_unreachable");
  }

  #connectLater(failure: Error): void {
    this.#failures += 1;
    this.#changeState({ kind: "connecting", reason: `no connection to the carrier: ${causeOf(failure)}` }, performance.now());
    const { firstMs, maxMs } = this.#reconnect;
    this.#reconnecting = setTimeout(() => void this.#connectAgain(), backoffMs(this.#failures, firstMs, maxMs));
  }

  async #connectAgain(): Promise<void> {
    const failure = await this.#client.connect();
    if (this.#isClosed) return;
    if (failure !== undefined) return this.#connectLater(failure);
    this.#isDown = false;
    if (this.#state.kind === "connecting") this.#changeState(CONNECTED, performance.now());
    else this.#host.changed();
  }

  /** The carrier has responded: the whole window may be used again. */
  #reached(): void {
    if (this.#failures === 0 || this.#isDown) return;
    this.#failures = 0;
    this.#host.changed();
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
    } else if (outcome.kind === "accepted" || (outcome.kind !== "unknown" && this.#state.kind !== "paused"))
      // A refusal, or the throttling of one recipient, shows that the carrier handles messages.
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
