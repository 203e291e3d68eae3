/** The output of commands: records as a table or JSON, lines for people, and colours. */
import { styleText } from "node:util";
import type { Flags } from "../config.ts";
import { UNSEEN } from "../lib/unseen-characters.ts";

/** Writes a line for people to the standard error, so that it never mixes with JSON log lines or the output of --json. */
export const say = (line: string): void => void process.stderr.write(`${line}\n`);

/** Prints one record or a list of records, as JSON for programs or as a table for people. */
export function print(flags: Flags, value: object | readonly object[]): void {
  if (flags["json"] === true) process.stdout.write(`${JSON.stringify(value)}\n`);
  else process.stdout.write(Array.isArray(value) ? table(value as Record<string, unknown>[]) : list(value as Record<string, unknown>));
}

// Names and texts of accounts must not control the operator's terminal.
const CONTROL = new RegExp(`[${UNSEEN}]`, "g");

const cell = (value: unknown): string => textOf(value).replaceAll(CONTROL, "�");

const textOf = (value: unknown): string =>
  value === null || value === undefined
    ? "-"
    : Array.isArray(value)
      ? value.join(",")
      : typeof value === "object"
        ? JSON.stringify(value)
        : `${value as string | number | boolean}`;

function table(rows: readonly Record<string, unknown>[]): string {
  const [first] = rows;
  if (first === undefined) return "none\n";
  const names = Object.keys(first);
  const lines = [names, ...rows.map((row) => names.map((name) => cell(row[name])))];
  const widths = names.map((_, index) => Math.max(...lines.map((line) => (line[index] ?? "").length)));
  return lines
    .map(
      (line) =>
        `${line
          .map((text, index) => text.padEnd(widths[index] ?? 0))
          .join("  ")
          .trimEnd()}\n`,
    )
    .join("");
}

function list(record: Record<string, unknown>): string {
  const width = Math.max(...Object.keys(record).map((name) => name.length));
  return Object.entries(record)
    .map(([name, value]) => `${name.padEnd(width)}  ${cell(value)}\n`)
    .join("");
}

export type Colour = "green" | "yellow" | "red" | "dim";

/** Colours the text if the output is a terminal with colours and NO_COLOR is not set. */
export const paint = (colour: Colour, text: string): string => styleText(colour, text, { stream: process.stdout });

const COLOURS: Readonly<Record<string, Colour>> = {
  delivered: "green",
  read: "green",
  received: "green",
  failed: "red",
  undelivered: "red",
  expired: "red",
  disabled: "red",
  rejected: "red",
  canceled: "yellow",
  paused: "yellow",
  opted_out: "yellow",
};

/** Colours the text in the colour of the status. */
export const paintStatus = (status: string, text = status): string => {
  const colour = COLOURS[status];
  return colour === undefined ? text : paint(colour, text);
};
