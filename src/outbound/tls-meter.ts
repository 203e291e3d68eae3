/** Bounds of one TLS connection in the thread of TLS: the processor time of its handshake, its turns among other connections, and the bytes that
 *  bring no data. The other side decides what its bytes cost: a request for new keys has 27 bytes and takes as long as 64 kB of data.
 *
 *  Like `tls-thread.ts`, this file imports nothing of the service. */
import type { Socket } from "node:net";
import { Duplex } from "node:stream";

/** Processor times. A handshake of up to `cheapMs` is free. The time above it counts toward the budget, `budgetMs` in ten minutes. */
export type CostLimits = { cheapMs: number; budgetMs: number };

const BUDGET_WINDOW_MS = 10 * 60_000;
// Of budgets.
const MAX_PAYERS = 500;
// A piece of 1 KiB costs at most 3 ms: 38 requests for new keys.
const PIECE_BYTES = 1_024;
const TURN_MS = 2;
// The share of a thread that a payer has without waiting for its turns.
const LIGHT_MS = 10;
const LIGHT_WINDOW_MS = 1_000;
// The handshake has at most 100 kB of certificates. A record of 16 bytes, the shortest of SMPP, has at most 7 times as many.
const FREE_OVERHEAD_BYTES = 131_072;
const OVERHEAD_PER_BYTE = 8;

export const refusal = (code: string, message: string): Error => Object.assign(new Error(message), { code });

const processorMs = (): number => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
};

/** Removes the oldest entry of a full map. */
export function keep<T>(map: Map<string, T>, name: string, value: T, most: number): void {
  const [oldest] = map.size < most || map.has(name) ? [] : map.keys();
  if (oldest !== undefined) map.delete(oldest);
  map.set(name, value);
}

/** Sums for a time after their first part. */
class Sums {
  readonly #windowMs: number;
  readonly #sums = new Map<string, { ms: number; until: number }>();

  constructor(windowMs: number) {
    this.#windowMs = windowMs;
  }

  has(payer: string, moreThanMs: number): boolean {
    const entry = this.#sums.get(payer);
    return entry !== undefined && entry.until > performance.now() && entry.ms > moreThanMs;
  }

  add(payer: string, ms: number): void {
    const entry = this.#sums.get(payer);
    if (entry !== undefined && entry.until > performance.now()) entry.ms += ms;
    else keep(this.#sums, payer, { ms, until: performance.now() + this.#windowMs }, MAX_PAYERS);
  }
}

const spent = new Sums(BUDGET_WINDOW_MS);
const recent = new Sums(LIGHT_WINDOW_MS);

/** The connections that wait for a turn, by payer. Each turn of the event loop serves one connection of the next payer, so that
 *  busy hosts delay the others by one turn, whatever their number. */
const waiting = new Map<string, Set<Metered>>();

function waitForTurn(payer: string, connection: Metered): void {
  if (waiting.size === 0) setImmediate(takeTurn);
  const same = waiting.get(payer);
  if (same === undefined) waiting.set(payer, new Set([connection]));
  else same.add(connection);
}

function takeTurn(): void {
  const [[payer, same] = ["", new Set<Metered>()]] = waiting;
  const [connection] = same;
  waiting.delete(payer);
  if (connection !== undefined) same.delete(connection);
  if (same.size > 0) waiting.set(payer, same);
  if (waiting.size > 0) setImmediate(takeTurn);
  connection?.takeTurn();
}

/** The bytes of a connection on their way to TLS. */
export class Metered extends Duplex {
  /** The processor time so far. */
  costMs = 0;
  /** Undefined during the handshake. Counts the bytes of data. */
  #secure: { bytesRead: number } | undefined;
  #dataBytes = 0;
  /** Received bytes in excess of those that the data explains. */
  #overhead = 0;
  #chunk: Buffer = Buffer.alloc(0);
  #hasEnded = false;
  readonly #socket: Socket;
  readonly #payer: string;
  readonly #limits: CostLimits;

