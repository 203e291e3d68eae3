/** The limiters that can refuse a send, in the order of docs/internals/limits.md. Each is filled without the others, and then with all that follow it. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { until, Wire } from "../support/expect.ts";
import { sms, startGodwit, type Godwit, type Reply } from "../support/harness.ts";
import { HELD_BODY, holdAccepts, lockTable } from "../support/locks.ts";
import { readMetrics } from "../support/metrics-text.ts";

const LARGEST_BODY = 2 * 1_048_576;
// Smaller than that of a send.
const SMALLEST_BODY = 32;
// The share of an environment has room for as many of the largest bodies.
const BODIES_OF_SHARE = 4;
// More bodies than these are not needed, if they have arrived.
const MAX_HELD = 60;
const PER_PEER = 20;
const UNANSWERED_MS = 5_000;
const CONNECTIONS = 450;
/** Trusted as a proxy, so that its connections have no limit of a peer. */
const PROXY = "127.0.0.1";
const PEER = "127.0.0.9";
const FORWARDED_PEER = "203.0.113.9";
const WHATSAPP = `[[link]]\nname = "wa"\nprovider = "whatsapp"\nphone_number_id = "1"\naccess_token_env = "TOKEN"\napp_secret_env = "TOKEN"\nverify_token_env = "TOKEN"\n`;
const PAGE = join(import.meta.dirname, "..", "..", "docs", "internals", "limits.md");

let godwit: Godwit;

before(async () => {
  const env = {
    TOKEN: "t",
    GODWIT_MAX_CONNECTIONS: String(CONNECTIONS),
    GODWIT_MAX_CONNECTIONS_PER_PEER: String(PER_PEER),
    GODWIT_TRUSTED_PROXIES: `${PROXY}/32`,
  };
  // The limits are those of a process.
  godwit = await startGodwit({ isOneProcess: true, config: WHATSAPP, env });
});

after(() => godwit.stop());

/** The account whose sends are refused. `stranger` is a key of it that the process has not seen. */
type Tenant = { account: string; key: string; stranger: string };
type Limiter = {
  /** Its row in the page. */
  name: string;
  /** Makes the limiter full, and returns the function that ends it. */
  fill: (tenant: Tenant) => Promise<() => Promise<void>>;
  /** The address of the client; by default the proxy. */
  from?: string;
  credential?: "stranger";
  response: "closed" | 429 | 503;
  metric?: string;
};

const LIMITERS: readonly Limiter[] = [
  {
    name: "connections",
    fill: fillConnections,
    response: "closed",
    metric: rejected("connections"),
  },
  {
    name: "connections of a peer",
    fill: fillConnectionsOfPeer,
    from: PEER,
    response: "closed",
    metric: rejected("connections_of_peer"),
  },
  { name: "incomplete requests of a peer", fill: fillRequestsOfPeer, response: 503, metric: rejected("requests_of_peer") },
  { name: "unknown credentials", fill: fillStrangers, credential: "stranger", response: 503 },
  { name: "quota", fill: fillQuota, response: 429, metric: "godwit_quota_refusals_total" },
  { name: "bodies of tenants", fill: holdBodies, response: 429, metric: rejected("bodies_of_environment") },
  { name: "turns of an account", fill: fillTurns, response: 429, metric: rejected("work_of_account") },
];

function rejected(reason: string): string {
  return `godwit_http_rejected_total{reason="${reason}"}`;
}

/** Opens connections until the service closes one. */
async function fillConnections(): Promise<() => Promise<void>> {
  const wires: Wire[] = [];
  for (let isFull = false; !isFull;) {
    const wire = await Wire.open(godwit.url, `127.0.1.${1 + Math.floor(wires.length / PER_PEER)}`);
    wire.request("GET /livez");
    isFull = await wire.reply().then(
      () => false,
      () => true,
    );
    wires.push(wire);
  }
  return async () => wires.forEach((wire) => wire.close());
}

async function fillConnectionsOfPeer(): Promise<() => Promise<void>> {
  const wires = await Promise.all(Array.from({ length: PER_PEER }, () => Wire.open(godwit.url, PEER)));
  return async () => wires.forEach((wire) => wire.close());
}

