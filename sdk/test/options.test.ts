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
