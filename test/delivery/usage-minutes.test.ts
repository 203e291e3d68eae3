/** The counts per minute: equal to those per hour, kept for a day, and never incomplete. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { toId, type MessageId } from "../../src/model/id.ts";
import { firstUuidAt } from "../../src/lib/uuid.ts";
import { Database, type Tx } from "../../src/database/database.ts";
import { migrate } from "../../src/database/migrate.ts";
import type { Sql } from "../../src/database/sql.ts";
import { oldRowsJob } from "../../src/retention/old-rows.ts";
import { foldUsage, forgetMinutes, minutesKeptSince, readUsage, type UsageInterval, type UsageRow } from "../../src/usage/queries.ts";
import { usageMinute, usageSegments } from "../../src/usage/usage.ts";
import {
  acceptIn,
  changeIn,
  countable,
  freshOwner,
  hammerCounts,
  type CountedMessage,
  planOf,
  rowsOf,
  statementOf,
  type Move,
  type Owned,
} from "../support/counting.ts";
import { NO_CHAIN_KEY } from "../support/audit.ts";
import { until } from "../support/expect.ts";
import { createDatabase } from "../support/database.ts";
import { seeded } from "../support/seed.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const floorTo = (unitMs: number, timeMs: number): number => Math.floor(timeMs / unitMs) * unitMs;
// An hour that has ended and is kept for as long as these tests run.
const HOUR = floorTo(HOUR_MS, Date.now()) - 3 * HOUR_MS;

let db: Database;
before(async () => {
  db = new Database({ url: await createDatabase() }, "test", () => undefined);
  await migrate(db);
});
after(() => db.close());

const rows = <T>(text: string, values: readonly unknown[] = []): Promise<T[]> => rowsOf<T>(db, text, values);
const accept = (owner: Owned, messages: readonly CountedMessage[]): Promise<unknown> => acceptIn(db, owner, messages);
const change = (owner: Owned, moves: readonly Move[]): Promise<unknown> => changeIn(db, owner, moves);
const at = (minute: number, fields: Partial<CountedMessage> = {}): CountedMessage => countable(HOUR + minute * MINUTE_MS, fields);
const become = (message: CountedMessage, fields: Partial<CountedMessage>): CountedMessage => ({ ...message, ...fields });

async function foldAll(): Promise<void> {
  while ((await foldUsage(db)) > 0);
}

type Asked = { fromMs?: number; toMs?: number; interval?: UsageInterval };

const read = (
  { accountId, environment }: Owned,
  { fromMs = HOUR, toMs = HOUR + HOUR_MS, interval = "minute" }: Asked = {},
): Promise<UsageRow[]> => readUsage(db, accountId, environment, { fromMs, toMs, interval }, 10_000);

/** As `minute status messages/segments`, newest first. */
const shortForm = (found: readonly UsageRow[]): string[] =>
  found.map(({ start, status, messages, segments }) => `${(start.getTime() - HOUR) / MINUTE_MS} ${status} ${messages}/${segments}`);

const minutesOf = async ({ accountId }: Owned): Promise<string[]> =>
  await rows<UsageRow>(
    "select minute as start, status, messages, segments from usage_minutes where account_id = $1 order by minute desc, status",
    [accountId],
  ).then(shortForm);

const hoursOf = ({ accountId }: Owned) =>
  rows<{ status: string; messages: number }>(
    "select status, sum(messages)::integer as messages from usage_hours where account_id = $1 group by 1 order by 1",
    [accountId],
  );

