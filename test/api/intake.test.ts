/** The budgets of connections and bodies: what a client can occupy before it has shown a credential, and what one environment can. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { assertProblem, until, Wire } from "../support/expect.ts";
import { startGodwit, type Godwit, type Reply, type StartOptions } from "../support/harness.ts";
import { readMetrics } from "../support/metrics-text.ts";

const MIB = 1_048_576;
const TWILIO = `[[link]]\nname = "tw"\nprovider = "twilio"\nbase_url = "http://127.0.0.1:1"\naccount_sid = "AC1"\nauth_token_env = "TOKEN"\npublic_url = "https://sms.example"\n`;
const WHATSAPP = `[[link]]\nname = "wa"\nprovider = "whatsapp"\nphone_number_id = "1"\naccess_token_env = "TOKEN"\napp_secret_env = "TOKEN"\nverify_token_env = "TOKEN"\n`;
// WhatsApp has the largest bodies.
const CALLBACK = "/providers/whatsapp/wa";

const withLink = (env: Record<string, string> = {}, options: StartOptions = {}): Promise<Godwit> =>
  startGodwit({ config: TWILIO + WHATSAPP, env: { TOKEN: "t", ...env }, ...options });

type RequestHead = { path: string; length?: number; from?: string; headers?: Record<string, string> };

/** Begins a request whose body does not follow, and returns the first response: 100 where the service is ready to read the body. */
async function begin({ url }: Godwit, { path, length = MIB, from, headers = {} }: RequestHead): Promise<{ wire: Wire; reply: Reply }> {
  const wire = await Wire.open(url, from);
  const fields = { "content-type": "application/json", "content-length": String(length), expect: "100-continue", ...headers };
  wire.request(`POST ${path}`, fields);
  return { wire, reply: await wire.reply() };
}

async function beginAdmitted(godwit: Godwit, head: RequestHead): Promise<Wire> {
  const { wire, reply } = await begin(godwit, head);
  assert.equal(reply.status, 100, reply.text);
  return wire;
}

// A share, a quarter of the budget, has room for this many of the largest bodies.
const BODIES_OF_SHARE = 4;

/** Sends as many of the largest bodies as fit into the share of a peer or an environment, without their last byte. */
async function fillShare(godwit: Godwit, head: RequestHead): Promise<Wire[]> {
  const wires = await Promise.all(Array.from({ length: BODIES_OF_SHARE }, () => beginAdmitted(godwit, head)));
  for (const wire of wires) wire.write(Buffer.alloc((head.length ?? MIB) - 1, "a"));
  return wires;
}

/** Sends a request with a body of nonsense, and returns the response. */
async function responseTo(godwit: Godwit, head: RequestHead): Promise<Reply> {
  const { wire, reply } = await begin(godwit, head);
  if (reply.status === 100) wire.write(Buffer.alloc(head.length ?? MIB, "a"));
  const last = reply.status === 100 ? await wire.reply() : reply;
  wire.close();
  return last;
}

const isRefusal = ({ status }: Reply): boolean => status === 503 || status === 429;

/** Repeats a request until it is refused: the service reads the bodies that fill its budgets a moment later. */
const untilRefused = (godwit: Godwit, head: RequestHead): Promise<Reply> =>
  until("a request is refused", async () => {
    const reply = await responseTo(godwit, head);
    return isRefusal(reply) ? reply : undefined;
  });

/** Repeats a request until it is admitted, since the service learns of a closed connection a moment later. */
const untilAdmitted = (godwit: Godwit, head: RequestHead): Promise<true> =>
  until("a request is admitted", async () => !isRefusal(await responseTo(godwit, head)));

const rejections = async (godwit: Godwit, reason: string): Promise<number> =>
  (await readMetrics(godwit)).get(`godwit_http_rejected_total{reason="${reason}"}`) ?? 0;

function assertBusy(reply: Reply): void {
  assertProblem(reply, "service_unavailable");
  assert.match(reply.headers.get("retry-after") ?? "", /^\d+$/);
}

