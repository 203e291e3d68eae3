/** Requests of commands that show or change records through the API. A refused request ends the command with the text of the problem. */
import { randomUUID } from "node:crypto";
import type { Flags } from "../config.ts";
import { pause } from "../lib/wait.ts";
import { StartupError } from "../database/startup-error.ts";
import { callApi, explainProblem, type ApiRequest, type ApiResponse } from "./api.ts";
import { readClientConfig, type ClientConfig } from "./client-config.ts";
import { textFlag, UsageError, type FlagRow, type Input } from "./command.ts";
import { print, say } from "./output.ts";

export type ApiRecord = Readonly<Record<string, unknown>>;
type Query = Readonly<Record<string, string | undefined>>;

/** The flags of every list. */
export const LIST_FLAGS: Readonly<Record<string, FlagRow>> = {
  limit: { type: "string", value: "NUMBER", fallback: "25", help: "how many records, the newest first" },
  all: { type: "boolean", help: "all records, in as many requests as needed" },
};

const DEFAULT_LIMIT = 25;
const MAX_PAGE = 100;
// A table is built in memory. --json is written page by page, without a limit.
const MAX_TABLE_ROWS = 10_000;
const MAX_ATTEMPTS = 4;
const MAX_RETRY_SECONDS = 10;

export class ApiClient {
  readonly config: ClientConfig;
  readonly #flags: Flags;
  readonly #stopping = new AbortController();

  constructor(flags: Flags) {
    this.config = readClientConfig(flags);
    this.#flags = flags;
    for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => this.#stopping.abort());
  }

  get signal(): AbortSignal {
    return this.#stopping.signal;
  }

  get = (path: string, query: Query = {}): Promise<ApiRecord> => this.#call({ method: "GET", path: `${path}${queryText(query)}` });

  /** Every attempt carries the same idempotency key, so that the change is made once. */
  post = (path: string, body?: object): Promise<ApiRecord> =>
    this.#call({ method: "POST", path, headers: { "idempotency-key": randomUUID() }, ...(body === undefined ? {} : { body }) });

  delete = (path: string): Promise<ApiRecord> => this.#call({ method: "DELETE", path });

  /** Yields the pages of a list until `most` records have been yielded. Returns whether there are more. */
  async *pages(path: string, query: Query, most = Infinity): AsyncGenerator<readonly ApiRecord[], boolean> {
    let [left, cursor] = [most, undefined as string | undefined];
    while (left > 0) {
      const page = await this.get(path, { ...query, limit: String(Math.min(left, MAX_PAGE)), cursor });
      const records = (page["data"] ?? []) as readonly ApiRecord[];
      yield records;
      left -= records.length;
      if (typeof page["next_cursor"] !== "string") return false;
      cursor = page["next_cursor"];
    }
    return true;
  }

  /** Sends the request. A request that the service did not execute, because it is busy, is repeated. */
  async #call(request: ApiRequest): Promise<ApiRecord> {
    for (let attempts = 1; ; attempts += 1) {
      const result = await callApi(this.config, request, this.signal);
      if (result.kind === "no_response") throw new StartupError(`${result.reason} (${this.config.url})`);
      const { status, json } = result;
      if (status >= 200 && status < 300 && json !== undefined) return json;
      const waitSeconds = retryAfter(result);
      if (attempts === MAX_ATTEMPTS || waitSeconds === undefined || this.signal.aborted) throw this.#refusal(result);
      await pause(waitSeconds * 1_000, this.signal);
    }
  }

  #refusal(response: ApiResponse): StartupError {
    if (this.#flags["json"] === true && response.json !== undefined) process.stdout.write(`${JSON.stringify(response.json)}\n`);
    return new StartupError(explainProblem(response));
  }
}

/** The seconds after which a request that was not executed can be repeated. */
function retryAfter({ status, json, headers }: ApiResponse): number | undefined {
  if (status !== 429 && json?.["code"] !== "service_unavailable") return undefined;
  const seconds = Number(headers.get("retry-after") ?? "1");
  return seconds <= MAX_RETRY_SECONDS ? seconds : undefined;
}

function queryText(query: Query): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) params.append(name, value);
  return params.size === 0 ? "" : `?${params.toString()}`;
}

/** Prints the records of a list, as many as --limit and --all say. */
export async function printList(
  { flags }: Input,
  { path, query = {}, toRow }: { path: string; query?: Query; toRow: (record: ApiRecord) => object },
): Promise<void> {
  const isJson = flags["json"] === true;
  const limit = readListLimit(flags);
  const pages = new ApiClient(flags).pages(path, query, isJson ? limit : Math.min(limit, MAX_TABLE_ROWS));
  const rows: ApiRecord[] = [];
  let separator = "[";
  for (;;) {
    const { value, done } = await pages.next();
    if (done === true) {
      if (isJson) process.stdout.write(separator === "[" ? "[]\n" : "]\n");
      else print(flags, rows, toRow);
      if (!isJson && value) say(limit > MAX_TABLE_ROWS ? "there are more; --json prints them all" : "there are more: use --limit or --all");
      return;
    }
    if (!isJson) rows.push(...value);
    for (const record of isJson ? value : []) {
      process.stdout.write(`${separator}${JSON.stringify(record)}`);
      separator = ",";
    }
  }
}

function readListLimit(flags: Flags): number {
  if (flags["all"] === true) return Infinity;
  const text = textFlag(flags, "limit");
  if (text === undefined) return DEFAULT_LIMIT;
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new UsageError(`--limit must be a whole number from 1, not ${text}`);
  return Number(text);
}

const UNITS_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Reads a time flag: an RFC 3339 time, or a duration before the present such as 2h. */
export function readTime(flags: Flags, name: string): string | undefined {
  const text = textFlag(flags, name);
  if (text === undefined) return undefined;
  const [, amount, unit] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  if (amount !== undefined) return new Date(Date.now() - Number(amount) * (UNITS_MS[unit ?? ""] ?? 0)).toISOString();
  if (!Number.isNaN(Date.parse(text)) && /^\d{4}-\d\d-\d\dT/.test(text)) return text;
  throw new UsageError(`--${name} must be a duration such as 2h, or a time such as 2030-01-31T09:00:00Z, not ${text}`);
}

/** Returns the second word of a command, which names a record. */
export function neededWord({ words }: Input, what: string): string {
  const [, word = ""] = words;
  if (word === "") throw new UsageError(`name ${what}`);
  return word;
}

/** A path with the value as its last segment. */
export const pathOf = (path: string, id: string): string => `${path}/${encodeURIComponent(id)}`;

/** A text on one line, for a table. */
export const oneLine = (text: unknown): string | null => (typeof text === "string" ? text.replaceAll(/\s+/g, " ").trim() : null);
