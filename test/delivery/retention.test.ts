/** Retention, with shifted time: which weeks are dropped, which are kept, and the effect on concurrent work. */
import assert from "node:assert/strict";
import { afterEach, before, beforeEach, describe, test } from "node:test";
import pg from "pg";
import pino from "pino";
import { newId, toId, type DeliveryId, type Id, type IdPrefix, type MessageId } from "../../src/model/id.ts";
import { uuidSequence, uuidToText, type Uuid } from "../../src/lib/uuid.ts";
import { poll, within } from "../../src/lib/wait.ts";
import { STATUSES, isFinished, type Status } from "../../src/messages/states.ts";
import { applyRetention, retentionJob, type RetentionResult } from "../../src/retention/drop-weeks.ts";
import { listOldRows } from "../../src/retention/old-rows.ts";
import { Database } from "../../src/database/database.ts";
import { DATABASE_LOCK, LOCKS } from "../../src/database/locks.ts";
import { migrate } from "../../src/database/migrate.ts";
import { listWeeks, createPartitions } from "../../src/database/partitions.ts";
import { NO_CHAIN_KEY } from "../support/audit.ts";
import { LIMIT_MS } from "../support/expect.ts";
import { createDatabase } from "../support/database.ts";
import type { LogLine } from "../support/harness.ts";
import { lockTable } from "../support/locks.ts";

const DAY_MS = 24 * 3_600_000;
const WEEK_MS = 7 * DAY_MS;
// A Monday. Five weeks are created from here on, and five around the present.
const FIRST_WEEK_MS = Date.UTC(2024, 0, 1);
const WEEKS = ["2024-01-01", "2024-01-08", "2024-01-15", "2024-01-22", "2024-01-29"];
const RETENTION_DAYS = 90;
const ACCOUNT = newId("acct", FIRST_WEEK_MS);
const ENDPOINT = newId("whe", FIRST_WEEK_MS);
/** All five old weeks are past. */
const LATER_MS = FIRST_WEEK_MS + 5 * WEEK_MS + RETENTION_DAYS * DAY_MS;

let url: string;
let db: Database;
let lines: LogLine[];
const log = pino({}, { write: (line) => lines.push(JSON.parse(line) as LogLine) });

const connectDatabase = (): Database => new Database({ url }, "test", () => undefined);

before(async () => {
  url = await createDatabase();
  const first = connectDatabase();
  await migrate(first);
  await createPartitions(first, Date.now());
  await first.close();
});
beforeEach(async () => {
  lines = [];
  db = connectDatabase();
  await createPartitions(db, FIRST_WEEK_MS);
});
afterEach(async () => {
  await db.script("truncate messages, events, delivery_queue, webhook_deliveries, webhook_queue");
  await db.close();
});

let statements = 0;
const rows = <T>(text: string, values: readonly unknown[] = []): Promise<T[]> =>
  db.rows<T>({ name: `test_${(statements += 1)}`, text, values });

/** Noon of the first day of the n-th old week. */
const inWeek = (index: number): number => FIRST_WEEK_MS + index * WEEK_MS + DAY_MS / 2;

// Times go back and forth here, unlike those of a sequence of ids.
const idAt = <P extends IdPrefix>(prefix: P, timeMs: number): Id<P> => toId(prefix, uuidSequence()(timeMs));

async function addMessage(timeMs: number, status: Status = "delivered"): Promise<MessageId> {
  const id = idAt("msg", timeMs);
  await rows(
    `insert into messages (account_id, environment, id, direction, channel, recipient, status, sequence, priority, updated_at)
     values ($1, 'live', $2, 'outbound', 'sms', '+14155550123', $3, 1, 'normal', now())`,
    [ACCOUNT, id, status],
  );
  await addEvent(timeMs, id);
  return id;
}

const addEvent = (timeMs: number, messageId: MessageId): Promise<unknown> =>
  rows("insert into events (account_id, environment, id, type, message_id) values ($1, 'live', $2, 'message.queued', $3)", [
    ACCOUNT,
    idAt("evt", timeMs),
    messageId,
  ]);

const enqueue = (messageId: MessageId): Promise<unknown> =>
  rows(
    `insert into delivery_queue (message_id, account_id, environment, priority, due_at, link, expires_at)
     values ($1, $2, 'live', 1, now(), 'x', now())`,
    [messageId, ACCOUNT],
  );

