/** The only writer of a status: which changes of a batch are applied, and which rows are written with them. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Advancer, advance } from "../../src/messages/advance.ts";
import { changeBy, noteOn, type Change, type Signal } from "../../src/messages/change.ts";
import type { Message } from "../../src/messages/message.ts";
import type { Status } from "../../src/messages/states.ts";
import { findByCarrierIds } from "../../src/delivery/queries.ts";
import { setDueTimes } from "../../src/delivery/queue.ts";
import { readDepth } from "../../src/usage/queries.ts";
import { DatabaseWire } from "../support/database-wire.ts";
import { LINK, publicId, Rig } from "../support/delivery-rig.ts";
import { eventsOf } from "../support/tables.ts";
import { recipientNo } from "../support/recipient.ts";
import { wakeNothing } from "../support/engine.ts";
import { NEVER_MS } from "../support/expect.ts";
import { Lock } from "../support/locks.ts";
import { seeded } from "../support/seed.ts";

const silent = { advanced: () => undefined };

const signal = (status: Status, fields: Partial<Signal> = {}): Signal => ({
  status,
  detail: { reason: "set by the test" },
  move: { kind: "stay" },
  ...fields,
});

function decide(message: Message, observed: Signal, nowMs = Date.now()): Change {
  const change = changeBy(message, observed, nowMs);
  assert.ok(change !== undefined, `${message.status} → ${observed.status}`);
  return change;
}

const accepting = (rig: Rig, count: number): Promise<Message[]> =>
  rig.acceptMany(count, (index) => ({ recipient: recipientNo(index), priority: index % 3 === 0 ? "high" : "normal" }));

/** Messages with the status sending, as stored in the database. */
async function sending(rig: Rig, count: number): Promise<Message[]> {
  const changes = (await accepting(rig, count)).map((message) => decide(message, signal("sending", { attempts: 1 })));
  assert.ok((await advance(rig.db, changes)).every(Boolean));
  return changes.map(({ after }) => after);
}

const onlyOne = (message: Message | undefined): Message => {
  assert.ok(message !== undefined);
  return message;
};

describe("a change that is applied", () => {
  test("writes message, timeline, queue, carrier id and counts together", async () => {
    await using rig = await Rig.open();
    const before = onlyOne((await sending(rig, 1))[0]);
    const reference = { link: LINK, providerMessageId: "7", expiresAtMs: Date.now() + 60_000 };
    const provider = { name: "carrier", link: LINK, messageId: "7" };
    const change = decide(before, signal("sent", { provider, reference, move: { kind: "leave" } }));
    assert.deepEqual(await advance(rig.db, [change]), [true]);
    assert.deepEqual(await rig.message(before), change.after);
    const last = (await rig.timeline(before)).at(-1);
    assert.deepEqual(last, {
      type: "message.sent",
      sequence: 3,
      previous: "sending",
      status: "sent",
      isIgnored: false,
      detail: { reason: "set by the test" },
    });
    assert.equal(await rig.queueRow(before), undefined);
    const names = await rig.rows("select link, provider_message_id, account_id, environment, message_id from provider_references");
    assert.deepEqual(names, [
      { link: LINK, provider_message_id: "7", account_id: before.accountId, environment: "test", message_id: before.id },
    ]);
    assert.deepEqual(await readDepth(rig.db, before.accountId, "test"), { scheduled: 0, queued: 0, sending: 0 });
    const counts = await rig.rows("select status, sum(messages) as messages from usage_changes group by status having sum(messages) <> 0");
    assert.deepEqual(counts, [{ status: "sent", messages: 1 }]);
  });

  test("moves the queue entry of the message", async () => {
    await using rig = await Rig.open();
    const [first, second] = await sending(rig, 2);
    const hold = { kind: "wait", state: "held", afterMs: NEVER_MS } as const;
    const back = { kind: "wait", state: "waiting", atMs: Date.now() - 5_000, lane: "second", priority: 2 } as const;
    const note = noteOn(onlyOne(first), Date.now(), { type: "attempt.unknown", isIgnored: false, detail: {}, move: hold });
    assert.deepEqual(await advance(rig.db, [note, decide(onlyOne(second), signal("queued", { move: back }))]), [true, true]);
    const [held, waiting] = [await rig.queueRow(onlyOne(first)), await rig.queueRow(onlyOne(second))];
    assert.equal(held?.state, 1);
    assert.equal(held.link, LINK);
    assert.ok(held.due_in_ms > NEVER_MS / 2 && held.due_in_ms <= NEVER_MS);
    assert.deepEqual([waiting?.state, waiting?.link, waiting?.priority], [0, "second", 2]);
    assert.equal(Math.round(waiting?.due_at_ms ?? 0), back.atMs);
  });

  test("assigns a carrier id that is used again to the newest message", async () => {
    await using rig = await Rig.open();
    const [first, second] = await sending(rig, 2);
    const reference = { link: LINK, providerMessageId: "7", expiresAtMs: Date.now() + 60_000 };
    for (const message of [onlyOne(first), onlyOne(second)])
      assert.deepEqual(await advance(rig.db, [decide(message, signal("sent", { reference }))]), [true]);
    const found = await findByCarrierIds(rig.db, [reference]);
    assert.deepEqual(found.get(0)?.message.id, second?.id);
    const references = await rig.rows<{ message_id: Message["id"] }>("select message_id from provider_references order by 1");
    assert.deepEqual(
      references.map(({ message_id: id }) => id),
      [first?.id, second?.id],
      "each message keeps its own time limit",
    );
  });

  test("and is only a note adds to the timeline and changes nothing else", async () => {
    await using rig = await Rig.open();
    const before = onlyOne((await sending(rig, 1))[0]);
    const counts = await rig.rows("select count(*) from usage_changes");
    const note = noteOn(before, Date.now(), { type: "message.queued", isIgnored: true, detail: {}, move: { kind: "stay" } });
    assert.deepEqual(await advance(rig.db, [note]), [true]);
    assert.deepEqual(await rig.message(before), { ...before, updatedAtMs: note.after.updatedAtMs });
    const last = (await rig.timeline(before)).at(-1);
    assert.deepEqual([last?.type, last?.isIgnored, last?.status, last?.sequence], ["message.queued", true, null, 2]);
    assert.deepEqual(await rig.rows("select count(*) from usage_changes"), counts);
  });
});

