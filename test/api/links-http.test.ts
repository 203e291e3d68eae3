/** The API of links, the endpoints for carriers, and the reload of the configuration on SIGHUP. */
import assert from "node:assert/strict";
import { createServer, type Server as TcpServer } from "node:net";
import { after, before, describe, test } from "node:test";
import { AccountTurns } from "../../src/api/admit.ts";
import { sharesOf } from "../../src/service/shares.ts";
import { Server } from "../../src/api/server.ts";
import { createMetrics } from "../../src/api/metrics.ts";
import { responseLimits } from "../../src/api/unread-responses.ts";
import { carrierPages, MAX_CARRIER_BODY_BYTES } from "../../src/links/pages.ts";
import type { Authenticator } from "../../src/access/authenticate.ts";
import type { Limiter } from "../../src/access/limiter.ts";
import { createLog } from "../../src/model/log.ts";
import { addressSet } from "../../src/lib/addresses.ts";
import { SecretBox } from "../../src/lib/secret-box.ts";
import { newId, type AccountId } from "../../src/model/id.ts";
import { sql } from "../../src/database/sql.ts";
import { listLinksFor } from "../../src/links/link-record.ts";
import { pauseByOperator, pauseByRequest, readPauses, writePause } from "../../src/links/pauses.ts";
import { writeState } from "../../src/links/queries.ts";
import { SYSTEM_ORIGIN } from "../../src/model/origin.ts";
import type { CarrierRequest, Host, Provider, SendOutcome } from "../../src/providers/provider.ts";
import type { Environment } from "../../src/model/owner.ts";
import type { Link } from "../../src/links/link.ts";
import { EMPTY_PLAN } from "../../src/links/plan.ts";
import { LinkDirectory } from "../../src/links/directory.ts";
import type { Json } from "../support/client.ts";
import { writeConfig } from "../support/config-file.ts";
import { LINK, linkTo, Rig } from "../support/delivery-rig.ts";
import { assertCommonHeaders, assertProblem, until } from "../support/expect.ts";
import { runGodwit, startGodwit, type Godwit, type Reply } from "../support/harness.ts";
import { ScriptedCarrier } from "../support/scripted-carrier.ts";

/** A carrier that accepts connections, counts them and sends nothing. */
class SilentCarrier {
  connections = 0;
  open = 0;
  readonly #server: TcpServer = createServer((socket) => {
    this.connections += 1;
    this.open += 1;
    socket.on("error", () => undefined);
    socket.on("close", () => (this.open -= 1));
    socket.resume();
  });

  async listen(): Promise<number> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return (this.#server.address() as { port: number }).port;
  }

  close(): void {
    this.#server.close();
  }
}

const smppLink = (name: string, port: number, more = ""): string =>
  `[[link]]\nname = "${name}"\nprovider = "smpp"\nhost = "127.0.0.1"\nport = ${port}\nsystem_id = "godwit"\npassword_env = "ACME_PASSWORD"\nrate = 50\nwindow = 20\n${more}\n`;
const SECRET = "hunter2hunter2";
// No carrier listens there.
const CLOSED_PORT = 1;