async function addDelivery(timeMs: number): Promise<DeliveryId> {
  const id = idAt("dlv", timeMs);
  await rows(
    `insert into webhook_deliveries (account_id, environment, endpoint_id, id, event_id, event_type, status, attempts, updated_at)
     values ($1, 'live', $2, $3, $3, 'message.sent', 'failed', '[]', now())`,
    [ACCOUNT, ENDPOINT, id],
  );
  return id;
}

const enqueueDelivery = (id: DeliveryId): Promise<unknown> =>
  rows("insert into webhook_queue (id, account_id, environment, endpoint_id, event_id, due_at) values ($1, $2, 'live', $3, $1, now())", [
    id,
    ACCOUNT,
    ENDPOINT,
  ]);

const runAt = async (nowMs: number, node = db): Promise<RetentionResult> => {
  const turn = await applyRetention(node, { retentionDays: RETENTION_DAYS, nowMs, log });
  assert.ok(turn !== undefined, "another node had the lock");
  return turn;
};

/** The tables of the old weeks, without the weeks around the present. */
const oldTables = async (): Promise<string[]> =>
  (
    await rows<{ name: string }>(
      "select relname as name from pg_class where relname ~ '^(messages|events|webhook_deliveries)_2024\\d{4}$' order by 1",
    )
  ).map(({ name }) => name);
const tablesOf = (weeks: readonly string[]): string[] =>
  ["events", "messages", "webhook_deliveries"].flatMap((table) => weeks.map((week) => `${table}_${week.replaceAll("-", "")}`));

const without = (...weeks: string[]): string[] => WEEKS.filter((week) => !weeks.includes(week));

const count = async (table: string): Promise<number> =>
  (await rows<{ count: number }>(`select count(*)::integer as count from ${table}`))[0]?.count ?? 0;

describe("weeks", () => {
  test("have their tables, their bounds, and a fill factor for updates of messages", async () => {
    const weeks = await listWeeks(db);
    assert.deepEqual(weeks[0], {
      fromMs: FIRST_WEEK_MS,
      toMs: FIRST_WEEK_MS + WEEK_MS,
      messages: "messages_20240101",
      events: "events_20240101",
      webhook_deliveries: "webhook_deliveries_20240101",
    });
    assert.equal(weeks.length, 10);
    const options = await rows(
      "select relname, reloptions from pg_class where relname in ('messages_20240101', 'events_20240101') order by 1",
    );
    assert.deepEqual(options, [
      { relname: "events_20240101", reloptions: null },
      { relname: "messages_20240101", reloptions: ["fillfactor=50"] },
    ]);
  });

  test("without one of their tables are not recognized and are kept", async () => {
    await db.script("drop table messages_20240101");
    assert.deepEqual((await runAt(LATER_MS)).dropped, without("2024-01-01"));
    assert.deepEqual(await oldTables(), ["events_20240101", "webhook_deliveries_20240101"]);
    await db.script("drop table events_20240101");
  });

  test("from before webhooks existed have no deliveries, and are dropped as well", async () => {
    await db.script("drop table webhook_deliveries_20240101, webhook_deliveries_20240108");
    await addMessage(inWeek(0));
    await addDelivery(inWeek(2));
    const [first] = await listWeeks(db);
    assert.equal(first?.webhook_deliveries, undefined);
    assert.deepEqual((await runAt(LATER_MS)).dropped, WEEKS);
    assert.deepEqual(await oldTables(), []);
    assert.deepEqual([await count("messages"), await count("webhook_deliveries")], [0, 0]);
  });
});