describe("a callback of a carrier", () => {
  for (const [what, path] of [
    ["an unknown link", "/providers/twilio/nosuch"],
    ["a link of another provider", "/providers/whatsapp/tw"],
    ["an unknown provider", "/providers/nosuch/nosuch"],
    ["a provider without callbacks", "/providers/simulator/simulator"],
  ] as const)
    test(`for ${what} gets 404 before its body is read`, async () => {
      await using godwit = await withLink();
      assertProblem(await responseTo(godwit, { path }), "not_found");
    });

  test("with a method that its provider does not handle gets 404", async () => {
    await using godwit = await withLink();
    assertProblem(await godwit.request("GET", "/providers/twilio/tw"), "not_found");
  });

  test("that declares a larger body than its provider accepts gets 413 before its body is read", async () => {
    await using godwit = await withLink();
    assertProblem(await responseTo(godwit, { path: CALLBACK, length: MIB + 1 }), "payload_too_large");
  });
});

const OTHER_CALLBACK = "/providers/twilio/tw";
const TOKEN_PATH = "/v1/oauth/token";

describe("bodies of requests without a credential", () => {
  test("of one peer have a share of the buffer, and other peers have theirs", async () => {
    await using godwit = await withLink();
    const wires = await fillShare(godwit, { path: CALLBACK });
    assertBusy(await untilRefused(godwit, { path: CALLBACK, length: 1 }));
    assert.ok((await rejections(godwit, "bodies_of_peer")) > 0);
    assert.equal(isRefusal(await responseTo(godwit, { path: CALLBACK, from: "127.0.0.2" })), false);
    for (const wire of wires) wire.close();
    await untilAdmitted(godwit, { path: CALLBACK });
  });

  test("of all peers share one buffer, from which other links, the token route and tenants are not shut out", async () => {
    await using godwit = await withLink();
    await godwit.unlimited();
    const key = await godwit.key();
    const wires = (await Promise.all([1, 2, 3, 4].map((peer) => fillShare(godwit, { path: CALLBACK, from: `127.0.0.${peer}` })))).flat();
    assertBusy(await untilRefused(godwit, { path: CALLBACK, length: 300_000, from: "127.0.0.5" }));
    assert.ok((await rejections(godwit, "anonymous_bodies")) > 0);
    for (const path of [OTHER_CALLBACK, TOKEN_PATH])
      assert.equal(isRefusal(await responseTo(godwit, { path, length: 8_000, from: "127.0.0.5" })), false, path);
    // A credential that the process has not seen.
    assert.equal((await godwit.send(key)).status, 202);
    for (const wire of wires) wire.close();
    await untilAdmitted(godwit, { path: CALLBACK, from: "127.0.0.5" });
  });

  test("count with the bytes that have arrived, and not with those that are declared", async () => {
    await using godwit = await withLink();
    await godwit.unlimited();
    const heads = Array.from({ length: 24 }, (_, at) => ({ path: CALLBACK, from: `127.0.0.${1 + (at % 4)}` }));
    const wires = await Promise.all(heads.map((head) => beginAdmitted(godwit, head)));
    assert.equal(isRefusal(await responseTo(godwit, { path: CALLBACK })), false);
    assert.equal((await godwit.send(await godwit.key())).status, 202);
    for (const wire of wires) wire.close();
  });
});

describe("bodies of requests with a credential", () => {
  const batch = (key: string, length = 2 * MIB): RequestHead => ({
    path: "/v1/batches",
    length,
    headers: { authorization: `Bearer ${key}` },
  });

  test("of one environment have a share of the buffer, and other environments have theirs", async () => {
    await using godwit = await startGodwit();
    await godwit.unlimited();
    const [mine, live] = [await godwit.key(), await godwit.key({ environment: "live" })];
    const wires = await fillShare(godwit, batch(mine));
    const refused = await untilRefused(godwit, batch(mine, 1));
    assertProblem(refused, "rate_limit_exceeded");
    assert.match(refused.headers.get("retry-after") ?? "", /^\d+$/);
    assert.ok((await rejections(godwit, "bodies_of_environment")) > 0);
    assert.equal(isRefusal(await responseTo(godwit, batch(live))), false);
    for (const wire of wires) wire.close();
    await untilAdmitted(godwit, batch(mine));
  });

  test("of others cannot keep an environment from sending messages", async () => {
    await using godwit = await startGodwit();
    const keys = await Promise.all(["a", "b", "c", "d"].map((account) => godwit.key({ account })));
    const mine = await godwit.key({ account: "mine" });
    await godwit.unlimited();
    const wires = (await Promise.all(keys.map((key) => fillShare(godwit, batch(key))))).flat();
    assertBusy(await untilRefused(godwit, batch(mine)));
    assert.ok((await rejections(godwit, "tenant_bodies")) > 0);
    for (let count = 0; count < 5; count += 1) assert.equal((await godwit.send(mine)).status, 202);
    for (const wire of wires) wire.close();
  });
});

