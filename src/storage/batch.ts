/** Many rows in one statement: each column travels as one array parameter. Owners of tables declare the columns they
 *  need of a batch's items, and fragments of SQL that read them from the relation `request`. */
import { ArrayParameter, type ElementType, type ElementValue } from "./arrays.ts";
import { prepare, type Sql } from "./sql.ts";

export type Column<T> = { name: string; type: ElementType; pick: (item: T) => unknown };

export const column = <T, C extends ElementType>(name: string, type: C, pick: (item: T) => ElementValue[C] | null): Column<T> => ({
  name,
  type,
  pick,
});

/** `build` gets the row source, in which every item has its columns and its `ordinal`, counted from one. */
export function batchStatement<T>(columns: readonly Column<T>[], build: (rowSource: string) => string): (items: readonly T[]) => Sql {
  const parameters = columns.map(({ type }, index) => `$${index + 1}::${type}[]`).join(", ");
  const names = columns.map(({ name }) => name).join(", ");
  const statement = prepare(build(`unnest(${parameters}) with ordinality as item(${names}, ordinal)`));
  return (items) => ({ ...statement, values: columns.map(({ type, pick }) => new ArrayParameter(type, items, pick)) });
}