describe("retention", () => {
  test("drops finished weeks with all their tables, and keeps newer messages and events", async () => {
    for (const index of WEEKS.keys()) await addMessage(inWeek(index));
    const old = await addMessage(inWeek(0));
    await addEvent(Date.now(), old);
    await addMessage(Date.now(), "queued");
    const turn = await runAt(LATER_MS);
    assert.deepEqual(turn, { dropped: WEEKS, kept: [], inUse: null });
    assert.deepEqual(await oldTables(), []);
    assert.deepEqual([await count("messages"), await count("events")], [1, 2]);
    assert.deepEqual(
      lines.map(({ msg, week, tables }) => ({ msg, week, tables })),
      WEEKS.map((week) => {
        const [events, messages, deliveries] = tablesOf([week]);
        return { msg: "an old week was dropped", week, tables: [messages, events, deliveries] };
      }),
    );
  });

  for (const status of STATUSES) {
    test(`${isFinished(status) ? "drops" : "keeps"} a week with a ${status} message`, async () => {
      for (const index of WEEKS.keys()) await addMessage(inWeek(index));
      await addMessage(inWeek(2), status);
      const staying = isFinished(status) ? [] : ["2024-01-15"];
      const turn = await runAt(LATER_MS);
      assert.deepEqual([turn.dropped, turn.kept], [without(...staying), staying]);
      assert.deepEqual(await oldTables(), tablesOf(staying));
      assert.equal(await count("events"), staying.length * 2);
      const warning = lines.find(({ event }) => event === "retention.weeks_kept");
      assert.deepEqual(warning?.["weeks"] ?? [], staying);
    });
  }

  const STUCK: Readonly<Record<string, readonly [status: Status, code: string | null]>> = {
    scheduled: ["canceled", null],
    queued: ["expired", "ttl_expired"],
    sending: ["failed", "outcome_unknown"],
    sent: ["expired", "no_receipt"],
  };
  test("finishes messages that are still open a month later, and drops their week", async () => {
    const open = new Map<string, string>();
    for (const status of Object.keys(STUCK) as Status[]) {
      const id = await addMessage(inWeek(2), status);
      await enqueue(id);
      open.set(uuidToText(id), status);
    }
    await enqueue(await addMessage(inWeek(2)));
    assert.deepEqual((await runAt(LATER_MS + 15 * DAY_MS)).kept, ["2024-01-15"]);
    const turn = await runAt(LATER_MS + 30 * DAY_MS);
    assert.deepEqual([turn.dropped, turn.kept], [["2024-01-15"], []]);
    assert.equal(await count("delivery_queue"), 0);
    assert.equal(lines.find(({ event }) => event === "retention.stuck_finished")?.["messages"], 4);
    const events = await rows<{ message_id: Uuid; type: string; record: string }>(
      "select message_id, type, record from events where record is not null",
    );
    const ends = events.map(({ message_id: id, type, record }) => {
      const { error } = JSON.parse(record) as { error: { code: string } | null };
      return `${open.get(uuidToText(id))} ${type} ${error?.code ?? null}`;
    });
    const expected = Object.entries(STUCK).map(([status, [end, code]]) => `${status} message.${end} ${code}`);
    assert.deepEqual(ends.toSorted(), expected.toSorted(), "customers are told of each end");
  });

  test("keeps a week with a queued message until that message has ended", async () => {
    const id = await addMessage(inWeek(1));
    await enqueue(id);
    assert.deepEqual((await runAt(LATER_MS)).kept, ["2024-01-08"]);
    await rows("delete from delivery_queue");
    assert.deepEqual((await runAt(LATER_MS)).dropped, ["2024-01-08"]);
  });

  test("drops a week when its last millisecond is old enough, and not before", async () => {
    const secondWeekEnds = FIRST_WEEK_MS + 2 * WEEK_MS;
    assert.deepEqual((await runAt(secondWeekEnds + RETENTION_DAYS * DAY_MS - 1)).dropped, ["2024-01-01"]);
    assert.deepEqual((await runAt(secondWeekEnds + RETENTION_DAYS * DAY_MS)).dropped, ["2024-01-08"]);
    assert.deepEqual(await oldTables(), tablesOf(["2024-01-15", "2024-01-22", "2024-01-29"]));
  });

  test("refuses a retention below 40 days, in a single run and in the background", async () => {
    const options = { retentionDays: 39, nowMs: LATER_MS, log };
    await assert.rejects(applyRetention(db, options), /40 days at least/);
    assert.throws(() => retentionJob(db, { ...options, now: Date.now, onError: () => undefined }), /40 days at least/);
    assert.deepEqual(await oldTables(), tablesOf(WEEKS));
    const turn = await applyRetention(db, { ...options, retentionDays: 40, nowMs: FIRST_WEEK_MS + WEEK_MS + 40 * DAY_MS });
    assert.deepEqual(turn?.dropped, ["2024-01-01"]);
  });
});