describe("a change that is not applied", () => {
  test("loses to one other in the batch that was decided on the same state", async () => {
    await using rig = await Rig.open();
    const before = onlyOne((await sending(rig, 1))[0]);
    const changes = [decide(before, signal("sent")), decide(before, signal("failed")), decide(before, signal("queued"))];
    const held = await advance(rig.db, changes);
    assert.equal(held.filter(Boolean).length, 1);
    const { status, sequence } = await rig.message(before);
    assert.equal(status, changes[held.indexOf(true)]?.after.status);
    assert.equal(sequence, before.sequence + 1);
    assert.equal((await rig.timeline(before)).length, 3);
  });

  test("leaves nothing behind, and the others of the batch are applied", async () => {
    await using rig = await Rig.open();
    const messages = await sending(rig, 10);
    const stale = messages.filter((_, index) => index % 2 === 0);
    assert.ok(
      (
        await advance(
          rig.db,
          stale.map((each) => decide(each, signal("delivered", { move: { kind: "leave" } }))),
        )
      ).every(Boolean),
    );
    const batch = messages.map((message, index) => {
      const reference = { link: LINK, providerMessageId: String(index), expiresAtMs: Date.now() + 60_000 };
      return decide(message, signal("queued", { reference, move: { kind: "wait", state: "held", afterMs: 1_000 } }));
    });
    assert.deepEqual(
      await advance(rig.db, batch),
      messages.map((_, index) => index % 2 === 1),
    );
    for (const [index, message] of messages.entries()) {
      const isLoser = index % 2 === 0;
      const types = (await rig.timeline(message)).map(({ type }) => type);
      assert.deepEqual(types.at(-1), isLoser ? "message.delivered" : "message.queued");
      assert.equal(types.length, 3);
      assert.equal((await rig.queueRow(message))?.state, isLoser ? undefined : 1);
    }
    const names = await rig.rows<{ name: string }>("select provider_message_id as name from provider_references order by 1");
    assert.deepEqual(
      names.map(({ name }) => name),
      ["1", "3", "5", "7", "9"],
    );
    assert.deepEqual(await readDepth(rig.db, rig.accountId, "test"), { scheduled: 0, queued: 5, sending: 0 });
  });

  test("does not overwrite a message that was redacted meanwhile", async () => {
    await using rig = await Rig.open();
    const before = onlyOne((await sending(rig, 1))[0]);
    const delivered = decide(before, signal("delivered"));
    assert.deepEqual(await advance(rig.db, [delivered]), [true]);
    const read = decide(delivered.after, signal("read"));
    await rig.rows("update messages set body = null, redacted_at = now() where id = $1", [before.id]);
    assert.deepEqual(await advance(rig.db, [read]), [false]);
    const now = await rig.message(before);
    assert.equal(now.status, "delivered");
    const again = decide(now, signal("read"));
    assert.deepEqual(await advance(rig.db, [again]), [true]);
    const [last, ...others] = (await eventsOf(rig, publicId(before))).filter(({ type }) => type === "message.read");
    assert.deepEqual(others, []);
    assert.equal((JSON.parse(last?.record ?? "") as { body: string | null }).body, null);
  });
});

