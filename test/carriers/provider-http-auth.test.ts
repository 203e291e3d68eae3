/** Credentials of HTTP carriers that are made for each request, or obtained before: signatures and access tokens. */
import assert from "node:assert/strict";
import { createHash, createHmac } from "node:crypto";
import { test } from "node:test";
import { readPlan } from "../../src/links/plan.ts";
import { http, type HttpSettings } from "../../src/providers/http/http.ts";
import type { Begin, Connection, SendOutcome } from "../../src/providers/provider.ts";
import { HttpCarrierServer, respond, type CarrierBehavior, type Seen } from "../support/fakes/http-carrier.ts";
import { RecordingHost, mayLeave, outgoing, settled } from "../support/recording-host.ts";

type Table = Readonly<Record<string, unknown>>;
const SECRETS: Readonly<Record<string, string>> = { ACME_ID: "client:1", ACME_SECRET: "s3cr&t" };

function readLink(request: Table): { settings: HttpSettings; faults: string[] } {
  const faults: string[] = [];
  const secrets = { id_env: "ACME_ID", secret_env: "ACME_SECRET" };
  const link = { name: "acme", provider: "http", rate: 10_000, request, response: { id: "$.id" }, secrets };
  const { links } = readPlan({ link: [link] }, (variable) => SECRETS[variable], faults);
  return { settings: links[0]?.settings as HttpSettings, faults };
}

/** A carrier that issues numbered tokens and accepts messages, unless the test sets another behavior. */
class TokenCarrier extends HttpCarrierServer {
  tokens = 0;
  token: (count: number) => CarrierBehavior = (count) => respond({ access_token: `token-${count}`, expires_in: 3_600 });
  message: (seen: Seen) => CarrierBehavior = () => respond({ id: "c1" });

  protected override behaviorFor(seen: Seen): CarrierBehavior {
    if (seen.path !== "/token") return this.message(seen);
    this.tokens += 1;
    return this.token(this.tokens);
  }

  get sent(): Seen[] {
    return this.seen.filter(({ path }) => path !== "/token");
  }
}

const OAUTH2: Table = { type: "oauth2", client_id: "{{secret.id}}", client_secret: "{{secret.secret}}" };

async function onCarrier(
  run: (rig: {
    carrier: TokenCarrier;
    host: RecordingHost;
    connection: Connection;
    send: (begin?: Begin) => Promise<SendOutcome>;
  }) => Promise<void>,
  auth: Table = {},
): Promise<void> {
  const carrier = await new TokenCarrier().listen();
  const host = new RecordingHost();
  const request = {
    url: `${carrier.url}/send`,
    body: { to: "{{recipient}}" },
    auth: { ...OAUTH2, token_url: `${carrier.url}/token`, ...auth },
  };
  const { settings, faults } = readLink(request);
  assert.deepEqual(faults, []);
  const connection = await http.open(settings, host);
  const send = (begin = mayLeave): Promise<SendOutcome> =>
    settled(connection.send(outgoing({ recipient: "+4915112345678" }), new AbortController().signal, begin), "a send");
  try {
    await run({ carrier, host, connection, send });
    assert.doesNotMatch(host.lines, /token-\d|s3cr/, "no secret is in the log");
  } finally {
    await settled(connection.close(), "close");
    await carrier.close();
  }
}

test("messages share one access token, which is requested before the first message is sending", () =>
  onCarrier(async ({ carrier, send }) => {
    let begun = 0;
    const begin = async (): Promise<boolean> => {
      begun += 1;
      assert.equal(carrier.tokens, 1);
      return true;
    };
    const outcomes = await Promise.all(Array.from({ length: 5 }, () => send(begin)));
    assert.deepEqual(
      outcomes.map(({ kind }) => kind),
      Array.from({ length: 5 }, () => "accepted"),
    );
    assert.equal(begun, 5);
    assert.equal(carrier.tokens, 1);
    assert.ok(carrier.sent.every(({ headers }) => headers["authorization"] === "Bearer token-1"));
    const [asked] = carrier.seen;
    assert.equal(asked?.body, "grant_type=client_credentials");
    assert.equal(asked?.headers["authorization"], `Basic ${btoa("client%3A1:s3cr%26t")}`);
  }));

test("a client can identify itself in the body, with a scope and an audience", () =>
  onCarrier(
    async ({ carrier, send }) => {
      assert.equal((await send()).kind, "accepted");
      const { body, headers } = carrier.seen[0] ?? assert.fail();
      assert.deepEqual(Object.fromEntries(new URLSearchParams(body)), {
        grant_type: "client_credentials",
        client_id: "client:1",
        client_secret: "s3cr&t",
        scope: "sms:send",
        audience: "https://api.example",
      });
      assert.equal(headers["authorization"], undefined);
    },
    { client_auth: "body", scope: "sms:send", audience: "https://api.example" },
  ));

