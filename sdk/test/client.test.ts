/** The client against a real service: records, lists, errors by code, credentials. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, test, type TestContext } from "node:test";
import { inspect } from "node:util";
import { until } from "../../test/support/expect.ts";
import { startGodwit, type Godwit as Server } from "../../test/support/harness.ts";
import { ApiError, Godwit, GodwitError, hasCode, type GodwitOptions, type Message, type NewMessage } from "../src/index.ts";

const MESSAGE: NewMessage = { recipient: "+14155550123", channel: "sms", body: "Your code is 123456" };
const NO_MESSAGE = "msg_01k9zs3v8mf4tb2xg1qj6n0d5c";

let server: Server;
let apiKey: string;
let client: Godwit;
before(async () => {
  server = await startGodwit({ roles: "api,dispatch", simulatorSpeed: 100 });
  await server.unlimited();
  apiKey = await server.key();
  client = new Godwit({ apiKey, baseUrl: server.url });
});
after(() => server.stop());

async function rejection(call: PromiseLike<unknown>): Promise<unknown> {
  try {
    await call;
  } catch (error) {
    return error;
  }
  return assert.fail("the call was not refused");
}

/** A server that sends the given responses, for cases that a real service does not produce on purpose. */
async function fakeServer(context: TestContext, respond: (request: IncomingMessage, body: string) => { status?: number; json: unknown }) {
  const fake = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const { status = 200, json } = respond(request, Buffer.concat(chunks).toString());
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(json));
    });
  });
  fake.listen(0, "127.0.0.1");
  await once(fake, "listening");
  context.after(() => fake.close());
  return `http://127.0.0.1:${(fake.address() as AddressInfo).port}`;
}

test("a message is sent and delivered, and its timeline and parts can be read", async () => {
  const { id, status, object } = await client.messages.send(MESSAGE);
  assert.deepEqual([object, status], ["message", "queued"]);
  await until("it is delivered", async () => ((await client.messages.get(id)).status === "delivered" ? true : undefined));
  const timeline = await Array.fromAsync(client.messages.events(id, { limit: 1 }));
  assert.ok(timeline.length >= 4);
  const parts = await Array.fromAsync(client.messages.parts(id), ({ number, status: is }) => [number, is]);
  assert.deepEqual(parts, [[1, "delivered"]]);
});

test("a person's data is exported and erased, and the audit log says so", async () => {
  const recipient = "+14155550187";
  const { id } = await client.messages.send({ ...MESSAGE, recipient });
  const exported = client.recipients.export({ recipient });
  const messages = (await Array.fromAsync(exported)).filter(({ object }) => object === "message");
  assert.deepEqual(
    messages.map((message) => message["id"]),
    [id],
  );
  assert.equal(exported.counts?.["message"], 1);
  await until("it is delivered", async () => ((await client.messages.get(id)).status === "delivered" ? true : undefined));
  assert.equal((await client.recipients.erase({ recipient })).erased.messages, 1);
  assert.equal((await client.messages.get(id)).recipient, "erased");
  const actions = await Array.fromAsync(client.auditEvents.list({ target: "recipient" }), ({ action }) => action);
  // An erasure has an entry for each of its transactions.
  assert.deepEqual([...new Set(actions)], ["recipient.erased", "recipient.exported"]);
});

test("validation, batches, templates, verifications, suppressions and usage counts work", async () => {
  assert.equal((await client.messages.validate(MESSAGE)).valid, true);
  const { results, id } = await client.batches.send({
    defaults: { channel: "sms", body: "Hello" },
    items: [{ recipient: "+14155550123" }, { recipient: "x" }],
  });
  assert.deepEqual(
    results.map(({ status }) => status),
    ["accepted", "refused"],
  );
  assert.equal((await client.batches.get(id)).total, 2);
  const template = await client.templates.create({
    name: "hello",
    language: "en",
    category: "utility",
    channels: ["sms"],
    body: "Hello {{name}}",
    examples: { name: "Ada" },
  });
  assert.equal((await client.templates.preview("hello")).body, "Hello Ada");
  assert.equal((await client.templates.edit(template.id, { body: "Hi {{name}}" })).version, 2);
  const { id: code } = await client.verifications.create({ recipient: "+14155550199", channel: "sms" });
  assert.equal((await client.verifications.check(code, { code: "000000" })).valid, false);
  assert.equal((await client.verifications.cancel(code)).status, "canceled");
  const suppression = await client.suppressions.create({ recipient: "+14155550142" });
  assert.equal((await client.suppressions.lift(suppression.id)).status, "lifted");
  assert.equal((await Array.fromAsync(client.suppressions.history(suppression.id))).length, 2);
  const settings = await client.consentSettings.edit({ opt_out_words: ["Basta"] });
  assert.deepEqual(await client.consentSettings.get(), settings);
  assert.ok((await client.usage.get({ interval: "hour" })).totals.messages > 0);
  assert.equal((await client.queue.get()).object, "queue");
  assert.ok((await client.links.list()).data.length > 0);
  const [audited] = (await client.auditEvents.list({ action: "suppression.lifted" }).page()).data;
  assert.equal(audited?.target.id, suppression.id);
  const { type, environment, scopes } = await client.credential.get();
  assert.deepEqual([type, environment, scopes.includes("messages:send")], ["api_key", "test", true]);
});