/** The request comes by the proxy, for one of many peers. */
const forPeer = (number: number): Record<string, string> => ({ "x-forwarded-for": `198.51.100.${number % 256}` });

/** Begins a request whose body does not follow. Returns undefined if the service refuses to read the body. */
async function beginRequest(line: string, headers: Record<string, string>): Promise<Wire | undefined> {
  const wire = await Wire.open(godwit.url);
  wire.request(line, { "content-type": "application/json", expect: "100-continue", ...headers });
  if ((await wire.reply()).status === 100) return wire;
  wire.close();
  return undefined;
}

async function fillRequestsOfPeer(): Promise<() => Promise<void>> {
  const headers = { "content-length": "10", "x-forwarded-for": FORWARDED_PEER };
  const begin = (): Promise<Wire | undefined> => beginRequest("POST /providers/whatsapp/wa", headers);
  const wires = await Promise.all(Array.from({ length: PER_PEER }, begin));
  return async () => wires.forEach((wire) => wire?.close());
}

async function fillStrangers({ account }: Tenant): Promise<() => Promise<void>> {
  const keys: string[] = [];
  for (let count = 0; count < 53; count += 1) keys.push(await godwit.key({ account }));
  const lock = await lockTable(godwit.databaseUrl, "api_key_hashes", "access exclusive");
  const lookups = keys.map((key, number) => godwit.request("GET", "/v1/credential", { key, headers: forPeer(number) }));
  // Two look-ups are at the database, fifty wait, and one is refused.
  await Promise.any(lookups.map(async (lookup) => assert.equal((await lookup).status, 503)));
  return async () => {
    await lock.release();
    await Promise.allSettled(lookups);
  };
}

/** Empties the bucket, and lets it refill only from tomorrow on. */
async function fillQuota({ account, key }: Tenant): Promise<() => Promise<void>> {
  await godwit.rows(
    `with named as (select id from accounts where name = $1), tier as (
       update environments e set tier = 'standard' from named where e.account_id = named.id
     )
     insert into quota_buckets (account_id, environment, level, refilled_at) select id, 'test', 0, now() + interval '1 day' from named
         on conflict (account_id, environment) do update set level = 0, leases = '{}', refilled_at = excluded.refilled_at`,
    [account],
  );
  await until("the quota is used up", async () => (await godwit.request("GET", "/v1/credential", { key })).status === 429);
  return async () => undefined;
}

/** Sends large and then smaller bodies without their last bytes, until none fits into the share of the key's environment. */
async function holdBodies({ key }: Tenant): Promise<() => Promise<void>> {
  const wires: (Wire | undefined)[] = [];
  const begin = async (length: number, sent: number): Promise<Wire | undefined> => {
    const headers = { authorization: `Bearer ${key}`, "content-length": String(length), ...forPeer(wires.length) };
    const wire = await beginRequest("POST /v1/batches", headers);
    wire?.write(Buffer.alloc(sent, "a"));
    wires.push(wire);
    return wire;
  };
  await Promise.all(Array.from({ length: BODIES_OF_SHARE }, () => begin(LARGEST_BODY, LARGEST_BODY - 1)));
  let length = LARGEST_BODY;
  await until("the share is full", async () => {
    length = length > SMALLEST_BODY ? length / 2 : LARGEST_BODY;
    // The bytes of bodies count when they arrive, which may take a while.
    if (wires.length < MAX_HELD) await begin(length, length - 1);
    // A body that fits gets 400, since it is not JSON.
    const probe = await begin(2 * SMALLEST_BODY, 2 * SMALLEST_BODY);
    wires.pop();
    const isFull = (await probe?.reply())?.status === 429;
    probe?.close();
    return isFull;
  });
  return async () => wires.forEach((wire) => wire?.close());
}

const sendFrom = (peer: number, key: string, body: object): Promise<Reply> => godwit.send(key, body, { headers: forPeer(peer) });

