/** Imports of suppressions: atomic, idempotent and in a few statements, also with crashes and on two nodes. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { clientOf, clientOfAccount, walk, recipients, SHOP, type Client, type Json } from "../support/client.ts";
import { RECIPIENT } from "../support/recipient.ts";
import { assertProblem, faultsOf, until } from "../support/expect.ts";
import { startGodwit, type Godwit, type Reply } from "../support/harness.ts";
import { lockTable } from "../support/locks.ts";
import { assertConflict, assertReplayOf, assertReused, isStored } from "../support/replay.ts";

let godwit: Godwit;
let other: Godwit;
before(async () => {
  godwit = await startGodwit();
  other = await startGodwit({ databaseUrl: godwit.databaseUrl });
});
after(() => Promise.all([godwit.stop(), other.stop()]));

let accounts = 0;
const newClient = (): Promise<Client> => clientOfAccount(godwit, `imports ${(accounts += 1)}`);

const idsOf = ({ json }: Reply): string[] => json["suppression_ids"] as string[];
const allOf = async (own: Client): Promise<Json[]> => (await walk(own.suppressions.list, { limit: "100" })).flatMap(({ data }) => data);

function assertImported(reply: Reply, added: number, alreadyActive: number): void {
  assert.equal(reply.status, 200, reply.text);
  const { suppression_ids: _, ...rest } = reply.json;
  assert.deepEqual(rest, { object: "suppression_import", added, already_active: alreadyActive, in_flight: 0 });
}

test("an import of a thousand entries creates a thousand suppressions, each with its event, in the order of the entries", async () => {
  const own = await newClient();
  const entries = recipients(1_000).map((recipient, index) => ({
    recipient,
    ...(index % 2 === 0 ? { sender: SHOP } : {}),
    ...(index % 3 === 0 ? { note: `entry ${index} ${"x".repeat(150)}` } : {}),
  }));
  assert.ok(JSON.stringify({ entries }).length > 65_536, "the body is larger than the limit of other routes");
  const reply = await own.suppressions.import(entries);
  assertImported(reply, 1_000, 0);
  const all = await allOf(own);
  assert.equal(all.length, 1_000);
  const byId = new Map(all.map((each) => [each["id"], each]));
  for (const [index, id] of idsOf(reply).entries()) {
    const { recipient, sender, note, source, status } = byId.get(id) ?? {};
    assert.deepEqual({ recipient, sender, note }, { sender: null, note: null, ...entries[index] });
    assert.deepEqual([source, status], ["import", "active"]);
  }
  const reported = (await own.suppressions.events()).map((event) => [event["type"], (event["data"] as { suppression: Json }).suppression]);
  assert.deepEqual(
    reported,
    all.toReversed().map((each) => ["recipient.opted_out", each]),
  );
});

test("an import keeps active suppressions, activates lifted ones again, and creates the others", async () => {
  const own = await newClient();
  const [active = "", lifted = "", fresh = ""] = recipients(3);
  const kept = await own.suppressions.add({ recipient: active, note: "before" });
  const { id } = await own.suppressions.add({ recipient: lifted });
  await own.suppressions.lift(id);
  const reply = await own.suppressions.import([active, lifted, fresh].map((recipient) => ({ recipient, note: "imported" })));
  assertImported(reply, 2, 1);
  assert.deepEqual(idsOf(reply).slice(0, 2), [kept["id"], id]);
  assert.deepEqual(await own.suppressions.read(kept["id"]), kept);
  const again = await own.suppressions.read(id);
  assert.deepEqual([again["status"], again["source"], again["note"]], ["active", "import", "imported"]);
  assert.deepEqual(
    (await own.suppressions.history(id)).data.map(({ status, source }) => [status, source]),
    [
      ["active", "import"],
      ["lifted", "api"],
      ["active", "api"],
    ],
  );
  assert.equal((await own.suppressions.events()).length, 3 + 2);
});

test("an import with the same recipient and sender twice counts once, and uses the first entry", async () => {
  const own = await newClient();
  const reply = await own.suppressions.import([
    { recipient: RECIPIENT, note: "first" },
    { recipient: RECIPIENT, sender: SHOP },
    { recipient: RECIPIENT, sender: null, note: "second" },
    { recipient: RECIPIENT, sender: SHOP, note: "third" },
  ]);
  assertImported(reply, 2, 0);
  const [one, two, ...repeated] = idsOf(reply);
  assert.notEqual(one, two);
  assert.deepEqual(repeated, [one, two]);
  assert.deepEqual([(await own.suppressions.read(one))["note"], (await own.suppressions.read(two))["note"]], ["first", null]);
  assert.equal((await own.suppressions.events()).length, 2);
});

describe("an invalid import", () => {
  const good = { recipient: RECIPIENT };
  const ROWS: readonly (readonly [what: string, body: unknown, faults: Record<string, string>])[] = [
    ["without entries", {}, { "/entries": "required" }],
    ["with an empty list", { entries: [] }, { "/entries": "too_few" }],
    ["with 1,001 entries", { entries: recipients(1_001).map((recipient) => ({ recipient })) }, { "/entries": "too_many" }],
    ["with entries that are not a list", { entries: good }, { "/entries": "invalid_type" }],
    ["with an unknown field", { entries: [good], source: "import" }, { "/source": "unknown_field" }],
    ["with null as an entry", { entries: [good, null] }, { "/entries/1": "invalid_type" }],
    [
      "with faults in many entries",
      {
        entries: [
          { recipient: "4155550123" },
          good,
          { recipient: "+1415555012", sender: "" },
          { sender: SHOP },
          { ...good, note: "x".repeat(257) },
          { ...good, phone: "x" },
        ],
      },
      {
        "/entries/0/recipient": "invalid_format",
        "/entries/2/recipient": "impossible_number",
        "/entries/2/sender": "invalid_format",
        "/entries/3/recipient": "required",
        "/entries/4/note": "too_long",
        "/entries/5/phone": "unknown_field",
      },
    ],
  ];
  for (const [what, body, faults] of ROWS) {
    test(`${what} is a 400 with each position, and nothing is imported`, async () => {
      const own = await newClient();
      const key = randomUUID();
      const reply = await own.suppressions.request("POST", "/import", { body, idempotencyKey: key });
      assertProblem(reply, "invalid_request_payload");
      assert.deepEqual(Object.fromEntries(faultsOf(reply).map(({ pointer, code }) => [pointer, code])), faults);
      assert.deepEqual((await own.suppressions.list()).data, []);
      assertImported(await own.suppressions.import([good], { idempotencyKey: key }), 1, 0);
    });
  }

  test("reports a fault in the last of a thousand entries, and at most a hundred faults", async () => {
    const own = await newClient();
    const entries = recipients(1_000).map((recipient) => ({ recipient }));
    const reply = await own.suppressions.import(entries.with(999, { recipient: "+1415555012" }));
    assert.deepEqual(
      faultsOf(reply).map(({ pointer }) => pointer),
      ["/entries/999/recipient"],
    );
    const faults = faultsOf(await own.suppressions.import(entries.map(() => ({ recipient: "+1415555012" }))));
    assert.equal(faults.length, 100);
    assert.deepEqual((await own.suppressions.list()).data, []);
  });

  test("with a body of more than 512 kB is too large", async () => {
    const own = await newClient();
    assert.deepEqual((await own.suppressions.list()).data, []);
    const reply = await own.suppressions.request("POST", "/import", { body: JSON.stringify({ entries: [], pad: "x".repeat(524_288) }) });
    assertProblem(reply, "payload_too_large");
  });
});

describe("the idempotency key of an import", () => {
  test("has one import and one response on every node", async () => {
    const own = await newClient();
    const idempotencyKey = randomUUID();
    const entries = recipients(200).map((recipient) => ({ recipient }));
    const first = await own.suppressions.import(entries, { idempotencyKey });
    assertImported(first, 200, 0);
    await own.suppressions.lift(idsOf(first)[0]);
    const there = clientOf(other, own.key);
    for (const node of [own, there]) assertReplayOf(first, await node.suppressions.import(entries, { idempotencyKey }));
    assertReused(await there.suppressions.import(entries.slice(1), { idempotencyKey }));
    assert.equal((await own.suppressions.events()).length, 201);
  });

  test("is a conflict at once while its import runs on another node", async () => {
    const own = await newClient();
    const idempotencyKey = randomUUID();
    await using lock = await lockTable(godwit.databaseUrl, "events");
    const asked = own.suppressions.import([{ recipient: RECIPIENT }], { idempotencyKey });
    await lock.waiting();
    assertConflict(await clientOf(other, own.key).suppressions.import([{ recipient: RECIPIENT }], { idempotencyKey }));
    await lock.release();
    const first = await asked;
    assertImported(first, 1, 0);
    assertReplayOf(first, await clientOf(other, own.key).suppressions.import([{ recipient: RECIPIENT }], { idempotencyKey }));
  });
});

test("a node that is killed during an import leaves nothing, and the same key imports everything", async () => {
  const killed = await startGodwit({ asProcess: true, isOneProcess: true, databaseUrl: godwit.databaseUrl });
  const own = await newClient();
  const idempotencyKey = randomUUID();
  const entries = recipients(500).map((recipient) => ({ recipient }));
  await using lock = await lockTable(godwit.databaseUrl, "events");
  // The suppressions are written, and the events are not yet.
  const asked = clientOf(killed, own.key).suppressions.import(entries, { idempotencyKey });
  const lost = assert.rejects(asked);
  await lock.waiting();
  await killed.stop("SIGKILL");
  await lost;
  await lock.release();
  assert.equal(await isStored(godwit, idempotencyKey), false);
  assert.deepEqual((await own.suppressions.list()).data, []);
  const reply = await until("the session of the killed node has ended", async () => {
    const response = await own.suppressions.import(entries, { idempotencyKey });
    return response.status === 409 ? undefined : response;
  });
  assertImported(reply, 500, 0);
  assert.equal((await own.suppressions.events()).length, 500);
});

test("imports of the same recipients on two nodes add each once, in any order", async () => {
  const own = await newClient();
  const nodes = [own, clientOf(other, own.key)];
  const entries = recipients(300).map((recipient) => ({ recipient }));
  await using lock = await lockTable(godwit.databaseUrl, "suppressions");
  const asked = Array.from({ length: 8 }, (_, index) =>
    (nodes[index % 2] as Client).suppressions.import([...entries.slice(index * 37), ...entries.slice(0, index * 37)].slice(0, 250)),
  );
  // Two of each node: beside other accounts a node runs one import of an account at a time, and one more when that is stuck.
  await lock.waiting(4);
  await lock.release();
  const replies = await Promise.all(asked);
  for (const reply of replies) assert.equal(reply.status, 200, reply.text);
  const added = replies.reduce((sum, { json }) => sum + Number(json["added"]), 0);
  assert.equal(added, 300);
  assert.equal((await own.suppressions.events()).length, 300);
  assert.equal((await allOf(own)).length, 300);
});