describe("an advancer", () => {
  const advancer = (rig: Rig, node: string, url?: string): Advancer =>
    new Advancer({ db: rig.connect(node, url), clock: rig.clock, wakeWebhooks: wakeNothing, watch: silent });

  test("reports the result of each of many concurrent changes, of both priorities", async () => {
    await using rig = await Rig.open();
    const messages = await sending(rig, 300);
    const node = advancer(rig, "a");
    const held = await Promise.all(
      messages.flatMap((each) => ["sent", "failed"].map((to) => node.submit(decide(each, signal(to as Status))))),
    );
    assert.equal(held.filter(Boolean).length, 300);
    messages.forEach((_, index) => assert.equal(held.slice(2 * index, 2 * index + 2).filter(Boolean).length, 1));
    assert.equal(node.pending, 0);
  });

  test("and another one with the same messages in opposite order neither deadlock nor lose a change", async (context) => {
    await using rig = await Rig.open();
    const random = seeded(context);
    let messages = await sending(rig, 120);
    const nodes = [advancer(rig, "a"), advancer(rig, "b")];
    // In every round both want every message, one from the front and one from the back.
    for (let round = 0; round < 10; round += 1) {
      const to = round % 2 === 0 ? "queued" : "sending";
      const won = await Promise.all(
        nodes.map(async (node, index) => {
          const order = index === 0 ? messages : messages.toReversed();
          return Promise.all(order.map(async (each) => ({ each, isDone: await node.submit(decide(each, signal(to))) })));
        }),
      );
      const winners = won.flat().filter(({ isDone }) => isDone);
      assert.equal(winners.length, messages.length, `round ${round}`);
      messages = await Promise.all(messages.toSorted(() => random() - 0.5).map((each) => rig.message(each)));
      for (const { sequence, status } of messages) assert.deepEqual([sequence, status], [round + 3, to]);
    }
  });

  test("works while leases are renewed concurrently", async () => {
    await using rig = await Rig.open();
    let messages = await sending(rig, 150);
    const node = advancer(rig, "a");
    const other = rig.connect("b");
    const ended = new AbortController();
    const renew = async (): Promise<void> => {
      while (!ended.signal.aborted) {
        const ids = messages.map(({ id }) => id).toReversed();
        await setDueTimes(
          other,
          ids.map((id) => ({ id, dueAtMs: Date.now() + 15_000 })),
        );
      }
    };
    const renewing = renew();
    try {
      for (let round = 0; round < 15; round += 1) {
        const move = { kind: "wait", state: "waiting", afterMs: 60_000 } as const;
        const changes = messages.map((each) => decide(each, signal(round % 2 === 0 ? "queued" : "sending", { move })));
        assert.ok((await Promise.all(changes.map((each) => node.submit(each)))).every(Boolean));
        messages = changes.map(({ after }) => after);
      }
    } finally {
      ended.abort();
      await renewing;
    }
  });

  test("writes all other changes while a message is locked, and its change when the lock ends", async () => {
    await using rig = await Rig.open();
    const messages = await sending(rig, 40);
    const locked = [onlyOne(messages[9]), onlyOne(messages[20])];
    const node = advancer(rig, "a");
    await using lock = await Lock.take(
      rig.url,
      `select from messages where id in (${locked.map(({ id }) => `'${id.toString("hex")}'`).join()}) for update`,
    );
    const submit = (each: Message): ReturnType<Advancer["submit"]> =>
      node.submit(decide(each, signal("sent", { move: { kind: "leave" } })));
    const late = locked.map(submit);
    assert.ok((await Promise.all(messages.filter((each) => !locked.includes(each)).map(submit))).every(Boolean));
    // Changes that come later are not delayed either.
    const more = await sending(rig, 5);
    assert.ok((await Promise.all(more.map(submit))).every(Boolean));
    assert.equal(await rig.count("sent"), 43);
    await lock.release();
    assert.deepEqual((await Promise.all(late)).map(Boolean), [true, true]);
    assert.equal(node.pending, 0);
  });

  test("fails only the row that the database refuses", async () => {
    await using rig = await Rig.open();
    const messages = await sending(rig, 20);
    const bad = onlyOne(messages[7]);
    await rig.db.script(`
      create function refuse_event() returns trigger language plpgsql as $$ begin raise exception 'not this one'; end $$;
      create trigger refuse_event before insert on events for each row
        when (new.message_id = '${bad.id.toString("hex")}') execute function refuse_event()`);
    const node = advancer(rig, "a");
    const outcomes = await Promise.allSettled(
      messages.map((each) => node.submit(decide(each, signal("sent", { move: { kind: "leave" } })))),
    );
    assert.deepEqual(
      outcomes.map(({ status }) => status),
      messages.map((each) => (each === bad ? "rejected" : "fulfilled")),
    );
    assert.deepEqual(await rig.message(bad), bad, "nothing of the change is stored");
    assert.ok((await rig.queueRow(bad)) !== undefined);
    assert.equal(await rig.count("sent"), 19);
  });

  for (const [moment, isDone] of [
    ["asked", false],
    ["answered", true],
  ] as const) {
    test(`finds the outcome of a change whose connection breaks ${isDone ? "after" : "before"} the commit`, async () => {
      await using rig = await Rig.open();
      const before = onlyOne((await sending(rig, 1))[0]);
      const wire = await DatabaseWire.to(rig.url);
      rig.atEnd(() => wire.close());
      const node = advancer(rig, "a", wire.url);
      const provider = { name: "carrier", link: LINK, messageId: "the mark of this change" };
      wire.cutNext(moment, provider.messageId);
      assert.equal(Boolean(await node.submit(decide(before, signal("sent", { provider })))), isDone);
      assert.equal((await rig.message(before)).status, isDone ? "sent" : "sending");
      assert.equal((await rig.timeline(before)).length, isDone ? 3 : 2);
    });
  }
});
