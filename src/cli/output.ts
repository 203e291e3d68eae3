/** The output of commands: records as a table or JSON, lines for people, and colors. */
import { styleText } from "node:util";
import type { Flags } from "../config.ts";
import { UNSEEN } from "../model/unseen-characters.ts";

type Row = Readonly<Record<string, unknown>>;

/** Writes a line for people to the standard error, so that it never mixes with JSON log lines or the output of --json. */
export const say = (line: string): void => void process.stderr.write(`${line}\n`);

/** Prints one record or a list of records, as JSON for programs or as a table for people. `toRow` selects the columns of the table;
 *  --wide and --json show the whole record. */
export function print<T extends object>(flags: Flags, value: T | readonly T[], toRow: (record: T) => object = (record) => record): void {
  if (flags["json"] === true) return void process.stdout.write(`${JSON.stringify(value)}\n`);
  const isWide = flags["wide"] === true;
  const text = isList(value) ? formatTable((isWide ? value : value.map(toRow)) as Row[], isWide) : formatRecord(value as Row, isWide);
  process.stdout.write(text);
}

const isList = <T>(value: T | readonly T[]): value is readonly T[] => Array.isArray(value);

const GAP = "  ";

/** One record on each line. Columns without a value are left out unless `isComplete`. */
export function formatTable(rows: readonly Row[], isComplete: boolean): string {
  const names = Object.keys(rows[0] ?? {}).filter((name) => isComplete || rows.some((row) => isShown(name, row[name])));
  if (names.length === 0) return "none\n";
  const lines = [names, ...rows.map((row) => names.map((name) => cellText(row[name])))];
  const widths = names.map((_, column) => Math.max(...lines.map((cells) => cells[column]?.length ?? 0)));
  const line = (cells: readonly string[]): string => cells.map((text, column) => text.padEnd(widths[column] ?? 0)).join(GAP);
  return lines.map((cells) => `${line(cells).trimEnd()}\n`).join("");
}

/** One field on each line. Fields without a value are left out unless `isComplete`. */
export function formatRecord(record: Row, isComplete: boolean): string {
  const fields = Object.entries(record).filter(([name, value]) => isComplete || isShown(name, value));
  const width = Math.max(0, ...fields.map(([name]) => name.length));
  return fields.map(([name, value]) => `${name.padEnd(width)}${GAP}${cellText(value)}\n`).join("");
}

/** The kind of a record is known from the command. */
const isShown = (name: string, value: unknown): boolean => name !== "object" && value !== null && value !== undefined;

// Names and texts of accounts must not control the operator's terminal.
const CONTROL = new RegExp(`[${UNSEEN}]`, "g");

const cellText = (value: unknown): string => textOf(value).replaceAll(CONTROL, "�");

function textOf(value: unknown): string {
  if (value === null || value === undefined) return "-";
  if (Array.isArray(value)) return value.map((item) => (typeof item === "object" ? JSON.stringify(item) : String(item))).join(",");
  return typeof value === "object" ? JSON.stringify(value) : `${value as string | number | boolean}`;
}

type Color = "green" | "yellow" | "red" | "dim";

/** Colors the text if the output is a terminal with colors and NO_COLOR is not set. */
export const paint = (color: Color, text: string): string => styleText(color, text, { stream: process.stdout });

/** The statuses of messages and templates, and of endpoints and recipients in events. */
const COLORS: Readonly<Record<string, Color>> = {
  delivered: "green",
  read: "green",
  received: "green",
  approved: "green",
  failed: "red",
  undelivered: "red",
  expired: "red",
  disabled: "red",
  rejected: "red",
  canceled: "yellow",
  paused: "yellow",
  opted_out: "yellow",
};

export const paintStatus = (status: string, text: string): string => {
  const color = COLORS[status];
  return color === undefined ? text : paint(color, text);
};