describe("a message", () => {
  test("is counted in the minute of its creation, whenever it is delivered, folded or not", async () => {
    const owner = freshOwner();
    const queued = at(58);
    const sent = become(queued, { status: "sent" });
    // An hour and more after its creation.
    const delivered = become(queued, { status: "delivered", deliveredAtMs: HOUR + 60 * MINUTE_MS + 5_000 });
    await accept(owner, [queued, at(59, { segments: { count: 3 } })]);
    assert.deepEqual(shortForm(await read(owner)), ["59 queued 1/3", "58 queued 1/1"]);
    await foldAll();
    assert.deepEqual(shortForm(await read(owner)), ["59 queued 1/3", "58 queued 1/1"]);
    await change(owner, [[queued, sent]]);
    assert.deepEqual(shortForm(await read(owner)), ["59 queued 1/3", "58 sent 1/1"]);
    await foldAll();
    await change(owner, [[sent, delivered]]);
    assert.deepEqual(shortForm(await read(owner)), ["59 queued 1/3", "58 delivered 1/1"]);
    await foldAll();
    assert.deepEqual(shortForm(await read(owner)), ["59 queued 1/3", "58 delivered 1/1"]);
    assert.deepEqual(await minutesOf(owner), ["59 queued 1/3", "58 delivered 1/1"], "counts of zero have no row");
    assert.deepEqual(await read(owner, { fromMs: HOUR + HOUR_MS, toMs: HOUR + 2 * HOUR_MS }), [], "the hour of its delivery has no count");
  });

  test("is also counted in the hour of its creation, which is the sum of its minutes", async () => {
    const owner = freshOwner();
    await accept(owner, [at(0), at(0.99), at(1), at(30), at(59.99), at(60), at(-0.01)]);
    for (const step of [async () => undefined, foldAll, foldAll]) {
      await step();
      assert.deepEqual(shortForm(await read(owner)), ["59 queued 1/1", "30 queued 1/1", "1 queued 1/1", "0 queued 2/2"]);
      assert.deepEqual(shortForm(await read(owner, { interval: "hour" })), ["0 queued 5/5"]);
      const wide = { fromMs: HOUR - HOUR_MS, toMs: HOUR + 2 * HOUR_MS };
      assert.deepEqual(shortForm(await read(owner, { ...wide, interval: "hour" })), ["60 queued 1/1", "0 queued 5/5", "-60 queued 1/1"]);
      assert.equal((await read(owner, wide)).length, 6);
    }
  });

  test("is counted in its minute, also in a batch with messages of other minutes", async () => {
    const owner = freshOwner();
    const [early, late] = [at(10), at(11)];
    await accept(owner, [early, late, early]);
    await change(
      owner,
      [early, late, early].map((from): Move => [from, become(from, { status: "sent" })]),
    );
    const changes = await rows<{ status: string; messages: number }>(
      "select status, messages from usage_changes where account_id = $1 order by minute, status, messages",
      [owner.accountId],
    );
    assert.deepEqual(
      changes.map(({ status, messages }) => `${status} ${messages}`),
      ["queued -2", "queued 2", "sent 2", "queued -1", "queued 1", "sent 1"],
    );
    assert.deepEqual(shortForm(await read(owner)), ["11 sent 1/1", "10 sent 2/2"]);
  });

  test("is folded into hours and minutes together, in any order", async () => {
    const owner = freshOwner();
    await foldAll();
    const path = ["queued", "sending", "sent", "delivered"].map((status) => at(7, { status }));
    await accept(owner, path.slice(0, 1));
    for (const [index, to] of path.slice(1).entries()) await change(owner, [[path[index] ?? null, to]]);
    for (let left = 7; left > 0; left -= 1) {
      assert.equal(await foldUsage(db, 1), 1);
      assert.deepEqual(shortForm(await read(owner)), ["7 delivered 1/1"]);
      assert.deepEqual(shortForm(await read(owner, { interval: "hour" })), ["0 delivered 1/1"]);
    }
    assert.deepEqual(await minutesOf(owner), ["7 delivered 1/1"]);
  });
});