describe("a list", () => {
  test("yields every record once and in order across pages, and sends no request before it is read", async () => {
    const sent: string[] = [];
    for (let count = 0; count < 7; count += 1) sent.unshift((await client.messages.send({ ...MESSAGE, client_reference: "list" })).id);
    let requests = 0;
    const counting: GodwitOptions["fetch"] = (url, init) => {
      requests += 1;
      return fetch(url, init);
    };
    const list = new Godwit({ apiKey, baseUrl: server.url, fetch: counting }).messages.list({ client_reference: "list", limit: 2 });
    assert.equal(requests, 0);
    const ids: string[] = [];
    for await (const { id } of list) ids.push(id);
    assert.deepEqual([ids, requests], [sent, 4]);
    const sizes = await Array.fromAsync(list.pages(), ({ data }) => data.length);
    assert.deepEqual(sizes, [2, 2, 2, 1]);
  });

  test("is the promise of its first page, which fetches the next one", async () => {
    const list = client.messages.list({ client_reference: "list", limit: 4 });
    const first = await list;
    assert.deepEqual([first.data.length, first.has_more, Object.keys(first).includes("nextPage")], [4, true, false]);
    assert.equal(await list, first, "the request is sent once");
    const second = await first.nextPage();
    assert.deepEqual([second?.data.length, second?.has_more, await second?.nextPage()], [3, false, null]);
    assert.equal((await list.withResponse()).status, 200);
    const refused = client.messages.list({ limit: 0 });
    assert.ok(hasCode(await refused.catch((error: unknown) => error), "invalid_request_payload"));
  });

  test("can be read page by page from a cursor with page()", async () => {
    const list = client.messages.list({ client_reference: "list", limit: 3 });
    const first = await list.page();
    assert.deepEqual([first.data.length, first.has_more], [3, true]);
    const second = await list.page(first.next_cursor ?? "");
    const rest = client.messages.list({ client_reference: "list", limit: 3, cursor: first.next_cursor ?? "" });
    const ids = ({ data }: { data: readonly Message[] }): string[] => data.map(({ id }) => id);
    assert.deepEqual(ids(await rest.page()), ids(second));
    assert.equal((await Array.fromAsync(rest)).length, 4);
    assert.equal((await list.page().withResponse()).status, 200);
  });

  test("continues after short and empty pages while has_more is true", async (context) => {
    const pages = [["a"], [], ["b", "c"], []];
    const baseUrl = await fakeServer(context, ({ url }) => {
      const at = Number(new URL(url ?? "", "http://x").searchParams.get("cursor") ?? 0);
      return { json: { data: pages[at]?.map((id) => ({ id })), has_more: at < 3, next_cursor: at < 3 ? String(at + 1) : null } };
    });
    const found = await Array.fromAsync(new Godwit({ apiKey, baseUrl }).messages.list(), ({ id }: Message) => id);
    assert.deepEqual(found, ["a", "b", "c"]);
  });

  test("stops with an error when a cursor leads to its own page", async (context) => {
    const baseUrl = await fakeServer(context, () => ({ json: { data: [], has_more: true, next_cursor: "same" } }));
    assert.ok((await rejection(Array.fromAsync(new Godwit({ apiKey, baseUrl }).messages.list()))) instanceof GodwitError);
  });

  test("fails with the reason of its signal", async () => {
    const leaving = new AbortController();
    const reason = new Error("enough");
    const list = client.messages.list({ client_reference: "list", limit: 1 }, { signal: leaving.signal });
    const seen: string[] = [];
    const error = await rejection(
      (async () => {
        for await (const { id } of list) {
          seen.push(id);
          leaving.abort(reason);
        }
      })(),
    );
    assert.deepEqual([error, seen.length], [reason, 1]);
  });
});

