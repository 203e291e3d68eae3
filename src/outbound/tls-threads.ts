/** Opens TLS connections in threads of their own. The socket that callers get is a local one, whose other end is in the thread.
 *
 *  There are two threads. A host whose last handshake was cheap is known, and has the first one. All others have the second one, so that a host
 *  that makes its handshake expensive delays no known host. The hosts of a network have a budget of processor time for expensive handshakes
 *  (`tls-thread.ts`), so that they delay other unknown hosts no longer than that. A host that only waits uses none. */
import { randomBytes } from "node:crypto";
import { isIPv4, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { BoundedMap } from "../lib/bounded-map.ts";
import { connectPiecewise } from "./piecewise.ts";
import type { CostLimits } from "./tls-meter.ts";
import type { ThreadData, TlsReply, TlsRequest, TlsTarget } from "./tls-thread.ts";

/** No host needs more, and the operations of a larger key cost more than all of a request. */
export const MAX_KEY_BITS = 4_096;

// A usual handshake takes 1 to 5 ms, the most expensive one with these limits about 100 ms.
const COST_LIMITS: CostLimits = { cheapMs: 20, budgetMs: 200 };
const MAX_HOSTS = 10_000;
const THREAD_MB = 128;

type Thread = ThreadData & { worker: Worker };

export class TlsThreads {
  #known: Promise<Thread> | undefined;
  #others: Promise<Thread> | undefined;
  readonly #costLimits: CostLimits;
  readonly #cheap = new BoundedMap<string, true>(MAX_HOSTS);

  constructor(costLimits = COST_LIMITS) {
    this.#costLimits = costLimits;
  }

  /** Resolves with a connected socket, or rejects with the failure. */
  async open(target: TlsTarget, signal: AbortSignal, pieceBytes?: number): Promise<Socket> {
    const isKnown = this.#cheap.has(`${target.host} ${target.port}`);
    const starting = isKnown ? (this.#known ??= this.#start("known")) : (this.#others ??= this.#start("others"));
    const { path, token } = await starting;
    signal.throwIfAborted();
    const socket = connectPiecewise({ path }, pieceBytes);
    try {
      // A known host that becomes expensive harms no known host at another address.
      const payer = isKnown ? (target.addresses?.[0] ?? target.host) : networkOf(target);
      socket.write(`${JSON.stringify({ ...target, token, payer, limits: this.#costLimits } satisfies TlsRequest)}\n`);
      const { costMs, error } = await readReply(socket, signal);
      this.#note(target, costMs, error === undefined);
      if (error !== undefined) throw failure(error.code, error.message);
      return socket;
    } catch (error) {
      socket.on("error", () => undefined).destroy();
      throw error;
    }
  }

  #note({ host, port }: TlsTarget, costMs: number, isOpen: boolean): void {
    if (costMs > this.#costLimits.cheapMs) this.#cheap.delete(`${host} ${port}`);
    else if (isOpen) this.#cheap.renew(`${host} ${port}`, true);
  }

  /** A thread that ended is started again for the next connection. */
  #start(which: "known" | "others"): Promise<Thread> {
    const name = `godwit-tls-${randomBytes(16).toString("hex")}`;
    // An abstract name needs no file, and no folder that can be written to. The token keeps other programs of this machine out.
    const path = process.platform === "linux" ? `\0${name}` : join(tmpdir(), name);
    const data: ThreadData = { path, maxKeyBits: MAX_KEY_BITS, token: randomBytes(32).toString("hex") };
    const file = new URL(import.meta.url.endsWith(".ts") ? "./tls-thread.ts" : "./tls-thread.js", import.meta.url);
    const worker = new Worker(file, { workerData: data, execArgv: [], resourceLimits: { maxOldGenerationSizeMb: THREAD_MB } });
    const forget = (): unknown => (which === "known" ? (this.#known = undefined) : (this.#others = undefined));
    return new Promise((resolve, reject) => {
      worker.on("error", reject).on("exit", () => {
        forget();
        reject(new Error("the thread of TLS has ended"));
      });
      worker.once("message", () => {
        worker.unref();
        resolve({ ...data, worker });
      });
    });
  }
}

/** The network of the first address: hosts with many names have few networks. */
function networkOf({ addresses: [address] = [], host }: TlsTarget): string {
  if (address === undefined) return host;
  return isIPv4(address) ? address.split(".").slice(0, 3).join(".") : address.split(":").slice(0, 3).join(":");
}

const failure = (code: string | undefined, message: string): Error => Object.assign(new Error(message), code === undefined ? {} : { code });

/** Reads the first line. The bytes after it stay in the socket. */
function readReply(socket: Socket, signal: AbortSignal): Promise<TlsReply> {
  return new Promise((resolve, reject) => {
    let bytes = Buffer.alloc(0);
    const settle = (act: () => void): void => {
      socket.off("readable", read).off("error", fail).off("close", end);
      signal.removeEventListener("abort", abort);
      act();
    };
    const fail = (error: Error): void => settle(() => reject(error));
    const end = (): void => fail(new Error("the connection was closed"));
    const abort = (): void => fail(signal.reason as Error);
    const read = (): void => {
      bytes = Buffer.concat([bytes, (socket.read() as Buffer | null) ?? Buffer.alloc(0)]);
      const at = bytes.indexOf("\n");
      if (at === -1) return;
      settle(() => {
        if (at + 1 < bytes.length) socket.unshift(bytes.subarray(at + 1));
        resolve(JSON.parse(bytes.subarray(0, at).toString()) as TlsReply);
      });
    };
    socket.on("readable", read).on("error", fail).on("close", end);
    signal.addEventListener("abort", abort, { once: true });
  });
}
