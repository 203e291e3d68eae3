/** The primary of the database is lost under load, and its standby is promoted: every 202 is there, no request has two effects, and the service
 *  continues without a restart. GODWIT_TEST_FAILOVERS is the number of failovers. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { describe, test } from "node:test";
import { inspect } from "node:util";
import { Database } from "../../src/database/database.ts";
import { migrate } from "../../src/database/migrate.ts";
import { sql } from "../../src/database/sql.ts";
import { createPartitions } from "../../src/database/partitions.ts";
import { LINK, Rig } from "../support/delivery-rig.ts";
import { until } from "../support/expect.ts";
import { startGodwit, type Godwit, type Reply } from "../support/harness.ts";
import { ReplicatedServers } from "../support/replicated-servers.ts";
import { assertReplayOf, effectCount, isReplay, isStored, ONCE, unique } from "../support/replay.ts";
import { ScriptedCarrier } from "../support/scripted-carrier.ts";
import { assertEachOnce, assertNothingHalfDone, retryUnanswered, sendUntil, type Sent } from "../support/sending.ts";

const FAILOVERS = Number(process.env["GODWIT_TEST_FAILOVERS"] ?? "2");

describe("failover under load", () => {
  test("keeps every 202, and messages are accepted again without a restart", async (context) => {
    await using servers = await ReplicatedServers.start();
    await using godwit = await startGodwit({ databaseUrl: servers.url });
    const { db } = godwit;
    assert.ok(db !== undefined);
    await godwit.unlimited();
    const apiKey = await godwit.key();
    const sent: Sent[] = [];
    for (let count = 1; count <= FAILOVERS; count += 1) {
      const stop = new AbortController();
      let accepted = 0;
      const load = sendUntil(stop.signal, { godwit, apiKey }, ({ status }) => void (accepted += status === 202 ? 1 : 0));
      await until("messages to be accepted", () => accepted >= 100 || undefined);
      await servers.primary.end("SIGKILL");
      await servers.promote();
      const promotedAt = performance.now();
      const before = accepted;
      await until("messages to be accepted again", () => accepted > before || undefined);
      const gapMs = performance.now() - promotedAt;
      await until("more messages to be accepted", () => accepted >= before + 100 || undefined);
      stop.abort();
      const all = await load;
      const of = (status: number): number => all.filter((each) => each.status === status).length;
      context.diagnostic(
        `failover ${count}: ${of(202)} times 202, ${of(503)} times 503, ${of(500)} times 500, accepted after ${Math.round(gapMs)} ms`,
      );
      for (const { status } of all) assert.ok([202, 500, 503].includes(status ?? 0), `responded with ${status}`);
      await assertEachOnce(
        db,
        all.filter(({ status }) => status === 202),
      );
      sent.push(...(await retryUnanswered(godwit, apiKey, all)));
      await servers.addStandby();
    }
    await assertEachOnce(db, sent);
    await assertNothingHalfDone(db);
  });
});

/** Why no message is submitted; undefined where messages are. */
const holdOf = async (godwit: Godwit): Promise<string | undefined> =>
  (await godwit.rows<{ reason: string }>("select reason from link_pauses where link = '*'"))[0]?.reason;

describe("a server that was recovered to a time before the last commits", () => {
  const DISPATCHING = { roles: "api,dispatch", simulatorSpeed: 1_000 } as const;
  const statuses = (godwit: Godwit): Promise<{ status: string }[]> => godwit.rows("select status from messages order by id");

  for (const witness of ["has sent the messages", "was idle"])
    test(`is noticed by a node that ${witness}, and nothing is sent a second time`, async () => {
      await using servers = await ReplicatedServers.start();
      const api = await startGodwit({ databaseUrl: servers.url });
      const apiKey = await api.key();
      for (let count = 0; count < 3; count += 1) assert.equal((await api.send(apiKey)).status, 202);
      await api.stop();
      // The other server stays at the time when the messages were queued.
      await servers.standby.end("SIGKILL");
      await servers.releaseStandby();
      const sender = await startGodwit({ databaseUrl: servers.url, ...DISPATCHING });
      await until("the messages to be delivered", async () => (await statuses(sender)).every(({ status }) => status === "delivered"));
      const node = witness === "was idle" ? await startGodwit({ databaseUrl: servers.url, ...DISPATCHING }) : sender;
      if (node !== sender) {
        assert.equal((await node.request("GET", "/readyz")).status, 200);
        await sender.stop();
      }
      await failOver(servers);
      const reason = await until("the hold", () => holdOf(node).catch(() => undefined));
      assert.match(reason, /^on hold since \S+: the database was recovered to a time before the last commits$/);
      await until("the log to say so", () => node.logs.some(({ event }) => event === "delivery.on_hold"));
      // A message that is accepted now shows that the node works.
      await until("a message to be accepted", async () => (await node.send(apiKey)).status === 202);
      assert.deepEqual(new Set((await statuses(node)).map(({ status }) => status)), new Set(["queued"]));
      await node.stop();
    });

  test("is not meant by a failover to a standby that has every commit", async () => {
    await using servers = await ReplicatedServers.start();
    await using node = await startGodwit({ databaseUrl: servers.url, ...DISPATCHING });
    const apiKey = await node.key();
    assert.equal((await node.send(apiKey)).status, 202);
    await until("the message to be delivered", async () => (await statuses(node)).every(({ status }) => status === "delivered"));
    await servers.primary.end("SIGKILL");
    await servers.promote();
    await until("a message to be accepted", async () => (await node.send(apiKey)).status === 202);
    await until("all to be delivered", async () => (await statuses(node)).every(({ status }) => status === "delivered"));
    assert.equal(await holdOf(node), undefined);
  });
});

