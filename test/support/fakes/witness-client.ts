/** The provider whose carrier is the witness. What is on a connection that breaks is of unknown outcome. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { createInterface } from "node:readline";
import { within } from "../../../src/lib/wait.ts";
import type { Connection, Host, Outgoing, Provider, Receipt, SendOutcome } from "../../../src/providers/provider.ts";
import type { Said, Told } from "./witness.ts";

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

  async send({ id, attempt }: Outgoing, signal: AbortSignal): Promise<SendOutcome> {
    const socket = this.#socket;
    if (socket === undefined) return NOT_SENT;
    const key = `${id} ${attempt}`;
    return new Promise((resolve) => {
      const settle = (outcome: SendOutcome): void => {
        signal.removeEventListener("abort", giveUp);
        this.#outstanding.delete(key);
        resolve(outcome);
      };
      const giveUp = (): void => settle({ kind: "unknown", detail: "no answer in time" });
      this.#outstanding.set(key, settle);
      signal.addEventListener("abort", giveUp, { once: true });
      this.#say(socket, { kind: "send", id, attempt });
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
      this.#say(socket, { kind: "hello", node: this.#address.node });
      this.#host.changed();
    });
    socket.on("error", () => undefined);
    socket.on("close", () => this.#lost());
    const lines = createInterface({ input: socket });
    lines.on("error", () => undefined);
    lines.on("line", (text) => this.#hear(socket, JSON.parse(text) as Told));
  }

  #lost(): void {
    this.#socket = undefined;
    for (const settle of this.#outstanding.values()) settle({ kind: "unknown", detail: "the connection broke" });
    if (!this.#isClosed) this.#retry = setTimeout(() => this.#connect(), RECONNECT_MS);
  }

  #hear(socket: Socket, told: Told): void {
    if (told.kind === "receipt") {
      void this.#pass(socket, told.number, told.receipt);
      return;
    }
    const { id, attempt, outcome } = told;
    this.#say(socket, { kind: "heard", id, attempt });
    const settle = this.#outstanding.get(`${id} ${attempt}`);
    if (settle !== undefined) settle(outcome);
    // Too late to be an answer; what it says is still true.
    else if (outcome.kind === "accepted") void this.#pass(socket, null, lateAnswer(id, outcome.providerMessageId));
  }

  async #pass(socket: Socket, number: number | null, receipt: Receipt): Promise<void> {
    try {
      await this.#host.receive([receipt]);
      if (number !== null) this.#say(socket, { kind: "taken", receipt: number });
    } catch {
      // What is not acknowledged comes again.
    }
  }

  #say(socket: Socket, said: Said): void {
    if (socket.writable) socket.write(`${JSON.stringify(said)}\n`);
  }
}

const lateAnswer = (id: string, providerMessageId: string): Receipt => ({
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
