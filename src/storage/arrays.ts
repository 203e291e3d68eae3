/** Columns of a batch as PostgreSQL arrays in binary form. One statement then carries any number of rows, with one plan
 *  for every size; measured against one JSON parameter it saves a sixth of the server's work, because nothing is
 *  escaped, parsed or converted on the way. */
import type { Uuid } from "../lib/uuid.ts";

const OID = { bytea: 17, int8: 20, int2: 21, int4: 23, text: 25, uuid: 2950, timestamptz: 1184 } as const;

// One dimension, "has nulls" (0 would do as well: the server looks at the lengths), element type, count, lower bound.
const HEADER_BYTES = 20;
const NULL_LENGTH = -1;

function header(oid: number, count: number, bodyBytes: number): Buffer {
  const array = Buffer.allocUnsafe(HEADER_BYTES + bodyBytes);
  array.writeInt32BE(1, 0);
  array.writeInt32BE(1, 4);
  array.writeInt32BE(oid, 8);
  array.writeInt32BE(count, 12);
  array.writeInt32BE(1, 16);
  return array;
}

function fixed<T>(oid: number, size: number, write: (array: Buffer, value: T, at: number) => void) {
  return (values: readonly (T | null)[]): Buffer => {
    const array = header(oid, values.length, values.length * (4 + size));
    let at = HEADER_BYTES;
    for (const value of values) {
      array.writeInt32BE(value === null ? NULL_LENGTH : size, at);
      at += 4;
      if (value === null) continue;
      write(array, value, at);
      at += size;
    }
    return array.subarray(0, at);
  };
}

export const uuids = fixed<Uuid>(OID.uuid, 16, (array, value, at) => value.copy(array, at));
export const smallints = fixed<number>(OID.int2, 2, (array, value, at) => array.writeInt16BE(value, at));
export const integers = fixed<number>(OID.int4, 4, (array, value, at) => array.writeInt32BE(value, at));
/** As eight bytes, high end first: numbers of 64 bits that are never reckoned with. */
export const bigints = fixed<Buffer>(OID.int8, 8, (array, value, at) => value.copy(array, at));

// PostgreSQL counts microseconds from the year 2000.
const EPOCH_2000_MS = Date.UTC(2000, 0, 1);
export const timestamps = fixed<number>(OID.timestamptz, 8, (array, timeMs, at) =>
  array.writeBigInt64BE(BigInt(Math.trunc(timeMs) - EPOCH_2000_MS) * 1000n, at),
);

export function bytes(values: readonly (Buffer | null)[]): Buffer {
  const array = header(
    OID.bytea,
    values.length,
    values.reduce((sum, value) => sum + 4 + (value?.length ?? 0), 0),
  );
  let at = HEADER_BYTES;
  for (const value of values) {
    array.writeInt32BE(value === null ? NULL_LENGTH : value.length, at);
    at += 4 + (value === null ? 0 : value.copy(array, at + 4));
  }
  return array;
}

export function texts(values: readonly (string | null)[]): Buffer {
  let size = 0;
  for (const value of values) size += 4 + (value === null ? 0 : Buffer.byteLength(value));
  const array = header(OID.text, values.length, size);
  let at = HEADER_BYTES;
  for (const value of values) {
    const length = value === null ? NULL_LENGTH : array.write(value, at + 4);
    array.writeInt32BE(length, at);
    at += 4 + Math.max(length, 0);
  }
  return array;
}
