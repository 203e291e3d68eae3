/** A database connection that is cut while a message is changed: a 503 means that nothing was done, anything else is true, and
 *  retries under the key end in one change. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, afterEach, before, beforeEach, describe, test } from "node:test";
import { clientOf, type Client } from "../support/client.ts";
import type { Json } from "../support/client/request.ts";
import { DatabaseWire } from "../support/database-wire.ts";
import { assertRefused, until } from "../support/expect.ts";
import { startGodwit, type Godwit } from "../support/harness.ts";
import { lockMessage } from "../support/locks.ts";
import { assertFirst, assertReplayOf, isStored } from "../support/replay.ts";
import { eventsOf, queueRowOf } from "../support/tables.ts";

const canceledOf = async (godwit: Godwit, id: unknown): Promise<number> =>
  (await eventsOf(godwit, id)).filter(({ type }) => type === "message.canceled").length;

describe("a connection cut while a message is changed", () => {
  // The end of a transaction, as the driver asks for it. Upkeep ends some, too; the cut is made while ours is under way.
  const COMMIT = "commit\0";
  const STORE_ANSWER = "insert into idempotency_keys (account_id";
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
    // Its connections are new, so every statement's text is still on its way to the database.
    cut = await startGodwit({ databaseUrl: wire.url });
    client = clientOf(cut, apiKey);
  });
  afterEach(async () => {
    assert.equal(await cut.stop(), 0, cut.output.join("\n"));
  });

  const send = (): Promise<Json> => clientOf(direct, apiKey).messages.send({ client_reference: randomUUID() });

  type Row = readonly [what: string, moment: "asked" | "answered", mark: (message: Json) => string];
  const NOTHING_DONE: readonly Row[] = [
    ["before the change reaches the database", "asked", ({ client_reference: reference }) => String(reference)],
    ["after the change, before its end", "answered", ({ client_reference: reference }) => String(reference)],
    ["before its answer is stored", "asked", () => STORE_ANSWER],
    ["after its answer was stored, before its end", "answered", () => STORE_ANSWER],
  ];
  for (const [what, moment, mark] of NOTHING_DONE) {
    test(`${what}: 503, nothing was done, and a retry is executed once`, async () => {
      const message = await send();
      const { id } = message;
      const idempotencyKey = randomUUID();
      wire.cutNext(moment, mark(message));
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
    test(`in its end, the answer ${moment === "answered" ? "lost" : "just here"}: what was done is told, and done once`, async () => {
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

  test("before its end is asked for: 503, and a retry is executed once", async () => {
    // Upkeep may come in between and be cut in its place: then once more.
    await until("the cut hit the change", async () => {
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

  test("while it waits for the message: 503, nothing of it runs on, and a retry is executed once", async () => {
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
    const first = await until("the key is free again", async () => {
      const again = await client.messages.cancel(id, { idempotencyKey });
      return again.status === 200 ? again : undefined;
    });
    assertReplayOf(first, await clientOf(direct, apiKey).messages.cancel(id, { idempotencyKey }));
    assert.equal(await canceledOf(direct, id), 1);
    assert.equal((await clientOf(direct, apiKey).messages.read(id))["sequence"], 2);
  });

  test("in the end of a refusal, the answer lost: the refusal is told, and remembered", async () => {
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
