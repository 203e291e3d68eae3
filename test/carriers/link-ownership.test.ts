/** The links of an account stay its own when something is wrong with them: no secret leaves for another host, the operator's pause holds, and
 *  no message takes a link of the operator in their place. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { createServer, type AddressInfo } from "node:net";
import { after, before, describe, test } from "node:test";
import type { ShortMessage } from "../../src/providers/smpp/pdu.ts";
import { selfSigned } from "../support/certificate.ts";
import type { Json } from "../support/client.ts";
import { assertProblem, until } from "../support/expect.ts";
import { Smsc } from "../support/fakes/smsc.ts";
import { byRecipient, deliverSm } from "../support/fakes/smsc-scripts.ts";
import { runGodwit, SECRET_KEY, startGodwit, type Godwit, type Reply } from "../support/harness.ts";
import { readMetrics } from "../support/metrics-text.ts";
import { PASSWORDS, smppTable } from "../support/smpp-messages.ts";

const SCOPES = ["links:read", "links:write", "messages:send", "messages:read"] as const;
const ALLOW = { GODWIT_WEBHOOK_ALLOW: "127.0.0.1/32" };
const PUBLIC_KEY = Buffer.alloc(32, 1).toString("base64");
const OWNED_NUMBER = "+14155550177";
const PERSON = "+15005550006";

let godwit: Godwit;
let operators: Smsc;
let own: Smsc;
before(async () => {
  [operators, own] = await Promise.all([Smsc.start(byRecipient), Smsc.start(byRecipient)]);
  const config = `${smppTable("operators", operators)}
[[sender]]
number = "${OWNED_NUMBER}"
link = "operators"
account = "default"
environment = "live"
`;
  // Another process sees a change of a link later.
  godwit = await startGodwit({ roles: "api,dispatch", isOneProcess: true, env: { ...ALLOW, ...PASSWORDS }, config });
  await godwit.unlimited();
});
after(async () => {
  await godwit.stop();
  await Promise.all([operators.stop(), own.stop()]);
});

const keyOf = (account: string): Promise<string> => godwit.key({ environment: "live", account, scopes: SCOPES });
const call = (method: string, path: string, key: string, body?: object): Promise<Reply> =>
  godwit.request(method, path, body === undefined ? { key } : { key, body });

async function create(key: string, settings: object = {}, name = "Acme"): Promise<string> {
  const all = { host: "127.0.0.1", port: own.port, system_id: "me", password: "hunter2", ...settings };
  const reply = await call("POST", "/v1/links", key, { name, provider: "smpp", settings: all });
  assert.equal(reply.status, 201, reply.text);
  return `/v1/links/${String(reply.json["id"])}`;
}

const untilState = (path: string, key: string, state: string): Promise<Json> =>
  until(`${path} to be ${state}`, async () => {
    const { json } = await call("GET", path, key);
    return json["state"] === state ? json : undefined;
  });

async function startSmsc(script: Parameters<typeof Smsc.start>[0] = byRecipient): Promise<Smsc & AsyncDisposable> {
  const started = await Smsc.start(script);
  return Object.assign(started, { [Symbol.asyncDispose]: () => started.stop() });
}

const untilStatus = (sent: Reply, key: string, status: string): Promise<Json> =>
  until(`the message to be ${status}`, async () => {
    const { json } = await call("GET", `/v1/messages/${String(sent.json["id"])}`, key);
    return json["status"] === status ? json : undefined;
  });

describe("the secrets of a link", () => {
  test("are required again when its address changes, so that they cannot be sent elsewhere", async () => {
    await using elsewhere = await startSmsc();
    const key = await keyOf("moving");
    const path = await create(key);
    await untilState(path, key, "connected");
    for (const settings of [{ port: elsewhere.port }, { hosts: [`127.0.0.1:${elsewhere.port}`], host: null, port: null }]) {
      const refused = await call("PATCH", path, key, { settings });
      assertProblem(refused, "invalid_request_payload");
      assert.deepEqual(refused.json["errors"], [
        { pointer: "/settings/password", code: "required", detail: "is required again, because the address changes" },
      ]);
    }
    assert.equal((await call("PATCH", path, key, { rate: 5, settings: { system_type: "x" } })).status, 200);
    const moved = await call("PATCH", path, key, { settings: { port: elsewhere.port, password: "hunter2" } });
    assert.equal(moved.status, 200, moved.text);
    await until("the link to be bound there", () => elsewhere.bound.length === 1);
    assert.equal((await call("DELETE", path, key)).status, 200);
  });

  test("of an HTTP carrier can be removed one by one", async () => {
    const key = await keyOf("telnyx");
    const body = {
      name: "Telnyx",
      provider: "http",
      carrier: "telnyx",
      settings: { public_url: "https://sms.example", secrets: { api_key: "a", public_key: PUBLIC_KEY, extra: "b" }, values: {} },
    };
    const made = await call("POST", "/v1/links", key, body);
    assert.equal(made.status, 201, made.text);
    const path = `/v1/links/${String(made.json["id"])}`;
    const changed = await call("PATCH", path, key, { settings: { secrets: { extra: null } } });
    assert.deepEqual([changed.status, changed.json["secrets"]], [200, ["api_key", "public_key"]], changed.text);
    assertProblem(await call("PATCH", path, key, { settings: { secrets: { api_key: null } } }), "invalid_request_payload");
    assert.equal((await call("DELETE", path, key)).status, 200);
  });

  test("that cannot be opened close the link, which stays the account's, until they are given again", async () => {
    const key = await keyOf("lost");
    const path = await create(key);
    const other = await create(key, {}, "another");
    await untilState(path, key, "connected");
    const id = path.split("/").at(-1) ?? "";
    await godwit.rows(
      `with lost as (update created_links set secrets = 'sealed:' || encode(repeat('x', 60)::bytea, 'base64')
                      where name = 'Acme' and account_id = (select id from accounts where name = 'lost'))
       update created_version set version = version + 1`,
    );
    const closed = await untilState(path, key, "paused");
    assert.deepEqual([closed["reason"], closed["secrets"]], ["needs_account", []]);
    assert.match(String(closed["reason_detail"]), /cannot be opened: \/settings\/password is required/);
    // The other link of the account works.
    const sent = await godwit.send(key, { recipient: PERSON });
    assert.deepEqual([sent.status, sent.json["link_reason"]], [202, "creation_order"], sent.text);
    await untilStatus(sent, key, "delivered");
    assert.equal((await call("DELETE", other, key)).status, 200);
    const refused = await godwit.send(key, { recipient: PERSON });
    assertProblem(refused, "no_route");
    assert.match(String(refused.json["detail"]), new RegExp(`Acme|${id}`));
    assert.equal((await call("PATCH", path, key, { settings: { password: "hunter2" } })).status, 200);
    await untilState(path, key, "connected");
    assert.equal((await godwit.send(key, { recipient: PERSON })).status, 202);
    assert.equal((await call("DELETE", path, key)).status, 200);
    assert.equal(operators.submits.length, 0);
  });

  test("are sealed again when the secret key changes", async () => {
    const old = await startGodwit({ env: ALLOW });
    const { databaseUrl } = old;
    const key = await old.key({ environment: "live", scopes: SCOPES });
    const settings = { host: "127.0.0.1", port: own.port, system_id: "later", password: "hunter2" };
    assert.equal((await old.request("POST", "/v1/links", { key, body: { name: "Acme", provider: "smpp", settings } })).status, 201);
    await old.stop();
    const changed = { ...ALLOW, GODWIT_SECRET_KEY: Buffer.alloc(32, 8).toString("base64") };
    for (const env of [{ ...changed, GODWIT_PREVIOUS_SECRET_KEY: SECRET_KEY }, changed]) {
      const binds = own.sessions.length;
      await using now = await startGodwit({ roles: "api,dispatch", databaseUrl, env });
      await until("the link to be bound", () => own.sessions.length > binds && own.bound.length > 0);
      assert.ok(now.url);
    }
  });
});

describe("a link of an account", () => {
  test("that is paused keeps its scheduled messages and fallbacks, which are sent when it is resumed", async () => {
    const key = await keyOf("waiting");
    const path = await create(key);
    await untilState(path, key, "connected");
    const sendAt = new Date(Date.now() + 3_000).toISOString();
    const scheduled = await godwit.send(key, { recipient: PERSON, send_at: sendAt });
    assert.equal(scheduled.status, 202, scheduled.text);
    assert.equal((await call("PATCH", path, key, { paused: true })).status, 200);
    await untilStatus(scheduled, key, "queued");
    assert.equal((await call("PATCH", path, key, { paused: false })).status, 200);
    await untilStatus(scheduled, key, "delivered");
    assert.equal((await call("DELETE", path, key)).status, 200);
  });

  test("does not show whether a port is open before the carrier has answered", async () => {
    const silent = createServer(() => undefined).listen(0, "127.0.0.1");
    await new Promise((resolve) => silent.once("listening", resolve));
    const key = await keyOf("scanning");
    const { port } = silent.address() as AddressInfo;
    const paths = [await create(key, { port }, "open"), await create(key, { port: 1 }, "closed")];
    const seen = await Promise.all(
      paths.map((path) =>
        until("a state", async () => {
          const { json } = await call("GET", path, key);
          return json["state"] === "connecting" ? [json["reason"], json["reason_detail"], json["last_error"]] : undefined;
        }),
      ),
    );
    assert.deepEqual(seen[0], seen[1]);
    for (const path of paths) assert.equal((await call("DELETE", path, key)).status, 200);
    silent.close();
  });

  test("is tested with settings that have just changed, and not by its state", async () => {
    await using strict = await startSmsc({ bind: ({ password }) => (password === "hunter2" ? 0 : 0x0e) });
    const key = await keyOf("changing");
    const path = await create(key, { port: strict.port });
    await untilState(path, key, "connected");
    await call("PATCH", path, key, { settings: { password: "wrong" } });
    const tested = await call("POST", `${path}/test`, key, {});
    assert.deepEqual([tested.json["ok"], tested.json["step"]], [false, "credentials"], tested.text);
    assert.equal((await call("DELETE", path, key)).status, 200);
  });

  test("that only receives is in no route", async () => {
    const key = await keyOf("receiving");
    const [path, receiver] = [await create(key), await create(key, { bind_mode: "receiver" }, "receiver")];
    const route = (link: string): Promise<Reply> => call("POST", "/v1/routes", key, { channel: "sms", links: [link.split("/").at(-1)] });
    assertProblem(await route(receiver), "invalid_request_payload");
    const made = await route(path);
    assert.equal(made.status, 201, made.text);
    assertProblem(await call("PATCH", path, key, { settings: { bind_mode: "receiver" } }), "link_in_use");
    assert.equal((await call("DELETE", `/v1/routes/${String(made.json["id"])}`, key)).status, 200);
    for (const each of [path, receiver]) assert.equal((await call("DELETE", each, key)).status, 200);
  });

  for (const [what, body, pointer] of [
    ["a name that controls a terminal", { name: "\u001b]0;owned\u0007" }, "/name"],
    ["a name that turns the direction of text", { name: "a\u202eb" }, "/name"],
    ["a host with a path", { settings: { host: "127.0.0.1/x" } }, "/settings/host"],
    ["a CA that is none", { settings: { tls_ca: "garbage" } }, "/settings/tls_ca"],
    ["a secret with a line break", { settings: { password: "a\r\nb" } }, "/settings/password"],
    ["an unknown setting that is removed", { settings: { junk: null } }, "/settings/junk"],
  ] as const)
    test(`refuses ${what}`, async () => {
      const key = await keyOf("refused");
      const path = await create(key, {}, `link ${randomUUID()}`);
      const refused = await call("PATCH", path, key, body);
      assertProblem(refused, "invalid_request_payload");
      assert.equal((refused.json["errors"] as Json[])[0]?.["pointer"], pointer);
      assert.equal((await call("DELETE", path, key)).status, 200);
    });

  test("has senders and routes for countries that exist only", async () => {
    const key = await keyOf("countries");
    const path = await create(key);
    const id = path.split("/").at(-1);
    for (const [resource, body] of [
      ["senders", { number: "+14155550101", link_id: id }],
      ["routes", { channel: "sms", links: [id] }],
    ] as const) {
      const refused = await call("POST", `/v1/${resource}`, key, { ...body, countries: ["DE", "ZZ"] });
      assertProblem(refused, "invalid_request_payload");
      assert.equal((refused.json["errors"] as Json[])[0]?.["pointer"], "/countries/1");
    }
    assert.equal((await call("DELETE", path, key)).status, 200);
  });

  test("hides the operator's links, also in the reason of a refusal, and what does not exist is not found", async () => {
    const key = await keyOf("hiding");
    const path = await create(key);
    assert.equal((await call("PATCH", path, key, { paused: true })).status, 200);
    const refused = await godwit.send(key, { recipient: PERSON });
    assertProblem(refused, "no_route");
    assert.doesNotMatch(String(refused.json["detail"]), /operators/);
    for (const missing of ["/v1/links/simulator", "/v1/senders/file:x", "/v1/routes/file:99"])
      assertProblem(await call("GET", missing, key), "not_found");
    assert.equal((await call("DELETE", path, key)).status, 200);
  });

  test("that is paused keeps a fallback that becomes due, which is sent when it is resumed", async () => {
    const key = await keyOf("falling back");
    const path = await create(key, { port: 1 });
    const fallback = [{ channel: "sms", body: "in its place", after_seconds: 1 }];
    const sent = await godwit.send(key, { recipient: PERSON, fallback });
    assert.equal(sent.status, 202, sent.text);
    assert.equal((await call("PATCH", path, key, { paused: true })).status, 200);
    const untilFallback = (status: string): Promise<unknown> =>
      until(`the fallback to be ${status}`, async () => {
        const rows = await godwit.rows<{ status: string }>("select status from messages where body = 'in its place'");
        return rows[0]?.status === status || undefined;
      });
    await untilFallback("queued");
    const repaired = { paused: false, settings: { port: own.port, password: "hunter2" } };
    assert.equal((await call("PATCH", path, key, repaired)).status, 200);
    await untilFallback("delivered");
    assert.equal((await call("DELETE", path, key)).status, 200);
  });

  test("has no password in a URL, and shares its secrets with no other path of the host", async () => {
    const key = await keyOf("urls");
    const settings = {
      base_url: "https://graph.example/mine",
      phone_number_id: "1",
      access_token: "t",
      app_secret: "s",
      verify_token: "v",
    };
    const body = { name: "WhatsApp", provider: "whatsapp", settings };
    const withUser = { ...settings, base_url: "https://me:secret@graph.example" };
    const refused = await call("POST", "/v1/links", key, { ...body, settings: withUser });
    assert.deepEqual((refused.json["errors"] as Json[])[0]?.["pointer"], "/settings/base_url", refused.text);
    const made = await call("POST", "/v1/links", key, body);
    assert.equal(made.status, 201, made.text);
    const path = `/v1/links/${String(made.json["id"])}`;
    assertProblem(await call("PATCH", path, key, { settings: { base_url: "https://graph.example/other" } }), "invalid_request_payload");
    assert.equal((await call("DELETE", path, key)).status, 200);
  });

  test("cannot claim a number that the operator has given to another account", async () => {
    const key = await keyOf("claiming");
    const path = await create(key);
    const sender = await call("POST", "/v1/senders", key, { number: OWNED_NUMBER, link_id: path.split("/").at(-1) });
    assert.equal(sender.status, 201, sender.text);
    assertProblem(await godwit.send(key, { recipient: PERSON, sender: OWNED_NUMBER }), "sender_not_allowed");
    assert.equal((await call("DELETE", path, key)).status, 200);
  });

  test("that the operator paused is resumed by the operator only", async () => {
    const key = await keyOf("stopped");
    const path = await create(key);
    const env = {
      DATABASE_URL: godwit.databaseUrl ?? "",
      GODWIT_CONFIG: godwit.configFile ?? "",
      GODWIT_SECRET_KEY: SECRET_KEY,
      ...PASSWORDS,
    };
    const id = path.split("/").at(-1) ?? "";
    // The account's own pause does not weaken it.
    assert.equal((await call("PATCH", path, key, { paused: true })).status, 200);
    assert.equal((await runGodwit(["links", "pause", id], env)).code, 0);
    const { json } = await call("GET", path, key);
    assert.deepEqual([json["reason"], json["paused"]], ["paused_by_operator", true]);
    assertProblem(await call("PATCH", path, key, { paused: false }), "paused_by_operator");
    assert.equal((await runGodwit(["links", "resume", id], env)).code, 0);
    assert.equal((await call("GET", path, key)).json["paused"], false);
    assert.equal((await call("DELETE", path, key)).status, 200);
  });

  test("whose carrier brings much at once leaves the database to the others", async () => {
    await using flooding = await startSmsc();
    const key = await keyOf("flooded");
    const path = await create(key, { port: flooding.port, binds: 4 });
    await until("four binds", () => flooding.bound.length === 4);
    const address = (digits: string): ShortMessage["source"] => ({ ton: 1, npi: 1, text: digits });
    const text = (index: number): ShortMessage =>
      deliverSm({ source: address(PERSON.slice(1)), destination: address("14155550100"), text: Buffer.from(`Hello ${index}`) });
    // A busy machine may not store a message in time. A carrier repeats it then.
    const bring = async (session: (typeof flooding.bound)[number], message: ShortMessage): Promise<void> => {
      while ((await session.deliver(message)) !== 0);
    };
    const brought = flooding.bound.flatMap((session, at) =>
      Array.from({ length: 90 }, (_, index) => bring(session, text(at * 90 + index))),
    );
    let mostWaiting = 0;
    const watching = until("all to be stored", async () => {
      mostWaiting = Math.max(mostWaiting, (await readMetrics(godwit)).get("godwit_database_waiting") ?? 0);
      const [row] = await godwit.rows<{ count: number }>("select count(distinct body) from messages where direction = 'inbound'");
      return row?.count === 360 || undefined;
    });
    await Promise.all(brought);
    await watching;
    assert.ok(mostWaiting < 30, `${mostWaiting} statements waited`);
    assert.equal((await call("DELETE", path, key)).status, 200);
  });

  test("reports a TLS handshake that fails in its test", async () => {
    await using secure = await startSmsc({ tls: selfSigned() });
    const key = await keyOf("tls");
    // A certificate that no authority signed, and a port without TLS, which closes the connection.
    for (const [{ port }, step] of [
      [secure, "tls"],
      [own, "connection"],
    ] as const) {
      const path = await create(key, { port, tls: true });
      const tested = await call("POST", `${path}/test`, key, {});
      assert.deepEqual([tested.json["ok"], tested.json["step"]], [false, step], tested.text);
      assert.match(String(tested.json["detail"]), /TLS/);
      assert.equal((await call("DELETE", path, key)).status, 200);
    }
  });
});
