/** The witness: a carrier in the process of the test, which records every submission. Only the witness knows the submissions of a process
 *  that was killed. */
import { once } from "node:events";
import { createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { createInterface } from "node:readline";
import type { Receipt, SendOutcome } from "../../src/providers/provider.ts";

/** A message of a client. `response received`: the client has the response. `receipt stored`: the receipt is committed. */
export type ClientMessage =
  | { kind: "hello"; node: string }
  | { kind: "send"; id: string; attempt: number }
  | { kind: "response received"; id: string; attempt: number }
  | { kind: "receipt stored"; receipt: number };

/** A message of the witness. */
export type WitnessMessage =
  | { kind: "response"; id: string; attempt: number; outcome: SendOutcome }
  | { kind: "receipt"; number: number; receipt: Receipt };

/** The reaction of the witness to a submission. */
type Plan = {
  /** `silent`: the witness accepts the message and never responds. */
  response: "accepted" | "refused" | "silent";
  responseAfterMs: number;
  /** The response and the receipt are sent only after this promise. */
  until?: Promise<void>;
  /** The time from the submission to the receipt, which may come before the response. Null: no receipt. */
  receiptAfterMs: number | null;
  /** The receipt contains our id of the message. */
  isNamed: boolean;
};

export type PlanOf = (line: { id: string; attempt: number; node: string }) => Plan;

/** One recorded submission: a line of the protocol. */
export type Line = {
  id: string;
  attempt: number;
  node: string;
  plan: Plan;
  providerMessageId: string;
  /** The client has confirmed the response. */
  isResponseReceived: boolean;
  /** The client has confirmed that the receipt is committed. */
  isReceiptStored: boolean;
};

// A carrier repeats a receipt that is not acknowledged.
const REPEAT_MS = 500;

export class Witness {
  readonly port: number;
  readonly lines: Line[] = [];
  /** Called for each submission, before the response. */
  onLine: (line: Line) => void = () => undefined;
  readonly #server: Server;
  readonly #plan: PlanOf;
  readonly #random: () => number;
  readonly #byAttempt = new Map<string, Line[]>();
  readonly #clients = new Map<Socket, string>();
  readonly #timers = new Set<NodeJS.Timeout>();
  /** Receipts that are not acknowledged, by number. */
  readonly #receipts = new Map<number, Line>();
  #dueResponses = 0;
  #count = 0;

  private constructor(server: Server, plan: PlanOf, random: () => number) {
    this.#server = server;
    this.port = (server.address() as AddressInfo).port;
    this.#plan = plan;
    this.#random = random;
  }

  static async open(plan: PlanOf, random: () => number): Promise<Witness> {
    const server = createServer((socket) => witness.#connected(socket));
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const witness = new Witness(server, plan, random);
    return witness;
  }

  /** The number of responses that are not sent, and of receipts that are not acknowledged. */
  get pending(): number {
    return this.#dueResponses + this.#receipts.size;
  }

  /** The nodes that are connected. */
  get nodes(): string[] {
    return [...this.#clients.values()];
  }

  linesOf(node: string): Line[] {
    return this.lines.filter((line) => line.node === node);
  }

  /** The submissions of one attempt. More than one is a fault of the service. */
  linesAbout({ id, attempt }: { id: string; attempt: number }): Line[] {
    return this.#byAttempt.get(`${id} ${attempt}`) ?? [];
  }

  /** Breaks the connections of a node. */
  cut(node: string): void {
    for (const [socket, name] of this.#clients) if (name === node) socket.destroy();
  }

  async close(): Promise<void> {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#receipts.clear();
    for (const socket of this.#clients.keys()) socket.destroy();
    this.#server.close();
    await once(this.#server, "close");
  }

  #connected(socket: Socket): void {
    socket.on("error", () => undefined);
    socket.on("close", () => this.#clients.delete(socket));
    const lines = createInterface({ input: socket });
    lines.on("error", () => undefined);
    lines.on("line", (text) => this.#receive(socket, JSON.parse(text) as ClientMessage));
  }

  #receive(socket: Socket, message: ClientMessage): void {
    if (message.kind === "hello") this.#clients.set(socket, message.node);
    else if (message.kind === "send") this.#take(socket, message);
    else if (message.kind === "response received") for (const line of this.linesAbout(message)) line.isResponseReceived = true;
    else this.#settleReceipt(message.receipt);
  }

  #take(socket: Socket, { id, attempt }: { id: string; attempt: number }): void {
    const node = this.#clients.get(socket) ?? "";
    this.#count += 1;
    const plan = this.#plan({ id, attempt, node });
    const line: Line = {
      id,
      attempt,
      node,
      plan,
      providerMessageId: `wit_${this.#count}`,
      isResponseReceived: false,
      isReceiptStored: false,
    };
    this.lines.push(line);
    this.#byAttempt.set(`${id} ${attempt}`, [...this.linesAbout(line), line]);
    this.onLine(line);
    if (plan.response !== "silent") this.#respond(socket, line);
    if (plan.response !== "refused" && plan.receiptAfterMs !== null) this.#sendReceipt(this.#count, line, plan.receiptAfterMs);
  }

  #respond(socket: Socket, { id, attempt, plan, providerMessageId }: Line): void {
    const outcome: SendOutcome =
      plan.response === "accepted"
        ? { kind: "accepted", providerMessageId }
        : { kind: "refused", code: "carrier_busy", message: "Not now.", providerCode: "busy", isPermanent: false };
    this.#dueResponses += 1;
    this.#later(plan.responseAfterMs, async () => {
      await plan.until;
      this.#dueResponses -= 1;
      // A response is sent only on the connection of its submission, and is lost when this connection is closed.
      this.#write(socket, { kind: "response", id, attempt, outcome });
    });
  }

  /** Sends a receipt to a random node, and repeats it until a node acknowledges it. */
  #sendReceipt(number: number, line: Line, afterMs: number): void {
    this.#receipts.set(number, line);
    this.#later(afterMs, async () => {
      await line.plan.until;
      if (!this.#receipts.has(number)) return;
      const sockets = [...this.#clients.keys()];
      const socket = sockets[Math.floor(this.#random() * sockets.length)];
      const { id, providerMessageId, plan } = line;
      const receipt: Receipt = {
        providerMessageId,
        reference: plan.isNamed ? id : null,
        status: "delivered",
        error: null,
        raw: { id: providerMessageId, status: "DELIVRD" },
      };
      if (socket !== undefined) this.#write(socket, { kind: "receipt", number, receipt });
      this.#sendReceipt(number, line, REPEAT_MS);
    });
  }

  #settleReceipt(number: number): void {
    const line = this.#receipts.get(number);
    if (line !== undefined) line.isReceiptStored = true;
    this.#receipts.delete(number);
  }

  #write(socket: Socket, message: WitnessMessage): void {
    if (socket.writable) socket.write(`${JSON.stringify(message)}\n`);
  }

  #later(ms: number, run: () => Promise<void>): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      void run();
    }, ms);
    this.#timers.add(timer);
  }
}
