/** The OpenAPI document matches the service: every declared status is provoked, and every body fits its schema. */
import assert from "node:assert/strict";
import { randomInt, randomUUID } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { Ajv2020 } from "ajv/dist/2020.js";
import { currentDocument } from "../../scripts/openapi/current.ts";
import { isDateTime } from "../../src/lib/time.ts";
import { isErrorCode } from "../../src/http/codes.ts";
import { decodeId, encodeId, toId } from "../../src/model/id.ts";
import { uuidSequence } from "../../src/lib/uuid.ts";
import { loggedRequest } from "../support/client.ts";
import { assertOAuthError, FORM_TYPE, oauthClientOf, TOKEN_PATH, type OAuthClient } from "../support/keys.ts";
import { assertCommonHeaders, KEY_SET_CACHE, assertProblem, exchange, LIMIT_MS, until } from "../support/expect.ts";
import { lockTable } from "../support/locks.ts";
import { withoutDatabase } from "../support/outage.ts";
import { sms, startGodwit, type Godwit, type Reply, type RequestOptions } from "../support/harness.ts";

type Declared = { description: string; headers: Record<string, unknown>; content: Record<string, { schema: object }> };
type Operation = {
  operationId: string;
  description: string;
  security: Record<string, string[]>[];
  parameters: { name: string; in: string }[];
  requestBody?: object;
  responses: Record<string, Declared | { $ref: string }>;
};
type Document = { openapi: string; paths: Record<string, Record<string, Operation>>; components: Record<string, Record<string, unknown>> };
type Route = { method: string; path: string; operation: Operation };

const COMMITTED = join(import.meta.dirname, "..", "..", "docs", "openapi.json");
const STREAM = "/v1/events/stream";
const JWKS = "/.well-known/jwks.json";
const MEDIA = "/v1/media";
const AS_FILE = { "content-type": "application/octet-stream" };

let godwit: Godwit;
let document: Document;
let key: string;
/** A key of live, where links, senders and routes are. */
let live: string;
let scopeless: string;
let elsewhere: string;
let exhausted: string;
/** The client id for access tokens, by key. */
const clients = new Map<string | undefined, OAuthClient>();
/** Objects that every reading operation can return. */
let known: Ids;
const ajv = new Ajv2020({ strict: false, allErrors: true, formats: { binary: true } });
ajv.addFormat("date-time", isDateTime);

before(async () => {
  godwit = await startGodwit({ isOneProcess: true, config: `[[link]]\nname = "fixed"\nprovider = "simulator"\n` });
  exhausted = await godwit.key({ account: "exhausted" });
  await godwit.unlimited();
  await godwit.rows("insert into tiers (name, requests_per_second, burst) values ('trickle', 1, 1)");
  await godwit.rows("update environments set tier = 'trickle' where account_id = (select id from accounts where name = 'exhausted')");
  key = await godwit.key();
  live = await godwit.key({ environment: "live" });
  scopeless = await godwit.key({ scopes: [] });
  elsewhere = await godwit.key({ allowedIps: ["192.0.2.1"] });
  for (const each of [key, exhausted, elsewhere]) clients.set(each, await oauthClientOf(godwit, each));
  const { message } = await queued({ metadata: { a: "b" }, client_reference: "c", sender: "Godwit" });
  known = {
    message,
    ...(await delivered()),
    ...(await batched()),
    ...(await suppressed()),
    ...(await templated()),
    ...(await verified()),
    ...(await keyed()),
    ...(await compatible()),
    ...(await linked()),
    ...(await uploaded()),
  };
  known.sender = await idOf(make("/v1/senders", newSender()));
  known.route = await idOf(make("/v1/routes", newRoute()));
  known.request = await loggedRequest(godwit, key);
  document = (await godwit.request("GET", "/openapi.json")).json as unknown as Document;
  ajv.addSchema(document, "openapi.json");
});
after(() => godwit.stop());

/** The values of the path parameters. */
type Ids = Partial<
  Record<
    | "message"
    | "event"
    | "endpoint"
    | "delivery"
    | "batch"
    | "suppression"
    | "template"
    | "verification"
    | "key"
    | "compatible_credential"
    | "link"
    | "sender"
    | "route"
    | "request"
    | "media",
    string
  >
