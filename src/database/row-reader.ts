/** Reads rows into records: a column gets the name of a field, and a time becomes milliseconds. `updated_at` becomes `updatedAtMs`. For
 *  records of which few are read at a time; messages have a reader of their own. */

export type StoredRow = Readonly<Record<string, unknown>>;

/** `columns` is the list of a select, without commas inside an expression. `times` names the fields that are times. */
export function rowReader<T>(columns: string, times: readonly (keyof T & `${string}Ms`)[]): (row: StoredRow) => T {
  const names: readonly string[] = times;
  const fields = columns.split(",").map((text) => {
    const column = text.trim().split(/\W/).at(-1) ?? "";
    const name = column.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
    return names.includes(`${name}Ms`) ? { column, name: `${name}Ms`, read: timeMs } : { column, name, read: unchanged };
  });
  return (row) => {
    const record: Record<string, unknown> = {};
    for (const { column, name, read } of fields) record[name] = read(row[column]);
    return record as T;
  };
}

const timeMs = (value: unknown): number | null => (value as Date | null)?.getTime() ?? null;
const unchanged = (value: unknown): unknown => value;
