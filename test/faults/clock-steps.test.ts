/** Steps of the database's clock while statements store and compare times: no wrong time is stored, and nothing is deleted early. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { isFirstDelivery, parkReceipts } from "../../src/delivery/receipt-queries.ts";
import { expireWithoutReceipt } from "../../src/delivery/sweep.ts";
import { LinkLease } from "../../src/links/lease.ts";
import { Advancer } from "../../src/messages/advance.ts";
import { claimDueFallbacks } from "../../src/messages/fallbacks.ts";
import { claimSync, failSync, finishSync, hastenSyncs, insertSyncs, releaseSync, renewSync } from "../../src/reviews/queries.ts";
import { Database } from "../../src/database/database.ts";
import { listOldRows } from "../../src/retention/old-rows.ts";
import { NO_CHAIN_KEY } from "../support/audit.ts";
import { clientOf } from "../support/client.ts";
import { until } from "../support/expect.ts";
import { FakeTwilio, TWILIO_SECRETS } from "../support/fakes/twilio.ts";
import { startGodwit } from "../support/harness.ts";
import { ALLOW_LOOPBACK, Hook, OK, REFUSED } from "../support/hook-server.ts";
import { ShiftedClock } from "../support/shifted-clock.ts";

const DAY_MS = 24 * 3_600_000;
// Longer than any time to live, wait for a receipt or retention of a row.
const STEP = "500 days";

type Rows = <T>(text: string, values?: readonly unknown[]) => Promise<T[]>;

let statements = 0;
const rowsOf =
  (db: Database): Rows =>
  (text, values = []) =>
    db.rows({ name: `clock_steps_${(statements += 1)}`, text, values });

type Shifted = AsyncDisposable & { clock: ShiftedClock; db: Database; rows: Rows };

/** A database with a shifted clock, and a connection to it. */
async function shiftedDatabase(): Promise<Shifted> {
  const clock = await ShiftedClock.create();
  const db = new Database({ url: clock.databaseUrl }, "test", () => undefined);
  const close = async (): Promise<void> => {
    await db.close();
    await clock[Symbol.asyncDispose]();
  };
  return { clock, db, rows: rowsOf(db), [Symbol.asyncDispose]: close };
}

/** The columns that may have the time of the database: the first decides nothing, and the second is compared with that clock. */
const DATABASE_TIMES: ReadonlySet<string> = new Set(["api_keys.last_used_at", "installation.database_clock_at"]);

/** Asserts that no column of any table has a time that only the database's clock has reached. */
async function assertNoFutureTimes(rows: Rows): Promise<void> {
  const columns = await rows<{ relation: string; name: string }>(
    `select c.relname as relation, a.attname as name
       from pg_attribute a
       join pg_class c on c.oid = a.attrelid
      where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
        and a.atttypid = 'timestamptz'::regtype`,
  );
  assert.ok(columns.length > 30);
  const latest = new Date(Date.now() + 100 * DAY_MS);
  const wrong: string[] = [];
  for (const { relation, name } of columns) {
    const found = await rows(`select from ${relation} where ${name} > $1 and ${name} < 'infinity' limit 1`, [latest]);
    if (found.length > 0) wrong.push(`${relation}.${name}`);
  }
  assert.deepEqual(
    wrong.filter((column) => !DATABASE_TIMES.has(column)),
    [],
  );
}

const twilioLink = (url: string): string => `
[[link]]
name = "tw"
provider = "twilio"
base_url = "${url}"
account_sid = "${TWILIO_SECRETS.accountSid}"
auth_token_env = "TWILIO_TOKEN"
public_url = "https://sms.example"
sender = "+14155550100"
`;