>;
const NOTHING: Required<Ids> = {
  message: "msg_01k9zs3v8mf4tb2xg1qj6n0d5c",
  event: "evt_01k9zs3v8mf4tb2xg1qj6n0d5c",
  endpoint: "whe_01k9zs3v8mf4tb2xg1qj6n0d5c",
  delivery: "dlv_01k9zs3v8mf4tb2xg1qj6n0d5c",
  batch: "batch_01k9zs3v8mf4tb2xg1qj6n0d5c",
  suppression: "sup_01k9zs3v8mf4tb2xg1qj6n0d5c",
  template: "tmpl_01k9zs3v8mf4tb2xg1qj6n0d5c",
  verification: "ver_01k9zs3v8mf4tb2xg1qj6n0d5c",
  key: "key_01k9zs3v8mf4tb2xg1qj6n0d5c",
  compatible_credential: "key_01k9zs3v8mf4tb2xg1qj6n0d5c",
  link: "lnk_01k9zs3v8mf4tb2xg1qj6n0d5c",
  sender: "snd_01k9zs3v8mf4tb2xg1qj6n0d5c",
  route: "rte_01k9zs3v8mf4tb2xg1qj6n0d5c",
  request: "req_01k9zs3v8mf4tb2xg1qj6n0d5c",
  media: "media_01k9zs3v8mf4tb2xg1qj6n0d5c",
};
/** Objects of the configuration file, which cannot be changed. */
const FIXED: Ids = { link: "fixed", sender: "file:fixed:1", route: "file:1" };

const isSetup = (path: string): boolean => /^\/v1\/(links|senders|routes)\b/.test(path);
const keyFor = (path: string): string => (isSetup(path) ? live : key);

async function make(path: string, body?: object): Promise<Reply["json"]> {
  const { status, text, json } = await godwit.request("POST", path, { key: keyFor(path), body });
  assert.ok(status < 300, text);
  return json;
}

const queued = async (fields: object = {}): Promise<{ message: string }> => ({
  message: String((await make("/v1/messages", { ...sms(), ...fields }))["id"]),
});
const scheduled = (): Promise<Ids> => queued({ send_at: new Date(Date.now() + 3_600_000).toISOString() });
const canceled = async (): Promise<Ids> => {
  const { message } = await queued();
  await make(`/v1/messages/${message}/cancel`);
  return { message };
};
const created = async (): Promise<{ endpoint: string }> => ({
  endpoint: String((await make("/v1/webhook_endpoints", { url: "https://example.com/hook", description: "d" }))["id"]),
});

/** No message was sent to this number or its neighbors. */
const newNumber = (): string => `+1${randomInt(200, 1_000)}${randomInt(2_000_000, 10_000_000)}`;
const newTemplate = () => ({
  name: `t_${randomUUID().replaceAll("-", "")}`,
  language: "en",
  category: "utility",
  channels: ["sms", "whatsapp"],
  body: "Hello {{name}}",
  header: "Hi",
  footer: "Bye",
  buttons: [{ type: "url", text: "Go", url: "https://example.com" }],
  examples: { name: "Ada" },
});
const idOf = async (made: Promise<Reply["json"]>): Promise<string> => String((await made)["id"]);
const batched = async () => ({ batch: await idOf(make("/v1/batches", { items: [sms(), { recipient: "x" }] })) });
const suppressed = async () => ({ suppression: await idOf(make("/v1/suppressions", { recipient: newNumber(), note: "n" })) });
const templated = async () => ({ template: await idOf(make("/v1/templates", newTemplate())) });
const archived = async (): Promise<Ids> => {
  const { template } = await templated();
  await godwit.request("DELETE", `/v1/templates/${template}`, { key });
  return { template };
};
const verified = async () => ({ verification: await idOf(make("/v1/verifications", { recipient: newNumber(), channel: "sms" })) });
const unverified = async (): Promise<Ids> => {
  const { verification } = await verified();
  await make(`/v1/verifications/${verification}/cancel`);
  return { verification };
};
const keyed = async () => ({ key: await idOf(make("/v1/keys", { scopes: ["messages:read"], name: "n" })) });
let users = 0;
const compatible = async () => ({
  compatible_credential: await idOf(make("/v1/compatible_credentials", { source: "kannel", user_name: `user${(users += 1)}` })),
});
const revoked = async (): Promise<Ids> => {
  const ids = await keyed();
  await godwit.request("DELETE", `/v1/keys/${ids.key}`, { key });
  return ids;
};

