/** The output of commands: records as a table or JSON, lines for people, colours. */
import { styleText } from "node:util";
import type { Flags } from "../config.ts";

/** What is for people goes beside the output: never into a log's JSON lines or a command's --json. */
export const say = (line: string): void => void process.stderr.write(`${line}\n`);

/** One record or a list of them, as JSON for programs or a table for people. */
export function print(flags: Flags, value: object | readonly object[]): void {
  if (flags["json"] === true) process.stdout.write(`${JSON.stringify(value)}\n`);
  else process.stdout.write(Array.isArray(value) ? table(value as Record<string, unknown>[]) : list(value as Record<string, unknown>));
}

const cell = (value: unknown): string =>
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

/** Colours, for a terminal that has some and whose owner wants them: not in a pipe, and not where NO_COLOR is set. */
export type Colour = "green" | "yellow" | "red" | "dim";

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

/** A status in its colour; `text` is the status with what stands beside it. */
export const paintStatus = (status: string, text = status): string => {
  const colour = COLOURS[status];
  return colour === undefined ? text : paint(colour, text);
};
