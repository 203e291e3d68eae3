/** The Postman collection: every request that needs no record of another one succeeds as it is, and reads succeed with the ids of the records
 *  that the others have created. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { postmanCollection, readCollection, type OpenApiDocument, type PostmanRequest } from "../../scripts/postman.ts";
import { DOCUMENT } from "../support/contract.ts";
import { ROOT } from "../support/doc-samples.ts";
import { startGodwit, type Godwit } from "../support/harness.ts";

type Variables = Record<string, string>;
type Pair = { key: string; value: string };
type Sent = { status: number; json: Record<string, unknown> };

const collection = readCollection();
const requests = collection.item.flatMap((folder) => folder.item.map(({ request }) => request));

let godwit: Godwit;
/** `test` and `live`: some records exist only in live. */
let variables: Readonly<Record<"test" | "live", Variables>>;
before(async () => {
  // The webhook endpoint of an example is not called, so its name need not resolve.
  godwit = await startGodwit({ env: { GODWIT_WEBHOOK_ALLOW: "0.0.0.0/0,::/0" } });
  const of = async (environment: "test" | "live"): Promise<Variables> => {
    const key = await godwit.key({ environment });
    const { json } = await godwit.request("GET", "/v1/credential", { key });
    return { base_url: godwit.url, api_key: key, client_id: String(json["key_id"]) };
  };
  variables = { test: await of("test"), live: await of("live") };
});
after(() => godwit.stop());

/** Replaces variables as Postman does. One without a value stays as it is. */
const filled = (text: string, values: Variables): string =>
  text.replaceAll(/\{\{(\$?\w+)\}\}/g, (whole, name: string) => (name === "$guid" ? randomUUID() : (values[name] ?? whole)));

const missing = (request: PostmanRequest, values: Variables): string[] =>
  Array.from(JSON.stringify(request).matchAll(/\{\{(\w+_id)\}\}/g), ([, name = ""]) => name).filter((name) => values[name] === undefined);

function authorizationOf({ auth = collection.auth }: PostmanRequest, values: Variables): Record<string, string> {
  const members = auth[auth.type] as readonly Pair[] | undefined;
  const of = (name: string): string => filled(members?.find(({ key }) => key === name)?.value ?? "", values);
  if (auth.type === "noauth") return {};
  if (auth.type === "bearer") return { authorization: `Bearer ${of("token")}` };
  return { authorization: `Basic ${Buffer.from(`${of("username")}:${of("password")}`).toString("base64")}` };
}

const entriesOf = (rows: readonly Pair[]): [string, string][] => rows.map(({ key, value }) => [key, value]);

/** Sends a request as Postman does. Of a stream, only the head is awaited. */
async function send(request: PostmanRequest, values: Variables): Promise<Sent> {
  const { method, url, header, body } = request;
  const path = url.path.map((part) => url.variable.find(({ key }) => part === `:${key}`)?.value ?? part).join("/");
  const query = new URLSearchParams(entriesOf(url.query.filter(({ disabled }) => disabled !== true)));
  const form = body?.mode === "urlencoded" ? new URLSearchParams(entriesOf(body.urlencoded)) : undefined;
  const leaving = new AbortController();
  const response = await fetch(filled(`${url.host.join("")}/${path}?${query.toString()}`, values), {
    method,
    headers: { ...Object.fromEntries(header.map(({ key, value }) => [key, filled(value, values)])), ...authorizationOf(request, values) },
    signal: leaving.signal,
    ...(body === undefined ? {} : { body: form ?? (body.mode === "raw" ? filled(body.raw, values) : "") }),
  });
  const isJson = /json;/.test(response.headers.get("content-type") ?? "");
  const json = isJson ? ((await response.json()) as Sent["json"]) : {};
  leaving.abort();
  return { status: response.status, json };
}

async function sendToEither(request: PostmanRequest): Promise<Sent> {
  const sent = await send(request, variables.test);
  return sent.json["code"] === "live_only" ? send(request, variables.live) : sent;
}

test("every request that needs no record of another one succeeds, and then the reads of the records that they made", async () => {
  // It fetches a file from the internet, where no test calls.
  const fetched = requests.filter(({ method, url }) => method === "POST" && url.raw.endsWith("/v1/media"));
  assert.equal(fetched.length, 1);
  const [independent, others] = [true, false].map((isFree) =>
    requests.filter((request) => !fetched.includes(request) && (missing(request, variables.test).length === 0) === isFree),
  ) as [PostmanRequest[], PostmanRequest[]];
  assert.ok(independent.length > 30 && others.length > 30, `${independent.length} and ${others.length} requests`);
  for (const request of independent) {
    const { status, json } = await sendToEither(request);
    assert.ok(status < 300, `${request.method} ${request.url.raw}: ${status} ${JSON.stringify(json)}`);
    for (const record of [json, ...((json["data"] ?? json["results"] ?? []) as Record<string, unknown>[])]) {
      const { object, id } = record;
      if (typeof object === "string" && typeof id === "string") for (const each of Object.values(variables)) each[`${object}_id`] ??= id;
    }
  }
  const reads = others.filter((request) => request.method === "GET" && missing(request, variables.test).length === 0);
  assert.ok(reads.length > 8, `${reads.length} reads`);
  for (const request of reads) {
    const status = (await send(request, variables.test)).status === 404 ? (await send(request, variables.live)).status : 200;
    assert.equal(status, 200, request.url.raw);
  }
});

test("each request that changes something has an idempotency key of its own, and no example has the id of a record", () => {
  const keyed = requests.filter(({ header }) => header.some(({ key }) => key === "Idempotency-Key"));
  assert.ok(keyed.length > 20);
  for (const { header } of keyed) assert.equal(header.find(({ key }) => key === "Idempotency-Key")?.value, "{{$guid}}");
  for (const { url, body } of requests) assert.doesNotMatch(JSON.stringify([url, body]), /\b[a-z]+_0[0-9a-z]{25}\b/);
});

test("the collection has every operation of the document", () => {
  const document = JSON.parse(readFileSync(DOCUMENT, "utf8")) as OpenApiDocument;
  const count = Object.values(document.paths).flatMap((methods) => Object.keys(methods)).length;
  assert.equal(requests.length, count);
  assert.deepEqual(postmanCollection(document), collection);
  assert.match(readFileSync(join(ROOT, "docs", "http.md"), "utf8"), /node scripts\/postman\.ts/);
});