const newLink = () => ({
  name: randomUUID(),
  provider: "smpp",
  settings: { host: "smpp.example.com", port: 2776, tls: true, system_id: "x", password: "x" },
});
const newSender = () => ({ number: newNumber(), link_id: known.link });
const newRoute = () => ({ channel: "sms", links: [known.link], prefixes: [newNumber()] });
const linked = async () => ({ link: await idOf(make("/v1/links", newLink())) });

const newFile = (): string => `Offer ${randomUUID()}`;
const uploaded = async (): Promise<{ media: string }> => {
  const { status, json, text } = await ask(routeOf("POST", MEDIA));
  assert.equal(status, 201, text);
  return { media: String(json["id"]) };
};
/** A file that is still at its carrier. */
const awaited = async (): Promise<Ids> => {
  const { media } = await uploaded();
  await godwit.rows("update media set status = 'pending' where id = $1", [decodeId("media", media)]);
  return { media };
};

// The ids have times of their own here.
const deliveryIds = uuidSequence();

/** An endpoint with a delivery that succeeded after a failure, as a worker stores it. */
async function delivered(): Promise<Required<Pick<Ids, "endpoint" | "event" | "delivery">>> {
  const { endpoint } = await created();
  const event = String((await make(`/v1/webhook_endpoints/${endpoint}/test`))["event_id"]);
  const delivery = toId("dlv", deliveryIds(Date.now()));
  const attempt = { attempted_at: new Date().toISOString(), duration_ms: 7, response_status: 500, response_body: "no", error: null };
  await godwit.rows(
    `insert into webhook_deliveries (account_id, environment, endpoint_id, id, event_id, event_type, status, attempts, next_attempt_at, updated_at)
     select account_id, environment, id, $2, $3, 'webhook.test', 'pending', $4, now(), now() from webhook_endpoints where id = $1`,
    [
      decodeId("whe", endpoint),
      delivery,
      decodeId("evt", event),
      JSON.stringify([{ ...attempt, response_status: null, error: "timeout" }, attempt]),
    ],
  );
  return { endpoint, event, delivery: encodeId("dlv", delivery) };
}

const disabled = async (): Promise<Ids> => {
  const ids = await delivered();
  await godwit.request("PATCH", `/v1/webhook_endpoints/${ids.endpoint}`, { key, body: { status: "disabled" } });
  return ids;
};

