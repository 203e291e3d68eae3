/** Reads a file of recipients as a stream: its headings, its rows, and the groups in which they are sent. */
import { readCsv } from "../lib/csv.ts";
import type { ColumnTarget } from "./columns.ts";
import { Grouper, type RowGroup } from "./groups.ts";
import { RowReader, type BulkSettings, type BulkRow } from "./rows.ts";

type Bytes = AsyncIterable<Uint8Array>;

/** Returns the cells of the first record. Undefined for a file without one. */
export async function readHeadings(chunks: Bytes): Promise<readonly string[] | undefined> {
  for await (const [first] of readCsv(chunks)) if (first !== undefined) return first.cells.map((cell) => cell.trim());
  return undefined;
}

/** Reads the rows below the headings, in groups of one chunk of bytes. */
export async function* readBulkRows(chunks: Bytes, settings: BulkSettings): AsyncGenerator<BulkRow[]> {
  const reader = new RowReader(settings);
  let isBelow = false;
  for await (const records of readCsv(chunks)) {
    const below = isBelow ? records : records.slice(1);
    isBelow ||= records.length > 0;
    if (below.length > 0) yield below.map((record) => reader.read(record));
  }
}

/** Reads the groups of rows that are sent together. */
export async function* readRowGroups(chunks: Bytes, settings: BulkSettings, maxRows: number): AsyncGenerator<RowGroup> {
  const grouper = new Grouper(maxRows);
  for await (const rows of readBulkRows(chunks, settings))
    for (const row of rows) {
      const group = grouper.add(row);
      if (group !== undefined) yield group;
    }
  const last = grouper.end();
  if (last !== undefined) yield last;
}

/** A row of the file as a message, for its validation. */
export const toSampleMessage = ({ item }: BulkRow, { defaults }: BulkSettings): Record<string, unknown> => ({ ...defaults, ...item });

export const headingsOf = (
  headings: readonly string[],
  targets: readonly ColumnTarget[],
  wanted: (target: ColumnTarget) => boolean,
): string[] => headings.filter((_, at) => wanted(targets[at] ?? ""));
