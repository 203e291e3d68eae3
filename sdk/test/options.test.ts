/** The options of the client: the environment variables, and errors that name the option or variable at fault. */
import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, test } from "node:test";
import { Godwit, type GodwitOptions, type NewMessage, type WriteOptions } from "../src/index.ts";
import { VERSION } from "../src/version.ts";

const NAMES = ["GODWIT_KEY", "GODWIT_URL"] as const;
const saved = NAMES.map((name) => [name, process.env[name]] as const);
const setVariables = (values: readonly (readonly [string, string | undefined])[]): void => {
  for (const [name, value] of values)
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
};
beforeEach(() => setVariables(NAMES.map((name) => [name, undefined])));
afterEach(() => setVariables(saved));

type Sent = { url: string; authorization: string | null; userAgent: string | null };

/** Makes one call, and returns its URL and its credential. */
async function sentBy(options: GodwitOptions = {}): Promise<Sent> {
  let sent: Sent | undefined;
  const fetch: GodwitOptions["fetch"] = async (url, init) => {
    const headers = new Headers(init.headers);
    sent = { url, authorization: headers.get("authorization"), userAgent: headers.get("user-agent") };
    return Response.json({});
  };
  await new Godwit({ ...options, fetch }).queue.get();
  assert.ok(sent !== undefined);
  return sent;
}

test("the key and the URL are read from the environment, and options take precedence", async () => {
  setVariables([
    ["GODWIT_KEY", "gw_test_env"],
    ["GODWIT_URL", "https://godwit.example/api/"],
  ]);
  const userAgent = `godwit-sdk/${VERSION} node/${process.versions.node}`;
  const fromVariables = { url: "https://godwit.example/api/v1/queue", authorization: "Bearer gw_test_env", userAgent };
  assert.deepEqual(await sentBy(), fromVariables);
  assert.deepEqual(await sentBy({ apiKey: process.env["NO_SUCH_KEY"], baseUrl: process.env["NO_SUCH_URL"] }), fromVariables);
  const options = { apiKey: "gw_test_option", baseUrl: "http://localhost:1234" };
  assert.deepEqual(await sentBy(options), { url: "http://localhost:1234/v1/queue", authorization: "Bearer gw_test_option", userAgent });
  assert.equal((await sentBy({ accessToken: "token" })).authorization, "Bearer token");
});

test("the default URL is that of a local service, also if the variable is empty", async () => {
  setVariables([["GODWIT_URL", ""]]);
  assert.equal((await sentBy({ apiKey: "gw_test_x" })).url, "http://127.0.0.1:8080/v1/queue");
});

describe("an error of the constructor names the option or variable, with an example", () => {
  type Case = readonly [what: string, options: GodwitOptions | undefined, variables: Record<string, string>, message: RegExp];
  const key = "gw_test_secret";
  const cases: readonly Case[] = [
    ["no options", undefined, {}, /no API key: set the environment variable GODWIT_KEY, or pass apiKey, such as new Godwit/],
    ["an undefined key", { apiKey: undefined, baseUrl: "http://localhost" }, {}, /GODWIT_KEY/],
    ["an empty key", { apiKey: "" }, {}, /^apiKey is empty.*"gw_test_…"/],
    ["a key with a line break", { apiKey: `${key}\n` }, {}, /^apiKey contains a space, a line break/],
    ["a variable with a line break", undefined, { GODWIT_KEY: `${key}\n` }, /^the environment variable GODWIT_KEY contains/],
    [
      "an id of a key",
      { apiKey: "key_01k9zs3v8mf4tb2xg1qj6n0d5c" },
      {},
      /^apiKey is not an API key, which begins with gw_test_ or gw_live_/,
    ],
    ["a key of another product", { apiKey: "sk_live_secret" }, {}, /^apiKey is not an API key/],
    ["the beginning of a key", { apiKey: "gw_test_" }, {}, /^apiKey is not an API key/],
    [
      "a variable with an access token",
      undefined,
      { GODWIT_KEY: "eyJ.secret" },
      /^the environment variable GODWIT_KEY is not .*accessToken$/,
    ],
    ["two credentials", { apiKey: "a", accessToken: "b" }, {}, /only one of the options apiKey and accessToken/],
    [
      "a URL without a scheme",
      { apiKey: key, baseUrl: "localhost:8080" },
      {},
      /^baseUrl must be.*http:\/\/127\.0\.0\.1:8080.*"localhost:8080"/,
    ],
    ["an empty URL", { apiKey: key, baseUrl: "" }, {}, /^baseUrl must be an http or https URL/],
    ["a URL that cannot be parsed", { apiKey: key, baseUrl: "http://" }, {}, /^baseUrl must be an http or https URL/],
    ["an invalid variable", { apiKey: key }, { GODWIT_URL: "godwit" }, /^the environment variable GODWIT_URL must be.*"godwit"/],
    ["a URL of another scheme with a password", { apiKey: key, baseUrl: "ftp://user:secret@localhost" }, {}, /^baseUrl must be an http/],
    [
      "a URL that ends in /v1",
      { apiKey: key, baseUrl: "https://godwit.example/api/v1/" },
      {},
      /^baseUrl .* use https:\/\/godwit\.example\/api$/,
    ],
    [
      "a variable that ends in /v1",
      { apiKey: key },
      { GODWIT_URL: "http://localhost/v1" },
      /^the environment variable GODWIT_URL must not end in/,
    ],
    [
      "an option in another spelling",
      { apiKey: key, baseURL: "http://localhost" } as GodwitOptions,
      {},
      /^the client has no option baseURL; did you mean baseUrl\?$/,
    ],
    [
      "an option without its unit",
      { apiKey: key, timeout: 5 } as GodwitOptions,
      {},
      /^the client has no option timeout; did you mean timeoutMs\?$/,
    ],
    ["an option with a typing error", { apikye: key } as GodwitOptions, {}, /no option apikye; did you mean apiKey\?$/],
    ["an option without a part", { apiKey: key, retries: 5 } as GodwitOptions, {}, /no option retries; did you mean maxRetries\?$/],
    [
      "an option unlike any other",
      { apiKey: key, proxy: "" } as GodwitOptions,
      {},
      /no option proxy; its options are apiKey, accessToken, /,
    ],
    [
      "an unknown member of the credentials",
      { clientCredentials: { clientId: "a", clientSecret: key, scope: [] } } as GodwitOptions,
      {},
      /^clientCredentials has no option scope; did you mean scopes\?$/,
    ],
    [
      "a key in place of the options",
      key as GodwitOptions,
      {},
      /^the options of the client must be an object, such as { apiKey: … }, .* string$/,
    ],
    ["null in place of the options", null as unknown as GodwitOptions, {}, /and their type is null$/],
    ["a text in place of a number", { apiKey: key, timeoutMs: "5" as unknown as number }, {}, /^timeoutMs must be a number .* and is "5"$/],
    ["a fraction of a retry", { apiKey: key, maxRetries: 1.5 }, {}, /^maxRetries must be a whole number from 0 to 100, and is 1\.5$/],
    ["a URL with a user", { apiKey: key, baseUrl: "http://user:secret@localhost" }, {}, /^baseUrl must be a URL without a user/],
  ];
  for (const [what, options, variables, message] of cases) {
    test(what, () => {
      setVariables(Object.entries(variables));
      assert.throws(
        () => new Godwit(options),
        (error) => error instanceof TypeError && message.test(error.message) && !error.message.includes("secret"),
      );
    });
  }
});

