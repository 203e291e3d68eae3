/** Inbound messages that come in parts, in any order: held until they are whole. One of which parts never come is passed on with
 *  what is there, and a mark for what is not. */
import type { Place } from "./parts.ts";

/** A part: from whom to whom, and its bytes in their coding. */
export type PartText = { from: string; to: string; dataCoding: number; text: Buffer };
/** The parts in their order; neighbours of one coding are joined. */
export type Whole = { from: string; to: string; runs: readonly (PartText | "missing")[] };

type Collected = {
  key: string;
  total: number;
  parts: Map<number, PartText>;
  bytes: number;
  timer: NodeJS.Timeout;
  /** While it is being passed: one try at a time. */
  passing: Promise<boolean> | undefined;
  committed: PromiseWithResolvers<boolean>;
};

// Past this someone sends beginnings only: the oldest are passed as they are.
const MAX_COLLECTED = 1_000;
const MAX_LEFTOVERS = 100;
const MAX_BYTES = 8 * 1_048_576;
// A part whose acknowledgement was lost comes once more, when its message is whole already.
const MAX_DONE = 200;
// What is incomplete and could not be committed is tried again, since its parts were acknowledged long ago.
const AGAIN_MS = 10_000;

export type ReassemblyOptions = {
  waitMs: number;
  /** True when it is committed. Never rejects. */
  pass: (message: Whole) => Promise<boolean>;
};

export class Reassembly {
  readonly #options: ReassemblyOptions;
  readonly #collected = new Map<string, Collected>();
  /** Those that were given up, and are not committed yet. Others may have begun under their references. */
  readonly #leftovers = new Set<Collected>();
  readonly #done = new Map<string, ReadonlyMap<number, PartText>>();
  #bytes = 0;

  constructor(options: ReassemblyOptions) {
    this.#options = options;
  }

  /** Messages of which something is held. */
  get size(): number {
    return this.#collected.size + this.#leftovers.size;
  }

  /** Resolves with whether the whole message is committed, which may take as long as the others do to come. */
  async add(place: Place, part: PartText): Promise<boolean> {
    const key = `${part.from} ${part.to} ${place.reference} ${place.total}`;
    if (this.#done.get(key)?.get(place.number)?.text.equals(part.text) === true) return true;
    this.#done.delete(key);
    const collected = this.#collected.get(key) ?? this.#begin(key, place.total);
    const growth = part.text.length - (collected.parts.get(place.number)?.text.length ?? 0);
    collected.parts.set(place.number, part);
    collected.bytes += growth;
    this.#bytes += growth;
    return collected.parts.size < collected.total ? collected.committed.promise : this.#pass(collected);
  }

  /** Everything that waits is passed as it is. */
  async close(): Promise<void> {
    await Promise.all(Array.from([...this.#collected.values(), ...this.#leftovers], (collected) => this.#pass(collected)));
  }

  /** Nothing waits any more, and no timer is left. */
  abandon(): void {
    for (const collected of [...this.#collected.values(), ...this.#leftovers]) this.#forget(collected);
  }

  #begin(key: string, total: number): Collected {
    const isFull = this.#collected.size >= MAX_COLLECTED || this.#bytes >= MAX_BYTES;
    if (isFull) for (const oldest of this.#collected.values().take(1)) this.#giveUp(oldest);
    const timer = setTimeout(() => this.#giveUp(collected), this.#options.waitMs);
    const collected: Collected = { key, total, timer, parts: new Map(), bytes: 0, passing: undefined, committed: Promise.withResolvers() };
    this.#collected.set(key, collected);
    return collected;
  }

  #giveUp(collected: Collected): void {
    clearTimeout(collected.timer);
    if (this.#collected.get(collected.key) === collected) this.#collected.delete(collected.key);
    // What nobody takes is lost in the end, the oldest first.
    const isFull = this.#leftovers.size >= MAX_LEFTOVERS || this.#bytes >= MAX_BYTES;
    if (isFull) for (const oldest of this.#leftovers.values().take(1)) this.#forget(oldest);
    this.#leftovers.add(collected);
    collected.timer = setTimeout(() => this.#giveUp(collected), AGAIN_MS);
    void this.#pass(collected);
  }

  #pass(collected: Collected): Promise<boolean> {
    collected.passing ??= this.#options.pass(wholeOf(collected)).then((isCommitted) => {
      collected.passing = undefined;
      if (isCommitted) this.#finish(collected);
      return isCommitted;
    });
    return collected.passing;
  }

  #finish(collected: Collected): void {
    this.#forget(collected);
    if (this.#done.size >= MAX_DONE) for (const oldest of this.#done.keys().take(1)) this.#done.delete(oldest);
    if (collected.parts.size === collected.total) this.#done.set(collected.key, collected.parts);
    collected.committed.resolve(true);
  }

  #forget(collected: Collected): void {
    clearTimeout(collected.timer);
    if (this.#collected.get(collected.key) === collected) this.#collected.delete(collected.key);
    this.#leftovers.delete(collected);
    this.#bytes -= collected.bytes;
    collected.bytes = 0;
  }
}

function wholeOf({ parts, total }: Collected): Whole {
  const [first] = parts.values();
  const runs: (PartText | "missing")[] = [];
  for (let number = 1; number <= total; number += 1) {
    const part = parts.get(number) ?? "missing";
    const last = runs.at(-1);
    if (part === "missing" && last === "missing") continue;
    // What careless senders cut in two, a pair or an escape, is read as one.
    const isNeighbour = part !== "missing" && last !== undefined && last !== "missing" && last.dataCoding === part.dataCoding;
    if (isNeighbour) runs[runs.length - 1] = { ...last, text: Buffer.concat([last.text, part.text]) };
    else runs.push(part);
  }
  return { from: first?.from ?? "", to: first?.to ?? "", runs };
}
