/** Fallbacks on several nodes, in races with receipts, and when a node is killed: a step starts once, or not at all. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { SecretBox } from "../../src/lib/secret-box.ts";
import type { Message } from "../../src/messages/message.ts";
import { startFallback } from "../../src/messages/start-fallback.ts";
import { SIMULATOR_LINK } from "../../src/links/link.ts";
import { LinkDirectory } from "../../src/links/directory.ts";
import type { Database } from "../../src/database/database.ts";
import { linkTo, LINK, Rig } from "../support/delivery-rig.ts";
import { recipientNo } from "../support/recipient.ts";
import { composerOf } from "../support/engine.ts";
import { until } from "../support/expect.ts";
import { startGodwit, type Godwit } from "../support/harness.ts";
import { accepted, receipt, refused, ScriptedCarrier } from "../support/scripted-carrier.ts";
import { seeded } from "../support/seed.ts";
import { STATUS_AFTER } from "../support/tables.ts";

const FALLBACK = [{ channel: "sms", body: "Second", after_seconds: 3_600 }] as const;
const STEPS = { fallback: [...FALLBACK] };

type Family = { id: Buffer; status: string; children: number; started: number; statuses: string[] };

/** Each message with a fallback: the number of its fallback messages and of their events, and its status then. */
const familiesOf = ({ rows }: { rows: Rig["rows"] }): Promise<Family[]> =>
  rows<Family>(
    `select m.id, m.status,
            (select count(*)::integer from messages child where child.fallback_of = m.id) as children,
            (select count(*)::integer from events e where e.message_id = m.id and e.type = 'message.fallback_started') as started,
            (select coalesce(array_agg(${STATUS_AFTER}), '{}') from events e
              where e.message_id = m.id and e.type = 'message.fallback_started') as statuses
       from messages m
      where m.has_fallback`,
  );
const families = (node: Rig | Godwit): Promise<Family[]> => familiesOf({ rows: (text, values) => node.rows(text, values) });

/** Waits until no step is left. */
const workedOff = (node: Rig | Godwit): Promise<true> =>
  until("all fallbacks to be processed", async () => ((await node.rows("select from fallbacks")).length === 0 ? true : undefined));

const hurry = (node: Rig | Godwit): Promise<unknown> => node.rows("update fallbacks set due_at = now()");

const nameOf = ({ provider }: Message): string => provider?.messageId ?? "";

/** Two processes at two carriers, which accept every message unless a test changes that. */
async function twoNodes(rig: Rig): Promise<[ScriptedCarrier, ScriptedCarrier]> {
  const carriers: [ScriptedCarrier, ScriptedCarrier] = [new ScriptedCarrier(), new ScriptedCarrier()];
  await rig.deliver({ [LINK]: carriers[0] });
  await rig.deliver({ [LINK]: carriers[1] }, { node: "node-2", db: rig.connect("node-2") });
  return carriers;
}

/** Messages that a carrier has accepted. */
async function sentMessages(rig: Rig, count: number): Promise<Message[]> {
  const messages = await rig.acceptMany(count, (index) => ({ ...STEPS, recipient: recipientNo(index), body: "First" }));
  await until("all to be sent", async () => ((await rig.count("sent")) >= count ? true : undefined));
  return Promise.all(messages.map((message) => rig.message(message)));
}

describe("two nodes", () => {
  test("start one step for each of two hundred failed messages", async () => {
    await using rig = await Rig.open();
    const carriers = await twoNodes(rig);
    for (const carrier of carriers) carrier.otherwise = ({ message: { body } }) => (body === "First" ? refused(true) : accepted());
    await rig.acceptMany(200, (index) => ({ ...STEPS, recipient: recipientNo(index), body: "First" }));
    await until("all to have failed", async () => ((await rig.count("failed")) === 200 ? true : undefined));
    await workedOff(rig);
    await until("all to be sent", async () => ((await rig.count("sent")) === 200 ? true : undefined));
    for (const { children, started } of await families(rig)) assert.deepEqual([children, started], [1, 1]);
    const seconds = carriers.flatMap(({ sends }) => sends).filter(({ message: { body } }) => body === "Second");
    assert.equal(seconds.length, 200);
    assert.equal(new Set(seconds.map(({ message: { recipient } }) => recipient)).size, 200);
  });

  test("that start the same step concurrently start it once", async () => {
    await using rig = await Rig.open();
    const nodes: readonly [Database, Database] = [rig.db, rig.connect("node-2")];
    const composer = composerOf(rig, new LinkDirectory(linkTo(SIMULATOR_LINK)));
    const parts = { composer, box: new SecretBox(Buffer.alloc(32)), nowMs: rig.clock.now() };
    for (let round = 0; round < 5; round += 1) {
      const message = await rig.accept({ ...STEPS, recipient: recipientNo(round) });
      const started = await Promise.all(
        Array.from({ length: 10 }, (_, index) => nodes[index % 2 === 0 ? 0 : 1].transaction((tx) => startFallback(tx, parts, message))),
      );
      assert.equal(started.filter((each) => each !== undefined).length, 1);
    }
    for (const { children, started } of await families(rig)) assert.deepEqual([children, started], [1, 1]);
  });
});