describe("during a step of the database's clock", () => {
  let carrier: FakeTwilio;
  before(async () => {
    carrier = await new FakeTwilio().listen();
  });
  after(() => carrier.close());

  test("a service stores no time of the future, and an idempotency key stays valid", async () => {
    await using clock = await ShiftedClock.create();
    await using hooks = await Hook.listen();
    await using godwit = await startGodwit({
      databaseUrl: clock.databaseUrl,
      config: twilioLink(carrier.url),
      env: { ...ALLOW_LOOPBACK, TWILIO_TOKEN: TWILIO_SECRETS.authToken },
      roles: "api,dispatch,webhooks",
      // Each process reports its links.
      isOneProcess: true,
      simulatorSpeed: 100,
    });
    const rows: Rows = (text, values) => godwit.rows(text, values);
    const client = clientOf(godwit, await godwit.key());
    const endpoint = await client.endpoints.create({ url: hooks.url() });
    const idempotencyKey = randomUUID();
    const suppress = () => client.suppressions.post({}, { idempotencyKey });
    const first = await suppress();
    assert.ok(first.status < 300, first.text);
    const reports = () => rows<{ at: Date }>("select expires_at as at from link_leases union all select updated_at from link_states");
    const reported = await until("the links to be reported", async () => [await reports()].find((all) => all.length === 3));

    await clock.shift(STEP);
    hooks.behave = () => REFUSED;
    const repeated = await suppress();
    assert.deepEqual([repeated.status, repeated.text], [first.status, first.text]);
    const batch = await client.batches.send([{ recipient: "+14155550199" }]);
    await until("a call to fail", async () => (await rows("select from webhook_endpoints where failing_since is not null"))[0]);
    const { data } = await client.endpoints.deliveries(endpoint["id"]);
    await client.endpoints.retry(endpoint["id"], data[0]?.["id"]);
    await client.endpoints.recover(endpoint["id"], new Date(Date.now() - DAY_MS).toISOString());
    await client.endpoints.recovered(endpoint["id"]);
    const known = new Set(reported.map(({ at }) => at.getTime()));
    await until("the links to be reported again", async () => (await reports()).every(({ at }) => !known.has(at.getTime())) || undefined);
    await client.request("GET", "/v1/queue");
    await assertNoFutureTimes(rows);

    await clock.shift("0");
    hooks.behave = () => OK;
    await client.batches.completed(batch.id);
  });

  test("a lease of a link lasts as long as at other times", async () => {
    await using shifted = await shiftedDatabase();
    const { clock, db } = shifted;
    const lease = (link: string, node: string, leaseMs: number): LinkLease => new LinkLease({ db, clock: Date, link, node, leaseMs });
    const [held, other] = [lease("held", "one", 60_000), lease("held", "other", 60_000)];
    assert.equal(await held.hold(), true);
    await clock.shift(STEP);
    assert.equal(await other.hold(), false, "the lease has not expired");
    assert.equal(await lease("dropped", "one", 1_000).hold(), true);
    await clock.shift("0");
    const next = lease("dropped", "other", 1_000);
    await until("another node to take the lease of a node that is gone", async () => (await next.hold()) || undefined);
  });

  test("claims of syncs and fallbacks, parked receipts and inbound ids get the time of the node", async () => {
    await using shifted = await shiftedDatabase();
    const { clock, db, rows } = shifted;
    await rows(
      `insert into fallbacks (message_id, account_id, environment, steps, due_at)
       values (gen_random_uuid(), gen_random_uuid(), 'test', '[]', $1), (gen_random_uuid(), gen_random_uuid(), 'test', '[]', $2)`,
      [new Date(Date.now() - 1_000), new Date(Date.now() + DAY_MS)],
    );
    await clock.shift(STEP);
    const nowMs = Date.now();
    assert.equal(
      (await claimDueFallbacks(db, { dueMs: nowMs, leaseEndMs: nowMs + 15_000 }, 10)).length,
      1,
      "the other fallback is not due",
    );
    const names = ["synced", "failed", "released", "held"];
    await insertSyncs(db, names, nowMs);
    for (const name of names) {
      assert.ok(await claimSync(db, [name], "one", { nowMs, claimMs: 30_000, againMs: 60_000 }));
      assert.equal(await claimSync(db, [name], "other", { nowMs, claimMs: 30_000, againMs: 60_000 }), undefined);
    }
    await finishSync(db, "synced", "one", { nowMs, againMs: 60_000 });
    await failSync(db, "failed", "one", { nowMs, error: "unavailable", againMs: 60_000 });
    await releaseSync(db, "released", "one", nowMs);
    assert.equal(await renewSync(db, "held", "one", nowMs + 30_000), true);
    await hastenSyncs(db, names, { nowMs, gapMs: 2_000 });
    await parkReceipts(db, [
      { link: "a", providerMessageId: "1", status: "delivered", receipt: "{}", receivedAtMs: nowMs, retryAtMs: nowMs },
    ]);
    await db.transaction((tx) => isFirstDelivery(tx, { link: "a", providerMessageId: "2" }, nowMs));
    await assertNoFutureTimes(rows);
  });

  test("no receipt, inbound id, carrier id, idempotency key or count of usage is deleted early", async () => {
    await using shifted = await shiftedDatabase();
    const { clock, db, rows } = shifted;
    const inserts = [
      `insert into usage_hours (account_id, environment, hour, channel, status, error_code, delivery_bucket, messages, segments)
       values (gen_random_uuid(), 'test', date_trunc('hour', now() - interval '390 days'), 'sms', 'sent', '', -1, 1, 1)`,
      `insert into usage_minutes (account_id, environment, minute, channel, status, error_code, delivery_bucket, messages, segments)
       values (gen_random_uuid(), 'test', date_trunc('minute', now() + interval '5 minutes'), 'sms', 'sent', '', -1, 1, 1)`,
      "insert into parked_receipts (link, provider_message_id, status, receipt) values ('a', '1', 'delivered', '{}')",
      "insert into inbound_names (link, provider_message_id) values ('a', '1')",
      `insert into provider_references (link, provider_message_id, account_id, environment, message_id, expires_at)
       values ('a', '1', gen_random_uuid(), 'test', gen_random_uuid(), now() + interval '1 hour')`,
      `insert into idempotency_keys (account_id, environment, key, fingerprint, created_at, expires_at, status, body)
       values (gen_random_uuid(), 'test', gen_random_uuid(), '\\x00', now(), now() + interval '24 hours', 202, '{}')`,
    ];
    for (const insert of inserts) await rows(insert);
    await clock.shift(STEP);
    const nowMs = Date.now();
    const advancer = new Advancer({ db, clock: Date, wakeWebhooks: () => undefined, watch: { advanced: () => undefined } });
    for (const { deleteBatch } of listOldRows({ db, clock: Date, retentionDays: 90, auditRetentionDays: 400, chainKey: NO_CHAIN_KEY }))
      await deleteBatch(nowMs, new AbortController().signal);
    await expireWithoutReceipt(db, advancer);
    const counted = await rows<{ relation: string; count: number }>(
      ["usage_hours", "usage_minutes", "parked_receipts", "inbound_names", "provider_references", "idempotency_keys"]
        .map((name) => `select '${name}' as relation, count(*) from ${name}`)
        .join(" union all "),
    );
    assert.deepEqual(
      counted.filter(({ count }) => count !== 1),
      [],
    );
  });
});
