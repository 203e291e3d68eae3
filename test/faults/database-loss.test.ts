/** The database is lost for a moment or for longer: a message with a 202 is stored, a 503 means that nothing was stored, and the service
 *  recovers without a restart. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { after, afterEach, before, beforeEach, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { poll, within } from "../../src/lib/wait.ts";
import { Database } from "../../src/database/database.ts";
import { sql } from "../../src/database/sql.ts";
import { DatabaseWire } from "../support/database-wire.ts";
import { createDatabase } from "../support/database.ts";
import { LIMIT_MS, until } from "../support/expect.ts";
import { startGodwit, type Godwit, type Reply } from "../support/harness.ts";
import { HELD_BODY, holdAccepts, lockTable } from "../support/locks.ts";
import { allowConnections, cutConnections } from "../support/outage.ts";
import { assertFirst, assertReplayOf, effectCount, isReplay, isStored, NEVER, ONCE, unique } from "../support/replay.ts";
import { seeded } from "../support/seed.ts";
import { assertEachOnce, assertNothingDone, assertNothingHalfDone, retryUnanswered, sendUntil } from "../support/sending.ts";

const postTo = (node: Godwit, apiKey: string, idempotencyKey: string, body: unknown): Promise<Reply> =>
  node.request("POST", "/v1/messages", { key: apiKey, idempotencyKey, body });

/** A process of this machine that can be stopped and continued. */
const isLocalPostgres = (pid: number): boolean =>
  existsSync(`/proc/${pid}/comm`) && readFileSync(`/proc/${pid}/comm`, "utf8").trim() === "postgres";

function assertUnavailable(reply: Reply): void {
  assert.equal(reply.status, 503, reply.text);
  assert.equal(reply.json["code"], "service_unavailable");
  assert.match(reply.headers.get("retry-after") ?? "", /^[1-9]\d*$/);
}

describe("connections that are cut under load", () => {
  test("get 202, 503 or 500: a 202 is stored once, a 503 stored nothing, and retries result in one message", async (context) => {
    const random = seeded(context);
    await using godwit = await startGodwit();
    const { db } = godwit;
    assert.ok(db !== undefined);
    await godwit.unlimited();
    const apiKey = await godwit.key();
    const stop = new AbortController();
    const load = sendUntil(stop.signal, { godwit, apiKey });
    for (let count = 0; count < 10; count += 1) {
      await sleep(200 + random() * 150);
      await cutConnections(godwit.databaseUrl, "application_name like 'godwit %' and application_name not like 'godwit test %'");
    }
    stop.abort();
    const sent = await load;
    const answered = (status: number) => sent.filter((one) => one.status === status);
    context.diagnostic(`${answered(202).length} times 202, ${answered(503).length} times 503, ${answered(500).length} times 500`);
    for (const { status } of sent) assert.ok([202, 500, 503].includes(status ?? 0), `answered ${status}`);
    assert.equal((await godwit.request("GET", "/livez")).status, 200, "the service still runs");
    await assertNothingDone(db, answered(503));
    await assertEachOnce(db, answered(202));
    await assertEachOnce(db, await retryUnanswered(godwit, apiKey, sent));
    await assertNothingHalfDone(db);
  });
});

test("every session has a unique name, whatever the URL contains, by which only a lost session is ended", async () => {
  const url = await createDatabase();
  await using godwit = await startGodwit({ databaseUrl: `${url}${url.includes("?") ? "&" : "?"}application_name=shared` });
  const rows = await godwit.rows<{ name: string }>(
    "select application_name as name from pg_stat_activity where datname = current_database()",
  );
  const names = rows.map(({ name }) => name);
  assert.ok(names.length >= 2);
  assert.equal(new Set(names).size, names.length);
  for (const name of names) assert.match(name, /^godwit \w+ \d+ schema \d+$/);
});

