/** Expired idempotency keys are deleted, and no others. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, afterEach, before, describe, test } from "node:test";
import pg from "pg";
import { deleteSlice, walkExpiredKeys } from "../../src/idempotency/forget-keys.ts";
import { parseIdempotencyKey } from "../../src/idempotency/key.ts";
import { findResponse, deleteExpired } from "../../src/idempotency/queries.ts";
import { acceptStatement } from "../../src/messages/accept-statement.ts";
import { newId } from "../../src/model/id.ts";
import { uuidToText, type Uuid } from "../../src/lib/uuid.ts";
import { Database } from "../../src/database/database.ts";
import { DATABASE_LOCK, LOCKS } from "../../src/database/locks.ts";
import { migrate } from "../../src/database/migrate.ts";
import type { Sql } from "../../src/database/sql.ts";
import { listOldRows, oldRowsJob, restAfter } from "../../src/retention/old-rows.ts";
import { NO_CHAIN_KEY } from "../support/audit.ts";
import { LIMIT_MS, until } from "../support/expect.ts";
import { createDatabase } from "../support/database.ts";
import { cteOf } from "../support/counting.ts";

const ACCOUNT = newId("acct", Date.now());

let url: string;
let db: Database;
before(async () => {
  url = await createDatabase();
  db = new Database({ url }, "test", () => undefined);
  await migrate(db);
});
after(() => db.close());
afterEach(() => db.script("truncate idempotency_keys"));

let statements = 0;
const rows = <T>(text: string, values: readonly unknown[] = []): Promise<T[]> =>
  db.rows<T>({ name: `test_${(statements += 1)}`, text, values });

/** Adds keys that expire after the interval, which may be negative. */
async function addKeys(count: number, expiresIn: string): Promise<string[]> {
  const keys = Array.from({ length: count }, () => randomUUID());
  await rows(
    `insert into idempotency_keys (account_id, environment, key, fingerprint, created_at, expires_at, status, location, body)
     select $1, 'live', key, sha256('x'), now() - interval '24 hours' + $3::interval, now() + $3::interval, 202, '/v1/messages/x', '{"a":1}'
       from unnest($2::uuid[]) key`,
    [ACCOUNT, keys, expiresIn],
  );
  return keys;
}

/** The claim of keys in the accept statement. Returns the keys that were new or expired. */
const CLAIM = `
  with request as (
    select $1::uuid as account_id, 'live' as environment, key, sha256('y') as fingerprint, '/v1/messages/y' as location,
           gen_random_uuid() as event_id, true as is_locked, null::integer as refusal, now() as updated_at
      from unnest($2::uuid[]) key
  ) ${cteOf(acceptStatement([]).text, "claimed")}`;

const storedKeys = async (): Promise<string[]> =>
  (await rows<{ key: Uuid }>("select key from idempotency_keys")).map(({ key }) => uuidToText(key)).toSorted();

const countBlocks = async (): Promise<number> =>
  (await rows<{ blocks: number }>("select (pg_relation_size('idempotency_keys') / 8192)::integer as blocks"))[0]?.blocks ?? 0;

/** Walks through the whole table without a pause. Returns false when another node does the work, and leaves the rest to that node. */
async function deleteExpiredKeys(nowMs: number): Promise<boolean> {
  let block = 0;
  do {
    const slice = await deleteSlice(db, block, nowMs);
    if (slice === null) return false;
    block = slice.nextBlock;
  } while (block > 0);
  return true;
}

