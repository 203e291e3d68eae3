/** Version-7 UUIDs as 16 bytes: 48 bits of time, a counter that keeps the ids of one process in the order of their creation even within
 *  a millisecond, and random bits. */
import { randomFillSync } from "node:crypto";
import { assert } from "./assert.ts";

/** Sixteen bytes, the binary form of PostgreSQL. Created only in this file. */
export type Uuid = Buffer & { readonly uuid: unique symbol };

const UUID_BYTES = 16;

/** RFC 9562's nil and max UUID: before and after every id. */
export const NIL_UUID = uuidFromBytes(Buffer.alloc(UUID_BYTES));
export const MAX_UUID = uuidFromBytes(Buffer.alloc(UUID_BYTES, 0xff));

// Ten random bytes from the system cost more than the rest of an id. With a pool they are a copy.
const pool = Buffer.allocUnsafe(4096);
let poolOffset = pool.length;

function fillRandom(target: Buffer, start: number): void {
  const length = target.length - start;
  if (poolOffset + length > pool.length) {
    randomFillSync(pool);
    poolOffset = 0;
  }
  pool.copy(target, start, poolOffset, poolOffset + length);
  poolOffset += length;
}

// RFC 9562 §6.2, method 1: a counter of twelve bits, which starts each millisecond at a random value in the lower half of its range, so
// that 2,048 ids fit before it takes the next millisecond.
const COUNTER_LIMIT = 0x1000;

// Ids may be ahead of the clock by this much, to stay in order when the clock is corrected or many ids are made at once. A clock that was
// further ahead was wrong, and the ids start anew at the right time, as RFC 9562 permits.
export const MAX_AHEAD_MS = 1_000;

/** Creates ids in ascending order. Each clock needs its own sequence: ids of a slow clock would otherwise get the time of a fast one. The id
 *  of `cause` gives its second half, the random one, to the new id, so that each can be recognized by the other. */
export function uuidSequence(): (nowMs: number, cause?: Uuid) => Uuid {
  let lastTimeMs = 0;
  let counter = 0;
  return (nowMs, cause) => {
    const bytes = Buffer.allocUnsafe(UUID_BYTES);
    fillRandom(bytes, 6);
    cause?.copy(bytes, UUID_BYTES / 2, UUID_BYTES / 2);
    if (nowMs > lastTimeMs || lastTimeMs - nowMs > MAX_AHEAD_MS) {
      lastTimeMs = nowMs;
      counter = bytes.readUInt16BE(6) & (COUNTER_LIMIT / 2 - 1);
    } else {
      counter += 1;
      if (counter === COUNTER_LIMIT) {
        lastTimeMs += 1;
        counter = 0;
      }
    }
    bytes.writeUIntBE(lastTimeMs, 0, 6);
    bytes.writeUInt16BE(0x7000 | counter, 6);
    bytes.writeUInt8(0x80 | (bytes.readUInt8(8) & 0x3f), 8);
    return uuidFromBytes(bytes);
  };
}

/** Creates the id of a record, with the database's time. */
export const newUuid = uuidSequence();

export function uuidFromBytes(bytes: Buffer): Uuid {
  assert(bytes.length === UUID_BYTES, "a UUID has 16 bytes");
  return bytes as Uuid;
}

/** The time of an id's creation. */
export const uuidTimeMs = (uuid: Uuid): number => uuid.readUIntBE(0, 6);

/** The smallest UUIDv7 of a time: a bound for ranges of ids, never an id. */
export function firstUuidAt(timeMs: number): Uuid {
  const bytes = Buffer.alloc(UUID_BYTES);
  bytes.writeUIntBE(Math.min(Math.max(Math.trunc(timeMs), 0), 2 ** 48 - 1), 0, 6);
  return uuidFromBytes(bytes);
}

export function uuidToText(uuid: Uuid): string {
  const hex = uuid.toString("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

export const uuidFromText = (text: string): Uuid =>
  uuidFromBytes(Buffer.from(text.slice(0, 8) + text.slice(9, 13) + text.slice(14, 18) + text.slice(19, 23) + text.slice(24), "hex"));