describe("GET /v1/links", () => {
  let godwit: Godwit;
  const config = `${smppLink("acme", CLOSED_PORT, 'sender = "ACME"')}[[link]]\nname = "fake"\nprovider = "simulator"\n`;
  const linksOf = async (key: string): Promise<Json[]> => {
    const reply = await godwit.request("GET", "/v1/links", { key });
    assert.equal(reply.status, 200, reply.text);
    return reply.json["data"] as Json[];
  };
  before(async () => {
    godwit = await startGodwit({ roles: "api,dispatch", config, env: { ACME_PASSWORD: SECRET } });
    await godwit.unlimited();
  });
  after(() => godwit.stop());

  test("shows every link of live with state, rate and window, and no secret", async () => {
    const key = await godwit.key({ environment: "live", scopes: ["links:read"] });
    const links = await until("all links are reported", async () => {
      const found = await linksOf(key);
      return found.every(({ state }) => state !== "down") ? found : undefined;
    });
    assert.deepEqual(
      links.map(({ name }) => name),
      ["acme", "fake"],
    );
    assert.deepEqual(links[0], {
      id: "acme",
      name: "acme",
      object: "link",
      source: "file",
      provider: "smpp",
      carrier: null,
      prices: null,
      quality: null,
      channels: ["sms"],
      state: "connecting",
      sender: "ACME",
      rate: 50,
      window: 20,
      in_flight: 0,
      reason: "carrier_unreachable",
      reason_detail: null,
      paused: false,
      country: null,
      receipt_ids: "auto",
      settings: null,
      secrets: [],
      callback_path: null,
      last_error: null,
      last_error_at: null,
      nodes: [],
      created_at: null,
      updated_at: null,
      created_by: null,
    });
    assert.equal(links[1]?.["state"], "connected");
    assert.ok(!JSON.stringify(links).includes(SECRET));
  });

  test("shows only the simulator in test", async () => {
    const links = await linksOf(await godwit.key({ scopes: ["links:read"] }));
    assert.deepEqual(
      links.map(({ name, provider }) => [name, provider]),
      [["simulator", "simulator"]],
    );
  });

  test("requires its scope and a credential", async () => {
    assertProblem(
      await godwit.request("GET", "/v1/links", { key: await godwit.key({ scopes: ["messages:read"] }) }),
      "forbidden_insufficient_scope",
    );
    assertProblem(await godwit.request("GET", "/v1/links"), "unauthorized_missing_token");
  });

  test("has less than `godwit links`, which needs no secrets of the links", async () => {
    const env = { DATABASE_URL: godwit.databaseUrl ?? "", GODWIT_CONFIG: godwit.configFile ?? "" };
    const { code, stdout, stderr } = await runGodwit(["links", "--json"], env);
    assert.equal(code, 0, stderr);
    const records = JSON.parse(stdout) as Json[];
    assert.deepEqual(
      records.map(({ name, state }) => [name, state]),
      [
        ["simulator", "connected"],
        ["acme", "connecting"],
        ["fake", "connected"],
      ],
    );
    const { nodes, reason } = records[1] ?? {};
    assert.equal((nodes as string[]).length, 1);
    assert.match(String(reason), /ECONNREFUSED/);
    const table = await runGodwit(["links"], env);
    assert.match(table.stdout, /^name +provider +state +reason/m);
    assert.match(table.stdout, /^acme +smpp +connecting /m);
    assert.ok(!`${stdout}${table.stdout}`.includes(SECRET));
  });

  test("shows a link as down when no node has it, and the states of a stopped node are deleted", async () => {
    await using other = await startGodwit({
      asProcess: true,
      roles: "api,dispatch",
      config,
      env: { ACME_PASSWORD: SECRET },
    });
    const rows = () => other.rows<{ link: string }>("select link from link_states");
    await until("the node has reported its links", async () => (await rows()).length === 3 || undefined);
    await using api = await startGodwit({
      databaseUrl: other.databaseUrl,
      roles: "api",
      config,
      env: { ACME_PASSWORD: SECRET },
    });
    const key = await api.key({ environment: "live" });
    other.child.kill("SIGTERM");
    const links = await until("all links are down", async () => {
      const { data } = (await api.request("GET", "/v1/links", { key })).json as { data: Json[] };
      return data.every(({ state }) => state === "down") ? data : undefined;
    });
    assert.deepEqual(await api.rows("select link from link_states"), [], "the states are deleted, and not only old");
    assert.deepEqual(
      links.map(({ nodes, reason, in_flight: inFlight }) => [nodes, reason, inFlight]),
      [1, 2].map(() => [[], "no_node", 0]),
    );
  });
});

const NO_SETUP = (rig: Rig) => ({ nowMs: rig.clock.now(), details: new Map(), pauses: new Map() });

test("the messages in flight are those of the caller's account and environment", async () => {
  await using rig = await Rig.open();
  const carrier = new ScriptedCarrier();
  const response = Promise.withResolvers<SendOutcome>();
  carrier.otherwise = () => response.promise;
  await rig.deliver({ [LINK]: carrier });
  const other = newId("acct", Date.now());
  for (const accountId of [rig.accountId, rig.accountId, other]) await rig.accept({}, { accountId });
  await until("the carrier to have all messages", () => carrier.sends.length === 3);
  const inFlight = async (accountId: AccountId, environment: Environment): Promise<number | undefined> =>
    (await listLinksFor({ accountId, environment }, rig.db, [linkTo(LINK)], NO_SETUP(rig)))[0]?.in_flight;
  assert.deepEqual([await inFlight(rig.accountId, "test"), await inFlight(other, "test")], [2, 1]);
  assert.equal(await inFlight(rig.accountId, "live"), 0);
  response.resolve({ kind: "refused", code: "no", message: "no", providerCode: null, isPermanent: true });
  await until("all to fail", async () => (await rig.count("failed")) === 3);
  assert.equal(await inFlight(rig.accountId, "test"), 0);
});