async function fillTurns({ key }: Tenant): Promise<() => Promise<void>> {
  // Beside another account with work, few messages of an account are stored at a time, and the others wait.
  const other = await godwit.key({ account: "other" });
  await godwit.unlimited();
  assert.equal((await godwit.send(other)).status, 202);
  const work = setInterval(() => void godwit.request("GET", "/v1/credential", { key: other }).catch(() => undefined), 500);
  const hold = await holdAccepts(godwit.databaseUrl);
  const earlier = (await readMetrics(godwit)).get(rejected("work_of_account")) ?? 0;
  const held = Array.from({ length: 20 }, (_, number) => sendFrom(number, key, { body: HELD_BODY }));
  await hold.waiting();
  // The statements of held messages end after some seconds, and others take their places.
  const ending = new AbortController();
  const keepSending = async (number: number): Promise<void> => {
    while (!ending.signal.aborted) await sendFrom(number, key, { body: HELD_BODY, priority: "bulk" });
  };
  const bulk = Array.from({ length: 280 }, (_, number) => keepSending(number));
  await until("a bulk message is refused", async () => ((await readMetrics(godwit)).get(rejected("work_of_account")) ?? 0) > earlier);
  return async () => {
    clearInterval(work);
    ending.abort();
    await hold.release();
    await Promise.allSettled([...held, ...bulk]);
  };
}

async function newTenant(): Promise<Tenant> {
  const account = `tenant ${randomUUID()}`;
  const [key, stranger] = [await godwit.key({ account }), await godwit.key({ account })];
  await godwit.unlimited();
  assert.equal((await godwit.send(key)).status, 202);
  return { account, key, stranger };
}

/** The response to a bulk message of the tenant; undefined if there is none for a while. */
async function responseTo({ key, stranger }: Tenant, { from = PROXY, credential }: Limiter): Promise<"closed" | number | undefined> {
  const wire = await Wire.open(godwit.url, from);
  const body = JSON.stringify({ ...sms(), priority: "bulk" });
  wire.request(
    "POST /v1/messages",
    {
      authorization: `Bearer ${credential === "stranger" ? stranger : key}`,
      "content-type": "application/json",
      "content-length": String(body.length),
      "idempotency-key": randomUUID(),
      "x-forwarded-for": FORWARDED_PEER,
    },
    body,
  );
  const answered = wire.reply().then(
    ({ status }) => status,
    () => "closed" as const,
  );
  const closed = wire.closed().then(
    () => "closed" as const,
    () => undefined,
  );
  const response = await Promise.race([answered, closed, sleep(UNANSWERED_MS, undefined)]);
  wire.close();
  return response;
}

/** Repeats a send that gets no response: a place was free for a moment, and it waits. */
const refusalOf = (tenant: Tenant, limiter: Limiter): Promise<"closed" | number> => until("a response", () => responseTo(tenant, limiter));

const count = async ({ metric }: Limiter): Promise<number> => (metric === undefined ? 0 : ((await readMetrics(godwit)).get(metric) ?? 0));

const labelOf = ({ name, metric = "" }: Limiter): string => `${name} ${/reason="(\w+)"/.exec(metric)?.[1] ?? ""}`.trim();

describe("only this limiter is full, and refuses a send", () => {
  for (const limiter of LIMITERS)
    test(labelOf(limiter), async () => {
      const tenant = await newTenant();
      const earlier = await count(limiter);
      {
        await using filled = new AsyncDisposableStack();
        filled.defer(await limiter.fill(tenant));
        assert.equal(await refusalOf(tenant, limiter), limiter.response);
      }
      if (limiter.metric !== undefined) await until("the refusal is counted", async () => (await count(limiter)) > earlier);
    });
});

test("of several full limiters, the first one of the page refuses a send", async () => {
  const tenant = await newTenant();
  await using filled = new AsyncDisposableStack();
  for (const limiter of LIMITERS.toReversed()) {
    filled.defer(await limiter.fill(tenant));
    assert.equal(await refusalOf(tenant, limiter), limiter.response, limiter.name);
  }
});

test("the page has these limiters in this order", () => {
  const rows = [...readFileSync(PAGE, "utf8").matchAll(/^\| ([^|]+) \|/gm)].map(([, name]) => name);
  const names = [...new Set(LIMITERS.map(({ name }) => name))];
  assert.deepEqual(
    rows.filter((name) => names.includes(name ?? "")),
    names,
  );
});
