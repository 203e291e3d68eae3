/** godwit api: sends any request to the API of a running service, and prints the response. */
import { randomUUID } from "node:crypto";
import { readClientConfig } from "./client-config.ts";
import { callRepeatedly, expectSuccess, type ApiResponse } from "./client.ts";
import { interruption, readInput, textFlag, UsageError, type Command, type Input } from "./command.ts";

const METHOD = /^(GET|POST|PATCH|PUT|DELETE)$/;
const LIMIT_MS = 30_000;
// The largest page of a list.
const PAGE = "100";
// More than the longest body that the API accepts.
const MAX_BODY_BYTES = 4 * 1_048_576;

export const api: Command = {
  name: "api",
  about: [
    "Sends a request to the HTTP API of a running service and prints the response. The API reference (GET /docs) lists the paths and their scopes. A POST, PATCH or DELETE has a new idempotency key, and is repeated with it after a lost response.",
    "The response is printed with indentation, with --json on one line. With --all a list is read to its end, one record on each line.",
  ],
  usage: ["api METHOD PATH [--data JSON] [--json]", "api GET PATH --all"],
  flags: {
    data: { value: "JSON", help: "the body of the request; - reads it from the standard input" },
    all: { isSwitch: true, help: "all records of a list, in as many requests as needed" },
  },
  settings: "client",
  examples: [
    ["The newest messages that failed:", "godwit api GET '/v1/messages?status=failed'"],
    ["The errors of a batch:", "godwit api GET '/v1/messages?batch_id=bat_01k9zs3v8mf4tb2xg1qj6n0d5c' --all | jq .error.code"],
    ["The timeline of a message:", "godwit api GET /v1/messages/msg_01k9zs3v8mf4tb2xg1qj6n0d5c/events"],
    ["Cancel a scheduled message:", "godwit api POST /v1/messages/msg_01k9zs3v8mf4tb2xg1qj6n0d5c/cancel"],
    ["A webhook endpoint:", `godwit api POST /v1/webhook_endpoints --data '{"url": "https://example.com/hooks"}'`],
  ],
  exitCodes: { 1: "the service was not reached, or refused the request" },
  async run(input) {
    const [method = "", path = ""] = input.words;
    const verb = method.toUpperCase();
    if (!METHOD.test(verb)) throw new UsageError("name the method, such as GET, and the path");
    if (!path.startsWith("/")) throw new UsageError("the path begins with a slash, such as /v1/messages");
    if (input.flags["all"] === true && verb !== "GET") throw new UsageError("--all is for GET");
    const send = await prepare(input, verb);
    if (input.flags["all"] === true) return printAll(path, send);
    const { text, json } = await send(path);
    const isIndented = input.flags["json"] !== true && json !== undefined;
    process.stdout.write(`${isIndented ? JSON.stringify(json, undefined, 2) : text.trimEnd()}\n`);
  },
};

type Send = (path: string) => Promise<ApiResponse>;

async function prepare({ flags }: Input, method: string): Promise<Send> {
  const client = readClientConfig(flags);
  const body = parseBody(textFlag(flags, "data") === "-" ? await readInput(MAX_BODY_BYTES) : textFlag(flags, "data"));
  const headers: Record<string, string> = method === "GET" ? {} : { "idempotency-key": randomUUID() };
  const interrupted = interruption();
  return async (path) => {
    const signal = AbortSignal.any([interrupted, AbortSignal.timeout(LIMIT_MS)]);
    const deadline = performance.now() + LIMIT_MS;
    return expectSuccess(await callRepeatedly(client, { method, path, body, headers }, { signal, deadline }), client, flags);
  };
}

function parseBody(text: string | undefined): unknown {
  try {
    return text === undefined ? undefined : (JSON.parse(text) as unknown);
  } catch (error) {
    throw new UsageError(`--data is not JSON: ${(error as Error).message}`);
  }
}

async function printAll(path: string, send: Send): Promise<void> {
  const [name = "", query] = path.split("?", 2);
  const params = new URLSearchParams(query);
  params.set("limit", PAGE);
  for (;;) {
    const { data, next_cursor: cursor } = (await send(`${name}?${params.toString()}`)).json ?? {};
    if (!Array.isArray(data)) throw new UsageError("--all is for lists");
    for (const record of data) process.stdout.write(`${JSON.stringify(record)}\n`);
    if (typeof cursor !== "string") return;
    params.set("cursor", cursor);
  }
}
