/** A carrier that stands outside: a server in the process of the test, which keeps every line that ever reached it. What a
 *  killed process had sent is known here, and nowhere else. */
import { once } from "node:events";
import { createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { createInterface } from "node:readline";
import type { Receipt, SendOutcome } from "../../../src/providers/provider.ts";

/** What a client says. `heard`: the answer is in its hands. `taken`: the receipt is committed. */
export type Said =
  | { kind: "hello"; node: string }
  | { kind: "send"; id: string; attempt: number }
  | { kind: "heard"; id: string; attempt: number }
  | { kind: "taken"; receipt: number };

/** What the witness says. */
export type Told =
  | { kind: "answer"; id: string; attempt: number; outcome: SendOutcome }
  | { kind: "receipt"; number: number; receipt: Receipt };

/** What becomes of a line. */
type Plan = {
  /** `silent`: it is taken, and nobody is ever told. */
  answer: "accepted" | "refused" | "silent";
  answerAfterMs: number;
  /** Answered no sooner than this. */
  until?: Promise<void>;
  /** Counted from the line: it may come before the answer. Null: no receipt ever. */
  receiptAfterMs: number | null;
  /** The receipt gives our id back. */
  isNamed: boolean;
};

export type PlanOf = (line: { id: string; attempt: number; node: string }) => Plan;

/** One hand-over, as it was seen. */
export type Line = {
  id: string;
  attempt: number;
  node: string;
  plan: Plan;
  providerMessageId: string;
  /** The client said that it has the answer. */
  isHeard: boolean;
  /** The client said that the receipt is committed. */
  isReceiptTaken: boolean;
};

// A carrier repeats what is not acknowledged.
const REPEAT_MS = 500;

export class Witness {
  readonly port: number;
  readonly lines: Line[] = [];
  /** Called for each line as it comes, before anything is answered. */
  onLine: (line: Line) => void = () => undefined;
  readonly #server: Server;
  readonly #plan: PlanOf;
  readonly #random: () => number;
  readonly #byTry = new Map<string, Line[]>();
  readonly #clients = new Map<Socket, string>();
  readonly #timers = new Set<NodeJS.Timeout>();
  /** Receipts that are under way, by number. */
  readonly #receipts = new Map<number, Line>();
  #answering = 0;
  #count = 0;

  private constructor(server: Server, plan: PlanOf, random: () => number) {
    this.#server = server;
    this.port = (server.address() as AddressInfo).port;
    this.#plan = plan;
    this.#random = random;
  }

  static async open(plan: PlanOf, random: () => number): Promise<Witness> {
    const server = createServer((socket) => witness.#welcome(socket));
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const witness = new Witness(server, plan, random);
    return witness;
  }

  /** Answers and receipts that are still to come, or to be taken. */
  get pending(): number {
    return this.#answering + this.#receipts.size;
  }

  /** Who is connected. */
  get nodes(): string[] {
    return [...this.#clients.values()];
  }

  linesOf(node: string): Line[] {
    return this.lines.filter((line) => line.node === node);
  }

  /** More than one is what must never be. */
  linesAbout({ id, attempt }: { id: string; attempt: number }): Line[] {
    return this.#byTry.get(`${id} ${attempt}`) ?? [];
  }

  /** Breaks the connections of a node, with whatever is on them. */
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

  #welcome(socket: Socket): void {
    socket.on("error", () => undefined);
    socket.on("close", () => this.#clients.delete(socket));
    const lines = createInterface({ input: socket });
    lines.on("error", () => undefined);
    lines.on("line", (text) => this.#hear(socket, JSON.parse(text) as Said));
  }

  #hear(socket: Socket, said: Said): void {
    if (said.kind === "hello") this.#clients.set(socket, said.node);
    else if (said.kind === "send") this.#take(socket, said);
    else if (said.kind === "heard") for (const line of this.linesAbout(said)) line.isHeard = true;
    else this.#settleReceipt(said.receipt);
  }

  #take(socket: Socket, { id, attempt }: { id: string; attempt: number }): void {
    const node = this.#clients.get(socket) ?? "";
    this.#count += 1;
    const plan = this.#plan({ id, attempt, node });
    const line: Line = { id, attempt, node, plan, providerMessageId: `wit_${this.#count}`, isHeard: false, isReceiptTaken: false };
    this.lines.push(line);
    this.#byTry.set(`${id} ${attempt}`, [...this.linesAbout(line), line]);
    this.onLine(line);
    if (plan.answer !== "silent") this.#answer(socket, line);
    if (plan.answer !== "refused" && plan.receiptAfterMs !== null) this.#sendReceipt(this.#count, line, plan.receiptAfterMs);
  }

  #answer(socket: Socket, { id, attempt, plan, providerMessageId }: Line): void {
    const outcome: SendOutcome =
      plan.answer === "accepted"
        ? { kind: "accepted", providerMessageId }
        : { kind: "refused", code: "carrier_busy", message: "Not now.", providerCode: "busy", isPermanent: false };
    this.#answering += 1;
    this.#later(plan.answerAfterMs, async () => {
      await plan.until;
      this.#answering -= 1;
      // An answer belongs to its connection: when that is gone, so is the answer.
      this.#tell(socket, { kind: "answer", id, attempt, outcome });
    });
  }

  /** To any of those who are connected, again and again until one has taken it. */
  #sendReceipt(number: number, line: Line, afterMs: number): void {
    this.#receipts.set(number, line);
    this.#later(afterMs, async () => {
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
      if (socket !== undefined) this.#tell(socket, { kind: "receipt", number, receipt });
      this.#sendReceipt(number, line, REPEAT_MS);
    });
  }

  #settleReceipt(number: number): void {
    const line = this.#receipts.get(number);
    if (line !== undefined) line.isReceiptTaken = true;
    this.#receipts.delete(number);
  }

  #tell(socket: Socket, told: Told): void {
    if (socket.writable) socket.write(`${JSON.stringify(told)}\n`);
  }

  #later(ms: number, run: () => Promise<void>): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      void run();
    }, ms);
    this.#timers.add(timer);
  }
}
