/** Nodes of earlier releases cannot read compact events: this one writes them only when none of those is connected, and none can start afterwards. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import pg from "pg";
import { Database } from "../../src/database/database.ts";
import { EXCLUSIVE_SCHEMA, excludeEarlierReleases } from "../../src/database/earlier-releases.ts";
import { migrate } from "../../src/database/migrate.ts";
import { knownMigrations } from "../../src/database/migrations.ts";
import { isCompact } from "../../src/model/message-record.ts";
import { atEnd } from "../support/at-end.ts";
import { clientOf } from "../support/client.ts";
import { createDatabase } from "../support/database.ts";
import { until } from "../support/expect.ts";
import { startGodwit, type Godwit } from "../support/harness.ts";

const open = (url: string): Database => {
  const db = new Database({ url }, "this", () => undefined);
  atEnd(() => db.close());
  return db;
};

/** A session with the name that 0.2.0 gives to its sessions. */
async function connectEarlier(url: string): Promise<() => Promise<void>> {
  const client = new pg.Client({ connectionString: url, application_name: "godwit 0123456789ab 1" });
  await client.connect();
  let isOpen = true;
  const end = async (): Promise<void> => {
    if (isOpen) await client.end();
    isOpen = false;
  };
  atEnd(end);
  return end;
}

const EARLIER = knownMigrations().filter(({ version }) => version < EXCLUSIVE_SCHEMA);

describe("earlier releases", () => {
  test("are excluded when none of their sessions is connected to this database, and do not start then", async () => {
    const [url, other] = [await createDatabase(), await createDatabase()];
    const db = open(url);
    const [endOne, endTwo] = [await connectEarlier(url), await connectEarlier(url)];
    await connectEarlier(other);
    assert.equal(await excludeEarlierReleases(db), false);
    await endOne();
    assert.equal(await excludeEarlierReleases(db), false);
    await migrate(db, EARLIER);
    await endTwo();
    await until("the sessions to end", async () => ((await excludeEarlierReleases(db)) ? true : undefined));
    await assert.rejects(migrate(db, EARLIER), /^StartupError: the database has schema \d+, newer than the \d+ this godwit knows/);
    await connectEarlier(url);
    assert.equal(await excludeEarlierReleases(db), true, "nothing ends the exclusion");
    await migrate(db);
  });

  test("are not excluded while one reads the schema", async () => {
    const url = await createDatabase();
    const db = open(url);
    await open(url).transaction(async (tx) => {
      await tx.rows({ name: "lock", text: "select pg_advisory_xact_lock(7361, 1)", values: [] });
      assert.equal(await excludeEarlierReleases(db), false);
    });
    assert.equal(await excludeEarlierReleases(db), true);
  });
});

test("events are whole while an earlier node is connected, compact afterwards, and equal in the API", async () => {
  const databaseUrl = await createDatabase();
  const end = await connectEarlier(databaseUrl);
  const options = { databaseUrl, roles: "api,dispatch", asProcess: true, simulatorSpeed: 1_000 };
  const lookAt = async (godwit: Godwit, key: string): Promise<{ isCompact: boolean[]; members: string[]; first: boolean }> => {
    const client = clientOf(godwit, key);

    const sent = await godwit.send(key, { metadata: { "1": "a", b: "c", "0": "d" }, client_reference: "r" });
    const id = String(sent.json["id"]);
    await until("the message to be delivered", async () => ((await client.messages.read(id))["status"] === "delivered" ? true : undefined));
    const { text: list } = await godwit.request("GET", `/v1/events?message_id=${id}`, { key });
    const events = (JSON.parse(list) as { data: { data: { message: Record<string, unknown> } }[] }).data;
    const stored = await open(databaseUrl).rows<{ record: string }>({
      name: "stored",
      text: "select e.record from events e join messages m on m.id = e.message_id order by m.id desc, e.id limit 4",
      values: [],
    });
    return {
      isCompact: stored.map(({ record }) => isCompact(record)),
      members: events.map(({ data: { message } }) => Object.keys(message).join()),
      first: list.includes(sent.text) && list.includes((await godwit.request("GET", `/v1/messages/${id}`, { key })).text),
    };
  };
  const before = await startGodwit(options);
  const key = await before.key();
  const whole = await lookAt(before, key);
  await before.stop();
  await end();
  const after = await startGodwit(options);
  const compact = await lookAt(after, key);
  await after.stop();
  assert.deepEqual(whole, { ...compact, isCompact: [false, false, false, false] });
  assert.deepEqual(compact.isCompact, [true, true, true, true]);
  assert.equal(compact.first, true);
});
