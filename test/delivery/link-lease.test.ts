/** The lease of a link: one node has it at a time, and no other node has a connection open meanwhile. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { createLog } from "../../src/model/log.ts";
import { LinkLease } from "../../src/links/lease.ts";
import { LeasedConnection } from "../../src/links/leased-connection.ts";
import type { Host, Outgoing } from "../../src/providers/provider.ts";
import { Database, type Queryable } from "../../src/database/database.ts";
import { migrate } from "../../src/database/migrate.ts";
import { TIMINGS } from "../../src/timings.ts";
import { DatabaseWire } from "../support/database-wire.ts";
import { Exchange, ExclusiveCarrier } from "../support/exclusive-carrier.ts";
import { until } from "../support/expect.ts";
import { createDatabase } from "../support/database.ts";
import { recipientOf } from "../support/recipient.ts";
import { mayLeave } from "../support/recording-host.ts";

let url: string;
let here: Database;
let there: Database;
const opened: Database[] = [];
const nodes: LeasedConnection[] = [];
before(async () => {
  url = await createDatabase();
  [here, there] = [connect("here"), connect("there")];
  await migrate(here);
});
after(async () => {
  // Also closes those of failed tests: a lease that continues to ask would keep the process alive.
  await Promise.all(nodes.map((node) => node.close()));
  await Promise.all(opened.map((db) => db.close()));
});

function connect(name: string, to = url): Database {
  const db = new Database({ url: to }, name, () => undefined);
  opened.push(db);
  return db;
}

// Long enough for a busy machine to renew the lease in time.
const SHORT_MS = 3_000;

/** Short, because the tests of a connection wait for the end of a lease. */
const leaseOf = (db: Queryable, link: string, node: string, leaseMs = SHORT_MS): LinkLease =>
  new LinkLease({ db, clock: Date, link, node, leaseMs });

let links = 0;
const newLink = (): string => `link-${(links += 1)}`;

/** Moves the expiry of a lease to an earlier time in the database. */
const age = (link: string, ms: number): Promise<unknown> =>
  here.rows({
    name: "age_lease",
    text: "update link_leases set expires_at = expires_at - $2 * interval '1 millisecond' where link = $1",
    values: [link, ms],
  });

const realOf = (db: Queryable, link: string, node: string): LinkLease => leaseOf(db, link, node, TIMINGS.linkLeaseMs);