describe("the deletion of minutes", () => {
  const statusesOf = async ({ accountId }: Owned): Promise<string[]> =>
    (await rows<{ status: string }>("select status from usage_minutes where account_id = $1 order by status", [accountId])).map(
      ({ status }) => status,
    );

  const ago = (ms: number, status: string): CountedMessage => countable(Date.now() - ms, { status });

  test("removes minutes older than 25 hours of every account, a bounded number at a time, and no hours", async () => {
    await forgetMinutes(db, Date.now());
    await rows("update installation set usage_minutes_since = to_timestamp(0)");
    const owners = [freshOwner(), freshOwner(), freshOwner()];
    const [old, young] = [25 * HOUR_MS + MINUTE_MS, 25 * HOUR_MS - 5 * MINUTE_MS];
    await Promise.all(owners.map((owner) => accept(owner, [ago(old, "failed"), ago(old + HOUR_MS, "sent"), ago(young, "read")])));
    await foldAll();
    for (const owner of owners) assert.deepEqual(await statusesOf(owner), ["failed", "read", "sent"]);
    assert.equal(await forgetMinutes(db, Date.now(), 5), 5);
    assert.equal(await forgetMinutes(db, Date.now(), 5), 1);
    assert.equal(await forgetMinutes(db, Date.now(), 5), 0);
    for (const owner of owners) {
      assert.deepEqual(await statusesOf(owner), ["read"]);
      assert.equal((await hoursOf(owner)).length, 3);
    }
  });

  test("is permanent: a change in a deleted minute changes only its hour", async () => {
    await forgetMinutes(db, Date.now());
    const owner = freshOwner();
    const [old, young] = [ago(25 * HOUR_MS + MINUTE_MS, "sent"), ago(24 * HOUR_MS + 30 * MINUTE_MS, "sent")];
    await accept(owner, [old, young]);
    await foldAll();
    assert.deepEqual(await statusesOf(owner), ["sent"]);
    await change(
      owner,
      [old, young].map((from): Move => [from, become(from, { status: "delivered" })]),
    );
    await foldAll();
    assert.deepEqual(await statusesOf(owner), ["delivered"]);
    assert.deepEqual(await hoursOf(owner), [{ status: "delivered", messages: 2 }]);
    const [wrong] = await rows<{ count: number }>("select count(*) as count from usage_minutes where messages <= 0");
    assert.deepEqual(wrong, { count: 0 });
  });

  test("stores since when minutes are complete, which is more than a day ago and never moves back", async () => {
    await forgetMinutes(db, Date.now());
    const sinceMs = await minutesKeptSince(db);
    const wantedMs = Date.now() - 25 * HOUR_MS;
    assert.ok(sinceMs % MINUTE_MS === 0 && sinceMs <= wantedMs && sinceMs > wantedMs - 3 * MINUTE_MS, new Date(sinceMs).toISOString());
    const later = new Date(floorTo(MINUTE_MS, Date.now()) - HOUR_MS);
    await rows("update installation set usage_minutes_since = $1", [later]);
    await forgetMinutes(db, Date.now());
    assert.equal(await minutesKeptSince(db), later.getTime());
    await rows("update installation set usage_minutes_since = $1", [new Date(sinceMs)]);
  });

  test("starts in the background", async () => {
    const owner = freshOwner();
    await rows("update installation set usage_minutes_since = to_timestamp(0)");
    await accept(owner, [ago(26 * HOUR_MS, "sent"), ago(HOUR_MS, "queued")]);
    await foldAll();
    assert.deepEqual(await statusesOf(owner), ["queued", "sent"]);
    const errors: unknown[] = [];
    const job = oldRowsJob(
      { db, clock: Date, retentionDays: 90, auditRetentionDays: 400, chainKey: NO_CHAIN_KEY },
      (error) => errors.push(error),
      0,
    );
    job.start();
    await until("the old minute to be deleted", async () => ((await statusesOf(owner)).length === 1 ? true : undefined));
    await job.stop();
    assert.deepEqual([await statusesOf(owner), errors], [["queued"], []]);
  });
});

