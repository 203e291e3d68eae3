/** The lists of the API that commands print: the filters, the limit and the page. */
import type { Flags } from "../config.ts";
import { readDuration, textFlag, UsageError, type Input } from "./command.ts";
import { print, say } from "./output.ts";

export const MAX_LIMIT = 100;

/** The query of a list. `parameters`: the flags whose values are parameters, with the names of the parameters. */
export function listQuery(input: Input, parameters: Readonly<Record<string, string>>): URLSearchParams {
  const { flags } = input;
  const limit = Number(textFlag(flags, "limit") ?? 25);
  if (!Number.isInteger(limit) || limit < 1 || limit > MAX_LIMIT)
    throw new UsageError(`--limit must be a whole number from 1 to ${MAX_LIMIT}`);
  const query = new URLSearchParams({ limit: String(limit) });
  for (const [flag, parameter] of Object.entries(parameters)) {
    const value = textFlag(flags, flag);
    if (value !== undefined) query.set(parameter, flag === "method" ? value.toUpperCase() : value);
  }
  const seconds = readDuration(input, "since");
  if (seconds !== undefined) query.set("created_after", new Date(Date.now() - seconds * 1_000).toISOString());
  return query;
}

export type PrintedPage<T> = { data: T[]; has_more: boolean };

export function printPage<T extends object>(flags: Flags, page: PrintedPage<T>, toLine: (record: T) => object): void {
  print(flags, page.data, toLine);
  if (page.has_more) say("there are more: use --since or another filter, or a larger --limit");
}
