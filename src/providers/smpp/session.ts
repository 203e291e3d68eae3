/** One connection to the carrier: requests and responses in both directions. A session ends once; then every request has an outcome. */
import type { Socket } from "node:net";
import { errorFields, type Log } from "../../model/log.ts";
import type { EventOf } from "../../model/log-events.ts";
import { BoundedMap } from "../../lib/bounded-map.ts";
import { TokenBucket } from "../../lib/token-bucket.ts";
import { within } from "../../lib/wait.ts";
import { decode } from "./decode.ts";
import { encode } from "./encode.ts";
import { BadFrame, Frames } from "./frames.ts";
import { COMMAND, isResponse, MAX_SEQUENCE, STATUS, type Body, type Malformed, type Pdu, type ShortMessage } from "./pdu.ts";
import type { SmppTimes } from "./settings.ts";

export type SessionParts = {
  socket: Socket;
  times: SmppTimes;
  log: Log;
  /** Stores a deliver_sm. Resolves with the status of the response. */
  deliver: (short: ShortMessage) => Promise<number>;
  /** Called for each stored deliver_sm, with whether its response was written. If not, the carrier sends it again. */
  onAcknowledged: (short: ShortMessage, isWritten: boolean) => void;
  /** Called when no more requests can be made, though responses may still come. */
  onClosing: () => void;
  /** The session ends after this number of requests in a row without a response. */
  maxTimeouts: number;
};

// The number of deliver_sm that may wait for the host. Carriers send fewer at a time. At this number nothing more is read.
const MAX_DELIVERING = 100;
// A peer that sends requests and does not read our responses must not fill the memory.
const MAX_UNSENT_BYTES = 1_048_576;
// All PDUs of a peer but deliver_sm and data_sm, which wait for the host, and responses to our requests. Carriers send an enquire_link in some
// seconds.
const UNEXPECTED = { perSecond: 200, burst: 500 };
// Enough to show the errors of a peer, without a log line for each.
const MAX_WARNINGS = 10;

export class Session {
  readonly #parts: SessionParts;
  readonly #frames = new Frames();
  readonly #requests: PendingRequests;
  readonly #ended = Promise.withResolvers<string>();
  readonly #enquireTimer: NodeJS.Timeout;
  readonly #unexpected = new TokenBucket(UNEXPECTED);
  #receivedAt = performance.now();
  #isEnquiring = false;
  #delivering = 0;
  /** Counts malformed PDUs, unexpected responses and the like. */
  #warnings = 0;
  #isClosing = false;
  #isEnded = false;
  #isCorked = false;