test("a pause by the operator is not a password that the carrier refused, whichever release has stored the pause", async () => {
  await using rig = await Rig.open();
  const nowMs = rig.clock.now();
  const refused = { state: "paused", reason: "the carrier refused the password", inFlight: 0, lastError: null, atMs: nowMs };
  for (const link of ["refused", "own refused"]) await writeState(rig.db, link, "node-1", refused);
  await rig.db.transaction((tx) => writePause(tx, "paused", pauseByOperator(SYSTEM_ORIGIN)));
  await rig.db.rows(sql`
    insert into link_pauses (link, reason)
    values ('paused by 0.2', 'paused by the operator'), ('requested in 0.2', 'paused by request'), ('blocked in 0.2', 'account closed')`);
  // An operator with 0.2 replaces the pause of an account.
  await rig.db.transaction((tx) => writePause(tx, "replaced by 0.2", pauseByRequest(SYSTEM_ORIGIN)));
  await rig.db.rows(sql`update link_pauses set reason = 'paused by the operator', paused_by = 'cli' where link = 'replaced by 0.2'`);
  const details = {
    name: "own",
    carrier: null,
    prices: null,
    settings: {},
    secrets: [],
    created_at: null,
    updated_at: null,
    created_by: null,
  };
  const names = ["refused", "own refused", "paused", "paused by 0.2", "replaced by 0.2", "requested in 0.2", "blocked in 0.2"];
  const records = await listLinksFor(
    { accountId: rig.accountId, environment: "live" },
    rig.db,
    names.map((name) => linkTo(name)),
    {
      nowMs,
      details: new Map([["own refused", details]]),
      pauses: await readPauses(rig.db, nowMs),
    },
  );
  assert.deepEqual(
    records.map(({ id, state, reason, reason_detail: detail, paused }) => [id, state, reason, detail, paused]),
    [
      ["refused", "paused", "needs_operator", null, false],
      ["own refused", "paused", "needs_account", "the carrier refused the password", false],
      ["paused", "paused", "paused_by_operator", null, true],
      ["paused by 0.2", "paused", "paused_by_operator", null, true],
      ["replaced by 0.2", "paused", "paused_by_operator", null, true],
      ["requested in 0.2", "paused", "paused_by_request", null, true],
      ["blocked in 0.2", "paused", "needs_operator", null, true],
    ],
  );
});

test("a configuration with an unknown account is refused at the start with the name", async () => {
  const config = `${smppLink("acme", CLOSED_PORT)}[[sender]]\nnumber = "+14155550100"\nlink = "acme"\naccount = "nobody"\nenvironment = "live"\n`;
  await assert.rejects(
    startGodwit({ config, env: { ACME_PASSWORD: SECRET } }),
    /the configuration names accounts that are not there: nobody/,
  );
});