/** Operations that need a body or an object in a certain state, and the bodies that they refuse. */
type Needs = { body?: object | (() => object | string); fit?: () => Promise<Ids>; unfit?: () => Promise<Ids>; refused?: object };
const NEEDS: Readonly<Record<string, Needs>> = {
  "POST /v1/messages": { body: sms(), refused: { ...sms(), body: undefined, template_id: "welcome" } },
  "POST /v1/messages/validate": { body: sms() },
  "POST /v1/batches": { body: { items: [sms()] } },
  "POST /v1/media": { body: newFile },
  "GET /v1/media/{id}/content": { unfit: awaited },
  "DELETE /v1/media/{id}": { fit: uploaded },
  "POST /v1/suppressions": { body: () => ({ recipient: newNumber() }) },
  "POST /v1/suppressions/import": { body: () => ({ entries: [{ recipient: newNumber() }] }) },
  "DELETE /v1/suppressions/{id}": { fit: suppressed },
  "PATCH /v1/consent_settings": { body: { help_words: ["Sos"] } },
  "POST /v1/templates": { body: newTemplate, refused: { ...newTemplate(), name: "verification_code" } },
  "PATCH /v1/templates/{id}": { body: { body: "Dear {{name}}" }, fit: templated, unfit: archived },
  "DELETE /v1/templates/{id}": { fit: templated },
  "POST /v1/templates/{id}/preview": { body: {}, refused: { template_variables: { other: "x" } } },
  "POST /v1/verifications": {
    body: () => ({ recipient: newNumber(), channel: "sms" }),
    refused: { recipient: "+14155550123", channel: "sms", template_id: "no_such_template" },
  },
  "POST /v1/verifications/{id}/check": { body: { code: "000000" }, fit: verified, unfit: unverified },
  "POST /v1/verifications/{id}/cancel": { fit: verified, unfit: unverified },
  "POST /v1/recipients/erase": { body: () => ({ recipient: newNumber() }) },
  "POST /v1/recipients/export": { body: () => ({ recipient: newNumber() }) },
  "POST /v1/keys": { body: { scopes: ["messages:read"] } },
  "POST /v1/keys/{id}/rotate": { body: {}, fit: keyed, unfit: revoked },
  "DELETE /v1/keys/{id}": { fit: keyed },
  "POST /v1/compatible_credentials": { body: () => ({ source: "kannel", user_name: `user${(users += 1)}` }) },
  "DELETE /v1/compatible_credentials/{id}": { fit: compatible },
  "PATCH /v1/messages/{id}": { body: { body: "x" }, fit: scheduled, unfit: queued },
  "POST /v1/messages/{id}/cancel": { fit: queued, unfit: canceled },
  "POST /v1/messages/{id}/redact": { fit: canceled, unfit: queued },
  "POST /v1/webhook_endpoints": { body: { url: "https://example.com/hook" }, refused: { url: "http://example.com/hook" } },
  "PATCH /v1/webhook_endpoints/{id}": { body: { event_types: ["message.*"] }, refused: { url: "https://10.0.0.1/hook" } },
  "DELETE /v1/webhook_endpoints/{id}": { fit: created },
  "POST /v1/webhook_endpoints/{id}/test": { unfit: disabled },
  "POST /v1/webhook_endpoints/{id}/deliveries/{delivery_id}/retry": { unfit: disabled },
  "POST /v1/webhook_endpoints/{id}/recover": { body: { since: "2030-01-31T09:00:00Z" }, unfit: disabled },
};
const SETUP_NEEDS: Readonly<Record<string, Needs>> = {
  "POST /v1/links": { body: newLink },
  "PATCH /v1/links/{id}": { body: { rate: 5 } },
  "DELETE /v1/links/{id}": { fit: linked },
  "POST /v1/links/{id}/test": { body: {} },
  "POST /v1/senders": { body: newSender },
  "PATCH /v1/senders/{id}": { body: { preference: 1 } },
  "DELETE /v1/senders/{id}": { fit: async () => ({ sender: await idOf(make("/v1/senders", newSender())) }) },
  "POST /v1/routes": { body: newRoute },
  "PATCH /v1/routes/{id}": { body: { priority: 1 } },
  "DELETE /v1/routes/{id}": { fit: async () => ({ route: await idOf(make("/v1/routes", newRoute())) }) },
};
const needsOf = ({ method, path }: Route): Needs => NEEDS[`${method} ${path}`] ?? SETUP_NEEDS[`${method} ${path}`] ?? {};

/** The path of a route, with ids in place of its parameters. */
function concrete({ path }: Route, ids: Ids = {}): string {
  const all = { ...known, ...ids };
  const [, , noun = ""] = path.split("/");
  // The object of a path is its noun in the plural.
  const own = noun === "webhook_endpoints" ? all.endpoint : all[noun.replace(/(?<=ch)es$|s$/, "") as keyof Ids];
  return path.replace("{id}", own ?? "").replace("{delivery_id}", all.delivery ?? "");
}

function bodyOf(route: Route): object | string | undefined {
  const { body } = needsOf(route);
  return typeof body === "function" ? (body as () => object | string)() : body;
}

/** The same, with an object that permits the operation. */
const fitting = async (route: Route): Promise<string> => concrete(route, await needsOf(route).fit?.());