test(
  "every reader of minutes finds every message exactly once, with many writers, folders and a deletion",
  { timeout: 60_000 },
  async (context) => {
    const random = seeded(context);
    const owner = freshOwner();
    const anyOf = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)] as T;
    const anything = (id: MessageId): CountedMessage =>
      at(0, { id, status: anyOf(["queued", "sending", "sent", "delivered", "failed"]), segments: { count: 1 + Math.floor(random() * 4) } });

    const fold = (): Promise<number> => foldUsage(db, 200);
    const forget = (): Promise<number> => forgetMinutes(db, Date.now(), 10);
    const newMessageId = (): MessageId => toId("msg", firstUuidAt(HOUR + Math.floor(random() * 60) * MINUTE_MS));
    const size = { writers: 4, batches: 30, batch: 20 };
    const finals = await hammerCounts({
      ...size,
      owner,
      newMessageId,
      anything,
      change,
      read: () => read(owner),
      meanwhile: [fold, fold, forget],
    });

    const expected = new Map<string, [number, number]>();
    for (const message of finals) {
      const kind = `${usageMinute(message) - HOUR / MINUTE_MS} ${message.status}`;
      const [messages, sum] = expected.get(kind) ?? [0, 0];
      expected.set(kind, [messages + 1, sum + usageSegments(message)]);
    }
    const wanted = [...expected].map(([kind, [messages, segments]]) => `${kind} ${messages}/${segments}`).toSorted();
    assert.deepEqual(shortForm(await read(owner)).toSorted(), wanted);
    await foldAll();
    assert.deepEqual((await minutesOf(owner)).toSorted(), wanted);
    const [sum] = await rows<{ same: boolean }>(
      `select (select array_agg((status, messages) order by status)
               from (select status, sum(messages) as messages from usage_minutes where account_id = $1 group by 1) minutes)
          = (select array_agg((status, messages) order by status)
               from (select status, sum(messages) as messages from usage_hours where account_id = $1 group by 1) hours) as same`,
      [owner.accountId],
    );
    assert.deepEqual(sum, { same: true });
  },
);

describe("very many minutes", () => {
  const owner = freshOwner();
  before(async () => {
    await foldAll();
    await rows("delete from usage_minutes");
    // Twenty environments, each with five kinds of messages in every minute of 25 hours. A statement has a time limit.
    for (let account = 0; account < 20; account += 1)
      await rows(
        `insert into usage_minutes (account_id, environment, minute, channel, status, error_code, delivery_bucket, messages, segments)
         select case $2::integer when 0 then $1::uuid else md5($2::text)::uuid end, 'live',
                date_trunc('minute', now()) - make_interval(mins => minute), 'sms', status, '', -1, 10, 10
           from generate_series(0, 1499) minute, unnest(array['delivered', 'failed', 'undelivered', 'expired', 'queued']) status`,
        [owner.accountId, account],
      );
  });

  test("are read by the key, and only those in the range", async () => {
    const toMs = Date.now();
    const range = { fromMs: toMs - HOUR_MS, toMs, interval: "minute" } as const;
    for (const analyze of [false, true]) {
      if (analyze) await rows("analyze usage_minutes");
      const plan = await planOf(db, await statementOf((fake) => readUsage(fake, owner.accountId, "live", range, 10_000)));
      const scanned = /Index Scan using usage_minutes_pkey.*\(actual rows=(\d+)/.exec(plan)?.[1];
      assert.ok(scanned !== undefined && Number(scanned) <= 60 * 5, plan);
    }
  });

  test("are deleted by the key, without a read of newer ones", async () => {
    await rows("update usage_minutes set minute = minute - interval '2 days' where account_id = $1 and status = 'queued'", [
      owner.accountId,
    ]);
    const sent: Sql[] = [];
    const fake = { rows: async (statement: Sql) => (sent.push(statement), []) };
    await forgetMinutes({ transaction: (work: (tx: Tx) => Promise<number>) => work(fake) } as unknown as Database, Date.now());
    const last = sent.at(-1);
    assert.ok(last !== undefined);
    const plan = await planOf(db, last);
    assert.doesNotMatch(plan, /Seq Scan on usage_minutes /);
    const scanned = Array.from(
      plan.matchAll(/Index.* on usage_minutes.*\(actual rows=([\d.]+) loops=(\d+)\)/g),
      ([, each, loops]) => Number(each) * Number(loops),
    );
    assert.ok(scanned.length > 0 && scanned.every((found) => found <= 1_501), plan);
    const [left] = await rows<{ count: number }>("select count(*) as count from usage_minutes");
    assert.deepEqual(left, { count: 20 * 1_500 * 5 - 1_500 });
  });
});
