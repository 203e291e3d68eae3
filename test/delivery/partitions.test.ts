/** The weekly partitions: created one at a time, also where a wrong clock has put rows of a coming week into the default partition. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { newId, type Id } from "../../src/model/id.ts";
import { uuidSequence, type Uuid } from "../../src/lib/uuid.ts";
import { Database } from "../../src/database/database.ts";
import { countStrayRows, createPartitions, listWeeks } from "../../src/database/partitions.ts";
import { createDatabase } from "../support/database.ts";
import { runGodwit, SECRET_KEY, startGodwit } from "../support/harness.ts";
import { lockTable } from "../support/locks.ts";

const WEEK_MS = 7 * 86_400_000;
const inWeeks = (count: number): number => Date.now() + count * WEEK_MS;

type Scene = { db: Database; url: string; account: Id<"acct"> };

async function scene(run: (scene: Scene) => Promise<void>): Promise<void> {
  const url = await createDatabase();
  const db = new Database({ url }, "partitions", () => undefined);
  try {
    await run({ db, url, account: newId("acct", Date.now()) });
  } finally {
    await db.close();
  }
}

let statements = 0;
const rows = <T>(db: Database, text: string, values: readonly unknown[] = []): Promise<T[]> =>
  db.rows<T>({ name: `partitions_${(statements += 1)}`, text, values });

/** Stores a message and its event with an id of that time, as a service with a wrong clock does. */
async function storeAt({ db, account }: Scene, timeMs: number): Promise<Uuid> {
  // A sequence of its own, so that the ids of other tests in this process stay in the present.
  const id = uuidSequence()(Math.trunc(timeMs));
  await rows(
    db,
    `insert into messages (account_id, environment, id, direction, channel, recipient, status, sequence, priority, updated_at)
     values ($1, 'test', $2, 'outbound', 'sms', '+14155550123', 'delivered', 1, 'normal', now())`,
    [account, id],
  );
  await rows(
    db,
    "insert into events (account_id, environment, id, type, message_id, record) values ($1, 'test', $2, 'message.queued', $2, '{}')",
    [account, id],
  );
  return id;
}

const tableOf = async (db: Database, table: string, id: Uuid): Promise<string | undefined> =>
  (await rows<{ name: string }>(db, `select tableoid::regclass::text as name from ${table} where id = $1`, [id]))[0]?.name;

describe("rows of a coming week in the default partition", () => {
  test("are moved to the partition of the week when it is created", () =>
    scene(async (each) => {
      const { db } = each;
      const id = await storeAt(each, inWeeks(6));
      assert.deepEqual([await tableOf(db, "messages", id), await tableOf(db, "events", id)], ["messages_default", "events_default"]);
      assert.equal(await countStrayRows(db), 2);
      const { moved, skipped, failures, hasThisWeek } = await createPartitions(db, inWeeks(4));
      assert.deepEqual(
        moved.map(({ partition, rows: count }) => [partition.replace(/_\d{8}$/, ""), count]),
        [
          ["messages", 1],
          ["events", 1],
        ],
      );
      assert.deepEqual([skipped, failures, hasThisWeek], [[], [], true]);
      assert.equal(await tableOf(db, "messages", id), moved[0]?.partition);
      assert.equal(await countStrayRows(db), 0);
      assert.equal((await listWeeks(db)).length, 9);
      // The moved partition has the indexes of its table.
      const indexes = await rows<{ table: string; count: number }>(
        db,
        "select tablename as table, count(*)::integer as count from pg_indexes where tablename like 'messages_2%' group by 1",
      );
      assert.equal(new Set(indexes.map(({ count }) => count)).size, 1);
      assert.deepEqual((await createPartitions(db, inWeeks(4))).moved, []);
    }));

  test("do not keep a service from starting, and the doctor reports them", async () => {
    await using first = await startGodwit();
    const db = first.db ?? assert.fail();
    const [account] = await rows<{ id: Id<"acct"> }>(db, "select id from accounts limit 1");
    await storeAt({ db, url: "", account: account?.id ?? assert.fail() }, inWeeks(1_000));
    await using second = await startGodwit({ databaseUrl: first.databaseUrl });
    assert.equal((await second.request("GET", "/readyz")).status, 200);
    assert.equal(await countStrayRows(db), 2);
    const { stdout } = await runGodwit(["doctor"], { DATABASE_URL: first.databaseUrl ?? "", GODWIT_SECRET_KEY: SECRET_KEY });
    assert.match(stdout, /partitions.*2 rows outside the weeks/);
  });
});

test("a partition that cannot be created keeps no other from being created", () =>
  scene(async ({ db, url }) => {
    const before = (await listWeeks(db)).length;
    const lock = await lockTable(url, "webhook_deliveries", "access share");
    const { failures, hasThisWeek } = await createPartitions(db, inWeeks(1), 50);
    assert.deepEqual([failures.length, hasThisWeek], [1, true]);
    const weeks = await listWeeks(db);
    assert.deepEqual([weeks.length, weeks.at(-1)?.webhook_deliveries], [before + 1, undefined]);
    await lock.release();
    assert.deepEqual((await createPartitions(db, inWeeks(1))).failures, []);
    assert.notEqual((await listWeeks(db)).at(-1)?.webhook_deliveries, undefined);
  }));