describe("a primary that hangs", () => {
  test("is given up as soon as its standby is promoted, and does not use up the time limit of each connection", async () => {
    await using servers = await ReplicatedServers.start();
    // So long that a test which waits for it fails.
    await using godwit = await startGodwit({ databaseUrl: `${servers.url}&query_timeout=300000` });
    await godwit.unlimited();
    const apiKey = await godwit.key();
    // Several connections of the pool are open, and idle.
    await Promise.all(Array.from({ length: 8 }, () => godwit.send(apiKey)));
    const old = servers.primary;
    old.signalAll("SIGSTOP");
    const waiting = godwit.send(apiKey);
    await servers.promote();
    await until("a message to be accepted", async () => (await godwit.send(apiKey)).status === 202 || undefined);
    assert.ok([202, 500, 503].includes((await waiting).status));
  });
});

describe("a former primary", () => {
  test("that is promoted by itself, with a timeline of the same number, is not used", async () => {
    await using servers = await ReplicatedServers.start();
    const db = new Database({ url: servers.url }, "test", () => undefined);
    try {
      await migrate(db);
      const isReached = (): Promise<true | undefined> =>
        db.rows(sql`select from accounts`).then(
          () => true,
          () => undefined,
        );
      const former = servers.primary;
      await former.end("SIGKILL");
      await servers.promote();
      await until("the successor to be used", isReached);
      await servers.primary.end("SIGKILL");
      await former.startAndPromote();
      for (let tries = 0; tries < 3; tries += 1) await assert.rejects(db.rows(sql`select from accounts`), isOfAnotherHistory);
      await former.end("SIGKILL");
      await servers.primary.start();
      await until("the successor to be used again", isReached);
    } finally {
      await db.close();
    }
  });
});

/** The reasons of all servers are the cause. */
const isOfAnotherHistory = (error: Error): true => {
  assert.match(inspect(error, { depth: 6 }), /with another history/);
  return true;
};

const stopping = (...parts: readonly AsyncDisposable[]): AsyncDisposable => ({
  [Symbol.asyncDispose]: async () => {
    for (const part of parts) await part[Symbol.asyncDispose]();
  },
});

/** Starts two servers and the service, and stops the standby: commits wait for it from then on. */
async function startWithoutStandby() {
  const servers = await ReplicatedServers.start();
  // A statement that waits for the standby is given up after six seconds in place of twelve, which the statements of a start on a busy machine do not need.
  const godwit = await startGodwit({ databaseUrl: `${servers.url}&query_timeout=30000` });
  await godwit.unlimited();
  const apiKey = await godwit.key();
  await servers.standby.end("SIGKILL");
  return { servers, godwit, apiKey, ...stopping(godwit, servers) };
}

const post = (godwit: Godwit, apiKey: string, idempotencyKey: string, body: unknown): Promise<Reply> =>
  godwit.request("POST", "/v1/messages", { key: apiKey, idempotencyKey, body });

/** Runs a function of the server for the sessions whose commit waits for the standby, when there are such sessions with a table in their
 *  last statement. */
async function whenWaiting({ primary }: ReplicatedServers, table: string, run: string): Promise<void> {
  await until(`a commit with ${table} to wait for the standby`, async () => {
    const rows = await primary.query(`select ${run} from pg_stat_activity where wait_event = 'SyncRep' and query like '%${table}%'`);
    return rows.length > 0 || undefined;
  });
}

/** Kills the primary, and starts and promotes the standby that does not have its last commits. */
async function failOver(servers: ReplicatedServers): Promise<void> {
  await servers.primary.end("SIGKILL");
  await servers.standby.start();
  await servers.promote();
}