describe("a refusal", () => {
  test("has its code, its request id and every fault with its position", async () => {
    const error = await rejection(client.messages.send({ ...MESSAGE, recipient: "nobody", body: "" }));
    assert.ok(error instanceof ApiError && error instanceof GodwitError);
    assert.deepEqual([error.status, error.code, error.name], [400, "invalid_request_payload", "ApiError"]);
    assert.match(error.requestId ?? "", /^req_/);
    assert.deepEqual(
      error.errors.map(({ pointer }) => pointer),
      ["/recipient", "/body"],
    );
    assert.match(error.idempotencyKey ?? "", /^[0-9a-f-]{36}$/);
  });

  test("names the whole body, and ignores faults that are no objects", async (context) => {
    const json = {
      code: "invalid_request_payload",
      detail: "It is empty.",
      errors: [null, { pointer: "", code: "required", detail: "is empty" }],
    };
    const fake = new Godwit({ apiKey, baseUrl: await fakeServer(context, () => ({ status: 400, json })) });
    const error = await rejection(fake.messages.send(MESSAGE));
    assert.ok(error instanceof ApiError);
    assert.deepEqual(error.errors, [{ pointer: "", code: "required", detail: "is empty", where: "request body" }]);
  });

  test("is distinguished by its code", async () => {
    const optedOut = await rejection(client.messages.send({ ...MESSAGE, recipient: "+15005550004" }));
    assert.ok(hasCode(optedOut, "recipient_opted_out") && !hasCode(optedOut, "no_route", "not_found"));
    assert.ok(hasCode(await rejection(client.messages.get(NO_MESSAGE)), "no_route", "not_found"));
    assert.ok(!hasCode(new Error("not_found"), "not_found"));
  });

  test("names the missing scopes", async () => {
    const reader = new Godwit({ apiKey: await server.key({ scopes: ["messages:read"] }), baseUrl: server.url });
    const error = await rejection(reader.messages.send(MESSAGE));
    assert.ok(hasCode(error, "forbidden_insufficient_scope"));
    assert.deepEqual(error.requiredScopes, ["messages:send"]);
  });

  test("is reported as unhandled only when the caller does not handle it, also with withResponse()", async (context) => {
    const unhandled: unknown[] = [];
    const note = (error: unknown): unknown => unhandled.push(error);
    process.on("unhandledRejection", note);
    context.after(() => process.off("unhandledRejection", note));
    await rejection(client.messages.get(NO_MESSAGE).withResponse());
    await rejection(client.messages.get(NO_MESSAGE).finally(() => undefined));
    assert.equal(await client.messages.get(NO_MESSAGE).catch(() => "caught"), "caught");
    // Node reports unhandled rejections when the microtask queue is empty.
    await new Promise(setImmediate);
    assert.deepEqual(unhandled, []);
  });
});

describe("invalid options are refused immediately", () => {
  for (const [what, options] of [
    ["an infinite timeout", { apiKey: "gw_test_a", baseUrl: "http://localhost", timeoutMs: Infinity }],
    ["a number of retries that is not a number", { apiKey: "gw_test_a", baseUrl: "http://localhost", maxRetries: Number.NaN }],
  ] as const satisfies readonly (readonly [string, GodwitOptions])[]) {
    test(what, () => assert.throws(() => new Godwit(options), TypeError));
  }

  test("ids that would change the path", async () => {
    for (const id of ["", ".", ".."]) assert.ok((await rejection(client.messages.get(id))) instanceof TypeError);
    assert.ok(hasCode(await rejection(client.messages.get("../queue")), "not_found"));
  });

  test("an id that is missing", async () => {
    const error = await rejection(client.messages.get(undefined as unknown as string));
    assert.match(String(error), /^TypeError: GET \/v1\/messages\/\{id\} needs an id, and id is undefined$/);
  });
});

test("the conventional names of methods do the same", async () => {
  const { id } = await client.messages.create({ ...MESSAGE, send_at: new Date(Date.now() + 3_600_000).toISOString() });
  assert.equal((await client.messages.update(id, { body: "Later" })).body, "Later");
  const suppression = await client.suppressions.create({ recipient: "+14155550143" });
  assert.equal((await client.suppressions.delete(suppression.id)).status, "lifted");
  assert.equal((await client.messages.get(id).withAnswer()).data.id, id);
});