  constructor(socket: Socket, { payer, limits }: { payer: string; limits: CostLimits }) {
    // TLS would end with it, and drop what it has not passed on yet.
    super({ allowHalfOpen: true, autoDestroy: false });
    this.#payer = payer;
    this.#limits = limits;
    this.#socket = socket;
    socket.on("data", (chunk) => {
      this.#chunk = chunk;
      socket.pause();
      this.#process();
    });
    socket.on("end", () => {
      this.#hasEnded = true;
      this.#process();
    });
    socket.on("error", (error) => this.destroy(error));
    // TLS reports the error.
    this.on("error", () => undefined);
  }

  /** Throws if the payer has spent its budget. */
  static check(payer: string, { budgetMs }: CostLimits): void {
    if (spent.has(payer, budgetMs))
      throw refusal(
        "TLS_TOO_EXPENSIVE",
        "TLS handshakes of this network took too much processor time; it is tried again within ten minutes",
      );
  }

  endHandshake(secure: { bytesRead: number }): void {
    this.#secure = secure;
  }

  /** TLS takes bytes again. */
  override resume(): this {
    super.resume();
    // Bytes of which TLS takes a part now would be processed beside the meter.
    setImmediate(() => this.#process());
    return this;
  }

  /** Processes pieces for some time. */
  takeTurn(): void {
    const startedAt = this.costMs;
    while (this.#isTaken() && this.costMs - startedAt < TURN_MS) this.#processPiece();
    if (this.#isTaken()) waitForTurn(this.#payer, this);
    else if (this.#chunk.length > 0 || this.destroyed) return;
    else if (this.#hasEnded) this.push(null);
    else this.#socket.resume();
  }

  #process(): void {
    if (recent.has(this.#payer, LIGHT_MS)) waitForTurn(this.#payer, this);
    else this.takeTurn();
  }

  /** There are bytes, and TLS takes them at once, so that their time is measured. */
  #isTaken(): boolean {
    return this.#chunk.length > 0 && this.readableFlowing === true && this.readableLength === 0 && !this.destroyed;
  }

  #processPiece(): void {
    const piece = this.#chunk.subarray(0, PIECE_BYTES);
    this.#chunk = this.#chunk.subarray(PIECE_BYTES);
    try {
      if (this.#secure === undefined) Metered.check(this.#payer, this.#limits);
      const ms = this.#pass(piece);
      if (this.#secure === undefined) this.#chargeHandshake(ms);
      this.costMs += ms;
      recent.add(this.#payer, ms);
      this.#checkOverhead(piece.length);
    } catch (error) {
      this.destroy(error as Error);
    }
  }

  /** Returns the processor time. */
  #pass(piece: Buffer): number {
    const before = processorMs();
    this.push(piece);
    return processorMs() - before;
  }

  #chargeHandshake(ms: number): void {
    const excessMs = this.costMs + ms - this.#limits.cheapMs;
    if (excessMs > 0) spent.add(this.#payer, Math.min(ms, excessMs));
  }

  #checkOverhead(bytes: number): void {
    const { bytesRead = 0 } = this.#secure ?? {};
    this.#overhead = Math.max(0, this.#overhead + bytes - (bytesRead - this.#dataBytes) * OVERHEAD_PER_BYTE);
    this.#dataBytes = bytesRead;
    if (this.#overhead <= FREE_OVERHEAD_BYTES) return;
    // The next connection would cost the same.
    spent.add(this.#payer, this.costMs);
    throw refusal("TLS_TOO_EXPENSIVE", `the host sent ${FREE_OVERHEAD_BYTES} bytes of TLS without data`);
  }

  override _read(): void {
    if (this.#chunk.length > 0) setImmediate(() => this.#process());
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#socket.write(chunk, done);
  }

  override _final(done: () => void): void {
    this.#socket.end(done);
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#socket.destroy();
    done(error);
  }
}