describe("a connection that is cut during a statement", () => {
  let wire: DatabaseWire;
  let godwit: Godwit;
  let direct: Godwit;
  let apiKey: string;
  before(async () => {
    // One service without the wire, through which the test reads the database.
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
    godwit = await startGodwit({ databaseUrl: wire.url });
  });
  afterEach(async () => {
    assert.equal(await godwit.stop(), 0, godwit.output.join("\n"));
  });

  test("before the statement arrives: 503, nothing is stored, and a retry is executed", async () => {
    const key = randomUUID();
    const body = unique();
    wire.cutNext("asked", String(body["client_reference"]));
    assertUnavailable(await postTo(godwit, apiKey, key, body));
    assert.equal(await isStored(direct, key), false);
    assertFirst(await postTo(godwit, apiKey, key, body));
    assert.deepEqual(await effectCount(direct, body), ONCE);
  });

  test("after the commit: the outcome is looked up, and the response is the 202", async () => {
    const key = randomUUID();
    const body = unique();
    wire.cutNext("answered", String(body["client_reference"]));
    const first = await postTo(godwit, apiKey, key, body);
    assertFirst(first);
    assert.deepEqual(await effectCount(direct, body), ONCE);
    assertReplayOf(first, await postTo(godwit, apiKey, key, body));
    assertReplayOf(first, await postTo(direct, apiKey, key, body));
  });

  test("together with the result: the response is the 202, and the service still runs", async () => {
    const key = randomUUID();
    const body = unique();
    wire.cutNext("ended", String(body["client_reference"]));
    const first = await postTo(godwit, apiKey, key, body);
    assertFirst(first);
    assertReplayOf(first, await postTo(godwit, apiKey, key, body));
    assert.deepEqual(await effectCount(direct, body), ONCE);
  });

  test("after the commit of a refusal: the response is the refusal", async () => {
    const key = randomUUID();
    const body = unique({ body: "x".repeat(500), max_segments: 1 });
    await using hold = await lockTable(direct.databaseUrl, "idempotency_keys");
    const running = postTo(godwit, apiKey, key, body);
    await hold.waiting();
    // The commit as the driver sends it.
    wire.cutNext("answered", "commit\0");
    await hold.release();
    const first = await running;
    // The refusal is committed. A 503 would mean that nothing was stored and that the key is free.
    assert.equal(first.status, 422, first.text);
    const again = await postTo(godwit, apiKey, key, body);
    assert.equal(again.status, 422);
    assert.equal(again.json["code"], "max_segments_exceeded");
    assert.deepEqual(await effectCount(direct, body), NEVER);
  });

  test("before the commit of a refusal: 503, nothing is stored, and a retry gets the refusal", async () => {
    const key = randomUUID();
    const body = unique({ body: "x".repeat(500), max_segments: 1 });
    // The statement that stores the response contains it, and the response names the fault.
    wire.cutNext("answered", "max_segments_exceeded");
    assertUnavailable(await postTo(godwit, apiKey, key, body));
    assert.equal(await isStored(direct, key), false);
    assert.equal((await postTo(godwit, apiKey, key, body)).status, 422);
  });

  test("after the commit of one batch: each of its requests gets its own 202", async () => {
    const requests = Array.from({ length: 30 }, () => ({ key: randomUUID(), body: unique() }));
    wire.cutNext("answered", String(requests[15]?.body["client_reference"]));
    const replies = await Promise.all(requests.map(({ key, body }) => postTo(godwit, apiKey, key, body)));
    for (const reply of replies) assertFirst(reply);
    for (const { body } of requests) assert.deepEqual(await effectCount(direct, body), ONCE);
  });

  test("while the statement runs: it is ended before the response, so that a 503 stays true", async () => {
    await using hold = await holdAccepts(direct.databaseUrl);
    const key = randomUUID();
    const body = unique({ body: HELD_BODY });
    wire.cutNext("running", String(body["client_reference"]));
    assertUnavailable(await postTo(godwit, apiKey, key, body));
    assert.equal((await hold.waiters()).length, 0, "the statement does not run any more");
    await hold.release();
    assert.equal(await isStored(direct, key), false);
    assert.deepEqual(await effectCount(direct, body), NEVER);
    assertFirst(await postTo(direct, apiKey, key, body));
    assert.equal(isReplay(await postTo(godwit, apiKey, key, body)), true);
    assert.deepEqual(await effectCount(direct, body), ONCE);
  });
});

