/** Inbound messages that come in parts, in any order. A message is stored when it is complete. After a time limit it is stored with a
 *  mark for each missing part. */
import { BoundedMap } from "../../lib/bounded-map.ts";
import type { InboundAddresses } from "../provider.ts";
import type { PartPosition } from "./inbound-part.ts";

/** A part, with its text as bytes in their coding. */
export type MessagePart = { addresses: InboundAddresses; dataCoding: number; text: Buffer };
/** The parts in order. Adjacent parts with the same coding are joined. */
export type ReassembledMessage = { addresses: InboundAddresses; runs: readonly (MessagePart | "missing")[] };

type PartialMessage = {
  key: string;
  total: number;
  parts: Map<number, MessagePart>;
  bytes: number;
  timer: NodeJS.Timeout;
  /** The running attempt to store the message: one at a time. */
  storing: Promise<boolean> | undefined;
  committed: PromiseWithResolvers<boolean>;
};

// More would mean a sender of incomplete messages: the oldest is stored incomplete.
const MAX_PARTIAL = 1_000;
const MAX_EXPIRED = 100;
const MAX_BYTES = 8 * 1_048_576;
// A part whose acknowledgement was lost may come again after its message is complete.
const MAX_DONE = 200;
// An incomplete message that could not be committed is stored again, since its parts were acknowledged long ago.
const RETRY_MS = 10_000;

export type ReassemblyOptions = {
  waitMs: number;
  /** Resolves with whether the message is committed. Never rejects. */
  store: (message: ReassembledMessage) => Promise<boolean>;
};

export class Reassembly {
  readonly #options: ReassemblyOptions;
  readonly #partial = new Map<string, PartialMessage>();
  /** Messages that exceeded the time limit and are not committed yet. New messages may have the same references. */
  readonly #expired = new Set<PartialMessage>();
  readonly #done = new BoundedMap<string, ReadonlyMap<number, MessagePart>>(MAX_DONE);
  #bytes = 0;

  constructor(options: ReassemblyOptions) {
    this.#options = options;
  }

  /** The number of messages that are not stored yet. */
  get size(): number {
    return this.#partial.size + this.#expired.size;
  }

  /** Adds a part. Resolves with whether the whole message is committed, which may take until the other parts come. */
  async add(position: PartPosition, part: MessagePart): Promise<boolean> {
    const key = `${part.addresses.from} ${part.addresses.to} ${position.reference} ${position.total}`;
    if (this.#done.get(key)?.get(position.number)?.text.equals(part.text) === true) return true;
    this.#done.delete(key);
    const earlier = this.#partial.get(key);
    // A phone uses its references again. A part with another text begins another message.
    if (earlier?.parts.get(position.number)?.text.equals(part.text) === false) this.#expire(earlier);
    const message = this.#partial.get(key) ?? this.#begin(key, position.total);
    const growth = part.text.length - (message.parts.get(position.number)?.text.length ?? 0);
    message.parts.set(position.number, part);
    message.bytes += growth;
    this.#bytes += growth;
    return message.parts.size < message.total ? message.committed.promise : this.#store(message);
  }

  /** Stores all messages, also incomplete ones. */
  async close(): Promise<void> {
    await Promise.all(Array.from([...this.#partial.values(), ...this.#expired], (message) => this.#store(message)));
  }

  /** Drops all messages and timers. */
  abandon(): void {
    for (const message of [...this.#partial.values(), ...this.#expired]) this.#forget(message);
  }

  #begin(key: string, total: number): PartialMessage {
    const isFull = this.#partial.size >= MAX_PARTIAL || this.#bytes >= MAX_BYTES;
    if (isFull) for (const oldest of this.#partial.values().take(1)) this.#expire(oldest);
    const timer = setTimeout(() => this.#expire(message), this.#options.waitMs);
    const message: PartialMessage = {
      key,
      total,
      timer,
      parts: new Map(),
      bytes: 0,
      storing: undefined,
      committed: Promise.withResolvers(),
    };
    this.#partial.set(key, message);
    return message;
  }

  #expire(message: PartialMessage): void {
    clearTimeout(message.timer);
    if (this.#partial.get(message.key) === message) this.#partial.delete(message.key);
    // Messages that cannot be stored are dropped in the end, the oldest first.
    const isFull = this.#expired.size >= MAX_EXPIRED || this.#bytes >= MAX_BYTES;
    if (isFull) for (const oldest of this.#expired.values().take(1)) this.#forget(oldest);
    this.#expired.add(message);
    message.timer = setTimeout(() => this.#expire(message), RETRY_MS);
    void this.#store(message);
  }

  #store(message: PartialMessage): Promise<boolean> {
    message.storing ??= this.#options.store(joinParts(message)).then((isCommitted) => {
      message.storing = undefined;
      if (isCommitted) this.#finish(message);
      return isCommitted;
    });
    return message.storing;
  }

  #finish(message: PartialMessage): void {
    this.#forget(message);
    if (message.parts.size === message.total) this.#done.set(message.key, message.parts);
    message.committed.resolve(true);
  }

  #forget(message: PartialMessage): void {
    clearTimeout(message.timer);
    if (this.#partial.get(message.key) === message) this.#partial.delete(message.key);
    this.#expired.delete(message);
    this.#bytes -= message.bytes;
    message.bytes = 0;
  }
}

function joinParts({ parts, total }: PartialMessage): ReassembledMessage {
  const [first] = parts.values();
  const runs: (MessagePart | "missing")[] = [];
  for (let number = 1; number <= total; number += 1) {
    const part = parts.get(number) ?? "missing";
    const last = runs.at(-1);
    if (part === "missing" && last === "missing") continue;
    // A sender may have cut a surrogate pair or an escape sequence in two. Joined, it is read correctly.
    const isNeighbor = part !== "missing" && last !== undefined && last !== "missing" && last.dataCoding === part.dataCoding;
    if (isNeighbor) runs[runs.length - 1] = { ...last, text: Buffer.concat([last.text, part.text]) };
    else runs.push(part);
  }
  return { addresses: first?.addresses ?? { from: "", to: "" }, runs };
}
