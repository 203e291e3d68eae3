/** Many rows in one statement: each column travels as one array parameter. Owners of tables declare the columns they
 *  need of a batch's items, and fragments of SQL that read them from the relation `request`. */
import { bigints, bytes, integers, smallints, texts, timestamps, uuids } from "./arrays.ts";
import type { Uuid } from "../lib/uuid.ts";
import { prepare, type Sql } from "./sql.ts";

const ENCODERS = {
  uuid: uuids,
  text: texts,
  bytea: bytes,
  bigint: bigints,
  integer: integers,
  smallint: smallints,
  timestamptz: timestamps,
} as const;

type ValueOf = { uuid: Uuid; text: string; bytea: Buffer; bigint: Buffer; integer: number; smallint: number; timestamptz: number };
type ColumnType = keyof ValueOf;

export type Column<T> = { name: string; type: ColumnType; encode: (items: readonly T[]) => Buffer };

export function column<T, C extends ColumnType>(name: string, type: C, pick: (item: T) => ValueOf[C] | null): Column<T> {
  const encode = ENCODERS[type] as unknown as (values: readonly (ValueOf[C] | null)[]) => Buffer;
  return { name, type, encode: (items) => encode(items.map(pick)) };
}

/** `build` gets the row source, in which every item has its columns and its `ordinal`, counted from one. */
export function batchStatement<T>(columns: readonly Column<T>[], build: (rowSource: string) => string): (items: readonly T[]) => Sql {
  const parameters = columns.map(({ type }, index) => `$${index + 1}::${type}[]`).join(", ");
  const names = columns.map(({ name }) => name).join(", ");
  const statement = prepare(build(`unnest(${parameters}) with ordinality as item(${names}, ordinal)`));
  return (items) => ({ ...statement, values: columns.map(({ encode }) => encode(items)) });
}
