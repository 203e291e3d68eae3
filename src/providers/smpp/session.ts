/** One connection to the carrier: requests and their answers, in both directions. Ends once, and then every request has its
 *  outcome. */
import type { Socket } from "node:net";
import { errorFields, type Log } from "../../lib/log.ts";
import type { EventOf } from "../../lib/log-events.ts";
import { within } from "../../lib/wait.ts";
import { decode } from "./decode.ts";
import { encode } from "./encode.ts";
import { BadFrame, Frames } from "./frames.ts";
import { COMMAND, isResponse, STATUS, type Body, type Malformed, type Pdu, type Short } from "./pdu.ts";
import { Requests, type Answer, type Waiting } from "./requests.ts";
import type { SmppTimes } from "./settings.ts";

export type SessionParts = {
  socket: Socket;
  times: SmppTimes;
  log: Log;
  /** The status to answer with. */
  deliver: (short: Short) => Promise<number>;
  /** The answer to what was taken could not be given: the carrier brings it again. */
  unheard: (short: Short) => void;
  /** Nothing more can be asked of it, though answers may still come. */
  leaving: () => void;
  /** So many requests without an answer, one after the other, and the carrier counts as gone. */
  maxSilences: number;
};

// deliver_sm that wait for the host. More than carriers send at a time: beyond it the socket is not read.
const MAX_DELIVERING = 100;
// A peer that asks and does not read the answers must not fill our memory.
const MAX_UNREAD_BYTES = 1_048_576;
// Enough to see what a peer does wrong, without a line for each.
const MAX_COMPLAINTS = 10;

export class Session {
  readonly #parts: SessionParts;
  readonly #frames = new Frames();
  readonly #requests: Requests;
  readonly #ended = Promise.withResolvers<string>();
  readonly #enquiring: NodeJS.Timeout;
  #heardAt = performance.now();
  #isEnquiring = false;
  #delivering = 0;
  /** Malformed PDUs, answers to nothing and the like. */
  #complaints = 0;
  #isLeaving = false;
  #isEnded = false;
  #isCorked = false;