describe("the endpoint for carriers", () => {
  const seen: { request: CarrierRequest; settings: unknown; link: string }[] = [];
  const receiving: Provider<never> = {
    name: "receiving",
    requestMethods: ["GET", "POST"],
    maxRequestBytes: MAX_CARRIER_BODY_BYTES,
    open: () => Promise.reject(new Error("not needed")),
    handleRequest: async (settings, request, host) => {
      seen.push({ request, settings, link: (host as unknown as { link: string }).link });
      return { status: 202, contentType: "text/plain; charset=utf-8", body: "taken" };
    },
  };
  const posted: Provider<never> = {
    name: "posted",
    open: () => Promise.reject(new Error("not needed")),
    handleRequest: async () => ({ status: 202, contentType: "text/plain; charset=utf-8", body: "taken" }),
  };
  const silent: Provider<never> = { name: "silent", open: () => Promise.reject(new Error("not needed")) };
  let server: Server;
  let url: string;
  before(async () => {
    const linkDirectory = new LinkDirectory(linkTo("simulator"), {
      ...EMPTY_PLAN,
      links: [
        { ...linkTo("mine"), provider: "receiving" as never },
        { ...linkTo("quiet"), provider: "silent" as never },
        { ...linkTo("inbox"), provider: "posted" as never },
      ],
    });
    const pages = carrierPages({
      linkDirectory,
      providers: { receiving, posted, silent },
      hostFor: (link: Link) => ({ link: link.name }) as unknown as Host,
    });
    const { log } = createLog("silent");
    server = new Server({
      failureDelayMs: 0,
      host: "127.0.0.1",
      port: 0,
      tls: undefined,
      trustedProxies: [],
      metricsAllow: addressSet([]),
      requestTimeoutMs: 10_000,
      responseStallMs: 10_000,
      isDraining: () => false,
      responses: responseLimits({ workers: 1 }),
      intake: {
        maxConnections: 100,
        maxConnectionsPerPeer: 50,
        maxStrangers: 100,
        anonymousBodyBytes: 4 * MAX_CARRIER_BODY_BYTES,
        tenantBodyBytes: 0,
      },
      routes: [],
      pages,
      authenticator: {} as Authenticator,
      limiter: {} as Limiter,
      box: new SecretBox(Buffer.alloc(32)),
      workers: 1,
      turns: new AccountTurns(() => undefined, sharesOf(1)),
      metrics: createMetrics("0"),
      log,
      reports: { logSample: 1, writeLogLine: () => undefined, note: () => undefined },
    });
    url = await server.listen();
  });
  after(() => server.stop());

  const ask = async (path: string, init: RequestInit = {}): Promise<Reply> => {
    const response = await fetch(`${url}${path}`, init);
    const text = await response.text();
    const isJson = (response.headers.get("content-type") ?? "").includes("json");
    return { status: response.status, headers: response.headers, text, json: isJson ? (JSON.parse(text) as Json) : {} };
  };

  test("passes a POST to the provider of the link unchanged, without a credential", async () => {
    const body = Buffer.from([0x7b, 0x00, 0xff, 0x0a, 0x7d]);
    for (const contentType of ["application/json", "application/x-www-form-urlencoded", "application/octet-stream"]) {
      seen.length = 0;
      const reply = await ask("/providers/receiving/mine?a=1&b=%20x", {
        method: "POST",
        body,
        headers: { "content-type": contentType, "x-signature": "s" },
      });
      assert.deepEqual([reply.status, reply.text, reply.headers.get("content-type")], [202, "taken", "text/plain; charset=utf-8"]);
      assertCommonHeaders(reply);
      const [{ request, settings, link } = assert.fail("the provider was not called")] = seen;
      assert.deepEqual(
        [request.method, request.url, request.query],
        ["POST", `${url}/providers/receiving/mine?a=1&b=%20x`, { a: "1", b: " x" }],
      );
      assert.deepEqual([request.headers["x-signature"], request.headers["content-type"]], ["s", contentType]);
      assert.ok(request.body.equals(body), "the bytes are unchanged");
      assert.deepEqual([settings, link, seen.length], [{ speed: 1 }, "mine", 1]);
    }
  });

  test("passes a GET to the provider, without a body", async () => {
    seen.length = 0;
    const reply = await ask("/providers/receiving/mine?hub.challenge=42");
    assert.equal(reply.status, 202);
    assert.deepEqual(
      [seen[0]?.request.method, seen[0]?.request.query, seen[0]?.request.body.length],
      ["GET", { "hub.challenge": "42" }, 0],
    );
  });

  for (const [what, path] of [
    ["an unknown link", "/providers/receiving/nobody"],
    ["a link of another provider", "/providers/silent/mine"],
    ["an unknown provider", "/providers/nobody/mine"],
    ["a provider without HTTP", "/providers/silent/quiet"],
    ["the simulator", "/providers/simulator/simulator"],
    ["the name of an inherited property", "/providers/toString/constructor"],
  ] as const)
    test(`does not exist for ${what}`, async () => {
      seen.length = 0;
      for (const init of [{}, { method: "POST", body: "x" }]) assertProblem(await ask(path, init), "not_found");
      assert.deepEqual(seen, []);
    });

  test("responds to a GET of a link that accepts only POST as to a GET of an unknown link", async () => {
    const [known, unknown] = await Promise.all(["inbox", "inboz"].map((name) => ask(`/providers/posted/${name}`)));
    const { request_id: _known, ...knownBody } = known?.json ?? {};
    const { request_id: _unknown, ...unknownBody } = unknown?.json ?? {};
    assert.deepEqual([known?.status, knownBody], [404, unknownBody]);
    assert.equal((await ask("/providers/posted/inbox", { method: "POST", body: "x" })).status, 202);
  });

  test("accepts a body of 64 kB where the provider has no limit of its own", async () => {
    const post = (bytes: number): Promise<Reply> => ask("/providers/posted/inbox", { method: "POST", body: Buffer.alloc(bytes, 0x61) });
    assert.deepEqual([(await post(65_536)).status, (await post(65_537)).status], [202, 413]);
  });

  test("refuses other methods with the allowed ones", async () => {
    const reply = await ask("/providers/receiving/mine", { method: "PUT", body: "x" });
    assertProblem(reply, "method_not_allowed");
    assert.equal(reply.headers.get("allow"), "GET, HEAD, POST");
  });

  test("accepts a body of a megabyte, and not one byte more", async () => {
    seen.length = 0;
    const post = (bytes: number): Promise<Reply> => ask("/providers/receiving/mine", { method: "POST", body: Buffer.alloc(bytes, 0x61) });
    assert.equal((await post(MAX_CARRIER_BODY_BYTES)).status, 202);
    assert.equal(seen[0]?.request.body.length, MAX_CARRIER_BODY_BYTES);
    assertProblem(await post(MAX_CARRIER_BODY_BYTES + 1), "payload_too_large");
    assert.equal(seen.length, 1);
  });
});