function ask(route: Route, options: RequestOptions = {}, path = concrete(route)): Promise<Reply> {
  if (route.path === STREAM) return peek(path, { key, ...options });
  return godwit.request(
    route.method,
    path,
    route.path === TOKEN_PATH
      ? asForm({ key, ...options })
      : { key: keyFor(route.path), body: bodyOf(route), ...options, headers: { ...(route.path === MEDIA && AS_FILE), ...options.headers } },
  );
}

/** The form contains the key. */
function asForm({ key: secret, body, headers }: RequestOptions): RequestOptions {
  const client = clients.get(secret);
  const form = new URLSearchParams({
    grant_type: "client_credentials",
    ...(client && { client_id: client.id, client_secret: client.secret }),
  });
  return { body: body ?? form.toString(), headers: { "content-type": FORM_TYPE, ...headers } };
}

/** The beginning of a streamed response, or the whole of another. */
async function peek(path: string, { key: token }: RequestOptions): Promise<Reply> {
  const leaving = new AbortController();
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const response = await fetch(`${godwit.url}${path}`, { headers, signal: leaving.signal });
  const { value } = (await response.body?.getReader().read()) ?? {};
  leaving.abort();
  const text = Buffer.from(value ?? []).toString();
  return { status: response.status, headers: response.headers, text, json: response.ok ? {} : (JSON.parse(text) as Reply["json"]) };
}

/** The second request changes nothing. */
async function twice(route: Route): Promise<Reply> {
  const body = bodyOf(route);
  await ask(route, { body });
  return ask(route, { body });
}

/** Refused by a business rule, or because another request used its idempotency key. */
async function refusal(route: Route): Promise<Reply> {
  // Links, senders and routes belong to live.
  if (isSetup(route.path)) return route.path.includes("{id}") ? ask(route, {}, concrete(route, FIXED)) : ask(route, { key });
  const { unfit, refused } = needsOf(route);
  if (unfit !== undefined || refused !== undefined) return ask(route, { body: refused ?? bodyOf(route) }, concrete(route, await unfit?.()));
  const idempotencyKey = randomUUID();
  assert.equal((await godwit.send(key, {}, { idempotencyKey })).status, 202);
  return ask(route, { idempotencyKey });
}

const head = (route: Route, ...lines: string[]): string =>
  [`${route.method} ${concrete(route)} HTTP/1.1`, "host: godwit.test", `authorization: Bearer ${keyFor(route.path)}`, ...lines, ""].join(
    "\r\n",
  );

async function overQuota(route: Route): Promise<Reply> {
  return until("the quota to be used up", async () => {
    const replies = await Promise.all([ask(route, { key: exhausted }), ask(route, { key: exhausted })]);
    return replies.find(({ status }) => status === 429);
  });
}

/** The table of the route's object. */
function tableOf({ path }: Route): string {
  if (path === STREAM) return "api_keys";
  if (path === "/v1/messages/validate") return "suppressions";
  if (isSetup(path)) return `created_${path.split("/")[2] ?? ""}`;
  if (path === "/v1/suppressions/{id}/history") return "suppression_changes";
  if (path === "/v1/recipients/erase") return "verifications";
  if (path === "/v1/recipients/export") return "audit_events";
  if (path === JWKS) return "signing_keys";
  if (path === TOKEN_PATH || path === "/v1/credential" || path.startsWith("/v1/keys")) return "api_keys";
  if (path.startsWith("/v1/requests")) return "request_log";
  const [, , noun = ""] = path.split("/");
  return noun === "usage" || noun === "queue" ? "usage_hours" : noun;
}

/** The table that the first request waits for. The table of keys is also written when a key is used, and the bytes of the second file are
 *  deleted, which reads the media. */
function lockedTableOf(route: Route): string {
  const table = tableOf(route);
  return { api_keys: "api_key_hashes", media: "media_usage" }[table] ?? table;
}

/** The first request claims its idempotency key and waits for the lock of the table while the second one arrives. */
async function conflict(route: Route): Promise<Reply> {
  const path = await fitting(route);
  const options = { idempotencyKey: randomUUID(), body: bodyOf(route) };
  await using lock = await lockTable(godwit.databaseUrl, lockedTableOf(route));
  const first = ask(route, options, path);
  await lock.waiting();
  const second = await ask(route, options, path);
  await lock.release();
  const { status, text } = await first;
  assert.ok(status >= 200 && status < 300, text);
  return second;
}