describe("when a step becomes due", () => {
  test("a delivery receipt is in time and no step starts, or it is late and one step starts", async (context) => {
    await using rig = await Rig.open();
    const [carrier] = await twoNodes(rig);
    const random = seeded(context);
    const messages = await sentMessages(rig, 200);
    const late = async (message: Message): Promise<void> => {
      await sleep(random() * 900);
      await carrier.receive([receipt(nameOf(message), "delivered")]);
    };
    const due = async (message: Message): Promise<void> => {
      await sleep(random() * 400);
      await rig.rows("update fallbacks set due_at = now() where message_id = $1", [message.id]);
    };
    await Promise.all(messages.flatMap((message) => [late(message), due(message)]));
    await workedOff(rig);
    const all = await families(rig);
    assert.equal(all.length, 200);
    for (const { status, children, started, statuses } of all) {
      assert.equal(status, "delivered");
      assert.ok(children <= 1);
      assert.equal(started, children);
      // A step started only for a message that was not delivered by then.
      for (const then of statuses) assert.equal(then, "sent");
    }
    const started = all.filter(({ children }) => children === 1).length;
    context.diagnostic(`started: ${started} of ${all.length}`);
    assert.ok(started > 0 && started < 200, "both cases happened");
  });

  test("a failure of the message does not start the step a second time", async (context) => {
    await using rig = await Rig.open();
    const carriers = await twoNodes(rig);
    const random = seeded(context);
    const messages = await sentMessages(rig, 150);
    await Promise.all([
      ...messages.map(async (message, index) => {
        await sleep(random() * 200);
        await carriers[index % 2 === 0 ? 0 : 1].receive([receipt(nameOf(message), "undelivered")]);
      }),
      ...messages.map(async (message) => {
        await sleep(random() * 200);
        await rig.rows("update fallbacks set due_at = now() where message_id = $1", [message.id]);
      }),
    ]);
    await workedOff(rig);
    for (const { status, children, started } of await families(rig)) assert.deepEqual([status, children, started], ["undelivered", 1, 1]);
  });
});

describe("a node that is killed", () => {
  test("in between leaves each step started once, or for the next node to start", async (context) => {
    await using api = await startGodwit();
    await api.unlimited();
    const key = await api.key();
    const count = 160;
    for (let from = 0; from < count; from += 40)
      await Promise.all(Array.from({ length: 40 }, () => api.send(key, { recipient: "+15005550002", body: "First", ...STEPS })));
    const startedCount = async (): Promise<number> => (await families(api)).filter(({ children }) => children > 0).length;
    const counts: number[] = [];
    for (const enough of [20, 60, 100]) {
      const node = await startGodwit({ asProcess: true, databaseUrl: api.databaseUrl, roles: "dispatch" });
      // The previous node had leased its steps for some seconds.
      await api.rows("update delivery_queue set due_at = now() where due_at > now()");
      await hurry(api);
      await until(`${enough} steps to have started`, async () => ((await startedCount()) >= enough ? true : undefined));
      await node.stop("SIGKILL");
      counts.push(await startedCount());
    }
    context.diagnostic(`started before each kill: ${counts.join(", ")}`);
    assert.ok((counts[0] ?? count) < count, "the node was killed before all steps had started");
    await using last = await startGodwit({ databaseUrl: api.databaseUrl, roles: "dispatch" });
    await api.rows("update delivery_queue set due_at = now() where due_at > now()");
    await hurry(api);
    await workedOff(last);
    const all = await families(api);
    assert.equal(all.length, count);
    for (const { children, started } of all) assert.deepEqual([children, started], [1, 1]);
    const [total] = await api.rows<{ count: number }>("select count(*)::integer as count from messages");
    assert.equal(total?.count, 2 * count);
  });

  test("with a claimed step leaves it to another node when its lease has expired, and not before", async () => {
    await using rig = await Rig.open();
    const [message] = await rig.acceptMany(1, () => STEPS);
    assert.ok(message !== undefined);
    await rig.rows("update fallbacks set due_at = now() + interval '1 hour'");
    await twoNodes(rig);
    await rig.untilStatus(message, "sent");
    assert.deepEqual(
      (await families(rig)).map(({ children }) => children),
      [0],
    );
    await hurry(rig);
    await workedOff(rig);
    assert.deepEqual(
      (await families(rig)).map(({ children, started }) => [children, started]),
      [[1, 1]],
    );
  });
});
