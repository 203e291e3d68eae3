/** Links, senders and routes that accounts create through the API, with a real SMPP carrier on an address that the operator allows. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Json } from "../support/client.ts";
import { assertProblem, until } from "../support/expect.ts";
import { Smsc } from "../support/fakes/smsc.ts";
import { byRecipient } from "../support/fakes/smsc-scripts.ts";
import { startGodwit, type Godwit, type Reply } from "../support/harness.ts";

const PASSWORD = "hunter2-7d1f";
const SCOPES = ["links:read", "links:write", "messages:send", "messages:read", "audit:read"] as const;

let godwit: Godwit;
let smsc: Smsc;
let key: string;
before(async () => {
  smsc = await Smsc.start(byRecipient);
  godwit = await startGodwit({ roles: "api,dispatch", isOneProcess: true, env: { GODWIT_WEBHOOK_ALLOW: "127.0.0.1/32" } });
  await godwit.unlimited();
  key = await godwit.key({ environment: "live", scopes: SCOPES });
});
after(async () => {
  await godwit.stop();
  await smsc.stop();
});

const post = (path: string, body: object, by = key): Promise<Reply> => godwit.request("POST", path, { key: by, body });
const patch = (path: string, body: object, by = key): Promise<Reply> => godwit.request("PATCH", path, { key: by, body });
const get = (path: string, by = key): Promise<Reply> => godwit.request("GET", path, { key: by });

const smppBody = (name: string, to: Smsc, settings: object = {}): object => ({
  name,
  provider: "smpp",
  settings: { host: "127.0.0.1", port: to.port, system_id: "godwit", password: PASSWORD, ...settings },
});

async function create(body: object, by = key): Promise<Json> {
  const reply = await post("/v1/links", body, by);
  assert.equal(reply.status, 201, reply.text);
  return reply.json;
}

const connected = (id: unknown, by = key): Promise<Json> =>
  until(`the link ${String(id)} to be connected`, async () => {
    const { json } = await get(`/v1/links/${String(id)}`, by);
    return json["state"] === "connected" ? json : undefined;
  });

describe("a link that an account creates", () => {
  test("is opened at once, sends and receives, and shows no secret", async () => {
    const link = await create(smppBody("Acme", smsc));
    assert.deepEqual(
      [link["object"], link["source"], link["name"], link["provider"], link["secrets"], link["paused"]],
      ["link", "api", "Acme", "smpp", ["password"], false],
    );
    assert.deepEqual(link["settings"], { host: "127.0.0.1", port: smsc.port, system_id: "godwit" });
    await connected(link["id"]);
    const sender = await post("/v1/senders", { number: "+14155550100", link_id: link["id"] });
    assert.equal(sender.status, 201, sender.text);
    const sent = await godwit.send(key, { recipient: "+15005550006", body: "Hello" });
    assert.equal(sent.status, 202, sent.text);
    assert.deepEqual([sent.json["sender"], sent.json["link_reason"]], ["+14155550100", "only_link"]);
    await until("the message to be delivered", async () => {
      const { json } = await get(`/v1/messages/${String(sent.json["id"])}`);
      return json["status"] === "delivered" ? json : undefined;
    });
    const everything = JSON.stringify([
      await get("/v1/links"),
      await get(`/v1/links/${String(link["id"])}`),
      await get("/v1/audit_events"),
    ]);
    assert.ok(!everything.includes(PASSWORD));
    const stored = await godwit.rows("select row_to_json(l)::text as text from created_links l");
    assert.ok(!JSON.stringify(stored).includes(PASSWORD));
  });
});

describe("a change of a link", () => {
  test("opens this link again and leaves the binds of the others untouched", async () => {
    await using other = await startSmsc();
    const kept = await create(smppBody("kept", smsc));
    const changed = await create(smppBody("changed", other));
    await Promise.all([connected(kept["id"]), connected(changed["id"])]);
    const [ofKept, ofChanged] = [smsc.sessions.length, other.sessions.length];
    const reply = await patch(`/v1/links/${String(changed["id"])}`, { rate: 7, settings: { password: "another", system_type: "x" } });
    assert.equal(reply.status, 200, reply.text);
    assert.deepEqual([reply.json["rate"], reply.json["settings"]], [7, { ...(changed["settings"] as Json), system_type: "x" }]);
    await until("the changed link to be bound again", () => other.bound.length === 1 && other.sessions.length > ofChanged);
    const bind = other.sessions.at(-1)?.received.find((pdu) => pdu.command === "bind_transceiver");
    assert.equal(bind?.command === "bind_transceiver" && bind.bind.password, "another");
    assert.deepEqual([smsc.sessions.length, smsc.bound.length > 0], [ofKept, true]);
    // Null removes a setting, and what is not named stays.
    const removed = await patch(`/v1/links/${String(changed["id"])}`, { settings: { system_type: null } });
    assert.deepEqual([removed.json["settings"], removed.json["secrets"]], [changed["settings"], ["password"]]);
    for (const link of [kept, changed]) assert.equal((await remove(link["id"])).status, 200);
  });

  test("pauses and resumes it: a paused link takes no message, and receives", async () => {
    const account = await godwit.key({ environment: "live", account: "pausing", scopes: SCOPES });
    const link = await create(smppBody("Acme", smsc), account);
    await connected(link["id"], account);
    const paused = await patch(`/v1/links/${String(link["id"])}`, { paused: true }, account);
    assert.deepEqual([paused.json["state"], paused.json["reason"], paused.json["paused"]], ["paused", "paused_by_request", true]);
    const refused = await godwit.send(account, { recipient: "+15005550006" });
    assertProblem(refused, "no_route");
    assert.match(
      String(refused.json["detail"]),
      /: is paused\. Resume it .*godwit links resume lnk_\w+, or with PATCH \/v1\/links\/lnk_\w+ and "paused": false\.$/,
    );
    assert.equal(smsc.bound.length > 0, true);
    await patch(`/v1/links/${String(link["id"])}`, { paused: false }, account);
    assert.equal((await godwit.send(account, { recipient: "+15005550006" })).status, 202);
    assert.deepEqual(await actionsOf(account), ["link.created", "link.paused", "link.resumed"]);
    assert.equal((await remove(link["id"], account)).status, 200);
  });

  test("is refused where a route names a link that is to be deleted", async () => {
    const link = await create(smppBody("routed", smsc));
    const route = await post("/v1/routes", { channel: "sms", links: [link["id"]], countries: ["DE"] });
    assert.equal(route.status, 201, route.text);
    assertProblem(await remove(link["id"]), "link_in_use");
    assert.equal((await godwit.request("DELETE", `/v1/routes/${String(route.json["id"])}`, { key })).status, 200);
    assert.equal((await remove(link["id"])).status, 200);
    assertProblem(await get(`/v1/links/${String(link["id"])}`), "not_found");
  });
});

describe("the test of a link", () => {
  test("reports a success, a wrong password, and a host that cannot be reached, and is limited", async () => {
    const account = await godwit.key({ environment: "live", account: "testing", scopes: SCOPES });
    await using strict = await startSmsc({ bind: ({ password }) => (password === PASSWORD ? 0 : 0x0e) });
    const link = await create({ ...smppBody("Acme", strict, { password: "wrong" }) }, account);
    const path = `/v1/links/${String(link["id"])}`;
    const run = (): Promise<Reply> => post(`${path}/test`, {}, account);
    const wrong = await run();
    assert.deepEqual(
      [wrong.status, wrong.json["ok"], wrong.json["step"], wrong.json["detail"]],
      [200, false, "credentials", "The carrier refuses the password (0x0E)."],
    );
    await patch(path, { settings: { password: PASSWORD } }, account);
    assert.equal((await run()).json["ok"], true);
    await patch(path, { settings: { port: 1, password: PASSWORD } }, account);
    assert.deepEqual(
      [(await run()).json["step"], await actionsOf(account)],
      ["connection", ["link.created", "link.tested", "link.changed", "link.tested", "link.changed", "link.tested"]],
    );
    for (let count = 0; count < 3; count += 1) await run();
    const limited = await run();
    assertProblem(limited, "rate_limit_exceeded");
    assert.ok(Number(limited.headers.get("retry-after")) > 0);
    assert.equal((await remove(link["id"], account)).status, 200);
  });
});

describe("links of an account", () => {
  test("are invisible to others, and carry none of their messages", async () => {
    const link = await create(smppBody("mine", smsc));
    await connected(link["id"]);
    const stranger = await godwit.key({ environment: "live", account: "stranger", scopes: SCOPES });
    assert.deepEqual((await get("/v1/links", stranger)).json["data"], []);
    const path = `/v1/links/${String(link["id"])}`;
    assertProblem(await get(path, stranger), "not_found");
    assertProblem(await patch(path, { rate: 1 }, stranger), "not_found");
    assertProblem(await remove(link["id"], stranger), "not_found");
    assertProblem(await post(`${path}/test`, {}, stranger), "not_found");
    for (const [where, body] of [
      ["/v1/senders", { number: "+14155550100", link_id: link["id"] }],
      ["/v1/routes", { channel: "sms", links: [link["id"]] }],
    ] as const)
      assertProblem(await post(where, body, stranger), "invalid_request_payload");
    const refused = await godwit.send(stranger, { recipient: "+15005550006" });
    assertProblem(refused, "no_route");
    assert.match(String(refused.json["detail"]), /This environment has no links\. Connect a carrier/);
    // The number of one account stays usable for another one on its own link.
    await post("/v1/senders", { number: "+14155550177", link_id: link["id"] });
    const own = await create(smppBody("own", smsc), stranger);
    assert.equal((await godwit.send(stranger, { recipient: "+15005550006", sender: "+14155550177" })).status, 202);
    for (const [id, by] of [
      [link["id"], key],
      [own["id"], stranger],
    ] as const)
      assert.equal((await remove(id, by)).status, 200);
  });

  test("do not exist in test, which has the simulator", async () => {
    const inTest = await godwit.key({ scopes: SCOPES });
    assertProblem(await post("/v1/links", smppBody("x", smsc), inTest), "live_only");
    const links = (await get("/v1/links", inTest)).json["data"] as Json[];
    assert.deepEqual(
      links.map(({ id }) => id),
      ["simulator"],
    );
    assert.deepEqual((await get("/v1/senders", inTest)).json["data"], []);
    assert.deepEqual((await get("/v1/routes", inTest)).json["data"], []);
  });

  test("need the scope to change them", async () => {
    const reader = await godwit.key({ environment: "live", scopes: ["links:read"] });
    assertProblem(await post("/v1/links", smppBody("x", smsc), reader), "forbidden_insufficient_scope");
    assert.equal((await get("/v1/links", reader)).status, 200);
  });
});

describe("a request for a link", () => {
  const FAULTY: readonly (readonly [what: string, body: object, pointer: string])[] = [
    ["without a required setting", { settings: { host: "127.0.0.1", port: 1, system_id: "x" } }, "/settings/password"],
    ["with an unknown setting", { settings: { host: "127.0.0.1", port: 1, system_id: "x", password: "x", color: 1 } }, "/settings/color"],
    [
      "with the name of a variable",
      { settings: { host: "127.0.0.1", port: 1, system_id: "x", password_env: "PATH" } },
      "/settings/password_env",
    ],
    [
      "that allows plaintext itself",
      { settings: { host: "127.0.0.1", port: 1, system_id: "x", password: "x", allow_plaintext: true } },
      "/settings/allow_plaintext",
    ],
    ["with a port out of range", { settings: { host: "127.0.0.1", port: 70_000, system_id: "x", password: "x" } }, "/settings/port"],
    ["of an HTTP carrier that is not known", { provider: "http", carrier: "nowhere", settings: {} }, "/carrier"],
    ["of an HTTP carrier without its secrets", { provider: "http", carrier: "telnyx", settings: {} }, "/settings/secrets/api_key"],
    [
      "with a definition of its own",
      { provider: "http", carrier: "telnyx", settings: { request: { url: "https://x" } } },
      "/settings/request",
    ],
  ];
  for (const [what, body, pointer] of FAULTY)
    test(`${what} names the setting`, async () => {
      const reply = await post("/v1/links", { name: "faulty", provider: "smpp", ...body });
      assertProblem(reply, "invalid_request_payload");
      const pointers = (reply.json["errors"] as Json[]).map((each) => each["pointer"]);
      assert.ok(pointers.includes(pointer), JSON.stringify(reply.json["errors"]));
    });

  test("is executed once for each idempotency key", async () => {
    const idempotencyKey = crypto.randomUUID();
    const send = (): Promise<Reply> => godwit.request("POST", "/v1/links", { key, body: smppBody("once", smsc), idempotencyKey });
    const [first, second] = [await send(), await send()];
    assert.deepEqual([first.status, second.status, second.text], [201, 201, first.text]);
    assertProblem(await post("/v1/links", smppBody("once", smsc)), "already_exists");
    assert.equal((await remove(first.json["id"])).status, 200);
  });
});

const remove = (id: unknown, by = key): Promise<Reply> => godwit.request("DELETE", `/v1/links/${String(id)}`, { key: by });

/** The audited changes of the account of a key, the oldest first. */
async function actionsOf(by: string): Promise<unknown[]> {
  const { json } = await get("/v1/audit_events", by);
  return (json["data"] as Json[])
    .map(({ action }) => action)
    .filter((action) => String(action).startsWith("link."))
    .toReversed();
}

async function startSmsc(script: Parameters<typeof Smsc.start>[0] = byRecipient): Promise<Smsc & AsyncDisposable> {
  const started = await Smsc.start(script);
  return Object.assign(started, { [Symbol.asyncDispose]: () => started.stop() });
}
