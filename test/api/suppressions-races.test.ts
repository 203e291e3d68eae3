/** Concurrent changes of suppressions on two nodes: one state, every change in the history, and one event for each. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, test } from "node:test";
import { clientOf, clientOfAccount, type Client } from "../support/client.ts";
import { startGodwit, type Godwit, type Reply } from "../support/harness.ts";
import { lockTable } from "../support/locks.ts";
import { assertOneExecution, assertReplayOf, assertReused } from "../support/replay.ts";

let godwit: Godwit;
let other: Godwit;
before(async () => {
  godwit = await startGodwit();
  other = await startGodwit({ databaseUrl: godwit.databaseUrl });
});
after(() => Promise.all([godwit.stop(), other.stop()]));

/** Creates a client with a caller for each node. */
async function client(account: string): Promise<[here: Client, there: Client]> {
  const own = await clientOfAccount(godwit, account);
  return [own, clientOf(other, own.key)];
}

const typesOf = async (own: Client): Promise<unknown[]> => (await own.suppressions.events()).map(({ type }) => type);

test("twenty requests for the same recipient create one suppression and one event, with one 201", async () => {
  const nodes = await client("twenty");
  await using lock = await lockTable(godwit.databaseUrl, "suppressions");
  const asked = Array.from({ length: 20 }, (_, index) =>
    (nodes[index % 2] as Client).suppressions.post({}, { idempotencyKey: randomUUID() }),
  );
  await lock.waiting(6);
  await lock.release();
  const replies = await Promise.all(asked);
  const made = replies.filter(({ status }) => status === 201);
  assert.equal(made.length, 1);
  assert.equal(replies.filter(({ status }) => status === 200).length, 19);
  for (const reply of replies) assert.equal(reply.text, made[0]?.text);
  assert.deepEqual(await typesOf(nodes[0]), ["recipient.opted_out"]);
  assert.equal((await nodes[0].suppressions.history(made[0]?.json["id"])).data.length, 1);
});

test("twenty requests with the same key are one execution and its replays", async () => {
  const nodes = await client("one key");
  const idempotencyKey = randomUUID();
  const post = (index: number): Promise<Reply> => (nodes[index % 2] as Client).suppressions.post({ note: "x" }, { idempotencyKey });
  const first = assertOneExecution(await Promise.all(Array.from({ length: 20 }, (_, index) => post(index))), 201);
  // A replay returns the first response, although the suppression has changed since.
  await nodes[0].suppressions.lift(first.json["id"]);
  for (const index of [0, 1]) assertReplayOf(first, await post(index));
  assert.equal((await nodes[1].suppressions.read(first.json["id"]))["status"], "lifted");
  assertReused(await nodes[1].suppressions.post({ note: "y" }, { idempotencyKey }));
  assert.deepEqual(await typesOf(nodes[0]), ["recipient.opted_out", "recipient.opted_in"]);
});

test("concurrent requests to suppress and to lift end in one state, with every change in the history and in an event, in order", async () => {
  const nodes = await client("both");
  const { id } = await nodes[0].suppressions.add();
  const rounds = 5;
  for (let round = 0; round < rounds; round += 1) {
    await using lock = await lockTable(godwit.databaseUrl, "suppressions");
    const asked = Array.from({ length: 20 }, (_, index) => {
      const node = nodes[index % 2] as Client;
      return index % 4 < 2 ? node.suppressions.request("DELETE", `/${String(id)}`) : node.suppressions.post();
    });
    await lock.waiting(6);
    await lock.release();
    for (const { status, text } of await Promise.all(asked)) assert.ok(status === 200 || status === 201, text);
  }
  const history = (await nodes[0].suppressions.history(id, { limit: "100" })).data.toReversed();
  assert.ok(history.length > 2, `${history.length} changes`);
  assert.deepEqual(
    history.map(({ status }) => status),
    history.map((_, index) => (index % 2 === 0 ? "active" : "lifted")),
  );
  assert.equal((await nodes[1].suppressions.read(id))["status"], history.at(-1)?.["status"]);
  assert.deepEqual(
    (await nodes[1].suppressions.events()).map((event) => [event["id"], event["type"]]),
    history.map((entry) => [entry["id"], entry["status"] === "active" ? "recipient.opted_out" : "recipient.opted_in"]),
  );
});