async function withBrokenTable(route: Route): Promise<Reply> {
  const path = await fitting(route);
  const table = tableOf(route);
  // This credential is in no cache yet.
  const options = route.path === STREAM ? { key: await godwit.key() } : {};
  await godwit.rows(`alter table ${table} rename to elsewhere`);
  try {
    return await askInVain(route, options, path);
  } finally {
    await godwit.rows(`alter table elsewhere rename to ${table}`);
  }
}

/** A stream needs no database until its credential is looked up again, and neither does a cached list. */
const askInVain = (route: Route, options: RequestOptions = {}, path = concrete(route)): Promise<Reply> =>
  route.path === STREAM || route.path === JWKS
    ? until("a failed response", async () => [await ask(route, options, path)].find(({ status }) => status !== 200))
    : ask(route, options, path);

/** Slow steps are done for all routes together, when the first route needs them. */
function together(provoke: (routes: readonly Route[]) => Promise<Reply[]>): (route: Route) => Promise<Reply> {
  let replies: Promise<Reply[]> | undefined;
  return async (route) => {
    const reply = (await (replies ??= provoke(ROUTES)))[ROUTES.indexOf(route)];
    assert.ok(reply !== undefined);
    return reply;
  };
}

/** Sends requests that never become complete to a service that waits for one second. */
async function tooSlowly(routes: readonly Route[]): Promise<Reply[]> {
  await using impatient = await startGodwit({ databaseUrl: godwit.databaseUrl, timings: { requestTimeoutMs: 1_000 } });
  // Awaited here, since the service stops at the end of this function.
  return await Promise.all(routes.map((route) => exchange(impatient.url, head(route, "x-slow: "), { timeoutMs: LIMIT_MS })));
}

const PROVOKE: Readonly<Record<string, (route: Route) => Promise<Reply>>> = {
  200: async (route) => (Object.hasOwn(route.operation.responses, "201") ? twice(route) : ask(route, {}, await fitting(route))),
  201: (route) => ask(route),
  202: (route) => ask(route),
  400: (route) =>
    route.path === TOKEN_PATH ? ask(route, { body: "scope=x&scope=y" }) : ask(route, {}, `${concrete(route)}?no_such_parameter=1`),
  401: (route) => ask(route, { key: undefined }),
  // A route that needs no scope refuses only addresses.
  403: (route) => ask(route, { key: [TOKEN_PATH, "/v1/credential"].includes(route.path) ? elsewhere : scopeless }),
  404: (route) => ask(route, {}, concrete(route, NOTHING)),
  408: together(tooSlowly),
  409: conflict,
  // More than any route accepts.
  413: (route) => ask(route, { body: " ".repeat(2_097_153), headers: { "content-type": "application/json" } }),
  // A file may have any type, but no content encoding.
  415: (route) => ask(route, { headers: route.path === MEDIA ? { "content-encoding": "gzip" } : { "content-type": "text/plain" } }),
  422: refusal,
  429: overQuota,
  431: (route) => exchange(godwit.url, head(route, `x-long: ${"a".repeat(20_000)}`, "")),
  500: withBrokenTable,
  503: together((routes) => withoutDatabase(godwit, () => Promise.all(routes.map((route) => askInVain(route))))),
};

// The tests are built from the committed document, which the first test below compares with the routes and with the served one.
const committed = existsSync(COMMITTED) ? (JSON.parse(readFileSync(COMMITTED, "utf8")) as Document) : undefined;
const ROUTES: readonly Route[] = Object.entries(committed?.paths ?? {}).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
);

function routeOf(method: string, path: string): Route {
  const route = ROUTES.find((each) => each.method === method && each.path === path);
  assert.ok(route !== undefined);
  return route;
}

/** A response, or the shared one that it refers to. */
const resolved = (declared: Declared | { $ref: string }): Declared =>
  "$ref" in declared ? (committed?.components["responses"]?.[declared.$ref.split("/").at(-1) ?? ""] as Declared) : declared;

const responsesOf = ({ operation }: Route): [status: string, declared: Declared][] =>
  Object.entries(operation.responses).map(([status, declared]) => [status, resolved(declared)]);

