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
    "Sends any request to the API and prints the response. The service has the API reference at /docs/reference.",
    "A POST, PATCH or DELETE has a new idempotency key, and is repeated with it when the response is lost.",
  ],
  usage: ["api METHOD PATH [--data JSON]", "api GET PATH --all"],
  flags: {
    data: { value: "JSON", help: "body of the request; - reads standard input" },
    all: { isSwitch: true, help: "every page of a list, a record on each line" },
  },
  settings: "client",
  examples: [
    ["The errors of all failed messages:", "godwit api GET '/v1/messages?status=failed' --all | jq .error.code"],
    ["Create a webhook endpoint:", `godwit api POST /v1/webhook_endpoints --data '{"url": "https://example.com/hooks"}'`],
  ],
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