describe("a cut connection whose session cannot be ended", () => {
  test("causes a 500, because the session may still commit and a 503 would mean that nothing was stored", async (context) => {
    await using direct = await startGodwit();
    const wire = await DatabaseWire.to(direct.databaseUrl as string);
    const godwit = await startGodwit({ databaseUrl: wire.url });
    await using hold = await holdAccepts(direct.databaseUrl);
    let backend = 0;
    try {
      const running = postTo(godwit, await direct.key(), randomUUID(), unique({ body: HELD_BODY }));
      await hold.waiting();
      backend = (await hold.waiters())[0] ?? 0;
      if (isLocalPostgres(backend)) process.kill(backend, "SIGSTOP");
      else context.skip("the database runs elsewhere");
      wire.cutAll();
      const reply = await running;
      if (!isLocalPostgres(backend)) return;
      assert.equal(reply.status, 500, reply.text);
      assert.equal(reply.json["code"], "internal_server_error");
    } finally {
      if (isLocalPostgres(backend)) process.kill(backend, "SIGCONT");
      await godwit.stop();
      await wire.close();
    }
  });
});

describe("an unavailable database", () => {
  test("causes a 503 for requests and readiness, and both recover with it", async () => {
    await using godwit = await startGodwit();
    await godwit.unlimited();
    const apiKey = await godwit.key();
    const key = randomUUID();
    const body = unique();
    assertFirst(await godwit.send(apiKey));
    await allowConnections(godwit.databaseUrl, false);
    await cutConnections(godwit.databaseUrl);
    for (let count = 0; count < 3; count += 1) assertUnavailable(await postTo(godwit, apiKey, key, body));
    const readiness = async (status: number): Promise<true | undefined> =>
      (await godwit.request("GET", "/readyz")).status === status || undefined;
    assert.ok(await poll(() => readiness(503), { timeoutMs: LIMIT_MS, everyMs: 50 }), "not ready");
    assertUnavailable(await godwit.request("GET", "/readyz"));
    assert.equal((await godwit.request("GET", "/livez")).status, 200);

    await allowConnections(godwit.databaseUrl, true);
    const ask = async (): Promise<Reply | undefined> => {
      const reply = await postTo(godwit, apiKey, key, body);
      return reply.status === 503 ? undefined : reply;
    };
    const first = await poll(ask, { timeoutMs: LIMIT_MS, everyMs: 50 });
    assert.ok(first !== undefined, "the service did not recover");
    assertFirst(first);
    assert.ok(await poll(() => readiness(200), { timeoutMs: LIMIT_MS, everyMs: 50 }), "ready again");
    assert.deepEqual(await effectCount(godwit, body), ONCE);
  });
});

test("a node ends lost sessions only in its own database, also where another installation uses the same server", async () => {
  const urls = [await createDatabase(), await createDatabase()];
  const [own, other] = urls.map((url) => new Database({ url }, "same", () => undefined)) as [Database, Database];
  try {
    const sessionOf = async (db: Database): Promise<{ pid: number; name: string } | undefined> =>
      (await db.rows<{ pid: number; name: string }>(sql`select pg_backend_pid() as pid, current_setting('application_name') as name`))[0];
    const earlier = [await sessionOf(own), await sessionOf(other)];
    const admin = new Database({ url: urls[0] as string }, "admin", () => undefined);
    await admin.endSession(earlier[0]?.name ?? "");
    await admin.close();
    assert.deepEqual(await sessionOf(other), earlier[1]);
    await until("the own session to be lost", async () => {
      const now = await sessionOf(own).catch(() => undefined);
      return now !== undefined && JSON.stringify(now) !== JSON.stringify(earlier[0]) ? true : undefined;
    });
  } finally {
    await Promise.all([own.close(), other.close()]);
  }
});

test("a service whose database has vanished ends on SIGTERM", async () => {
  const wire = await DatabaseWire.to(await createDatabase());
  await using godwit = await startGodwit({ databaseUrl: wire.url, asProcess: true });
  assertFirst(await godwit.send(await godwit.key()));
  wire.freezeAll();
  assert.equal(await within(godwit.stop("SIGTERM"), LIMIT_MS), 0);
  await wire.close();
});