test("a browser has no environment, and the error does not mention one", (context) => {
  Object.defineProperty(globalThis, "document", { value: {}, configurable: true });
  context.after(() => Reflect.deleteProperty(globalThis, "document"));
  setVariables([["GODWIT_KEY", "gw_test_env"]]);
  assert.throws(() => new Godwit({ baseUrl: "http://localhost" }), /no credential: pass accessToken/);
});

test("a browser sends its own User-Agent, and an option replaces that of the package", async (context) => {
  assert.equal((await sentBy({ apiKey: "gw_test_x", headers: { "User-Agent": "shop/1" } })).userAgent, "shop/1");
  Object.defineProperty(globalThis, "document", { value: {}, configurable: true });
  context.after(() => Reflect.deleteProperty(globalThis, "document"));
  assert.equal((await sentBy({ apiKey: "gw_test_x" })).userAgent, null);
});

describe("a call", () => {
  const message: NewMessage = { recipient: "+14155550123", channel: "sms", body: "Hello" };
  const sent: { url: string; body: unknown }[] = [];
  const fetch: GodwitOptions["fetch"] = async (url, { body }) => {
    sent.push({ url, body });
    return Response.json({});
  };
  const client = new Godwit({ apiKey: "gw_test_x", baseUrl: "http://localhost", fetch });
  beforeEach(() => sent.splice(0));
  const refused = async (call: () => unknown, pattern: RegExp): Promise<void> => {
    await assert.rejects(async () => call(), { name: "TypeError", message: pattern });
    assert.deepEqual(sent, []);
  };

  test("with an unknown option sends nothing and names the right one", async () => {
    const key = { idempotency_key: "0b5f3c3e-0f0e-4b1c-9d5c-2f1f1a2b3c4d" } as WriteOptions;
    await refused(() => client.messages.send(message, key), /^a call has no option idempotency_key; did you mean idempotencyKey\?$/);
    await refused(() => client.messages.list({}, { limit: 2 } as WriteOptions), /^a call has no option limit; its options are/);
    await refused(() => client.messages.get("msg_1", "msg_2" as WriteOptions), /^the options of a call must be an object/);
    await refused(() => client.media.upload(new Blob([]), { filename: "a" } as WriteOptions), /^an upload .* fileName\?$/);
    await refused(() => client.events.stream({}, { last_event_id: "a" } as object), /^an event stream .* lastEventId\?$/);
    await refused(() => client.recipients.export({ recipient: "+1" }, { timeoutMs: 5 } as object), /^an export has no option timeoutMs/);
    await refused(() => client.queue.get({ timeoutMs: "5" as unknown as number }), /^timeoutMs must be a number/);
  });

  test("without its body sends nothing", () =>
    refused(() => client.messages.send(undefined as unknown as NewMessage), /^POST \/v1\/messages needs an object, and it is undefined$/));

  test("takes dates as times, in the body and in the query", async () => {
    const time = new Date("2030-01-31T09:00:00Z");
    await client.batches.send({ defaults: { ...message, send_at: time }, items: [{ send_at: time }] });
    assert.deepEqual(JSON.parse(String(sent[0]?.body)), {
      defaults: { ...message, send_at: "2030-01-31T09:00:00.000Z" },
      items: [{ send_at: "2030-01-31T09:00:00.000Z" }],
    });
    await client.usage.get({ created_after: time, interval: "day" });
    assert.equal(sent[1]?.url, "http://localhost/v1/usage?created_after=2030-01-31T09%3A00%3A00.000Z&interval=day");
  });

  test("with an invalid date sends nothing: JSON would have null, which means now", async () => {
    const never = new Date("soon");
    await refused(() => client.messages.send({ ...message, send_at: never }), /^send_at is an invalid date$/);
    await refused(() => client.messages.list({ created_after: never }), /^created_after is an invalid date$/);
  });
});