  constructor(parts: SessionParts) {
    this.#parts = parts;
    const { socket, times } = parts;
    this.#requests = new Requests(parts.maxSilences, () => this.end("the carrier does not answer"));
    this.#enquiring = setInterval(() => void this.#enquire(), Math.max(1, times.enquireMs / 2));
    socket.on("data", (chunk: Buffer) => this.#read(chunk));
    socket.on("error", (error: NodeJS.ErrnoException) => this.end(error.code ?? "socket error"));
    socket.on("close", () => this.end("the carrier closed the connection"));
  }

  /** Resolves with the reason. */
  get ended(): Promise<string> {
    return this.#ended.promise;
  }

  /** Requests can be made. */
  get isOpen(): boolean {
    return !this.#isLeaving && !this.#isEnded;
  }

  /** Asks, and always has an outcome. */
  request(body: Body, waiting: Waiting): Promise<Answer> {
    if (!this.isOpen) return Promise.resolve({ kind: "unsent" });
    return this.#ask(body, waiting);
  }

  /** Nothing new; what is under way is waited for. Then unbinds, and reads on until the carrier agrees. */
  async unbind(): Promise<void> {
    const { drainMs, unbindMs } = this.#parts.times;
    if (this.#isEnded) return;
    this.#leave();
    await within(this.#requests.settled(), drainMs);
    if (!this.#isEnded) await this.#ask({ command: "unbind" }, { limitMs: unbindMs });
    this.end("unbound");
  }

  end(reason: string): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    clearInterval(this.#enquiring);
    this.#leave();
    // The last word, where there is one, still leaves.
    if (this.#isCorked) this.#parts.socket.uncork();
    this.#parts.socket.destroy();
    this.#requests.lose(reason);
    this.#ended.resolve(reason);
  }

  #ask(body: Body, waiting: Waiting): Promise<Answer> {
    return this.#requests.begin(waiting, (sequence) => this.#write({ ...body, status: STATUS.ok, sequence }));
  }

  #leave(): void {
    if (this.#isLeaving) return;
    this.#isLeaving = true;
    this.#parts.leaving();
  }

  /** False when there is nobody to write to any more. */
  #write(pdu: Pdu): boolean {
    const { socket } = this.#parts;
    if (this.#isEnded || !socket.writable) return false;
    this.#gather();
    socket.write(encode(pdu));
    if (socket.writableLength > MAX_UNREAD_BYTES) this.end("the carrier does not read");
    return true;
  }

  /** What is written in one go leaves in one call: submits come in bunches, as many as a commit has put on record. */
  #gather(): void {
    if (this.#isCorked) return;
    this.#isCorked = true;
    this.#parts.socket.cork();
    process.nextTick(() => {
      this.#isCorked = false;
      this.#parts.socket.uncork();
    });
  }

  #read(chunk: Buffer): void {
    this.#heardAt = performance.now();
    try {
      for (const frame of this.#frames.push(chunk)) {
        if (this.#isEnded) return;
        this.#take(decode(frame));
      }
    } catch (error) {
      if (!(error instanceof BadFrame)) throw error;
      // Where the next PDU begins nobody can tell.
      this.#complain({ event: "smpp.malformed_pdu", reason: error.message }, "a length that no PDU has");
      this.#nack(0, STATUS.invalidLength);
      this.end(error.message);
    }
  }

  #take(pdu: Pdu | Malformed): void {
    const { command, status, sequence } = pdu;
    if (command === "malformed") this.#takeMalformed(pdu);
    else if (isResponse(COMMAND[command])) {
      if (!this.#requests.answer(pdu)) this.#complain({ event: "smpp.unexpected_response", command, status }, "a response to no request");
    } else if (command === "enquire_link") this.#write({ command: "enquire_link_resp", status: STATUS.ok, sequence });
    else if (command === "deliver_sm" || command === "data_sm") void this.#deliver(command, pdu.short, sequence);
    else if (command === "unbind") void this.#beUnbound(sequence);
    // To this one no answer is foreseen, and to anything else no other.
    else if (command !== "alert_notification") this.#nack(sequence, STATUS.invalidCommand);
  }

  #takeMalformed({ commandId, status, sequence, reason }: Malformed): void {
    this.#complain({ event: "smpp.malformed_pdu", command_id: commandId, reason }, "a malformed PDU");
    if (isResponse(commandId)) this.#requests.garble(sequence, `its answer, status ${status}, could not be read`);
    else this.#nack(sequence, reason === "unknown command" ? STATUS.invalidCommand : STATUS.invalidLength);
  }

  #nack(sequence: number, status: number): void {
    this.#write({ command: "generic_nack", status, sequence });
  }

  async #deliver(command: "deliver_sm" | "data_sm", short: Short, sequence: number): Promise<void> {
    const { socket, deliver, unheard } = this.#parts;
    this.#delivering += 1;
    if (this.#delivering >= MAX_DELIVERING) socket.pause();
    const status = await deliver(short).catch((error: unknown) => {
      this.#complain({ event: "providers.receive_failed", provider: "smpp", ...errorFields(error) }, "a delivery could not be processed");
      return STATUS.systemError;
    });
    this.#delivering -= 1;
    if (this.#delivering < MAX_DELIVERING / 2 && socket.isPaused()) {
      this.#heardAt = performance.now();
      socket.resume();
    }
    const isTold = this.#write({ command: `${command}_resp`, id: "", status, sequence });
    if (!isTold && status === STATUS.ok) unheard(short);
  }

  /** The carrier wants to end. The answers it still has for us are worth a moment. */
  async #beUnbound(sequence: number): Promise<void> {
    const { drainMs, unbindMs } = this.#parts.times;
    this.#leave();
    await within(this.#requests.settled(), drainMs);
    this.#write({ command: "unbind_resp", status: STATUS.ok, sequence });
    await within(this.ended, unbindMs);
    this.end("the carrier unbound");
  }

  /** Only when nothing was heard: any PDU shows that the carrier is there. */
  async #enquire(): Promise<void> {
    const { enquireMs, enquireAnswerMs } = this.#parts.times;
    if (this.#isEnquiring || this.#parts.socket.isPaused() || performance.now() - this.#heardAt < enquireMs) return;
    this.#isEnquiring = true;
    const { kind } = await this.#ask({ command: "enquire_link" }, { limitMs: enquireAnswerMs });
    this.#isEnquiring = false;
    if (kind === "silence" && !this.#parts.socket.isPaused()) this.end("enquire_link was not answered");
  }

  #complain(facts: { event: EventOf<"warn">; [field: string]: unknown }, what: string): void {
    this.#complaints += 1;
    if (this.#complaints <= MAX_COMPLAINTS) this.#parts.log.warn({ ...facts, count: this.#complaints }, `smpp: ${what}`);
  }
}