describe("a cleanup pass", () => {
  test("deletes the expired keys and keeps the live ones", async () => {
    await addKeys(50, "-1 second");
    const live = [...(await addKeys(50, "10 seconds")), ...(await addKeys(50, "24 hours"))];
    assert.equal(await deleteExpiredKeys(Date.now()), true);
    assert.deepEqual(await storedKeys(), live.toSorted());
  });

  test("ends on an empty table", async () => {
    assert.equal(await deleteExpiredKeys(Date.now()), true);
    assert.deepEqual(await deleteSlice(db, 0, Date.now()), { deleted: 0, nextBlock: 0 });
  });

  test("ends after it has visited every one of many blocks", async () => {
    const live: string[] = [];
    // Mixed, so that every slice has both.
    for (let round = 0; round < 30; round += 1) {
      await addKeys(950, "-1 hour");
      live.push(...(await addKeys(50, "1 hour")));
    }
    assert.ok((await countBlocks()) > 2 * 256, "these are too few blocks for three slices");
    const slices: number[] = [];
    let block = 0;
    do {
      const slice = await deleteSlice(db, block, Date.now());
      assert.ok(slice !== null && slice.deleted > 0);
      slices.push(slice.deleted);
      block = slice.nextBlock;
    } while (block > 0);
    assert.ok(slices.length > 2, `${slices.length} slices`);
    assert.equal(
      slices.reduce((sum, deleted) => sum + deleted),
      28_500,
    );
    assert.deepEqual(await storedKeys(), live.toSorted());
  });

  test("starts at the beginning when the table has become shorter than its position", async () => {
    await addKeys(10, "-1 hour");
    assert.deepEqual(await deleteSlice(db, 4_000_000, Date.now()), { deleted: 0, nextBlock: 0 });
  });

  test("does not disturb the replay of a live key", async () => {
    const [key = ""] = await addKeys(1, "1 hour");
    await addKeys(100, "-1 hour");
    const response = (): Promise<unknown[]> =>
      findResponse(db, { accountId: ACCOUNT, environment: "live" }, parseIdempotencyKey(key) ?? assert.fail(), Date.now());
    const first = await response();
    assert.equal(first.length, 1);
    assert.equal(await deleteExpiredKeys(Date.now()), true);
    assert.deepEqual(await response(), first);
  });
});

describe("with concurrent work", () => {
  test("a key that is being renewed is skipped without waiting, and stays", async () => {
    const [key = ""] = await addKeys(1, "-1 hour");
    await addKeys(20, "-1 hour");
    await using other = await connectClient();
    await other.client.query("begin");
    assert.equal((await other.client.query(CLAIM, [ACCOUNT, [key]])).rowCount, 1);
    assert.deepEqual(await deleteSlice(db, 0, Date.now()), { deleted: 20, nextBlock: 0 });
    await other.client.query("commit");
    assert.equal(await deleteExpiredKeys(Date.now()), true);
    assert.deepEqual(await storedKeys(), [key]);
    assert.equal(
      (await findResponse(db, { accountId: ACCOUNT, environment: "live" }, parseIdempotencyKey(key) ?? assert.fail(), Date.now()))[0]
        ?.location,
      "/v1/messages/y",
    );
  });

  test("a renewal that is rolled back leaves the key to the next pass", async () => {
    const keys = await addKeys(1, "-1 hour");
    await using other = await connectClient();
    await other.client.query("begin");
    await other.client.query(CLAIM, [ACCOUNT, keys]);
    assert.deepEqual(await deleteSlice(db, 0, Date.now()), { deleted: 0, nextBlock: 0 });
    await other.client.query("rollback");
    assert.deepEqual(await deleteSlice(db, 0, Date.now()), { deleted: 1, nextBlock: 0 });
  });

  test("keys that are renewed during a pass are all live afterwards", async () => {
    for (let round = 0; round < 8; round += 1) {
      const keys = await addKeys(4_000, "-1 hour");
      // From the end, which the pass reaches last: many are renewed after its snapshot and before its visit.
      const renewed: string[] = [];
      const renew = async (): Promise<void> => {
        for (let end = keys.length; end > 2_000; end -= 100) {
          const claimed = await rows<{ key: Uuid }>(CLAIM, [ACCOUNT, keys.slice(end - 100, end)]);
          renewed.push(...claimed.map(({ key }) => uuidToText(key)));
        }
      };
      await Promise.all([renew(), deleteExpiredKeys(Date.now()), deleteExpiredKeys(Date.now())]);
      assert.equal(renewed.length, 2_000, "every one of the keys could be claimed");
      const live = await rows<{ key: Uuid }>("select key from idempotency_keys where expires_at > now()");
      assert.deepEqual(live.map(({ key }) => uuidToText(key)).toSorted(), renewed.toSorted());
      await db.script("truncate idempotency_keys");
    }
  });

  test("a pass does nothing while another node runs one", async () => {
    const keys = await addKeys(5, "-1 hour");
    await using other = await connectClient();
    await other.client.query("begin");
    await other.client.query(`select pg_advisory_xact_lock(${DATABASE_LOCK}, ${LOCKS.expiredKeys})`);
    assert.equal(await deleteSlice(db, 0, Date.now()), null);
    assert.equal(await deleteExpiredKeys(Date.now()), false);
    assert.deepEqual(await storedKeys(), keys.toSorted());
  });
});