/** Validates the body with the schema that the document declares for this response. */
function assertFits({ method, path, operation }: Route, status: string, { headers, json, text }: Reply): void {
  const declared = operation.responses[status] ?? { $ref: "" };
  const [type = ""] = Object.keys(resolved(declared).content);
  // A file has the type of its content.
  if (type !== "*/*") assert.equal(headers.get("content-type"), `${type}; charset=utf-8`);
  const response = "$ref" in declared ? declared.$ref.split("/").slice(1) : ["paths", path, method.toLowerCase(), "responses", status];
  const place = [...response, "content", type, "schema"];
  const pointer = place.map((name) => encodeURIComponent(name.replaceAll("~", "~0").replaceAll("/", "~1"))).join("/");
  const validate = ajv.compile({ $ref: `openapi.json#/${pointer}` });
  assert.ok(validate(/^application\/(problem\+)?json$/.test(type) ? json : text), `${JSON.stringify(validate.errors)}\n${text}`);
}

describe("the document", () => {
  test("is the committed one, which matches the routes", () => {
    assert.ok(committed !== undefined, "docs/openapi.json is missing: run npm run openapi");
    assert.deepEqual(JSON.parse(JSON.stringify(currentDocument())), committed, "docs/openapi.json is out of date: run npm run openapi");
    assert.deepEqual({ ...document, servers: [{ url: "/" }] }, committed);
    assert.ok(ROUTES.length >= 9);
  });

  test("is OpenAPI 3.1 in which every reference resolves", () => {
    assert.equal(document.openapi, "3.1.0");
    const references = [...JSON.stringify(document).matchAll(/"\$ref":"#\/([^"]+)"/g)].map(([, path]) => path ?? "");
    assert.ok(references.length > 10);
    for (const path of new Set(references)) {
      const [, kind = "", name = ""] = path.split("/");
      assert.ok(document.components[kind]?.[name] !== undefined, path);
    }
  });

  test("names every operation once, and every parameter of its path", () => {
    assert.equal(new Set(ROUTES.map(({ operation }) => operation.operationId)).size, ROUTES.length);
    for (const { path, operation } of ROUTES) {
      const declared = operation.parameters.filter((parameter) => parameter.in === "path").map(({ name }) => name);
      assert.deepEqual(
        declared,
        Array.from(path.matchAll(/\{(\w+)\}/g), ([, name]) => name),
      );
    }
  });

  test("names the scope of every operation, or states that none is needed", () => {
    const scoped = ROUTES.filter(({ path }) => path !== TOKEN_PATH && path !== JWKS);
    const free = scoped.filter(({ operation }) =>
      operation.description.endsWith("\n\nNo scope is required: any valid credential may call this operation."),
    );
    assert.deepEqual(
      free.map(({ path }) => path),
      ["/v1/credential"],
    );
    for (const { path, operation } of scoped) {
      const [, scope] = /\n\nRequired scope: `([\w:]+)`\.$/.exec(operation.description) ?? [];
      assert.deepEqual(operation.security, [{ bearer: [] }, { oauth2: scope === undefined ? [] : [scope] }], path);
      assert.equal(scope === undefined, path === "/v1/credential", path);
    }
  });
});

for (const route of ROUTES) {
  describe(`${route.method} ${route.path}`, () => {
    for (const [status, declared] of responsesOf(route)) {
      test(`responds with ${status} as declared`, async () => {
        const provoke = PROVOKE[status];
        assert.ok(provoke !== undefined, `this test knows how to provoke a ${status}`);
        const reply = await provoke(route);
        assert.equal(String(reply.status), status, reply.text);
        assertCommonHeaders(reply, route.path.endsWith("/jwks.json") && status === "200" ? KEY_SET_CACHE : undefined);
        assertFits(route, status, reply);
        if (reply.status >= 400) {
          const code = String(reply.json["code"]);
          assert.ok(isErrorCode(code) && declared.description.includes(`\`${code}\``), `${code} is described`);
          const [type] = Object.keys(declared.content);
          if (type === "application/json") assertOAuthError(reply, String(reply.json["error"]), code);
          else assertProblem(reply, code);
        }
        // The headers of the quota, of replays and of further pages are present only where they apply, and the wait of one refusal of many.
        const optional = status === "422" ? /^(RateLimit|Retry-After)/ : /^(RateLimit|Idempotent|Link)/;
        const needed = Object.keys(declared.headers).filter((name) => !optional.test(name));
        for (const name of needed) assert.ok(reply.headers.get(name), `${name} is present`);
      });
    }
  });
}