test("a base URL may have a path and a trailing slash", async (context) => {
  const paths: string[] = [];
  const baseUrl = await fakeServer(context, ({ url }) => {
    paths.push(url ?? "");
    return { json: {} };
  });
  await new Godwit({ apiKey, baseUrl: `${baseUrl}/gateway/` }).queue.get();
  await new Godwit({ apiKey, baseUrl: new URL(baseUrl) }).queue.get();
  assert.deepEqual(paths, ["/gateway/v1/queue", "/v1/queue"]);
});

test("a printed client does not reveal its credential", () => {
  assert.ok(!inspect(client, { depth: 9, showHidden: true }).includes(apiKey));
  assert.ok(!JSON.stringify(client).includes(apiKey));
});

describe("an access token", () => {
  test("is obtained before every request, and again when it is refused", async () => {
    const given: (string | undefined)[] = [];
    const accessToken = async (refused?: string): Promise<string> => {
      given.push(refused);
      return refused === undefined ? "gw_test_ended" : apiKey;
    };
    const { attempts } = await new Godwit({ accessToken, baseUrl: server.url }).queue.get().withResponse();
    assert.deepEqual([given, attempts], [[undefined, "gw_test_ended"], 1]);
  });

  test("that is refused twice fails the call", async () => {
    let count = 0;
    const accessToken = (): string => `gw_test_${(count += 1)}`;
    assert.ok(hasCode(await rejection(new Godwit({ accessToken, baseUrl: server.url }).queue.get()), "unauthorized_invalid_token"));
    assert.equal(count, 2);
    assert.ok(
      hasCode(await rejection(new Godwit({ accessToken: "gw_test_x", baseUrl: server.url }).queue.get()), "unauthorized_invalid_token"),
    );
  });

  test("is fetched with client credentials, once for all waiting calls, and again when it is refused", async (context) => {
    const asked: { authorization: string; body: string }[] = [];
    const bearers: string[] = [];
    const baseUrl = await fakeServer(context, ({ url, headers }, body) => {
      const authorization = headers.authorization ?? "";
      if (url === "/v1/oauth/token") {
        asked.push({ authorization, body });
        return { json: { access_token: `token-${asked.length}`, token_type: "Bearer", expires_in: 3_600 } };
      }
      bearers.push(authorization);
      const isEnded = authorization === "Bearer token-1" && bearers.length > 3;
      return isEnded ? { status: 401, json: { code: "unauthorized_invalid_token", detail: "ended" } } : { json: {} };
    });
    const clientCredentials = { clientId: "key_1", clientSecret: "gw_test_s", scopes: ["messages:read", "usage:read"] };
    const exchanging = new Godwit({ clientCredentials, baseUrl });
    await Promise.all([exchanging.queue.get(), exchanging.queue.get(), exchanging.queue.get()]);
    assert.deepEqual(asked, [
      {
        authorization: `Basic ${Buffer.from("key_1:gw_test_s").toString("base64")}`,
        body: "grant_type=client_credentials&scope=messages%3Aread+usage%3Aread",
      },
    ]);
    await exchanging.queue.get();
    assert.deepEqual(bearers.slice(3), ["Bearer token-1", "Bearer token-2"]);
    assert.equal(asked.length, 2);
  });

  test("that cannot be fetched fails the call with an ApiError", async (context) => {
    const baseUrl = await fakeServer(context, () => ({
      status: 401,
      json: { error: "invalid_client", error_description: "unknown", code: "unauthorized_invalid_token", detail: "unknown" },
    }));
    const exchanging = new Godwit({ clientCredentials: { clientId: "key_1", clientSecret: "gw_test_s" }, baseUrl });
    assert.ok(hasCode(await rejection(exchanging.queue.get()), "unauthorized_invalid_token"));
  });
});

test("additional headers are sent, and cannot replace the credential or the idempotency key", async (context) => {
  let seen: IncomingMessage["headers"] = {};
  const baseUrl = await fakeServer(context, ({ headers }) => {
    seen = headers;
    return { json: {} };
  });
  const traceparent = `00-${createHash("md5").update("x").digest("hex")}-00f067aa0ba902b7-01`;
  const own = new Godwit({ apiKey, baseUrl, headers: { "x-tenant": "a" } });
  await own.messages.send(MESSAGE, { headers: { traceparent, Authorization: "Basic x", "Idempotency-Key": "x" } });
  assert.deepEqual([seen["x-tenant"], seen["traceparent"], seen.authorization], ["a", traceparent, `Bearer ${apiKey}`]);
  assert.match(String(seen["idempotency-key"]), /^[0-9a-f-]{36}$/);
});
