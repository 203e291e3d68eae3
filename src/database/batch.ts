/** Many rows in one statement: each column travels as one array parameter in binary form, and the statement reads its rows from a row source.
 *  One plan serves all sizes, and another one a single row. Compared with one JSON parameter this saves a sixth of the server's work, because
 *  nothing is escaped, parsed or converted. */
import type { Uuid } from "../lib/uuid.ts";
import { prepare, type Prepared, type Sql } from "./sql.ts";

export type Column<T> = { name: string; type: ElementType; pick: (item: T) => unknown };

export const column = <T, C extends ElementType>(name: string, type: C, pick: (item: T) => ElementValue[C] | null): Column<T> => ({
  name,
  type,
  pick,
});

/** `build` gets the row source, in which every item has its columns and its `ordinal`, counted from one, and expressions for the parameters of
 *  the whole statement. The statement must have one exactly if its callers pass some. */
export function batchStatement<T>(
  columns: readonly Column<T>[],
  build: (rowSource: string, ...parameters: [string, string, string]) => string,
): (items: readonly T[], ...parameters: readonly (string | undefined)[]) => Sql {
  const parameter = (index: number): string => `($${columns.length + 1}::text[])[${index}]`;
  const statementOf = (source: string): Prepared => prepare(build(source, parameter(1), parameter(2), parameter(3)));
  const ofMany = statementOf(rowsOf(columns));
  const ofOne = statementOf(singleRowOf(columns));
  return (items, ...parameters) => {
    const values: unknown[] = columns.map((each, index) => new ArrayParameter(each, items, index === 0));
    const statement = items.length === 1 ? ofOne : ofMany;
    return { ...statement, values: parameters.length === 0 ? values : [...values, new ArrayParameter(PARAMETER, parameters, true)] };
  };
}

const PARAMETER: Column<string | undefined> = { name: "parameter", type: "text", pick: (value) => value ?? null };

/** A condition, always true, that limits the time for which its statement waits for each lock. The parameter is a time, such as `250ms`; zero: no limit. */
export const limitLockWait = (parameter: string): string => `(select set_config('lock_timeout', ${parameter}, true)) is not null`;

const rowsOf = <T>(columns: readonly Column<T>[]): string => {
  const parameters = wrapped(columns.map(({ type }, index) => `$${index + 1}::${type}[]`));
  const names = wrapped([...columns.map(({ name }) => name), "ordinal"]);
  return `unnest(${parameters})
           with ordinality as item
           (${names})`;
};

/** A row whose values the planner knows as parameters. It compares them with indexes directly, and opens only the partition of the row's id: the
 *  start of a large statement, which is most of its work for one row, takes half the time. */
const singleRowOf = <T>(columns: readonly Column<T>[]): string => {
  const values = wrapped([...columns.map(({ name, type }, index) => `($${index + 1}::${type}[])[1] as ${name}`), "1::bigint as ordinal"]);
  return `(select ${values}) as item`;
};

const LINE_WIDTH = 100;

/** Wrapped, so that the statement can be read in a log and in docs/internals/sql. */
export function wrapped(words: readonly string[]): string {
  const done: string[] = [];
  let line = "";
  for (const word of words) {
    if (line !== "" && line.length + word.length > LINE_WIDTH) {
      done.push(line);
      line = "";
    }
    line += line === "" ? word : `, ${word}`;
  }
  return [...done, line].join(",\n           ");
}

/** A reusable buffer for bytes that are written in sequence. It grows to the size of the largest message. */
export class Scratch {
  #bytes = Buffer.allocUnsafe(65_536);
  #at = 0;

  get length(): number {
    return this.#at;
  }

  /** Drops the bytes from this position on. */
  rewind(at: number): void {
    this.#at = at;
  }

  int8(value: number): void {
    this.#at = this.#room(1).writeInt8(value, this.#at);
  }

  int16(value: number): void {
    this.#at = this.#room(2).writeInt16BE(value, this.#at);
  }

  int32(value: number): void {
    this.#at = this.#room(4).writeInt32BE(value, this.#at);
  }