describe("a slice", () => {
  const settings = ["", "set enable_seqscan = off; set enable_hashjoin = off; set enable_mergejoin = off;"];
  for (const setting of settings) {
    test(`reads its blocks and no others${setting === "" ? "" : ", also with sequential scans, hash joins and merge joins disabled"}`, async () => {
      await addKeys(20_000, "1 hour");
      await rows("analyze idempotency_keys");
      const { text } = await statementOf((queryable) => deleteExpired(queryable, 0, 1, Date.now()));
      const plan = await db.session(10_000, async (run) => {
        await run(`${setting} prepare slice as ${text}`);
        const { rows: lines } = await run("explain (costs off) execute slice('(0,0)', '(256,0)', now())");
        await run("deallocate slice; reset enable_seqscan; reset enable_hashjoin; reset enable_mergejoin");
        return (lines as { "QUERY PLAN": string }[]).map((line) => line["QUERY PLAN"]).join("\n");
      });
      assert.match(plan, /Tid Range Scan on idempotency_keys\n\s*TID Cond: \(\(ctid >= \$1\) AND \(ctid < \$2\)\)\n/);
      assert.doesNotMatch(plan, /Seq Scan/);
    });
  }
});

describe("a walk through the table", () => {
  test("takes one slice after the other, and has none left after the last", async () => {
    const live = await addKeys(20_000, "1 hour");
    await addKeys(20_000, "-1 hour");
    const slices = Math.ceil((await countBlocks()) / 256);
    assert.ok(slices > 2, `${slices} slices`);
    const next = walkExpiredKeys(db);
    for (let slice = 1; slice <= slices; slice += 1) assert.equal(await next(Date.now()), slice < slices, `slice ${slice}`);
    assert.deepEqual(await storedKeys(), live.toSorted());
  });

  test("pauses while another node runs one, and continues at its place", async () => {
    await addKeys(30_000, "-1 hour");
    const next = walkExpiredKeys(db);
    assert.equal(await next(Date.now()), true);
    const left = (await storedKeys()).length;
    await using other = await connectClient();
    await other.client.query("begin");
    await other.client.query(`select pg_advisory_xact_lock(${DATABASE_LOCK}, ${LOCKS.expiredKeys})`);
    assert.equal(await next(Date.now()), false);
    assert.equal((await storedKeys()).length, left);
    await other.client.query("rollback");
    while (await next(Date.now()));
    assert.deepEqual(await storedKeys(), []);
  });
});

describe("the job that deletes old rows", () => {
  const parts = { clock: Date, retentionDays: 90, auditRetentionDays: 400, chainKey: NO_CHAIN_KEY };

  for (const [tookMs, restMs] of [
    [1, 100],
    [40, 400],
  ] as const)
    test(`rests ${restMs} ms after a batch of ${tookMs} ms`, () => assert.equal(restAfter(tookMs), restMs));

  test("deletes expired keys", async () => {
    await addKeys(10, "-1 hour");
    const errors: unknown[] = [];
    const job = oldRowsJob({ db, ...parts }, (error) => errors.push(error), 0);
    job.start();
    await until("the keys to be deleted", async () => ((await storedKeys()).length === 0 ? true : undefined));
    await job.stop();
    assert.deepEqual(errors, []);
  });

  test("names the table in its errors, and can still be stopped", async () => {
    const away = new Database({ url: "postgres://godwit@127.0.0.1:1/none" }, "test", () => undefined);
    const messages = new Set<string>();
    const job = oldRowsJob({ db: away, ...parts }, (error) => messages.add((error as Error).message), 0);
    job.start();
    await until("an error of each table", () => messages.size === listOldRows({ db: away, ...parts }).length || undefined);
    assert.ok(messages.has("old rows of idempotency_keys could not be deleted"));
    await job.stop();
    await away.close();
  });

  test("stops immediately while it rests", async () => {
    const job = oldRowsJob({ db, ...parts }, assert.ifError);
    job.start();
    const startedAt = performance.now();
    await job.stop();
    assert.ok(performance.now() - startedAt < LIMIT_MS);
  });
});

/** The statement that a query runs. */
async function statementOf(query: (queryable: { rows<T>(statement: Sql): Promise<T[]> }) => Promise<unknown>): Promise<Sql> {
  const seen: Sql[] = [];
  await query({
    rows: async (statement) => {
      seen.push(statement);
      return [];
    },
  });
  const [statement] = seen;
  assert.ok(statement !== undefined);
  return statement;
}

/** A second connection to the database. */
async function connectClient(): Promise<{ client: pg.Client; [Symbol.asyncDispose](): Promise<void> }> {
  const client = new pg.Client(url);
  await client.connect();
  return { client, [Symbol.asyncDispose]: () => client.end() };
}
