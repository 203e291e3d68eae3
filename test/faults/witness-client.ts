/** The provider whose carrier is the witness. A submission on a broken connection has an unknown outcome. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { createInterface } from "node:readline";
import { within } from "../../src/lib/wait.ts";
import { WITHDRAWN } from "../../src/providers/provider.ts";
import type { Begin, Connection, Host, Outgoing, Provider, Receipt, SendOutcome } from "../../src/providers/provider.ts";
import type { ClientMessage, WitnessMessage } from "./witness.ts";

const RECONNECT_MS = 50;
const CLOSE_MS = 2_000;

const NOT_SENT: SendOutcome = {
  kind: "refused",
  code: "link_closed",
  message: "The link is closed.",
  providerCode: null,
  isPermanent: false,
};

export type WitnessAddress = { port: number; node: string; window: number };

class WitnessConnection implements Connection {
  readonly window: number;
  readonly #address: WitnessAddress;
  readonly #host: Host;
  readonly #outstanding = new Map<string, (outcome: SendOutcome) => void>();
  #socket: Socket | undefined;
  #retry: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(address: WitnessAddress, host: Host) {
    this.window = address.window;
    this.#address = address;
    this.#host = host;
    this.#connect();
  }

  get isReady(): boolean {
    return this.#socket !== undefined;
  }

  async send({ id, attempt }: Outgoing, signal: AbortSignal, begin: Begin): Promise<SendOutcome> {
    if (this.#socket === undefined || signal.aborted) return NOT_SENT;
    if (!(await begin())) return WITHDRAWN;
    const socket = this.#socket;
    if (socket === undefined) return NOT_SENT;
    const key = `${id} ${attempt}`;
    return new Promise((resolve) => {
      const settle = (outcome: SendOutcome): void => {
        signal.removeEventListener("abort", giveUp);
        this.#outstanding.delete(key);
        resolve(outcome);
      };
      const giveUp = (): void => settle({ kind: "unknown", detail: "no response in time" });
      this.#outstanding.set(key, settle);
      signal.addEventListener("abort", giveUp, { once: true });
      this.#write(socket, { kind: "send", id, attempt });
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#retry);
    const socket = this.#socket;
    if (socket === undefined) return;
    socket.end();
    await within(once(socket, "close"), CLOSE_MS);
    socket.destroy();
  }

  #connect(): void {
    const socket = connect(this.#address.port, "127.0.0.1", () => {
      this.#socket = socket;
      this.#write(socket, { kind: "hello", node: this.#address.node });
      this.#host.changed();
    });
    socket.on("error", () => undefined);
    socket.on("close", () => this.#lost());
    const lines = createInterface({ input: socket });
    lines.on("error", () => undefined);
    lines.on("line", (text) => this.#receive(socket, JSON.parse(text) as WitnessMessage));
  }

  #lost(): void {
    this.#socket = undefined;
    for (const settle of this.#outstanding.values()) settle({ kind: "unknown", detail: "the connection broke" });
    if (!this.#isClosed) this.#retry = setTimeout(() => this.#connect(), RECONNECT_MS);
  }

  #receive(socket: Socket, message: WitnessMessage): void {
    if (message.kind === "receipt") {
      void this.#passOn(socket, message.number, message.receipt);
      return;
    }
    const { id, attempt, outcome } = message;
    this.#write(socket, { kind: "response received", id, attempt });
    const settle = this.#outstanding.get(`${id} ${attempt}`);
    if (settle !== undefined) settle(outcome);
    // The response is too late for its attempt. It is passed on as a receipt.
    else if (outcome.kind === "accepted") void this.#passOn(socket, null, lateResponse(id, outcome.providerMessageId));
  }

  async #passOn(socket: Socket, number: number | null, receipt: Receipt): Promise<void> {
    try {
      await this.#host.receive([receipt]);
      if (number !== null) this.#write(socket, { kind: "receipt stored", receipt: number });
    } catch {
      // The witness repeats a receipt that is not acknowledged.
    }
  }

  #write(socket: Socket, message: ClientMessage): void {
    if (socket.writable) socket.write(`${JSON.stringify(message)}\n`);
  }
}

const lateResponse = (id: string, providerMessageId: string): Receipt => ({
  providerMessageId,
  reference: id,
  status: "sent",
  error: null,
  raw: { id: providerMessageId, status: "ENROUTE" },
});

export const witnessed = (address: WitnessAddress): Provider<unknown> => ({
  name: "witness",
  open: async (_settings, host) => new WitnessConnection(address, host),
});
