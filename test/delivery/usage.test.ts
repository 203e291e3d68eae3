/** The counts of messages: exact at every moment, also with concurrent writers, folders and readers. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { newId, toId, type MessageId } from "../../src/model/id.ts";
import { firstUuidAt } from "../../src/lib/uuid.ts";
import { oldestDue } from "../../src/delivery/queue.ts";
import { Database } from "../../src/database/database.ts";
import { DATABASE_LOCK, LOCKS } from "../../src/database/locks.ts";
import { migrate } from "../../src/database/migrate.ts";
import { sql } from "../../src/database/sql.ts";
import { usageFolding } from "../../src/usage/fold.ts";
import { foldUsage, forgetHours, readDepth, readUsage, type UsageFilter, type UsageRow } from "../../src/usage/queries.ts";
import { MINUTE_MS, usageError, usageMinute, usageSegments } from "../../src/usage/usage.ts";
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
import { until } from "../support/expect.ts";
import { createDatabase, inspectionOf } from "../support/database.ts";
import { seeded } from "../support/seed.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
// Yesterday: old enough to have ended, recent enough not to be deleted.
const MIDNIGHT = Math.floor(Date.now() / DAY_MS) * DAY_MS - DAY_MS;
const NOON = MIDNIGHT + 12 * HOUR_MS;

let db: Database;
let inspection: Database;
before(async () => {
  const url = await createDatabase();
  db = new Database({ url }, "test", () => undefined);
  inspection = new Database(inspectionOf(url), "test", () => undefined);
  await migrate(db);
});
after(() => Promise.all([db.close(), inspection.close()]));

const rows = <T>(text: string, values: readonly unknown[] = []): Promise<T[]> => rowsOf<T>(inspection, text, values);
const accept = (owner: Owned, messages: readonly CountedMessage[]): Promise<unknown> => acceptIn(db, owner, messages);
const change = (owner: Owned, moves: readonly Move[]): Promise<unknown> => changeIn(db, owner, moves);

const message = (fields: Partial<CountedMessage> = {}): CountedMessage => countable(NOON + 1, fields);

const changesOf = ({ accountId }: Owned) =>
  rows<{ status: string; error_code: string; delivery_bucket: number; messages: number; segments: number }>(
    `select status, error_code, delivery_bucket, messages, segments
       from usage_changes
      where account_id = $1
      order by status, error_code, delivery_bucket, messages`,
    [accountId],
  );

const hoursOf = ({ accountId }: Owned) =>
  rows<{ status: string; messages: number; segments: number }>(
    "select status, messages, segments from usage_hours where account_id = $1 order by status",
    [accountId],
  );

async function foldAll(): Promise<void> {
  while ((await foldUsage(db)) > 0);
}

type Asked = { fromMs?: number; toMs?: number; interval?: "hour" | "day"; maxRows?: number } & UsageFilter;

const read = (
  { accountId, environment }: Owned,
  { maxRows = 1_000, fromMs = NOON - DAY_MS, toMs = NOON + DAY_MS, interval = "day", ...filter }: Asked = {},
): Promise<UsageRow[]> => readUsage(db, accountId, environment, { fromMs, toMs, interval, ...filter }, maxRows);

const byStatus = (found: readonly UsageRow[]) =>
  Object.fromEntries(found.map(({ status, messages, segments }) => [status, [messages, segments]]));

describe("writing counts", () => {
  test("writes one row for new messages of one kind", async () => {
    const owner = freshOwner();
    await accept(owner, [message(), message({ segments: { count: 3 } }), message({ segments: null })]);
    assert.deepEqual(await changesOf(owner), [{ status: "queued", error_code: "", delivery_bucket: -1, messages: 3, segments: 4 }]);
  });

  test("moves a changed message from one count to another", async () => {
    const owner = freshOwner();
    const [queued, failed] = [message(), message({ status: "failed", error: { code: "invalid_destination" } })];
    await accept(owner, [queued, queued]);
    await change(owner, [[queued, failed]]);
    assert.deepEqual(await changesOf(owner), [
      { status: "failed", error_code: "invalid_destination", delivery_bucket: -1, messages: 1, segments: 1 },
      { status: "queued", error_code: "", delivery_bucket: -1, messages: -1, segments: -1 },
      { status: "queued", error_code: "", delivery_bucket: -1, messages: 2, segments: 2 },
    ]);
    assert.deepEqual(byStatus(await read(owner)), { failed: [1, 1], queued: [1, 1] });
  });

  test("writes nothing for a change that does not affect the counts", async () => {
    const owner = freshOwner();
    await change(owner, [[message(), message()]]);
    assert.deepEqual(await changesOf(owner), []);
  });

  test("writes nothing for messages that swap their counts", async () => {
    const owner = freshOwner();
    const [queued, sending] = [message(), message({ status: "sending" })];
    await change(owner, [
      [queued, sending],
      [sending, queued],
    ]);
    assert.deepEqual(await changesOf(owner), []);
  });

  test("handles several changes of one message in one batch", async () => {
    const owner = freshOwner();
    const path = ["queued", "sending", "sent", "delivered"].map((status) => message({ status }));
    await accept(owner, path.slice(0, 1));
    await change(
      owner,
      path.slice(1).map((to, index): Move => [path[index] ?? null, to]),
    );
    assert.deepEqual(await changesOf(owner), [
      { status: "delivered", error_code: "", delivery_bucket: -1, messages: 1, segments: 1 },
      { status: "queued", error_code: "", delivery_bucket: -1, messages: -1, segments: -1 },
      { status: "queued", error_code: "", delivery_bucket: -1, messages: 1, segments: 1 },
    ]);
  });

  test("changes only the segments for an edited text", async () => {
    const owner = freshOwner();
    const scheduled = message({ status: "scheduled" });
    await accept(owner, [scheduled]);
    await change(owner, [[scheduled, { ...scheduled, segments: { count: 4 } }]]);
    assert.deepEqual(byStatus(await read(owner)), { scheduled: [1, 4] });
    await foldAll();
    assert.deepEqual(byStatus(await read(owner)), { scheduled: [1, 4] });
  });
});

describe("folding", () => {
  test("changes no count, and leaves neither changes nor counts of zero", async () => {
    const owner = freshOwner();
    const [queued, sent] = [message(), message({ status: "sent" })];
    await accept(owner, [queued, queued]);
    await foldAll();
    assert.deepEqual(await hoursOf(owner), [{ status: "queued", messages: 2, segments: 2 }]);
    await change(owner, [
      [queued, sent],
      [queued, sent],
    ]);
    assert.deepEqual(byStatus(await read(owner)), { sent: [2, 2] });
    await foldAll();
    assert.deepEqual(byStatus(await read(owner)), { sent: [2, 2] });
    assert.deepEqual(await hoursOf(owner), [{ status: "sent", messages: 2, segments: 2 }]);
    assert.deepEqual(await changesOf(owner), []);
  });

  test("processes at most one portion at a time, in any order, and the counts are always exact", async () => {
    const owner = freshOwner();
    await foldAll();
    const path = ["queued", "sending", "sent", "delivered"].map((status) => message({ status }));
    await accept(owner, path.slice(0, 1));
    for (const [index, to] of path.slice(1).entries()) await change(owner, [[path[index] ?? null, to]]);
    for (let left = 7; left > 0; left -= 1) {
      assert.equal(await foldUsage(db, 1), 1);
      assert.deepEqual(byStatus(await read(owner)), { delivered: [1, 1] });
    }
    assert.equal(await foldUsage(db, 1), 0);
    assert.deepEqual(await hoursOf(owner), [{ status: "delivered", messages: 1, segments: 1 }]);
  });

  test("runs on one node at a time, and the others skip it", async () => {
    const owner = freshOwner();
    await accept(owner, [message()]);
    const client = await db.transaction(async (tx) => {
      await tx.rows(sql`select pg_advisory_xact_lock(${DATABASE_LOCK}, ${LOCKS.usage})`);
      return foldUsage(db);
    });
    assert.equal(client, 0);
    await Promise.all(Array.from({ length: 6 }, () => foldUsage(db)));
    await foldAll();
    assert.deepEqual(await hoursOf(owner), [{ status: "queued", messages: 1, segments: 1 }]);
  });

  test("continues in the background until it is stopped", async () => {
    const owner = freshOwner();
    const errors: unknown[] = [];
    await accept(owner, [message()]);
    const folding = usageFolding(db, (error) => errors.push(error));
    folding.start();
    await until("the hour to be stored", async () => (await hoursOf(owner))[0]);
    await folding.stop();
    await accept(owner, [message()]);
    assert.equal((await changesOf(owner)).length, 1);
    assert.deepEqual(errors, []);
    await folding.stop();
  });

  test("in the background reports its errors, and can still be stopped", async () => {
    const away = new Database({ url: "postgres://godwit@127.0.0.1:1/none" }, "test", () => undefined);
    const errors: unknown[] = [];
    const folding = usageFolding(away, (error) => errors.push(error));
    folding.start();
    await until("an error", () => errors[0]);
    await folding.stop();
    await away.close();
  });
});

test("every reader finds every message exactly once, with many writers and folders", { timeout: 60_000 }, async (context) => {
  const random = seeded(context);
  const owner = freshOwner();
  const STATUSES = ["queued", "sending", "sent", "delivered", "failed"];
  const anyOf = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)] as T;
  const anything = (id: MessageId): CountedMessage =>
    message({
      id,
      status: anyOf(STATUSES),
      error: anyOf([null, { code: "blocked" }]),
      segments: { count: 1 + Math.floor(random() * 4) },
      deliveredAtMs: anyOf([null, NOON + Math.floor(random() * 10_000_000)]),
    });

  const fold = (): Promise<number> => foldUsage(db, 50);
  const newMessageId = (): MessageId => toId("msg", firstUuidAt(NOON + Math.floor(random() * 3) * HOUR_MS));
  const size = { writers: 6, batches: 40, batch: 25 };
  const finals = await hammerCounts({ ...size, owner, newMessageId, anything, change, read: () => read(owner), meanwhile: [fold, fold] });

  const kind = (of: { status: string; errorCode: string; minuteMs: number }): string =>
    `${of.minuteMs - (of.minuteMs % HOUR_MS)} ${of.status} ${of.errorCode}`;
  const expected = new Map<string, [number, number]>();
  for (const final of finals) {
    const counted = { status: final.status, errorCode: usageError(final), minuteMs: usageMinute(final) * MINUTE_MS };
    const [messages, segments] = expected.get(kind(counted)) ?? [0, 0];
    expected.set(kind(counted), [messages + 1, segments + usageSegments(final)]);
  }
  const found = async () =>
    new Map(
      (await read(owner, { interval: "hour" })).map((row) => [
        kind({ ...row, errorCode: row.error_code, minuteMs: row.start.getTime() }),
        [row.messages, row.segments],
      ]),
    );
  const sorted = (map: ReadonlyMap<string, unknown>) => [...map].toSorted(([a], [b]) => (a < b ? -1 : 1));
  assert.deepEqual(sorted(await found()), sorted(expected));
  await foldAll();
  assert.deepEqual(sorted(await found()), sorted(expected));
  const [zeros] = await rows<{ count: number }>("select count(*) as count from usage_hours where messages <= 0");
  assert.deepEqual(zeros, { count: 0 });
});

describe("reading counts", () => {
  test("returns only those of the account and environment", async () => {
    const one = freshOwner();
    const others = [freshOwner(), { ...one, environment: "test" } as const];
    await accept(one, [message()]);
    for (const other of others) await accept(other, [message({ status: "sent" }), message({ status: "sent" })]);
    for (const look of [async () => undefined, foldAll]) {
      await look();
      assert.deepEqual(byStatus(await read(one)), { queued: [1, 1] });
      for (const other of others) assert.deepEqual(byStatus(await read(other)), { sent: [2, 2] });
      assert.deepEqual(await readDepth(db, one.accountId, one.environment), { scheduled: 0, queued: 1, sending: 0 });
    }
  });

  const at = (timeMs: number, fields: Partial<CountedMessage> = {}): CountedMessage =>
    message({ id: toId("msg", firstUuidAt(timeMs)), ...fields });

  test("returns hours and days in UTC, newest first", async () => {
    const owner = freshOwner();
    await accept(owner, [at(MIDNIGHT - 1), at(MIDNIGHT), at(MIDNIGHT + HOUR_MS - 1), at(MIDNIGHT + HOUR_MS), at(MIDNIGHT + DAY_MS)]);
    const starts = async (interval: "hour" | "day") =>
      (await read(owner, { interval, fromMs: MIDNIGHT - DAY_MS, toMs: MIDNIGHT + 2 * DAY_MS })).map(
        ({ start, messages }): [number, number] => [(start.getTime() - MIDNIGHT) / HOUR_MS, messages],
      );
    assert.deepEqual(await starts("hour"), [
      [24, 1],
      [1, 1],
      [0, 2],
      [-1, 1],
    ]);
    assert.deepEqual(await starts("day"), [
      [24, 1],
      [0, 3],
      [-24, 1],
    ]);
  });

  test("includes the first hour of the range and excludes the last", async () => {
    const owner = freshOwner();
    await accept(owner, [at(NOON - 1), at(NOON), at(NOON + 2 * HOUR_MS - 1), at(NOON + 2 * HOUR_MS)]);
    const found = await read(owner, { fromMs: NOON, toMs: NOON + 2 * HOUR_MS });
    assert.deepEqual(byStatus(found), { queued: [2, 2] });
  });

  test("combines filters, and orders the rows of one hour", async () => {
    const owner = freshOwner();
    const error = { code: "blocked" };
    await accept(owner, [
      at(NOON, { status: "failed", error }),
      at(NOON, { status: "failed" }),
      at(NOON, { channel: "whatsapp", status: "failed", error }),
      at(NOON, { status: "expired" }),
    ]);
    const kinds = async (asked: Asked = {}) =>
      (await read(owner, asked)).map(({ channel, status, error_code: code }) => `${channel} ${status} ${code}`.trim());
    assert.deepEqual(await kinds(), ["sms expired", "sms failed", "sms failed blocked", "whatsapp failed blocked"]);
    assert.deepEqual(await kinds({ maxRows: 2 }), ["sms expired", "sms failed"]);
    assert.deepEqual(await kinds({ channel: "whatsapp" }), ["whatsapp failed blocked"]);
    assert.deepEqual(await kinds({ status: "expired" }), ["sms expired"]);
    assert.deepEqual(await kinds({ errorCode: "blocked" }), ["sms failed blocked", "whatsapp failed blocked"]);
    assert.deepEqual(await kinds({ errorCode: "blocked", channel: "sms", status: "failed" }), ["sms failed blocked"]);
    assert.deepEqual(await kinds({ channel: "sms", errorCode: "none such" }), []);
  });

  test("returns times to delivery by bucket, folded or not", async () => {
    const owner = freshOwner();
    const delivered = (ms: number): CountedMessage => at(NOON, { status: "delivered", deliveredAtMs: NOON + ms });
    await accept(owner, [delivered(50), delivered(60), at(NOON)]);
    await foldAll();
    await accept(owner, [delivered(70), delivered(200)]);
    const found = await read(owner);
    assert.deepEqual(
      found.map(({ status, messages, buckets }) => ({ status, messages, buckets })),
      [
        { status: "delivered", messages: 4, buckets: { 0: 3, 2: 1 } },
        { status: "queued", messages: 1, buckets: null },
      ],
    );
  });

  test("includes unfinished messages, however old they are", async () => {
    const owner = freshOwner();
    await accept(owner, [
      at(NOON - 300 * DAY_MS, { status: "scheduled" }),
      at(NOON, { status: "queued" }),
      at(NOON, { status: "queued", channel: "whatsapp" }),
      at(NOON, { status: "sending", error: { code: "throttled" } }),
      at(NOON, { status: "sent" }),
    ]);
    const expected = { scheduled: 1, queued: 2, sending: 1 };
    assert.deepEqual(await readDepth(db, owner.accountId, owner.environment), expected);
    await foldAll();
    assert.deepEqual(await readDepth(db, owner.accountId, owner.environment), expected);
    assert.deepEqual(await readDepth(db, newId("acct", Date.now()), "live"), { scheduled: 0, queued: 0, sending: 0 });
  });
});

test("hours older than 400 days are deleted for every account, a bounded number at a time", async () => {
  const owners = [freshOwner(), freshOwner(), freshOwner()];
  const [old, young] = [Date.now() - 401 * DAY_MS, Date.now() - 399 * DAY_MS].map((timeMs) =>
    message({ id: toId("msg", firstUuidAt(timeMs)) }),
  );
  assert.ok(old !== undefined && young !== undefined);
  await Promise.all(owners.map((owner) => accept(owner, [old, { ...old, status: "sent" }, young])));
  await foldAll();
  assert.equal(await forgetHours(db, Date.now(), 5), 5);
  assert.equal(await forgetHours(db, Date.now(), 5), 1);
  assert.equal(await forgetHours(db, Date.now(), 5), 0);
  for (const owner of owners) assert.deepEqual(await hoursOf(owner), [{ status: "queued", messages: 1, segments: 1 }]);
});

describe("very many rows", () => {
  const owner = freshOwner();
  before(async () => {
    await foldAll();
    // Fifty accounts, each with five kinds of messages in every hour of a month, in statements that a busy machine executes in time.
    for (let hour = 0; hour < 800; hour += 50)
      await rows(
        `insert into usage_hours (account_id, environment, hour, channel, status, error_code, delivery_bucket, messages, segments)
       select case account when 0 then $1::uuid else md5(account::text)::uuid end, 'live', date_trunc('hour', now()) - make_interval(hours => hour),
              'sms', status, '', -1, 10, 10
         from generate_series(0, 49) account, generate_series($2::integer, $2::integer + 49) hour,
              unnest(array['delivered', 'failed', 'undelivered', 'expired', 'queued']) status`,
        [owner.accountId, hour],
      );
  });

  test("usage is read by the index, and only the hours in the range", async () => {
    const toMs = Date.now();
    const range = { fromMs: toMs - 48 * HOUR_MS, toMs, interval: "day" } as const;
    const plan = await planOf(db, await statementOf((fake) => readUsage(fake, owner.accountId, "live", range, 1_000)));
    assert.match(plan, /Index.* (using|on) usage_hours_/);
    assert.doesNotMatch(plan, /Seq Scan on usage_hours/);
    const scanned = /Index.* usage_hours_\w+.*\(actual rows=(\d+)/.exec(plan)?.[1];
    assert.ok(scanned !== undefined && Number(scanned) <= 48 * 5, plan);
  });

  test("the depth is read by the index", async () => {
    const plan = await planOf(db, await statementOf((fake) => readDepth(fake, owner.accountId, "live")));
    assert.match(plan, /Index.* (using|on) usage_hours_/);
    assert.doesNotMatch(plan, /Seq Scan on usage_hours/);
    assert.deepEqual(await readDepth(db, owner.accountId, "live"), { scheduled: 0, queued: 8_000, sending: 0 });
  });

  test("folding adds to the existing hour", async () => {
    await foldAll();
    await accept(owner, [message()]);
    assert.equal(await foldUsage(db), 1);
    assert.equal((await readDepth(db, owner.accountId, "live")).queued, 8_001);
    const [counts] = await rows<{ count: number }>("select count(*) as count from usage_hours where account_id = $1", [owner.accountId]);
    assert.deepEqual(counts, { count: 800 * 5 });
  });
});

describe("the oldest due message", () => {
  type Queued = { link?: string; priority?: number; dueInSeconds: number; state?: number } & Partial<Owned>;

  const enqueue = async (owner: Owned, queued: readonly Queued[]): Promise<void> => {
    for (const { link = "simulator", priority = 1, dueInSeconds, state = 0, environment = owner.environment } of queued) {
      await rows(
        `insert into delivery_queue (message_id, account_id, environment, priority, due_at, link, state, expires_at)
         values (gen_random_uuid(), $1, $2, $3, now() + make_interval(secs => $4), $5, $6, now() + interval '2 days')`,
        [owner.accountId, environment, priority, dueInSeconds, link, state],
      );
    }
  };

  /** Its age in whole seconds, rounded to ten. Undefined when no message waits. */
  const waitOf = async ({ accountId, environment }: Owned): Promise<number | undefined> => {
    const dueAtMs = await oldestDue(db, accountId, environment);
    const [now] = await rows<{ now: Date }>("select now() as now");
    return dueAtMs === null || now === undefined ? undefined : Math.round((now.now.getTime() - dueAtMs) / 10_000) * 10;
  };

  const CASES: readonly (readonly [what: string, queued: readonly Queued[], seconds: number | undefined])[] = [
    ["none where nothing waits", [], undefined],
    ["one", [{ dueInSeconds: -100 }], 100],
    ["none where no message is due", [{ dueInSeconds: 100 }], undefined],
    ["the oldest of a lane", [{ dueInSeconds: -100 }, { dueInSeconds: -300 }, { dueInSeconds: -200 }], 300],
    [
      "the oldest of all lanes",
      [
        { link: "", dueInSeconds: -100 },
        { link: "m", dueInSeconds: -300 },
        { link: "z", dueInSeconds: -200 },
      ],
      300,
    ],
    ["the oldest of all priorities", [0, 1, 2].map((priority) => ({ priority, dueInSeconds: -100 * (1 + priority) })), 300],
    ["never a scheduled one", [{ link: "@scheduled", dueInSeconds: -500 }, { dueInSeconds: -100 }], 100],
    ["never a held one with an unknown outcome", [{ dueInSeconds: -500, state: 1 }, { dueInSeconds: -100 }], 100],
    ["none where all are held", [{ dueInSeconds: -500, state: 1 }], undefined],
    ["never one of the other environment", [{ dueInSeconds: -500, environment: "test" }, { dueInSeconds: -100 }], 100],
  ];
  for (const [what, queued, seconds] of CASES) {
    test(`is ${what}`, async () => {
      const owner = freshOwner();
      await enqueue(owner, queued);
      assert.equal(await waitOf(owner), seconds);
    });
  }

  test("is found by a few index reads among very many messages", async () => {
    const owner = freshOwner();
    await rows(
      `insert into delivery_queue (message_id, account_id, environment, priority, due_at, link, expires_at)
       select gen_random_uuid(), case when n % 2 = 0 then $1::uuid else md5((n % 100)::text)::uuid end, 'live', n % 3,
              now() - make_interval(secs => n), 'link_' || n % 4, now() + interval '2 days'
         from generate_series(1, 20000) n`,
      [owner.accountId],
    );
    const seconds = (await waitOf(owner)) ?? 0;
    // The insertion of the rows takes some time.
    assert.ok(seconds >= 20_000 && seconds < 20_600, String(seconds));
    for (const accountId of [owner.accountId, newId("acct", Date.now())]) {
      const plan = await planOf(db, await statementOf((fake) => oldestDue(fake, accountId, "live")));
      assert.doesNotMatch(plan, /Seq Scan/);
      const found = Array.from(plan.matchAll(/Index.* on delivery_queue.*\(actual rows=([\d.]+) loops=(\d+)\)/g));
      assert.ok(found.length > 0 && found.every(([, each, loops]) => Number(each) * Number(loops) <= 100), plan);
    }
  });
});