describe("a lease", () => {
  test("has one holder, however many nodes request it at the same time", async () => {
    for (let round = 0; round < 10; round += 1) {
      const link = newLink();
      const leases = Array.from({ length: 20 }, (_, index) => realOf(index % 2 === 0 ? here : there, link, `node-${index}`));
      const held = await Promise.all(leases.map((lease) => lease.hold()));
      assert.equal(held.filter(Boolean).length, 1);
      assert.deepEqual(
        leases.map(({ isHeld }) => isHeld),
        held,
      );
    }
  });

  test("stays with the holder that renews it, and is refused to others", async () => {
    const link = newLink();
    const [mine, theirs] = [realOf(here, link, "a"), realOf(there, link, "b")];
    assert.equal(await mine.hold(), true);
    for (let round = 0; round < 5; round += 1) {
      await age(link, TIMINGS.linkLeaseMs / 2);
      assert.equal(await mine.hold(), true);
      assert.equal(await theirs.hold(), false);
    }
    assert.equal(theirs.isHeld, false);
  });

  test("that its holder does not renew can be taken by another node after it expires, and the first holder loses it", async () => {
    const link = newLink();
    const [mine, theirs] = [realOf(here, link, "a"), realOf(there, link, "b")];
    await mine.hold();
    await age(link, TIMINGS.linkLeaseMs - 500);
    assert.equal(await theirs.hold(), false, "not before it expires");
    await age(link, 500);
    assert.equal(await theirs.hold(), true);
    assert.equal(await mine.hold(), false);
    assert.equal(mine.isHeld, false);
  });

  test("is given up by a holder that cannot renew it before another node can take it", async () => {
    const link = newLink();
    const mine = realOf(here, link, "a");
    await mine.hold();
    const [row] = await here.rows<{ left_ms: number }>({
      name: "lease_left",
      text: "select (extract(epoch from expires_at - clock_timestamp()) * 1000)::float8 as left_ms from link_leases where link = $1",
      values: [link],
    });
    assert.ok(mine.leftMs > 0, `${mine.leftMs}`);
    assert.ok(mine.leftMs < (row?.left_ms ?? 0) - 500, `${mine.leftMs} of ${row?.left_ms}`);
  });

  test("that cannot be requested is reported once, until the database responds", async () => {
    const gone = connect("gone", "postgres://nobody@127.0.0.1:1/none");
    const reported: unknown[] = [];
    const lease = new LinkLease({
      db: gone,
      clock: Date,
      link: newLink(),
      node: "a",
      leaseMs: SHORT_MS,
      onError: (error) => reported.push(error),
    });
    for (let round = 0; round < 3; round += 1) assert.equal(await lease.hold(), false);
    assert.deepEqual(
      reported.map((error) => (error as Error).name),
      ["DatabaseUnavailable"],
    );
  });

  test("that is dropped is immediately available to any node", async () => {
    const link = newLink();
    const [mine, theirs] = [realOf(here, link, "a"), realOf(there, link, "b")];
    await mine.hold();
    assert.equal(await theirs.hold(), false);
    await mine.drop();
    assert.equal(mine.isHeld, false);
    assert.equal(await theirs.hold(), true);
  });

  test("is not dropped by its previous holder", async () => {
    const link = newLink();
    const [mine, theirs, third] = [realOf(here, link, "a"), realOf(there, link, "b"), realOf(here, link, "c")];
    await mine.hold();
    await age(link, TIMINGS.linkLeaseMs);
    assert.equal(await theirs.hold(), true);
    await mine.drop();
    assert.equal(await third.hold(), false);
  });

  test("is not shared by two connections of one node: the new one waits until the old one has ended", async () => {
    const link = newLink();
    const [old, next] = [realOf(here, link, "a"), realOf(here, link, "a")];
    assert.equal(await old.hold(), true);
    assert.equal(await next.hold(), false);
    await old.drop();
    assert.equal(await next.hold(), true);
    await old.drop();
    assert.equal(await realOf(there, link, "b").hold(), false, "the end of the old connection does not end the lease of the new one");
  });

  test("of one link does not affect another link", async () => {
    assert.equal(await realOf(here, newLink(), "a").hold(), true);
    assert.equal(await realOf(there, newLink(), "b").hold(), true);
  });
});

const { log } = createLog("silent");
const OUTGOING: Outgoing = {
  id: "msg_1",
  attempt: 1,
  channel: "sms",
  recipient: recipientOf("+14155550123"),
  sender: null,
  body: "x",
  template: null,
  expiresAtMs: 0,
};
const never = new AbortController().signal;

/** A node's connection to the carrier, open for as long as the node has the lease. */
function nodeOf(carrier: ExclusiveCarrier, lease: LinkLease): LeasedConnection {
  const host = { changed: () => undefined } as unknown as Host;
  const connection = new LeasedConnection({ lease, window: 7, open: () => carrier.open({}, host), changed: () => undefined, log });
  connection.start();
  nodes.push(connection);
  return connection;
}