// Each test waits for time limits, with servers of its own.
describe("a commit that the standby does not have", { concurrency: 3 }, () => {
  for (const { path, body, status, table } of [
    { path: "/v1/messages", body: () => unique(), status: 202, table: "insert into messages" },
    { path: "/v1/suppressions", body: () => ({ recipient: "+14155550123" }), status: 201, table: "commit" },
  ] as const)
    for (const how of ["pg_cancel_backend", "pg_terminate_backend"] as const)
      test(`of POST ${path} gets no ${status} after ${how}, at first or repeated, and is executed after the failover`, async () => {
        await using parts = await startWithoutStandby();
        const { servers, godwit, apiKey } = parts;
        const request = { key: apiKey, idempotencyKey: randomUUID(), body: body() };
        const first = godwit.request("POST", path, request);
        await whenWaiting(servers, table, `${how}(pid)`);
        assert.equal((await first).status, 500);
        assert.equal(await isStored(godwit, request.idempotencyKey), true, "the primary shows the commit");
        const again = await godwit.request("POST", path, request);
        assert.ok(again.status === 500 || again.status === 503, again.text);
        await failOver(servers);
        await until("the service to be ready", async () => (await godwit.request("GET", "/readyz")).status === 200 || undefined);
        assert.equal(await isStored(godwit, request.idempotencyKey), false, "the promoted standby does not have it");
        // The service finds only now that some of its connections are gone, and a client repeats its request.
        const settled = (): Promise<Reply> =>
          until(`a ${status}`, async () => {
            const reply = await godwit.request("POST", path, request);
            return reply.status === status ? reply : undefined;
          });
        assertReplayOf(await settled(), await settled());
      });

  test("of a role whose sessions show no warnings gets no 202 either", async () => {
    await using servers = await ReplicatedServers.start();
    await servers.primary.query("alter role godwit set client_min_messages = error");
    await using godwit = await startGodwit({ databaseUrl: `${servers.url}&query_timeout=30000` });
    await godwit.unlimited();
    const apiKey = await godwit.key();
    await servers.standby.end("SIGKILL");
    const first = post(godwit, apiKey, randomUUID(), unique());
    await whenWaiting(servers, "insert into messages", "pg_cancel_backend(pid)");
    assert.equal((await first).status, 500);
  });

  test("gets its 202 when the standby returns and has it", async () => {
    await using parts = await startWithoutStandby();
    const { servers, godwit, apiKey } = parts;
    await until("the service not to be ready", async () => (await godwit.request("GET", "/readyz")).status === 503 || undefined);
    const [key, body] = [randomUUID(), unique()];
    const first = post(godwit, apiKey, key, body);
    await whenWaiting(servers, "insert into messages", "pg_terminate_backend(pid)");
    assert.equal((await first).status, 500);
    await servers.standby.start();
    const again = await until("a replay", async () => {
      const reply = await post(godwit, apiKey, key, body);
      return reply.status === 202 ? reply : undefined;
    });
    assert.equal(isReplay(again), true);
    await failOver(servers);
    assertReplayOf(
      again,
      await until("the service to respond", async () => {
        const reply = await post(godwit, apiKey, key, body);
        return reply.status === 202 ? reply : undefined;
      }),
    );
    assert.deepEqual(await effectCount(godwit, body), ONCE);
  });

  test("is not handed over by a node that finds it on the restarted primary", async () => {
    await using parts = await openRig();
    const { servers, rig, carrier } = parts;
    await servers.standby.end("SIGKILL");
    const accepting = rig.accept().catch(() => "not accepted");
    await whenWaiting(servers, "insert into messages", "pid");
    await servers.primary.end("SIGKILL");
    await servers.primary.start();
    await rig.deliver({ [LINK]: carrier });
    await whenWaiting(servers, "delivery_queue", "pid");
    assert.deepEqual(carrier.sends, []);
    await servers.standby.start();
    await until("the message to be handed over", () => carrier.sends.length === 1 || undefined);
    await accepting;
  });

  test("of an inbound message is not acknowledged when the carrier repeats it", async () => {
    await using parts = await openRig();
    const { servers, rig, carrier } = parts;
    const delivery = await rig.deliver({ [LINK]: carrier });
    const message = await rig.untilStatus(await rig.accept({}, { handover: delivery.handover }), "sent");
    const { recipient: from, sender } = message;
    const content = { channel: "sms", text: "Hello", inReplyTo: message.provider?.messageId ?? null } as const;
    const receive = (): Promise<void> => carrier.host.receiveMessages([{ ...content, providerMessageId: "in-1", from, to: sender ?? "" }]);
    await servers.standby.end("SIGKILL");
    const refused = assert.rejects(receive());
    await whenWaiting(servers, "commit", "pg_terminate_backend(pid)");
    await refused;
    let isAcknowledged = false;
    const again = receive().then(() => (isAcknowledged = true));
    await whenWaiting(servers, "synchronous_standby_names", "pid");
    assert.equal(isAcknowledged, false);
    await servers.standby.start();
    await again;
  });
});

/** Two servers with the schema, and delivery in the process of the test. */
async function openRig() {
  const servers = await ReplicatedServers.start();
  const db = new Database({ url: servers.url }, "schema", () => undefined);
  await migrate(db);
  await createPartitions(db, Date.now());
  await db.close();
  const rig = await Rig.open(servers.url);
  return { servers, rig, carrier: new ScriptedCarrier(), ...stopping(rig, servers) };
}
