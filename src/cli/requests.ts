/** godwit requests: prints the request log of an environment. */
import type { Flags } from "../config.ts";
import type { RequestRecord } from "../requests/logged-request.ts";
import { readClientConfig } from "./client-config.ts";
import { callRepeatedly, expectSuccess } from "./client.ts";
import { interruption, UsageError, type Command, type Input } from "./command.ts";
import { listQuery, MAX_LIMIT, printPage, type PrintedPage } from "./list-page.ts";
import { print } from "./output.ts";

const LIMIT_MS = 30_000;
const REQUEST_ID = /^req_[0-9a-z]{26}$/;

/** The flags whose values are parameters of the list, with the names of the parameters. */
const PARAMETERS = {
  status: "status",
  method: "method",
  operation: "operation",
  code: "code",
  "by-key": "key_id",
  message: "message_id",
} as const;

export const requests: Command = {
  name: "requests",
  about: [
    "Prints the API requests of the last seven days in the environment of the key, newest first; with an ID, that request with its faults. Needs the scope audit:read.",
    "A request appears after about a second. Of a busy environment, the log is a sample. Recipients, texts and other values are masked.",
  ],
  usage: ["requests [--status STATUS] [flags]", "requests ID"],
  flags: {
    status: { value: "STATUS", help: "status, such as 404 or 4xx" },
    method: { value: "METHOD", help: "method, such as POST" },
    operation: { value: "NAME", help: "operation of the API, such as sendMessage" },
    code: { value: "CODE", help: "error code" },
    "by-key": { value: "ID", help: "API key" },
    message: { value: "ID", help: "message that the request created or named" },
    since: { value: "TIME", help: "newer than this, such as 15m" },
    limit: { value: "NUMBER", fallback: "25", help: `how many; at most ${MAX_LIMIT}` },
  },
  settings: "client",
  examples: [
    ["Requests that were refused in the last hour:", "godwit requests --status 4xx --since 1h"],
    ["One request, with its faults:", "godwit requests req_01m7efq7sbe3yt5gky9cw6af4s"],
  ],
  run: (input) => run(input),
};

async function run(input: Input): Promise<void> {
  const { flags } = input;
  const [id] = input.words;
  if (id === undefined) return list(input);
  if (!REQUEST_ID.test(id)) throw new UsageError("name the request by its complete id, req_…, or by nothing for the list");
  print(flags, toShown((await read(`/v1/requests/${id}`, flags)) as RequestRecord, flags));
}

async function list(input: Input): Promise<void> {
  const { flags } = input;
  const page = (await read(`/v1/requests?${listQuery(input, PARAMETERS).toString()}`, flags)) as PrintedPage<RequestRecord>;
  printPage(flags, page, toLine);
}

async function read(path: string, flags: Flags): Promise<unknown> {
  const client = readClientConfig(flags);
  const signal = AbortSignal.any([interruption(), AbortSignal.timeout(LIMIT_MS)]);
  const result = await callRepeatedly(client, { method: "GET", path }, { signal, deadline: performance.now() + LIMIT_MS });
  return expectSuccess(result, client, flags).json;
}

/** One request: its faults are fields of their own, as a person reads them. */
function toShown(record: RequestRecord, flags: Flags): object {
  if (flags["json"] === true) return record;
  const { key, problem, ...rest } = record;
  const faults = (problem?.errors ?? []).map(({ pointer, parameter, header, detail }) => [
    pointer ?? parameter ?? header ?? "fault",
    detail,
  ]);
  return { ...rest, key: key.name ?? key.id, detail: problem?.detail, ...Object.fromEntries(faults) };
}

/** A request as a row of the table. */
const toLine = ({ created_at, id, method, path, status, code, key, duration_ms, message_id }: RequestRecord) => ({
  created_at,
  id,
  method,
  path,
  status,
  code,
  key: key.name ?? key.id,
  ms: Math.round(duration_ms),
  message_id,
});