describe("the default partitions", () => {
  /** Deletes the old rows of a default partition, batch by batch. */
  async function empty(table: string): Promise<void> {
    const parts = { db, clock: { now: () => LATER_MS }, retentionDays: RETENTION_DAYS, auditRetentionDays: 400, chainKey: NO_CHAIN_KEY };
    const { deleteBatch } = listOldRows(parts).find((each) => each.table === table) ?? assert.fail(table);
    while (await deleteBatch(LATER_MS, new AbortController().signal));
  }

  // Before every existing week.
  const LONG_AGO_MS = Date.UTC(2023, 5, 1);

  test("lose old and finished messages with their events, and keep the rest", async () => {
    await addMessage(LONG_AGO_MS);
    await addMessage(LONG_AGO_MS + 1, "failed");
    const sending = await addMessage(LONG_AGO_MS + 2, "sending");
    const queued = await addMessage(LONG_AGO_MS + 3, "delivered");
    await enqueue(queued);
    const recentMs = LATER_MS - RETENTION_DAYS * DAY_MS + 1;
    const recent = await addMessage(recentMs);
    assert.equal(await count("messages_default"), 5);
    await empty("messages_default");
    assert.equal(await count("messages_default"), 5, "compact events need their message");
    await empty("events_default");
    await empty("messages_default");
    const left = await rows<{ id: Uuid }>("select id from messages_default order by id");
    assert.deepEqual(
      left.map(({ id }) => uuidToText(id)),
      [sending, queued, recent].map(uuidToText),
    );
    const events = await rows<{ message_id: MessageId }>("select message_id from events_default order by id");
    assert.deepEqual(
      events.map(({ message_id: id }) => uuidToText(id)),
      [sending, recent].map(uuidToText),
    );
  });

  test("lose old deliveries except those that wait for a retry", async () => {
    await addDelivery(LONG_AGO_MS);
    await addDelivery(LONG_AGO_MS + 1);
    const waiting = await addDelivery(LONG_AGO_MS + 2);
    await enqueueDelivery(waiting);
    const recent = await addDelivery(LATER_MS - RETENTION_DAYS * DAY_MS + 1);
    assert.equal(await count("webhook_deliveries_default"), 4);
    await empty("webhook_deliveries_default");
    const left = await rows<{ id: Uuid }>("select id from webhook_deliveries_default order by id");
    assert.deepEqual(
      left.map(({ id }) => uuidToText(id)),
      [waiting, recent].map(uuidToText),
    );
  });

  test("are processed to the end, however many rows they have", async () => {
    await rows(
      `insert into messages (account_id, environment, id, direction, channel, recipient, body, status, sequence, priority, updated_at)
       select $1, 'live', ('0186' || lpad(to_hex(number), 8, '0') || '70008000000000000000')::uuid, 'outbound', 'sms', '+14155550123',
              repeat('x', 1500), 'delivered', 1, 'normal', now()
         from generate_series(1, 1200) number`,
      [ACCOUNT],
    );
    await empty("messages_default");
    assert.equal(await count("messages_default"), 0);
  });
});

