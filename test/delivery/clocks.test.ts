/** Clocks that are wrong for a while: no message is sent early, and none gets a time that is not its own. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { encodeId, toId, type AccountId } from "../../src/model/id.ts";
import { uuidSequence } from "../../src/lib/uuid.ts";
import { clientOf, type Client, type Json } from "../support/client.ts";
import { until } from "../support/expect.ts";
import { startGodwit, type Godwit } from "../support/harness.ts";
import { ShiftedClock } from "../support/shifted-clock.ts";

const HOUR_MS = 3_600_000;
const inHours = (count: number): string => new Date(Date.now() + count * HOUR_MS).toISOString();

async function clientTo(godwit: Godwit): Promise<Client> {
  await godwit.unlimited();
  return clientOf(godwit, await godwit.key());
}

/** The record has the time of its creation, as this machine knows it. */
function assertCreatedNow({ created_at: createdAt }: Json, startedMs: number): void {
  const createdMs = Date.parse(String(createdAt));
  assert.ok(createdMs >= startedMs - 5_000 && createdMs <= Date.now() + 5_000, `created at ${String(createdAt)}`);
}

describe("a step of the database's clock that this machine does not confirm", () => {
  for (const step of ["2 hours", "36 days"]) {
    test(`of ${step} sends no scheduled message early, and changes the time of no message`, async () => {
      await using clock = await ShiftedClock.create();
      await using godwit = await startGodwit({ databaseUrl: clock.databaseUrl, roles: "api,dispatch", simulatorSpeed: 100 });
      const client = await clientTo(godwit);
      const scheduled = await client.messages.send({ send_at: inHours(1) });
      assert.equal(scheduled["status"], "scheduled");
      await clock.shift(step);
      await until("the step to be noticed", () => godwit.logs.find(({ event }) => event === "storage.clock_step"));
      const startedMs = Date.now();
      const other = await client.messages.send({ send_at: inHours(1) });
      assert.equal(other["status"], "scheduled");
      assertCreatedNow(other, startedMs);
      const prompt = await client.messages.send({});
      assertCreatedNow(prompt, startedMs);
      await until(
        "a message to be delivered",
        async () => (await client.messages.read(prompt["id"]))["status"] === "delivered" || undefined,
      );
      for (const { id } of [scheduled, other]) assert.equal((await client.messages.read(id))["status"], "scheduled");
      const stray = await godwit.rows("select from messages_default union all select from events_default");
      assert.equal(stray.length, 0, "no row is in a default partition");
      await clock.shift("0");
      assert.equal((await client.messages.send({ send_at: inHours(1) }))["status"], "scheduled");
    });
  }
});

test("a node that starts during a step of the database's clock sends no scheduled message early", async () => {
  await using clock = await ShiftedClock.create();
  const before = await startGodwit({ databaseUrl: clock.databaseUrl, roles: "api" });
  const scheduled = await (await clientTo(before)).messages.send({ send_at: inHours(1) });
  await before.stop();
  await clock.shift("4 hours");
  await using godwit = await startGodwit({ databaseUrl: clock.databaseUrl, roles: "api,dispatch", simulatorSpeed: 100 });
  const step = godwit.logs.find(({ event }) => event === "storage.clock_step");
  assert.equal(Math.round(Number(step?.["step_ms"]) / HOUR_MS), 4);
  const client = await clientTo(godwit);
  const startedMs = Date.now();
  const prompt = await client.messages.send({});
  assertCreatedNow(prompt, startedMs);
  await until("a message to be delivered", async () => (await client.messages.read(prompt["id"]))["status"] === "delivered" || undefined);
  assert.equal((await client.messages.read(scheduled["id"]))["status"], "scheduled");
});

test("a scheduled message waits for the clock of this machine while that of the database is ahead, and the difference is reported", async () => {
  await using clock = await ShiftedClock.create();
  // The first start follows the database, as a running node follows a slew.
  await clock.shift("40 seconds");
  await using godwit = await startGodwit({ databaseUrl: clock.databaseUrl, roles: "api,dispatch", simulatorSpeed: 100 });
  const client = await clientTo(godwit);
  const inSeconds = (count: number): number => Date.now() + count * 1_000;
  // One has come by the clock of the database when it is accepted, and the other comes by it a second later.
  const times = [inSeconds(4), inSeconds(41)];
  const [soon, later] = await Promise.all(times.map((timeMs) => client.messages.send({ send_at: new Date(timeMs).toISOString() })));
  assert.deepEqual([soon?.["status"], later?.["status"]], ["scheduled", "scheduled"]);
  const prompt = await client.messages.send({});
  await client.messages.reached(prompt["id"], "delivered");
  await client.messages.reached(soon?.["id"], "delivered");
  assert.ok(Date.now() >= (times[0] ?? 0), "the first message was sent early");
  assert.equal((await client.messages.read(later?.["id"]))["status"], "scheduled");
  const report = godwit.logs.find(({ event }) => event === "storage.clock_difference");
  assert.equal(Math.round(Number(report?.["difference_ms"]) / 1_000), 40);
});

test("a change of a message from the future moves no other message there", async () => {
  await using godwit = await startGodwit();
  const client = await clientTo(godwit);
  const [account] = await godwit.rows<{ id: AccountId }>("select id from accounts limit 1");
  const futureMs = Date.now() + 36 * 24 * HOUR_MS;
  const id = toId("msg", uuidSequence()(futureMs));
  await godwit.rows(
    `insert into messages (account_id, environment, id, direction, channel, recipient, body, status, sequence, priority, updated_at)
     values ($1, 'test', $2, 'outbound', 'sms', '+14155550123', 'Hello', 'delivered', 1, 'normal', $3)`,
    [account?.id, id, new Date(futureMs)],
  );
  const redacted = await client.messages.request("POST", `/${encodeId("msg", id)}/redact`, { isDeclared: false });
  assert.equal(redacted.status, 200, redacted.text);
  const startedMs = Date.now();
  const message = await client.messages.send({ send_at: inHours(2) });
  assert.equal(message["status"], "scheduled");
  assertCreatedNow(message, startedMs);
});
