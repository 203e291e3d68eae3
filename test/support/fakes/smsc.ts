/** A fake carrier that implements SMPP on a real socket, and reproduces the faults of carriers. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { createServer as createTlsServer, type TlsOptions } from "node:tls";
import { within } from "../../../src/lib/wait.ts";
import { decode } from "../../../src/providers/smpp/decode.ts";
import { encode } from "../../../src/providers/smpp/encode.ts";
import { Frames } from "../../../src/providers/smpp/frames.ts";
import {
  COMMAND,
  STATUS,
  type BindFields,
  type Body,
  type Malformed,
  type Pdu,
  type ShortMessage,
} from "../../../src/providers/smpp/pdu.ts";

const DELIVER_AGAIN_MS = 20;
// As long as the waits of tests. `expect.ts` would bring the test runner to programs that are no tests.
const LIMIT_MS = 180_000;

/** The status of a response, or no response. */
type Reply = number | "silence";

export type Script = {
  bind?: (bind: BindFields, session: SmscSession) => Reply;
  /** Handles a submit_sm, including its response. The default accepts it. */
  submit?: ((submit: Submit, session: SmscSession) => void) | undefined;
  /** The reaction to enquire_link and to unbind. The default responds. */
  enquire?: "silence";
  unbind?: "silence";
  tls?: TlsOptions;
};

export type Submit = { short: ShortMessage; sequence: number; atMs: number };

const isResponse = (pdu: Pdu | Malformed): boolean => (pdu.command === "malformed" ? pdu.commandId : COMMAND[pdu.command]) >= 0x80000000;

/** One connection of a client. */
export class SmscSession {
  readonly socket: Socket;
  readonly submits: Submit[] = [];
  /** All PDUs of the client, in order. */
  readonly received: (Pdu | Malformed)[] = [];
  boundAs: string | null = null;
  isClosed = false;
  readonly #smsc: Smsc;
  readonly #frames = new Frames();
  readonly #waiting = new Map<number, (pdu: Pdu | Malformed | undefined) => void>();
  #sequence = 0;

  constructor(smsc: Smsc, socket: Socket) {
    this.#smsc = smsc;
    this.socket = socket;
    socket.setNoDelay(true);
    socket.on("data", (chunk: Buffer) => {
      for (const frame of this.#framesOf(chunk)) this.#take(decode(frame));
    });
    socket.on("error", () => undefined);
    socket.on("close", () => {
      this.isClosed = true;
      // No response can arrive any more.
      for (const resolve of this.#waiting.values()) resolve(undefined);
    });
  }

  /** Bytes that are no SMPP end the connection, as at a real SMSC. */
  #framesOf(chunk: Buffer): Buffer[] {
    try {
      return [...this.#frames.push(chunk)];
    } catch {
      this.socket.destroy();
      return [];
    }
  }

  write(pdu: Pdu): void {
    this.raw(encode(pdu));
  }

  raw(bytes: Buffer): void {
    if (!this.isClosed && this.socket.writable) this.socket.write(bytes);
  }

  accept({ sequence }: Submit, id: string = this.#smsc.nextId()): string {
    this.write({ command: "submit_sm_resp", id, status: STATUS.ok, sequence });
    return id;
  }

  refuse({ sequence }: Submit, status: number): void {
    this.write({ command: "submit_sm_resp", id: "", status, sequence });
  }

  /** Sends a request to the client and returns the response, or undefined if there is none. */
  async request(body: Body, limitMs = LIMIT_MS): Promise<Pdu | Malformed | undefined> {
    this.#sequence += 1;
    const sequence = this.#sequence;
    if (this.isClosed) return undefined;
    const response = new Promise<Pdu | Malformed | undefined>((resolve) => this.#waiting.set(sequence, resolve));
    this.write({ ...body, status: STATUS.ok, sequence });
    return within(response, limitMs);
  }

  async deliver(short: ShortMessage): Promise<number | undefined> {
    return (await this.request({ command: "deliver_sm", short }))?.status;
  }

  /** Repeats the deliver_sm until the client acknowledges it. */
  async deliverUntilAccepted(short: ShortMessage): Promise<void> {
    while (!this.isClosed && (await this.deliver(short)) !== STATUS.ok)
      await new Promise((resolve) => setTimeout(resolve, DELIVER_AGAIN_MS));
  }

  #take(pdu: Pdu | Malformed): void {
    this.received.push(pdu);
    if (isResponse(pdu)) {
      this.#waiting.get(pdu.sequence)?.(pdu);
      this.#waiting.delete(pdu.sequence);
    } else this.#respond(pdu);
  }

  #respond(pdu: Pdu | Malformed): void {
    const { script } = this.#smsc;
    const { sequence } = pdu;
    if (pdu.command === "bind_transceiver" || pdu.command === "bind_transmitter" || pdu.command === "bind_receiver") {
      this.#smsc.binds.push({ ...pdu.bind, command: pdu.command, atMs: performance.now() });
      const status = script.bind?.(pdu.bind, this) ?? STATUS.ok;
      if (status === "silence") return;
      if (status === STATUS.ok) {
        this.boundAs = pdu.command;
        this.#smsc.mostBound = Math.max(this.#smsc.mostBound, this.#smsc.bound.length);
      }
      this.write({ command: `${pdu.command}_resp`, id: "SMSC", status, sequence });
    } else if (pdu.command === "submit_sm") this.#submitted({ short: pdu.short, sequence, atMs: performance.now() });
    else if (pdu.command === "enquire_link" && script.enquire !== "silence")
      this.write({ command: "enquire_link_resp", status: STATUS.ok, sequence });
    else if (pdu.command === "unbind" && script.unbind !== "silence") {
      this.write({ command: "unbind_resp", status: STATUS.ok, sequence });
      this.socket.end();
    }
  }

  #submitted(submit: Submit): void {
    this.submits.push(submit);
    this.#smsc.submits.push(submit);
    if (this.#smsc.script.submit === undefined) this.accept(submit);
    else this.#smsc.script.submit(submit, this);
  }
}

export class Smsc {
  readonly sessions: SmscSession[] = [];
  /** The submit_sm of all sessions, in order. */
  readonly submits: Submit[] = [];
  readonly binds: (BindFields & { command: string; atMs: number })[] = [];
  script: Script;
  /** The highest number of simultaneous binds. */
  mostBound = 0;
  readonly #server: Server;
  #count = 0;

  private constructor(script: Script) {
    this.script = script;
    const take = (socket: Socket): void => void this.sessions.push(new SmscSession(this, socket));
    this.#server = script.tls === undefined ? createServer(take) : createTlsServer(script.tls, take);
  }

  static async start(script: Script = {}): Promise<Smsc> {
    const smsc = new Smsc(script);
    smsc.#server.listen(0, "127.0.0.1");
    await once(smsc.#server, "listening");
    return smsc;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** The latest connection. */
  get session(): SmscSession {
    return this.sessions.at(-1) ?? assert.fail("no client has connected");
  }

  /** The connections that are currently bound. */
  get bound(): SmscSession[] {
    return this.sessions.filter(({ boundAs, isClosed }) => boundAs !== null && !isClosed);
  }

  nextId(): string {
    this.#count += 1;
    return `m${this.#count}`;
  }

  async stop(): Promise<void> {
    for (const { socket } of this.sessions) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