describe("a connection under a lease", { concurrency: true }, () => {
  test("is opened by one node, and immediately by the other when the first closes it", async () => {
    const [link, exchange] = [newLink(), new Exchange()];
    const carriers = [new ExclusiveCarrier(exchange, "a"), new ExclusiveCarrier(exchange, "b")] as const;
    // Longer than any node waits: the second has the lease because it was dropped, and not because it expired.
    const first = nodeOf(carriers[0], leaseOf(here, link, "a", 600_000));
    await until("the first node to be connected", () => first.isReady || undefined);
    const second = nodeOf(carriers[1], leaseOf(there, link, "b"));
    assert.deepEqual([second.isReady, second.isHere, second.window, second.state.kind], [false, false, 7, "connecting"]);
    await first.close();
    assert.equal(first.isHere, false);
    await until("the second node to be connected", () => second.isReady || undefined);
    assert.deepEqual([exchange.open, exchange.highWater, exchange.opened], [1, 1, 2]);
    await second.close();
    assert.equal(exchange.open, 0);
  });

  test("is taken over within seconds when its node is silent", async () => {
    const [link, exchange] = [newLink(), new Exchange()];
    // The state after a node that died: held, and neither renewed nor dropped.
    const dead = realOf(here, link, "dead");
    await dead.hold();
    const startedAt = performance.now();
    const carrier = new ExclusiveCarrier(exchange, "b");
    const second = nodeOf(carrier, realOf(there, link, "b"));
    await until("the second node to be connected", () => second.isReady || undefined);
    const tookMs = performance.now() - startedAt;
    assert.equal(dead.isHeld, false);
    assert.ok(tookMs > TIMINGS.linkLeaseMs - 1_000, `${tookMs} ms`);
    await second.close();
  });

  test("submits nothing while another node has the lease", async () => {
    const [link, exchange] = [newLink(), new Exchange()];
    const owner = leaseOf(here, link, "a");
    await owner.hold();
    const carrier = new ExclusiveCarrier(exchange, "b");
    const connection = nodeOf(carrier, leaseOf(there, link, "b"));
    const outcome = await connection.send(OUTGOING, never, mayLeave);
    assert.deepEqual([outcome.kind, outcome.kind === "throttled" && outcome.scope], ["throttled", "link"]);
    assert.deepEqual([exchange.opened, carrier.sends.length], [0, 0]);
    await connection.close();
    assert.equal(await leaseOf(there, link, "c").hold(), false, "its close has not dropped the lease of the other node");
  });

  test("is closed when its lease is lost to another node, and submits nothing from that moment on", async () => {
    const [link, exchange] = [newLink(), new Exchange()];
    const carrier = new ExclusiveCarrier(exchange, "a");
    const lease = leaseOf(here, link, "a");
    const connection = nodeOf(carrier, lease);
    await until("the connection to be open", () => connection.isReady || undefined);
    // Another node has the lease, for whatever reason.
    await here.rows({ name: "steal", text: "update link_leases set node = 'thief' where link = $1", values: [link] });
    await lease.hold();
    assert.equal(connection.isReady, false);
    assert.equal((await connection.send(OUTGOING, never, mayLeave)).kind, "throttled");
    assert.equal(carrier.sends.length, 0);
    await until("the connection to be closed", () => exchange.open === 0 || undefined);
    assert.equal(connection.isHere, false);
    await connection.close();
    assert.equal(exchange.opened, 1);
  });

  test("whose node has lost the database ends with its lease, before another node is connected", async () => {
    const [link, exchange] = [newLink(), new Exchange()];
    const wire = await DatabaseWire.to(url);
    const carriers = [new ExclusiveCarrier(exchange, "a"), new ExclusiveCarrier(exchange, "b")] as const;
    const first = nodeOf(carriers[0], leaseOf(connect("cut", wire.url), link, "a"));
    await until("the first node to be connected", () => first.isReady || undefined);
    const second = nodeOf(carriers[1], leaseOf(there, link, "b"));
    await wire.close();
    assert.equal(first.isReady, true, "the first node keeps its connection");
    await until("the second node to be connected", () => second.isReady || undefined);
    assert.equal(first.isHere, false);
    assert.deepEqual([exchange.open, exchange.highWater, exchange.opened], [1, 1, 2], "the first node had disconnected before");
    await Promise.all([first.close(), second.close()]);
  });

  test("whose database does not respond at all ends with its lease as well", async () => {
    const [link, exchange] = [newLink(), new Exchange()];
    let isSilent = false;
    const silent = {
      rows: <T>(statement: Parameters<Database["rows"]>[0]) => (isSilent ? new Promise<T[]>(() => undefined) : here.rows<T>(statement)),
    };
    const connection = nodeOf(new ExclusiveCarrier(exchange, "a"), leaseOf(silent, link, "a"));
    await until("the connection to be open", () => connection.isReady || undefined);
    isSilent = true;
    const rival = leaseOf(there, link, "b");
    await until("another node to have the lease", async () => (await rival.hold()) || undefined);
    assert.equal(exchange.open, 0, "the connection was closed before");
    await rival.drop();
    isSilent = false;
    await until("the connection to be open again", () => connection.isReady || undefined);
    assert.equal(exchange.highWater, 1);
    await connection.close();
  });

  test("that takes longer to open than a lease lasts keeps its lease, and is opened once", async () => {
    const [link, exchange] = [newLink(), new Exchange()];
    const carrier = new ExclusiveCarrier(exchange, "a");
    const { promise, resolve } = Promise.withResolvers<void>();
    const asked = Promise.withResolvers<void>();
    carrier.beforeOpen = () => {
      asked.resolve();
      return promise;
    };
    const connection = nodeOf(carrier, leaseOf(here, link, "a"));
    await asked.promise;
    const rival = leaseOf(there, link, "b");
    const startedAt = performance.now();
    const held = await until("longer than a lease", async () =>
      (await rival.hold()) ? "rival" : performance.now() - startedAt > SHORT_MS + 1_000 ? "kept" : undefined,
    );
    assert.equal(held, "kept");
    resolve();
    await until("the connection to be open", () => connection.isReady || undefined);
    assert.equal(exchange.opened, 1);
    await connection.close();
  });

  test("that is closed while it opens leaves nothing open", async () => {
    const [link, exchange] = [newLink(), new Exchange()];
    const carrier = new ExclusiveCarrier(exchange, "a");
    const { promise, resolve } = Promise.withResolvers<void>();
    const asked = Promise.withResolvers<void>();
    carrier.beforeOpen = () => {
      asked.resolve();
      return promise;
    };
    const connection = nodeOf(carrier, leaseOf(here, link, "a"));
    await asked.promise;
    const closing = connection.close();
    resolve();
    await closing;
    assert.deepEqual([exchange.opened, exchange.open, connection.isHere], [1, 0, false]);
    assert.equal(await leaseOf(there, link, "b").hold(), true);
  });

  test("that could not be opened is attempted again, and its lease is kept", async () => {
    const [link, exchange] = [newLink(), new Exchange()];
    const carrier = new ExclusiveCarrier(exchange, "a");
    let attempts = 0;
    carrier.beforeOpen = async () => {
      attempts += 1;
      if (attempts === 1) throw new Error("not today");
    };
    const connection = nodeOf(carrier, leaseOf(here, link, "a"));
    await until("the second attempt", () => connection.isReady || undefined);
    assert.deepEqual([attempts, exchange.opened], [2, 1]);
    await connection.close();
  });

  test("is never open twice among three contending nodes, whichever stops and starts", async () => {
    const [link, exchange] = [newLink(), new Exchange()];
    const start = (index: number): LeasedConnection =>
      nodeOf(new ExclusiveCarrier(exchange, `n${index}`), leaseOf(index % 2 === 0 ? here : there, link, `n${index}`));
    let three = [0, 1, 2].map(start);
    for (let round = 3; round < 7; round += 1) {
      const owner = await until("one node to be connected", () => three.find(({ isReady }) => isReady));
      assert.equal(three.filter(({ isHere }) => isHere).length, 1);
      three = [...three.filter((node) => node !== owner), start(round)];
      await owner.close();
    }
    await Promise.all(three.map((node) => node.close()));
    assert.deepEqual([exchange.open, exchange.highWater], [0, 1]);
    assert.ok(exchange.opened >= 4);
  });
});

// Separate, because nothing else of this process runs meanwhile.
describe("a connection under a lease", () => {
  test("whose process stopped for longer than its lease is closed before the database is asked", async () => {
    const [link, exchange] = [newLink(), new Exchange()];
    let isSilent = false;
    const openWhenAsked: number[] = [];
    const silent = {
      rows: <T>(statement: Parameters<Database["rows"]>[0]) => {
        if (!isSilent) return here.rows<T>(statement);
        openWhenAsked.push(exchange.open);
        return new Promise<T[]>(() => undefined);
      },
    };
    const connection = nodeOf(new ExclusiveCarrier(exchange, "a"), leaseOf(silent, link, "a"));
    await until("the connection to be open", () => connection.isReady || undefined);
    isSilent = true;
    // Nothing of this process runs meanwhile.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, SHORT_MS);
    assert.equal(connection.isReady, false);
    await until("the database to be asked", () => openWhenAsked[0] !== undefined || undefined);
    assert.equal(openWhenAsked[0], 0, "the connection was closed before");
    isSilent = false;
    await until("the connection to be open again", () => connection.isReady || undefined);
    assert.equal(exchange.highWater, 1);
    await connection.close();
  });
});