test("a token that has ended is replaced before the next message", () =>
  onCarrier(async ({ carrier, send }) => {
    carrier.token = (count) => respond({ access_token: `token-${count}`, expires_in: 0.000_001 });
    await send();
    await send();
    assert.deepEqual(
      carrier.sent.map(({ headers }) => headers["authorization"]),
      ["Bearer token-1", "Bearer token-2"],
    );
  }));

test("a token that the carrier refuses is replaced once, and the message is sent again", () =>
  onCarrier(async ({ carrier, connection, send }) => {
    carrier.message = ({ headers }) => (headers["authorization"] === "Bearer token-1" ? respond({}, 401) : respond({ id: "c2" }));
    assert.deepEqual(await send(), { kind: "accepted", providerMessageId: "c2" });
    assert.equal(carrier.tokens, 2);
    carrier.message = () => respond({}, 401);
    assert.equal((await send()).kind, "throttled");
    assert.equal(carrier.tokens, 3, "the second refusal in a row is about the account");
    assert.equal(connection.state?.kind, "paused");
  }));

for (const [name, behavior, state, reason] of [
  ["refuses the client", respond({ error: "invalid_client" }, 401), "paused", /no access token: HTTP 401 invalid_client/],
  ["fails", respond({}, 503), "throttled", /no access token: HTTP 503/],
  ["closes the connection", { kind: "disconnects" }, "throttled", /no access token: /],
  ["sends no token", respond({ token: "x" }), "throttled", /no access token: HTTP 200/],
  ["sends a token with line breaks", respond({ access_token: "a\r\nx-evil: 1" }), "throttled", /no access token: HTTP 200/],
] as const)
  test(`if the token URL ${name}, the message is not begun and the link is ${state}`, () =>
    onCarrier(async ({ carrier, connection, send }) => {
      carrier.token = () => behavior;
      const outcome = await send(() => assert.fail("nothing is stored as sending"));
      assert.equal(outcome.kind === "throttled" && outcome.providerCode, "no_access_token");
      assert.equal(connection.state?.kind, state);
      assert.match(connection.state?.reason ?? "", reason);
      assert.equal(carrier.sent.length, 0);
      await send();
      assert.equal(carrier.tokens, 1, "no second request for a while");
    }));

test("a request is signed over the parts that the definition names", async () => {
  const carrier = await new HttpCarrierServer(() => respond({ id: "c1" })).listen();
  const auth = {
    type: "hmac",
    header: "X-Signature",
    secret: "{{secret.secret}}",
    algorithm: "sha512",
    encoding: "base64",
    prefix: "{{secret.id}}=",
    signed: "{{method}}\n{{path}}\n{{timestamp}}\n{{nonce}}\n{{body_sha256}}\n{{url}}\n{{body}}",
    timestamp_header: "X-Time",
    nonce_header: "X-Nonce",
  };
  const { settings, faults } = readLink({ url: `${carrier.url}/send?a=1`, body: { text: "{{body}}" }, auth });
  assert.deepEqual(faults, []);
  const connection = await http.open(settings, new RecordingHost());
  await connection.send(outgoing({ recipient: "+4915112345678", body: "Grüße {{nonce}}" }), new AbortController().signal, mayLeave);
  await connection.close();
  await carrier.close();
  const { headers, body } = carrier.seen[0] ?? assert.fail();
  const hash = createHash("sha256").update(body).digest("hex");
  const signed = ["POST", "/send?a=1", headers["x-time"], headers["x-nonce"], hash, `${carrier.url}/send?a=1`, body].join("\n");
  assert.equal(headers["x-signature"], `client:1=${createHmac("sha512", "s3cr&t").update(signed).digest("base64")}`);
  assert.match(headers["x-time"] ?? "", /^\d{10}$/);
});

for (const [name, auth, fault] of [
  ["without a token URL", { ...OAUTH2 }, /request\.auth\.token_url: is required/],
  ["with a wrong token URL", { ...OAUTH2, token_url: "api.example/token" }, /request\.auth\.token_url: must be a URL/],
  ["with a token URL without TLS", { ...OAUTH2, token_url: "http://api.example/token" }, /request\.auth\.token_url: is http/],
  [
    "with another variable",
    { type: "hmac", header: "x", secret: "y", signed: "{{recipient}}" },
    /request\.auth\.signed: \{\{recipient\}\}/,
  ],
  ["with a wrong header", { type: "hmac", header: "x y", secret: "y" }, /request\.auth: x y is not the name of a header/],
] as const)
  test(`credentials ${name} are a fault`, () => {
    const { faults } = readLink({ url: "https://api.example/send", body: {}, auth });
    assert.match(faults.join("\n"), fault);
  });