for (const path of ["/v1/messages", "/v1/events", "/v1/webhook_endpoints", "/v1/suppressions", "/v1/templates", "/v1/keys"]) {
  test(`a page of ${path} fits its schema also with a cursor`, async () => {
    await queued({ channel: "whatsapp", body: "x" });
    await delivered();
    await suppressed();
    await templated();
    const reply = await ask(routeOf("GET", path), {}, `${path}?limit=1`);
    assert.equal(typeof reply.json["next_cursor"], "string");
    assertFits(routeOf("GET", path), "200", reply);
  });
}

test("an endpoint fits its schema while it recovers and changes its secret, and when it is disabled", async () => {
  const { endpoint } = await created();
  const path = `/v1/webhook_endpoints/${endpoint}`;
  await make(`${path}/rotate_secret`);
  await make(`${path}/recover`, { since: "2020-01-31T09:00:00Z" });
  const route = routeOf("GET", "/v1/webhook_endpoints/{id}");
  const busy = await ask(route, {}, path);
  assert.ok(busy.json["recovery"] !== null && busy.json["previous_secret_until"] !== null, busy.text);
  assertFits(route, "200", busy);
  await godwit.request("PATCH", path, { key, body: { status: "disabled" } });
  assertFits(route, "200", await ask(route, {}, path));
});

test("records and timelines of finished messages fit their schemas, too", async () => {
  await using traveling = await startGodwit({ roles: "api,dispatch", simulatorSpeed: 100 });
  const own = await traveling.key();
  // Read, refused, undelivered, receipts out of order, throttled twice, of unknown outcome.
  const ENDS = { "06": "read", "02": "failed", "05": "undelivered", "11": "read", "12": "read", "13": "delivered" };
  for (const [digits, end] of Object.entries(ENDS)) {
    const sent = await traveling.send(own, { channel: "whatsapp", recipient: `+150055500${digits}` });
    const path = `/v1/messages/${String(sent.json["id"])}`;
    const record = await until(`+150055500${digits} to be ${end}`, async () => {
      const reply = await traveling.request("GET", path, { key: own });
      return reply.json["status"] === end ? reply : undefined;
    });
    assertFits(routeOf("GET", "/v1/messages/{id}"), "200", record);
    const timeline = await traveling.request("GET", `${path}/events`, { key: own });
    assert.ok((timeline.json["data"] as unknown[]).length >= 3, timeline.text);
    assertFits(routeOf("GET", "/v1/messages/{id}/events"), "200", timeline);
  }
  const events = await traveling.request("GET", "/v1/events?limit=100", { key: own });
  assert.ok((events.json["data"] as unknown[]).length > 20, events.text);
  assertFits(routeOf("GET", "/v1/events"), "200", events);
  const post = (path: string, body?: object): Promise<Reply> => traveling.request("POST", path, { key: own, body });
  await post("/v1/suppressions", { recipient: newNumber() });
  await post("/v1/templates", newTemplate());
  await post("/v1/batches", { items: [sms()] });
  const { json: endpoint } = await post("/v1/webhook_endpoints", { url: "https://example.com/hook" });
  await post(`/v1/webhook_endpoints/${String(endpoint["id"])}/test`);
  for (const kind of ["recipient", "template", "batch", "webhook"]) {
    const notified = await until(`an event about a ${kind}`, async () => {
      const reply = await traveling.request("GET", `/v1/events?type=${kind}.*`, { key: own });
      // A request above the quota is refused and repeated.
      return reply.status === 200 && (reply.json["data"] as unknown[]).length > 0 ? reply : undefined;
    });
    assertFits(routeOf("GET", "/v1/events"), "200", notified);
  }
});