  constructor(parts: SessionParts) {
    this.#parts = parts;
    const { socket, times } = parts;
    this.#requests = new PendingRequests(parts.maxTimeouts, () => this.end("the carrier does not answer"));
    this.#enquireTimer = setInterval(() => void this.#enquire(), Math.max(1, times.enquireMs / 2));
    socket.on("data", (chunk: Buffer) => this.#read(chunk));
    socket.on("error", (error: NodeJS.ErrnoException) => this.end(error.code ?? "socket error"));
    socket.on("close", () => this.end("the carrier closed the connection"));
  }

  /** Resolves with the reason of the end. */
  get ended(): Promise<string> {
    return this.#ended.promise;
  }

  /** Whether requests can be made. */
  get isOpen(): boolean {
    return !this.#isClosing && !this.#isEnded;
  }

  /** Sends a request. Always resolves with an outcome. */
  request(body: Body, limits: RequestLimits): Promise<RequestOutcome> {
    if (!this.isOpen) return Promise.resolve({ kind: "unsent" });
    return this.#send(body, limits);
  }

  /** Starts no new request and waits for the pending ones. Then unbinds, and reads on until the carrier responds. */
  async unbind(): Promise<void> {
    const { drainMs, unbindMs } = this.#parts.times;
    if (this.#isEnded) return;
    this.#startClosing();
    await within(this.#requests.drained(), drainMs);
    if (!this.#isEnded) await this.#send({ command: "unbind" }, { limitMs: unbindMs });
    this.end("unbound");
  }

  end(reason: string): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    clearInterval(this.#enquireTimer);
    this.#startClosing();
    // Flushes a last PDU.
    if (this.#isCorked) this.#parts.socket.uncork();
    this.#parts.socket.destroy();
    this.#requests.disconnect(reason);
    this.#ended.resolve(reason);
  }

  #send(body: Body, limits: RequestLimits): Promise<RequestOutcome> {
    return this.#requests.begin(limits, (sequence) => this.#write({ ...body, status: STATUS.ok, sequence }));
  }

  #startClosing(): void {
    if (this.#isClosing) return;
    this.#isClosing = true;
    this.#parts.onClosing();
  }

  /** Returns false when the connection has ended. */
  #write(pdu: Pdu): boolean {
    const { socket } = this.#parts;
    if (this.#isEnded || !socket.writable) return false;
    this.#batchWrites();
    socket.write(encode(pdu));
    if (socket.writableLength > MAX_UNSENT_BYTES) this.end("the carrier does not read");
    return true;
  }

  /** Writes all PDUs of one turn of the event loop in one call: submits come in groups, since one commit covers several messages. */
  #batchWrites(): void {
    if (this.#isCorked) return;
    this.#isCorked = true;
    this.#parts.socket.cork();
    process.nextTick(() => {
      this.#isCorked = false;
      this.#parts.socket.uncork();
    });
  }

  /** Handles the PDUs that were received. One read may bring hundreds: those beyond the limit wait with the next bytes. */
  #read(chunk?: Buffer): void {
    this.#receivedAt = performance.now();
    try {
      for (const frame of this.#frames.push(chunk)) {
        if (this.#isEnded) return;
        this.#handle(decode(frame));
        if (this.#delivering >= MAX_DELIVERING) return;
      }
    } catch (error) {
      if (!(error instanceof BadFrame)) throw error;
      // The start of the next PDU is unknown.
      this.#warn({ event: "smpp.malformed_pdu", reason: error.message }, "a length that no PDU has");
      this.#nack(0, STATUS.invalidLength);
      this.end(error.message);
    }
  }

  #handle(pdu: Pdu | Malformed): void {
    const { command, status, sequence } = pdu;
    const commandId = command === "malformed" ? pdu.commandId : COMMAND[command];
    if (command === "malformed") this.#warn({ event: "smpp.malformed_pdu", command_id: commandId, reason: pdu.reason }, "a malformed PDU");
    if (command === "deliver_sm" || command === "data_sm") void this.#deliver(command, pdu.short, sequence);
    else if (isResponse(commandId) && this.#requests.receive(pdu)) return;
    else if (!this.#unexpected.take()) this.end("the carrier sends too many requests, or responses to no request");
    else if (isResponse(commandId)) {
      if (command !== "malformed") this.#warn({ event: "smpp.unexpected_response", command, status }, "a response to no request");
    } else if (command === "enquire_link") this.#write({ command: "enquire_link_resp", status: STATUS.ok, sequence });
    else if (command === "unbind") void this.#acceptUnbind(sequence);
    else if (command === "malformed" && pdu.reason !== "unknown command") this.#nack(sequence, STATUS.invalidLength);
    // An alert_notification has no response. Every other command is refused.
    else if (command !== "alert_notification") this.#nack(sequence, STATUS.invalidCommand);
  }

  #nack(sequence: number, status: number): void {
    this.#write({ command: "generic_nack", status, sequence });
  }

  async #deliver(command: "deliver_sm" | "data_sm", short: ShortMessage, sequence: number): Promise<void> {
    const { socket, deliver, onAcknowledged } = this.#parts;
    this.#delivering += 1;
    if (this.#delivering >= MAX_DELIVERING) socket.pause();
    const status = await deliver(short).catch((error: unknown) => {
      this.#warn({ event: "providers.receive_failed", provider: "smpp", ...errorFields(error) }, "a delivery could not be processed");
      return STATUS.systemError;
    });
    this.#delivering -= 1;
    if (this.#delivering < MAX_DELIVERING / 2 && socket.isPaused()) {
      this.#read();
      if (this.#delivering < MAX_DELIVERING) socket.resume();
    }
    const isWritten = this.#write({ command: `${command}_resp`, id: "", status, sequence });
    if (status === STATUS.ok) onAcknowledged(short, isWritten);
  }

  /** Responds to the carrier's unbind, after a moment for its outstanding responses. */
  async #acceptUnbind(sequence: number): Promise<void> {
    const { drainMs, unbindMs } = this.#parts.times;
    this.#startClosing();
    await within(this.#requests.drained(), drainMs);
    this.#write({ command: "unbind_resp", status: STATUS.ok, sequence });
    await within(this.ended, unbindMs);
    this.end("the carrier unbound");
  }

  /** Sends an enquire_link if nothing was received for a while: any PDU shows that the connection works. */
  async #enquire(): Promise<void> {
    const { enquireMs, enquireResponseMs } = this.#parts.times;
    if (this.#isEnquiring || this.#parts.socket.isPaused() || performance.now() - this.#receivedAt < enquireMs) return;
    this.#isEnquiring = true;
    const { kind } = await this.#send({ command: "enquire_link" }, { limitMs: enquireResponseMs });
    this.#isEnquiring = false;
    if (kind === "timeout" && !this.#parts.socket.isPaused()) this.end("enquire_link was not answered");
  }

  #warn(fields: { event: EventOf<"warn">; [field: string]: unknown }, message: string): void {
    this.#warnings += 1;
    if (this.#warnings <= MAX_WARNINGS) this.#parts.log.warn({ ...fields, count: this.#warnings }, `smpp: ${message}`);
  }
}

export type RequestOutcome =
  /** A response, or a generic_nack in place of one. */
  | { kind: "response"; pdu: Pdu }
  /** The request was never written. */
  | { kind: "unsent" }
  /** Bytes may have left, and no definite response came. */
  | { kind: "timeout" | "disconnected" | "unreadable" | "aborted"; detail: string };

export type RequestLimits = {
  limitMs: number;
  signal?: AbortSignal;
  /** Called with a response that comes after the request has ended with `timeout` or `aborted`. */
  onLateResponse?: (pdu: Pdu) => void;
};

// Ended requests whose responses may still come.
const MAX_LATE = 1_000;

/** Requests to the carrier that wait for their responses, by sequence number. */
export class PendingRequests {
  readonly #pending = new Map<number, (outcome: RequestOutcome) => void>();
  readonly #late = new BoundedMap<number, (pdu: Pdu) => void>(MAX_LATE);
  readonly #maxTimeouts: number;
  readonly #onTimeouts: () => void;
  #sequence: number;
  #timeouts = 0;
  #idle: PromiseWithResolvers<void> | undefined;

  /** Calls `onTimeouts` after `maxTimeouts` requests in a row without a response. `sequence` is the number before the first. */
  constructor(maxTimeouts: number, onTimeouts: () => void, sequence = 0) {
    this.#sequence = sequence;
    this.#maxTimeouts = maxTimeouts;
    this.#onTimeouts = onTimeouts;
  }

  /** `write` returns false if nothing was written: the connection is ending. */
  begin({ limitMs, signal, onLateResponse }: RequestLimits, write: (sequence: number) => boolean): Promise<RequestOutcome> {
    if (signal?.aborted === true) return Promise.resolve({ kind: "unsent" });
    const sequence = this.#nextSequence();
    return new Promise((resolve) => {
      const settle = (outcome: RequestOutcome): void => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", abort);
        this.#remove(sequence);
        resolve(outcome);
      };
      const stopWaiting = (outcome: RequestOutcome): void => {
        this.#expectLate(sequence, onLateResponse);
        settle(outcome);
      };
      const abort = (): void => stopWaiting({ kind: "aborted", detail: "the time limit passed before the carrier's response" });
      const timer = setTimeout(() => {
        stopWaiting({ kind: "timeout", detail: "the carrier did not answer in time" });
        this.#timeouts += 1;
        if (this.#timeouts >= this.#maxTimeouts) this.#onTimeouts();
      }, limitMs);
      signal?.addEventListener("abort", abort, { once: true });
      this.#pending.set(sequence, settle);
      if (!write(sequence)) settle({ kind: "unsent" });
    });
  }

  /** Settles the request of a response. Returns false when there is no such request. */
  receive(pdu: Pdu | Malformed): boolean {
    const { command, status, sequence } = pdu;
    const settle = this.#pending.get(sequence);
    const late = this.#late.get(sequence);
    if (settle === undefined && late === undefined) return false;
    this.#late.delete(sequence);
    if (command === "malformed") settle?.({ kind: "unreadable", detail: `its answer, status ${status}, could not be read` });
    else {
      this.#timeouts = 0;
      settle?.({ kind: "response", pdu });
      late?.(pdu);
    }
    return true;
  }

  /** Settles all requests, since the connection has ended. */
  disconnect(reason: string): void {
    this.#late.clear();
    for (const settle of this.#pending.values()) settle({ kind: "disconnected", detail: `the connection ended: ${reason}` });
  }

  /** Resolves when no request is pending. */
  async drained(): Promise<void> {
    if (this.#pending.size === 0) return;
    this.#idle ??= Promise.withResolvers();
    await this.#idle.promise;
  }

  #remove(sequence: number): void {
    this.#pending.delete(sequence);
    if (this.#pending.size > 0) return;
    this.#idle?.resolve();
    this.#idle = undefined;
  }

  #expectLate(sequence: number, onLateResponse: ((pdu: Pdu) => void) | undefined): void {
    this.#late.set(sequence, onLateResponse ?? (() => undefined));
  }

  /** The next number that is not in use. Numbers start again after the largest. */
  #nextSequence(): number {
    do this.#sequence = this.#sequence >= MAX_SEQUENCE ? 1 : this.#sequence + 1;
    while (this.#pending.has(this.#sequence) || this.#late.has(this.#sequence));
    return this.#sequence;
  }
}