describe("with concurrent work", () => {
  test("two nodes drop each week once, and neither fails", async () => {
    for (const index of WEEKS.keys()) await addMessage(inWeek(index));
    const other = connectDatabase();
    try {
      const options = { retentionDays: RETENTION_DAYS, nowMs: LATER_MS, log };
      const turns = await Promise.all([db, other, db, other].map((node) => applyRetention(node, options)));
      assert.deepEqual(
        turns.flatMap((turn) => turn?.dropped ?? []),
        WEEKS,
      );
      assert.deepEqual(await oldTables(), []);
    } finally {
      await other.close();
    }
  });

  test("a run does nothing while another node has the lock", async () => {
    await using other = await connectClient();
    await other.client.query(`select pg_advisory_lock(${DATABASE_LOCK}, ${LOCKS.retention})`);
    assert.equal(await applyRetention(db, { retentionDays: RETENTION_DAYS, nowMs: LATER_MS, log }), undefined);
    assert.deepEqual(await oldTables(), tablesOf(WEEKS));
  });

  test("tables in use are skipped, accepts continue meanwhile, and the next run drops the week", async () => {
    await using reader = await connectClient();
    await reader.client.query("begin");
    await reader.client.query("select count(*) from messages");
    const state = { isOver: false };
    const turn = runAt(LATER_MS).finally(() => (state.isOver = true));
    let longestMs = 0;
    while (!state.isOver) {
      const sentAt = performance.now();
      await addMessage(Date.now(), "queued");
      longestMs = Math.max(longestMs, performance.now() - sentAt);
    }
    assert.deepEqual(await turn, {
      dropped: [],
      kept: [],
      inUse: "2024-01-01",
    });
    assert.ok(longestMs > 50, `the drop did not wait: an insert took ${longestMs} ms at most`);
    assert.deepEqual(await oldTables(), tablesOf(WEEKS));
    assert.ok(lines.some(({ event }) => event === "retention.week_in_use"));
    await reader.client.query("commit");
    assert.deepEqual((await runAt(LATER_MS)).dropped, WEEKS);
  });

  test("weeks are dropped under traffic, and no statement fails or waits long, whichever table it uses first", async (context) => {
    for (const index of WEEKS.keys()) await addMessage(inWeek(index));
    const state = { isOver: false };
    const waits: number[] = [];
    const orders = ["messages, events", "events, messages"];
    const traffic = [...orders, ...orders].map(async (tables) => {
      await using someone = await connectClient();
      while (!state.isOver) {
        const startedAt = performance.now();
        await someone.client.query(`select count(*) from ${tables}`);
        waits.push(performance.now() - startedAt);
      }
    });
    const dropped: string[] = [];
    const drop = async (): Promise<void> => {
      // A run may not get its locks. A later one does.
      for (let turn = 0; turn < 5 && dropped.length < WEEKS.length; turn += 1) dropped.push(...(await runAt(LATER_MS)).dropped);
      state.isOver = true;
    };
    await Promise.all([drop(), ...traffic]);
    assert.deepEqual(dropped, WEEKS);
    context.diagnostic(`${waits.length} transactions, the longest ${Math.round(Math.max(...waits))} ms`);
    assert.ok(Math.max(...waits) < 1_000);
  });

  test("a lock on only the events also keeps the messages of that week", async () => {
    await using reader = await connectClient();
    await reader.client.query("begin");
    await reader.client.query("select count(*) from events_20240101");
    assert.equal((await runAt(LATER_MS)).inUse, "2024-01-01");
    assert.deepEqual(await oldTables(), tablesOf(WEEKS));
  });
});

describe("retention in the background", () => {
  const options = { retentionDays: RETENTION_DAYS, now: () => LATER_MS, log, firstAfterMs: 0, onError: assert.ifError };

  test("runs soon after the start", async () => {
    const keeper = retentionJob(db, options);
    keeper.start();
    try {
      const gone = await poll(async () => ((await oldTables()).length === 0 ? true : undefined), { timeoutMs: LIMIT_MS, everyMs: 50 });
      assert.ok(gone, "the weeks are still there");
    } finally {
      await keeper.stop();
    }
  });

  test("stops in the middle of a blocked run, and reports no error", async () => {
    await using lock = await lockTable(url, "messages_20240101", "access exclusive");
    const errors: unknown[] = [];
    const keeper = retentionJob(db, { ...options, onError: (error) => errors.push(error) });
    keeper.start();
    await lock.waiting();
    const startedAt = performance.now();
    await keeper.stop();
    assert.ok(performance.now() - startedAt < LIMIT_MS);
    assert.deepEqual(errors, []);
    // The pool has its connection again, or none, and can be closed.
    const closed = db.close().then(() => true);
    assert.equal(await within(closed, LIMIT_MS), true);
    db = connectDatabase();
    await lock.release();
    assert.deepEqual((await runAt(LATER_MS)).dropped, WEEKS);
  });
});

/** A second connection to the database. */
async function connectClient(): Promise<{ client: pg.Client; [Symbol.asyncDispose](): Promise<void> }> {
  const client = new pg.Client(url);
  await client.connect();
  return { client, [Symbol.asyncDispose]: () => client.end() };
}