  /** A safe integer. Not as a bigint, which is an object of its own. */
  int64(value: number): void {
    const high = Math.floor(value / 2 ** 32);
    this.int32(high);
    this.#at = this.#room(4).writeUInt32BE(value - high * 2 ** 32, this.#at);
  }

  bytes(value: Buffer): void {
    this.#at += value.copy(this.#room(value.length), this.#at);
  }

  /** Writes the length of the text in bytes, then the text. A UTF-16 unit needs at most three bytes. */
  text(value: string): void {
    const bytes = this.#room(4 + value.length * 3);
    const length = bytes.write(value, this.#at + 4);
    bytes.writeInt32BE(length, this.#at);
    this.#at += 4 + length;
  }

  /** Overwrites a number that was not known when its position was written. */
  patchInt32(at: number, value: number): void {
    this.#bytes.writeInt32BE(value, at);
  }

  /** The written bytes. They are valid until the buffer is used again. */
  view(): Buffer {
    return this.#bytes.subarray(0, this.#at);
  }

  #room(size: number): Buffer {
    if (this.#at + size > this.#bytes.length) {
      const larger = Buffer.allocUnsafe((this.#at + size) * 2);
      this.#bytes.copy(larger, 0, 0, this.#at);
      this.#bytes = larger;
    }
    return this.#bytes;
  }
}

// PostgreSQL counts microseconds from the year 2000.
const EPOCH_2000_MS = Date.UTC(2000, 0, 1);

type Element<T> = { oid: number; write: (out: Scratch, value: T) => void };

const ofSize = <T>(oid: number, size: number, put: (out: Scratch, value: T) => void): Element<T> => ({
  oid,
  write: (out, value) => {
    out.int32(size);
    put(out, value);
  },
});

/** The types of columns. A bigint is a buffer of eight bytes, big-endian, since the service never calculates with such numbers. */
const ELEMENTS = {
  uuid: ofSize<Uuid>(2950, 16, (out, value) => out.bytes(value)),
  boolean: ofSize<boolean>(16, 1, (out, value) => out.int8(value ? 1 : 0)),
  smallint: ofSize<number>(21, 2, (out, value) => out.int16(value)),
  integer: ofSize<number>(23, 4, (out, value) => out.int32(value)),
  bigint: ofSize<Buffer>(20, 8, (out, value) => out.bytes(value)),
  timestamptz: ofSize<number>(1184, 8, (out, timeMs) => out.int64((Math.trunc(timeMs) - EPOCH_2000_MS) * 1_000)),
  text: { oid: 25, write: (out: Scratch, value: string) => out.text(value) },
  bytea: {
    oid: 17,
    write: (out: Scratch, value: Buffer) => {
      out.int32(value.length);
      out.bytes(value);
    },
  },
} as const;

export type ElementType = keyof typeof ELEMENTS;
export type ElementValue = { [K in ElementType]: (typeof ELEMENTS)[K] extends Element<infer T> ? T : never };

const NULL_LENGTH = -1;

/** One column of a batch as a parameter. It is written directly into the message when the statement is sent. A column without a value is
 *  an empty array, which `unnest` extends with nulls to the length of the first column. */
export class ArrayParameter<T = unknown> {
  readonly #items: readonly T[];
  readonly #element: Element<unknown>;
  readonly #pick: (item: T) => unknown;
  readonly #isFirst: boolean;

  constructor({ type, pick }: Column<T>, items: readonly T[], isFirst: boolean) {
    this.#items = items;
    this.#element = ELEMENTS[type] as Element<unknown>;
    this.#pick = pick;
    this.#isFirst = isFirst;
  }

  writeTo(out: Scratch): void {
    const { oid, write } = this.#element;
    const start = out.length;
    // One dimension, nulls possible, element type, count, lower bound.
    for (const word of [1, 1, oid, this.#items.length, 1]) out.int32(word);
    let hasValue = this.#isFirst;
    for (const item of this.#items) {
      const value = this.#pick(item);
      if (value === null) out.int32(NULL_LENGTH);
      else {
        write(out, value);
        hasValue = true;
      }
    }
    if (hasValue) return;
    out.rewind(start);
    // No dimension, no nulls.
    for (const word of [0, 0, oid]) out.int32(word);
  }
}