describe("connections", () => {
  test("of one peer are limited, and other peers are not affected", async () => {
    await using godwit = await startGodwit({ env: { GODWIT_MAX_CONNECTIONS_PER_PEER: "3" } });
    const from = "127.0.0.9";
    const wires = [await Wire.open(godwit.url, from), await Wire.open(godwit.url, from), await Wire.open(godwit.url, from)];
    for (const wire of wires) wire.request("GET /livez");
    for (const wire of wires) assert.equal((await wire.reply()).status, 200);
    const refused = await Wire.open(godwit.url, from);
    await refused.closed();
    assert.equal(await rejections(godwit, "connections_of_peer"), 1);
    wires[0]?.close();
    await until("a connection is admitted", async () => {
      const wire = await Wire.open(godwit.url, from);
      wire.request("GET /livez");
      const status = await wire.reply().then(
        (reply) => reply.status,
        () => undefined,
      );
      wire.close();
      return status === 200;
    });
  });

  test("of all peers are limited", async () => {
    await using godwit = await startGodwit({ env: { GODWIT_MAX_CONNECTIONS: "4" } });
    const wires = await Promise.all([1, 2, 3, 4].map((peer) => Wire.open(godwit.url, `127.0.0.${peer}`)));
    for (const wire of wires) wire.request("GET /livez");
    for (const wire of wires) assert.equal((await wire.reply()).status, 200);
    await (await Wire.open(godwit.url, "127.0.0.5")).closed();
    for (const wire of wires) wire.close();
    await until("the rejection is counted", async () => (await rejections(godwit, "connections").catch(() => 0)) >= 1);
  });

  test("of a trusted proxy are not limited, and its incomplete requests are counted by the forwarded address", async () => {
    const env = { GODWIT_MAX_CONNECTIONS_PER_PEER: "2", GODWIT_TRUSTED_PROXIES: "127.0.0.0/8" };
    await using godwit = await withLink(env);
    const head = (address: string): RequestHead => ({ path: CALLBACK, length: 10, headers: { "x-forwarded-for": address } });
    const wires = [await beginAdmitted(godwit, head("2001:db8::1")), await beginAdmitted(godwit, head("2001:db8::2"))];
    assertBusy(await responseTo(godwit, head("2001:db8::3")));
    assert.equal(await rejections(godwit, "requests_of_peer"), 1);
    for (const address of ["2001:db8:0:1::1", "203.0.113.7"]) wires.push(await beginAdmitted(godwit, head(address)));
    for (const wire of wires) wire.close();
    await untilAdmitted(godwit, head("2001:db8::3"));
  });
});

describe("400 connections with unread bodies of 1 MiB", () => {
  const CONNECTIONS = 400;
  const WARM_UP_CONNECTIONS = 50;
  const LIMIT_BYTES = 50 * MIB;
  const SENT = Buffer.alloc(1_048_000, 0x61);

  const residentBytes = async (godwit: Godwit): Promise<number> =>
    (await readMetrics(godwit)).get("process_resident_memory_bytes") ?? Number.NaN;

  /** Opens connections that send nearly all of their body, and stay. Each was either read or refused. */
  async function occupy(godwit: Godwit, path: string, count: number): Promise<Wire[]> {
    const wires = await Promise.all(Array.from({ length: count }, () => Wire.open(godwit.url)));
    for (const wire of wires) wire.request(`POST ${path}`, { "content-length": String(MIB) });
    await Promise.all(wires.map((wire) => new Promise((resolve) => wire.socket.write(SENT, resolve))));
    return wires;
  }

  for (const [what, path] of [
    ["an unknown link", "/providers/nosuch/nosuch"],
    ["a link", CALLBACK],
  ] as const)
    test(`to ${what} hold less than 50 MB`, async (t) => {
      await using godwit = await withLink({}, { asProcess: true });
      for (const wire of await occupy(godwit, path, WARM_UP_CONNECTIONS)) wire.close();
      const before = await residentBytes(godwit);
      const wires = await occupy(godwit, path, CONNECTIONS);
      const samples = [await residentBytes(godwit), await residentBytes(godwit), await residentBytes(godwit)];
      for (const wire of wires) wire.close();
      const grown = Math.max(...samples) - before;
      t.diagnostic(`${Math.round(before / MIB)} MiB before, ${Math.round(grown / MIB)} MiB more`);
      assert.ok(grown < LIMIT_BYTES, `the service grew by ${Math.round(grown / MIB)} MiB`);
    });
});
