/** A database connection that is cut while a message is changed: a 503 means that nothing was stored, other responses are true, and
 *  retries with the key result in one change. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, afterEach, before, beforeEach, describe, test } from "node:test";
import { clientOf, type Client, type Json } from "../support/client.ts";
import { DatabaseWire } from "../support/database-wire.ts";
import { assertRefused, until } from "../support/expect.ts";
import { startGodwit, type Godwit } from "../support/harness.ts";
import { lockMessage } from "../support/locks.ts";
import { assertFirst, assertReplayOf, isStored } from "../support/replay.ts";
import { eventsOf, queueRowOf } from "../support/tables.ts";

const canceledOf = async (godwit: Godwit, id: unknown): Promise<number> =>
  (await eventsOf(godwit, id)).filter(({ type }) => type === "message.canceled").length;

describe("a connection that is cut while a message is changed", () => {
  // The commit as the driver sends it. Background tasks commit, too; the cut is made while our transaction runs.
  const COMMIT = "commit\0";
  const CHANGE = "update messages m";
  const STORE_RESPONSE = "insert into idempotency_keys as stored";
  let wire: DatabaseWire;
  let cut: Godwit;
  let direct: Godwit;
  let apiKey: string;
  let client: Client;
  before(async () => {
    direct = await startGodwit();
    wire = await DatabaseWire.to(direct.databaseUrl as string);
    await direct.unlimited();
    apiKey = await direct.key();
  });
  after(async () => {
    await wire.close();
    await direct.stop();
  });
  beforeEach(async () => {
    // The connections are new, so every statement is still sent with its text.
    cut = await startGodwit({ databaseUrl: wire.url });
    client = clientOf(cut, apiKey);
  });
  afterEach(async () => {
    assert.equal(await cut.stop(), 0, cut.output.join("\n"));
  });

  const send = (): Promise<Json> => clientOf(direct, apiKey).messages.send({ client_reference: randomUUID() });

  const NOTHING_DONE = [
    ["before the change reaches the database", "asked", CHANGE],
    ["after the change, before the commit", "answered", CHANGE],
    ["before the response is stored", "asked", STORE_RESPONSE],
    ["after the response is stored, before the commit", "answered", STORE_RESPONSE],
  ] as const;
  for (const [what, moment, mark] of NOTHING_DONE) {
    test(`${what}: 503, nothing is stored, and a retry is executed once`, async () => {
      const message = await send();
      const { id } = message;
      const idempotencyKey = randomUUID();
      wire.cutNext(moment, mark);
      const reply = await client.messages.cancel(id, { idempotencyKey });
      assert.equal(reply.status, 503, reply.text);
      assert.equal(reply.json["code"], "service_unavailable");
      assert.match(reply.headers.get("retry-after") ?? "", /^[1-9]\d*$/);
      assert.deepEqual(await clientOf(direct, apiKey).messages.read(id), message);
      assert.equal(await isStored(direct, idempotencyKey), false);
      assert.ok((await queueRowOf(direct, id)) !== undefined);
      const first = await client.messages.cancel(id, { idempotencyKey });
      assertFirst(first, 200);
      assertReplayOf(first, await clientOf(direct, apiKey).messages.cancel(id, { idempotencyKey }));
      assert.equal(await canceledOf(direct, id), 1);
    });
  }

  for (const moment of ["answered", "ended"] as const) {
    test(`after the commit, its result ${moment === "answered" ? "lost" : "received"}: the outcome is returned, and the change is stored once`, async () => {
      const { id } = await send();
      await using hold = await lockMessage(direct.databaseUrl, id);
      const idempotencyKey = randomUUID();
      const running = client.messages.cancel(id, { idempotencyKey });
      await hold.waiting();
      wire.cutNext(moment, COMMIT);
      await hold.release();
      const first = await running;
      assertFirst(first, 200);
      for (const each of [client, clientOf(direct, apiKey)]) assertReplayOf(first, await each.messages.cancel(id, { idempotencyKey }));
      assert.equal(await canceledOf(direct, id), 1);
      assert.equal(await queueRowOf(direct, id), undefined);
    });
  }

  test("before the commit is sent: 503, and a retry is executed once", async () => {
    // A background task may be cut instead. The test then repeats the cut.
    await until("the cut to hit the change", async () => {
      const { id } = await send();
      await using hold = await lockMessage(direct.databaseUrl, id);
      const idempotencyKey = randomUUID();
      const running = client.messages.cancel(id, { idempotencyKey });
      await hold.waiting();
      wire.cutNext("asked", COMMIT);
      await hold.release();
      const reply = await running;
      if (reply.status === 200) return undefined;
      assert.equal(reply.status, 503, reply.text);
      assert.equal(await canceledOf(direct, id), 0);
      assertFirst(await client.messages.cancel(id, { idempotencyKey }), 200);
      assert.equal(await canceledOf(direct, id), 1);
      return true;
    });
  });

  test("while it waits for the message: 503, nothing continues, and a retry is executed once", async () => {
    const message = await send();
    const { id } = message;
    const hold = await lockMessage(direct.databaseUrl, id);
    const idempotencyKey = randomUUID();
    const running = client.messages.cancel(id, { idempotencyKey });
    await hold.waiting();
    wire.cutAll();
    const reply = await running;
    assert.equal(reply.status, 503, reply.text);
    await hold.release();
    const first = await until("the key to be free again", async () => {
      const again = await client.messages.cancel(id, { idempotencyKey });
      return again.status === 200 ? again : undefined;
    });
    assertReplayOf(first, await clientOf(direct, apiKey).messages.cancel(id, { idempotencyKey }));
    assert.equal(await canceledOf(direct, id), 1);
    assert.equal((await clientOf(direct, apiKey).messages.read(id))["sequence"], 2);
  });

  test("after the commit of a refusal: the refusal is returned and stored", async () => {
    const { id } = await send();
    assertFirst(await clientOf(direct, apiKey).messages.cancel(id), 200);
    await using hold = await lockMessage(direct.databaseUrl, id);
    const idempotencyKey = randomUUID();
    const running = client.messages.cancel(id, { idempotencyKey });
    await hold.waiting();
    wire.cutNext("answered", COMMIT);
    await hold.release();
    const first = await running;
    assertRefused(first, "message_not_cancelable", "canceled");
    assertReplayOf(first, await client.messages.cancel(id, { idempotencyKey }));
  });
});
