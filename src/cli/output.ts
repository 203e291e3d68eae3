/** The output of commands: records as a table or JSON, lines for people, and colors. */
import { styleText } from "node:util";
import type { Flags } from "../config.ts";
import { formatRecord, formatTable, PLAIN, type TableRow, type TableStyle } from "./table.ts";

/** Writes a line for people to the standard error, so that it never mixes with JSON log lines or the output of --json. */
export const say = (line: string): void => void process.stderr.write(`${line}\n`);

/** Prints one record or a list of records, as JSON for programs or as a table for people. `toRow` selects the columns of the table;
 *  --wide and --json show the whole record. */
export function print<T extends object>(flags: Flags, value: T | readonly T[], toRow: (record: T) => object = (record) => record): void {
  if (flags["json"] === true) return void process.stdout.write(`${JSON.stringify(value)}\n`);
  const isWide = flags["wide"] === true;
  if (!isList(value)) {
    // The kind of the record is known from the command.
    const { object: _, ...fields } = value as TableRow;
    return void process.stdout.write(formatRecord(isWide ? (value as TableRow) : fields, outputStyle(isWide), isWide));
  }
  const rows = (isWide ? value : value.map(toRow)) as readonly TableRow[];
  process.stdout.write(formatTable(isWide ? rows : withoutEmptyColumns(rows), outputStyle(isWide)));
}

const isList = <T>(value: T | readonly T[]): value is readonly T[] => Array.isArray(value);

/** Leaves out columns that have no value in any row, and the kind of the records, which is the same in all rows. */
function withoutEmptyColumns(rows: readonly TableRow[]): TableRow[] {
  const names = Object.keys(rows[0] ?? {}).filter(
    (name) => name !== "object" && rows.some((row) => row[name] !== null && row[name] !== undefined),
  );
  return rows.map((row) => Object.fromEntries(names.map((name) => [name, row[name]])));
}

/** Another program gets complete values. A terminal gets lines that fit, relative times and colors. */
function outputStyle(isWide: boolean): TableStyle {
  const { isTTY, columns } = process.stdout;
  if (!isTTY) return PLAIN;
  return {
    width: isWide ? undefined : columns,
    nowMs: isWide ? undefined : Date.now(),
    paint: (field, value, text) => (field === "status" || field === "state" ? paintStatus(value, text) : text),
  };
}

export type Color = "green" | "yellow" | "red" | "dim";

/** Colors the text if the output is a terminal with colors and NO_COLOR is not set. */
export const paint = (color: Color, text: string): string => styleText(color, text, { stream: process.stdout });

const COLORS: Readonly<Record<string, Color>> = {
  delivered: "green",
  read: "green",
  received: "green",
  approved: "green",
  enabled: "green",
  connected: "green",
  succeeded: "green",
  failed: "red",
  undelivered: "red",
  expired: "red",
  disabled: "red",
  rejected: "red",
  down: "red",
  canceled: "yellow",
  paused: "yellow",
  throttled: "yellow",
  opted_out: "yellow",
};

/** Colors the text in the color of the status. */
export const paintStatus = (status: string, text = status): string => {
  const color = COLORS[status];
  return color === undefined ? text : paint(color, text);
};