test("only a node with the API has the endpoint for carriers, without a credential", async () => {
  const config = `[[link]]\nname = "tw"\nprovider = "twilio"\nbase_url = "http://127.0.0.1:1"\naccount_sid = "AC1"\nauth_token_env = "TOKEN"\npublic_url = "https://sms.example"\n`;
  const env = { TOKEN: "t" };
  await using api = await startGodwit({ config, env });
  await using dispatch = await startGodwit({ databaseUrl: api.databaseUrl, roles: "dispatch", config, env });
  assertProblem(await dispatch.request("POST", "/providers/twilio/tw", { body: "x" }), "not_found");
  const reply = await api.request("POST", "/providers/twilio/tw", { body: "x" });
  assert.ok(reply.status === 403 || reply.status === 401 || reply.status === 400, `${reply.status}: the request is not signed`);
  assert.notEqual(reply.json["code"], "unauthorized_missing_token");
  assertCommonHeaders(reply);
});

describe("SIGHUP", () => {
  test("reloads the links: an unchanged link keeps its connection, a removed one is closed, and a fault changes nothing", async () => {
    const [kept, gone, added] = [new SilentCarrier(), new SilentCarrier(), new SilentCarrier()];
    const [keptPort, gonePort, addedPort] = await Promise.all([kept.listen(), gone.listen(), added.listen()]);
    const slow = "response_seconds = 300";
    const config = `${smppLink("kept", keptPort, slow)}${smppLink("gone", gonePort, slow)}`;
    await using godwit = await startGodwit({
      asProcess: true,
      roles: "api,dispatch",
      config,
      env: { ACME_PASSWORD: SECRET },
    });
    const key = await godwit.key({ environment: "live" });
    const names = async (): Promise<unknown[]> =>
      ((await godwit.request("GET", "/v1/links", { key })).json["data"] as Json[]).map(({ name }) => name);
    const untilOutput = (pattern: RegExp): Promise<string> =>
      until(String(pattern), () => godwit.output.find((line) => pattern.test(line)));
    await until("both carriers are connected", () => (kept.open === 1 && gone.open === 1) || undefined);
    const connections = kept.connections;

    writeConfig(
      `${smppLink("kept", keptPort, slow)}${smppLink("added", addedPort, slow)}[[route]]\nchannel = "sms"\nlinks = ["added"]\n`,
      godwit.configFile,
    );
    godwit.child.kill("SIGHUP");
    await untilOutput(/^links, senders and routes reloaded$/);
    await until("the new carrier is connected, and the old one is not", () => (added.open === 1 && gone.open === 0) || undefined);
    assert.deepEqual(await names(), ["kept", "added"]);
    assert.deepEqual([kept.connections, kept.open], [connections, 1]);

    writeConfig(`${smppLink("kept", 0)}[[route]]\nchannel = "sms"\nlinks = ["nope"]\n`, godwit.configFile);
    godwit.child.kill("SIGHUP");
    const { msg = "" } = await until("the reload to fail", () => godwit.logs.find(({ event }) => event === "service.reload_failed"));
    assert.match(msg, /were not reloaded, and the old ones stay in use: the configuration has 2 faults/);
    assert.deepEqual(await names(), ["kept", "added"]);
    assert.deepEqual([kept.connections, kept.open, added.open], [connections, 1, 1]);
    assert.match(msg, /link kept: port: must be at least 1/);
    assert.match(msg, /route 1: there is no link nope/);
    assert.ok(!godwit.output.join("\n").includes(SECRET));
    for (const carrier of [kept, gone, added]) carrier.close();
  });
});
