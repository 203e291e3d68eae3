/** Long inbound messages over real SMPP links: their parts are committed and acknowledged one by one, by any node. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import pino from "pino";
import { ProviderHosts } from "../../src/delivery/provider-hosts.ts";
import { ConsentDefaults } from "../../src/consent/consent-defaults.ts";
import { LinkDirectory } from "../../src/links/directory.ts";
import type { Link } from "../../src/links/link.ts";
import { createLog } from "../../src/model/log.ts";
import type { Connection, Provider } from "../../src/providers/provider.ts";
import { smpp } from "../../src/providers/smpp/smpp.ts";
import { STATUS, type ShortMessage } from "../../src/providers/smpp/pdu.ts";
import type { SmppTimes } from "../../src/providers/smpp/settings.ts";
import { Announcer } from "../../src/queue/announcer.ts";
import { LINK, linkTo, Rig } from "../support/delivery-rig.ts";
import { silentWatch, wakeNothing, MEDIA_RETENTION_MS } from "../support/engine.ts";
import { until } from "../support/expect.ts";
import { Smsc, type SmscSession } from "../support/fakes/smsc.ts";
import { settingsFor } from "../support/fakes/smsc-link.ts";
import { deliverSm, receiptSm } from "../support/fakes/smsc-scripts.ts";

const carriers = { [LINK]: smpp as Provider<unknown> };
// No test waits for it: what is stored is stored without a timer.
const HOUR = { partsWaitMs: 3_600_000 };

const linkAt = (smsc: Smsc, times: Partial<SmppTimes> = HOUR): Link => ({ ...linkTo(LINK), settings: settingsFor(smsc, { times }) });

const partSm = (reference: number, total: number, number: number, text: string): ShortMessage =>
  deliverSm({ esmClass: 0x40, text: Buffer.concat([Buffer.from([5, 0, 3, reference, total, number]), Buffer.from(text)]) });

/** Delivers the parts of a message, each after the response to the one before. */
async function deliverParts(session: SmscSession, reference: number, texts: readonly string[]): Promise<void> {
  for (const [index, text] of texts.entries())
    assert.equal(await session.deliver(partSm(reference, texts.length, index + 1, text)), STATUS.ok);
}

/** No account has the number, so the messages are kept for the operator. */
const stored = async (rig: Rig): Promise<string[]> =>
  (await rig.rows<{ body: string }>("select body from kept_inbound order by id")).map(({ body }) => body);

const partRows = (rig: Rig) => rig.rows<{ number: number; state: string }>("select number, state from inbound_parts order by number");

async function withBound(times: Partial<SmppTimes>, run: (smsc: Smsc, rig: Rig) => Promise<void>): Promise<void> {
  const smsc = await Smsc.start();
  try {
    await using rig = await Rig.open();
    await rig.deliver(carriers, { links: [linkAt(smsc, times)] });
    await until("the link to be bound", () => smsc.bound.length === 1);
    await run(smsc, rig);
  } finally {
    await smsc.stop();
  }
}

/** A node that has the link open beside others, as it happens when a lease passes from one node to another. */
async function openNode(rig: Rig, smsc: Smsc, name: string): Promise<Connection> {
  const [db, { log }] = [rig.connect(name), createLog("silent")];
  const link = linkAt(smsc);
  const hosts = new ProviderHosts({
    db,
    clock: rig.clock,
    announcer: new Announcer(db, name, log),
    linkDirectory: new LinkDirectory(link),
    providers: carriers,
    consentDefaults: new ConsentDefaults(),
    mediaRetentionMs: MEDIA_RETENTION_MS,
    wakeWebhooks: wakeNothing,
    receiptWaitMs: 3_600_000,
    watch: silentWatch,
    pauseLink: async () => undefined,
    log,
  });
  const connection = await smpp.open(
    link.settings as never,
    hosts.hostFor(link, () => undefined),
  );
  rig.atEnd(() => connection.close());
  return connection;
}

describe("a long inbound message", () => {
  test("is whole when its link is closed between two parts and opened by another node", async () => {
    const smsc = await Smsc.start();
    await using rig = await Rig.open();
    const links = [linkAt(smsc)];
    const first = await rig.deliver(carriers, { links });
    await until("the first node to be bound", () => smsc.bound.length === 1);
    assert.equal(await smsc.session.deliver(partSm(7, 2, 1, "first half, ")), STATUS.ok);
    await first.stop();
    assert.deepEqual(await stored(rig), [], "a stop stores no incomplete message");
    await rig.deliver(carriers, { links, node: "node-2", db: rig.connect("node-2") });
    await until("the second node to be bound", () => smsc.sessions.length >= 2 && smsc.bound.length === 1);
    assert.equal(await smsc.session.deliver(partSm(7, 2, 2, "second half")), STATUS.ok);
    assert.deepEqual(await stored(rig), ["first half, second half"]);
    await until("no part to be left", async () => (await partRows(rig)).length === 0);
    await rig.close();
    await smsc.stop();
  });

  test("needs no wait for its parts from a carrier that waits for each response", () =>
    withBound(HOUR, async (smsc, rig) => {
      const names = Array.from({ length: 10 }, (_, index) => String.fromCharCode(65 + index));
      for (const [index, name] of names.entries()) {
        await deliverParts(
          smsc.session,
          index,
          [1, 2, 3].map((number) => `${name}${number}`),
        );
        assert.equal((await stored(rig)).length, index + 1, "the last response follows the commit of the message");
      }
      assert.deepEqual(
        await stored(rig),
        names.map((name) => `${name}1${name}2${name}3`),
      );
      await until("no part to be left", async () => (await partRows(rig)).length === 0);
    }));

  test("with the same reference and text as the one before is another message", () =>
    withBound(HOUR, async (smsc, rig) => {
      for (let time = 0; time < 3; time += 1) await deliverParts(smsc.session, 7, ["same ", "text"]);
      assert.deepEqual(await stored(rig), ["same text", "same text", "same text"]);
    }));

  test("with the same reference and first part as the one before is not mixed with it", () =>
    withBound(HOUR, async (smsc, rig) => {
      await deliverParts(smsc.session, 7, ["hello, ", "world"]);
      await deliverParts(smsc.session, 7, ["hello, ", "moon"]);
      // The second part of this one never comes.
      assert.equal(await smsc.session.deliver(partSm(7, 2, 1, "hello, ")), STATUS.ok);
      await deliverParts(smsc.session, 7, ["hello, ", "sun"]);
      await until("the incomplete one to be stored", async () => (await stored(rig)).length === 4);
      assert.deepEqual((await stored(rig)).toSorted(), ["hello, [\u2026]", "hello, moon", "hello, sun", "hello, world"]);
    }));

  test("whose parts come in one piece, out of order, is one message", () =>
    withBound(HOUR, async (smsc, rig) => {
      const parts = [
        partSm(7, 3, 3, "three"),
        partSm(7, 3, 1, "one "),
        partSm(8, 2, 2, "b"),
        partSm(7, 3, 2, "two "),
        partSm(8, 2, 1, "a"),
      ];
      const responses = await Promise.all(parts.map((part) => smsc.session.deliver(part)));
      assert.deepEqual(
        responses,
        parts.map(() => STATUS.ok),
      );
      assert.deepEqual((await stored(rig)).toSorted(), ["ab", "one two three"]);
    }));

  test("with a part whose response could not be written is stored once", () =>
    withBound(HOUR, async (smsc, rig) => {
      assert.equal(await smsc.session.deliver(partSm(7, 2, 1, "one ")), STATUS.ok);
      // The commit of the last part waits for this transaction.
      const blocker = rig.connect("blocker");
      const isCut = Promise.withResolvers<void>();
      const isLocked = Promise.withResolvers<void>();
      const blocked = blocker.transaction(async (tx) => {
        await tx.rows({ name: "", text: "lock table kept_inbound in exclusive mode", values: [] });
        isLocked.resolve();
        await isCut.promise;
      });
      await isLocked.promise;
      const first = smsc.session;
      void first.deliver(partSm(7, 2, 2, "two"));
      await until("the part to be committed", async () => (await partRows(rig)).length === 2);
      first.socket.destroy();
      await until("the link to be bound again", () => smsc.session !== first && smsc.bound.length === 1);
      isCut.resolve();
      await blocked;
      assert.equal(await smsc.session.deliver(partSm(7, 2, 2, "two")), STATUS.ok, "the repetition");
      assert.deepEqual(await stored(rig), ["one two"]);
      await deliverParts(smsc.session, 7, ["one ", "two"]);
      assert.deepEqual(await stored(rig), ["one two", "one two"], "the same text again");
      await until("no part to be left", async () => (await partRows(rig)).length === 0);
    }));

  test("whose parts reach two nodes in turns is stored once", async () => {
    const smsc = await Smsc.start();
    await using rig = await Rig.open();
    for (const name of ["p", "q"]) await openNode(rig, smsc, name);
    await until("both nodes to be bound", () => smsc.bound.length === 2);
    const sessions = smsc.bound;
    const rounds = Array.from({ length: 10 }, (_, index) => index);
    for (const round of rounds) {
      const parts = [1, 2, 3, 4].map((number) => partSm(round, 4, number, `${round}.${number} `));
      const responses = parts.map((part, index) => (sessions[index % 2] ?? assert.fail()).deliver(part));
      assert.deepEqual(await Promise.all(responses), [0, 0, 0, 0]);
    }
    assert.deepEqual(
      (await stored(rig)).toSorted(),
      rounds.map((round) => `${round}.1 ${round}.2 ${round}.3 ${round}.4 `),
    );
    await rig.close();
    await smsc.stop();
  });

  test("with missing parts is stored with marks after the wait, by any node", async () => {
    const smsc = await Smsc.start();
    await using rig = await Rig.open();
    let lines = "";
    const log = pino({}, { write: (line) => void (lines += line) });
    // A node that does not sweep.
    await openNode(rig, smsc, "p");
    await until("the link to be bound", () => smsc.bound.length === 1);
    for (const number of [2, 3, 5]) assert.equal(await smsc.session.deliver(partSm(7, 6, number, `${number} `)), STATUS.ok);
    await rig.rows("update inbound_parts set due_at = now(), is_answered = true");
    const links = [linkAt(smsc)];
    await rig.deliver(carriers, { links, node: "node-2", db: rig.connect("node-2"), log });
    await until("it to be stored", async () => (await stored(rig)).length > 0 && (await partRows(rig)).length === 0);
    assert.deepEqual(await stored(rig), ["[\u2026]2 3 [\u2026]5 [\u2026]"]);
    await until("it to be logged", () => lines.includes('"event":"delivery.inbound_incomplete","link":"first","missing":3,"total":6'));
    await rig.close();
    await smsc.stop();
  });
});

describe("first parts whose messages never become complete", () => {
  test("beyond a bound end the oldest messages of their link", () =>
    withBound(HOUR, async (smsc, rig) => {
      await rig.rows(
        `insert into inbound_parts (set_id, number, link, from_address, to_address, reference, total, data_coding, has_header, user_data, due_at)
         select gen_random_uuid(), 1, $1, '4915112345678', '14155550100', '16:' || n, 2, 0, false, convert_to('old ' || n, 'UTF8'), now() + n * interval '1 second'
           from generate_series(1, 10000) as n`,
        [LINK],
      );
      assert.equal(await smsc.session.deliver(partSm(7, 2, 1, "one ")), STATUS.ok);
      await until("the oldest to be stored", async () => (await stored(rig)).includes("old 1[\u2026]"));
      const [newest] = await rig.rows("select state from inbound_parts where reference = '16:10000'");
      assert.deepEqual(newest, { state: "open" });
    }));

  test("hold no receipt among them, over a window of ten", () =>
    withBound(HOUR, async (smsc, rig) => {
      const worker = async (_: unknown, each: number): Promise<void> => {
        for (let count = 0; count < 10; count += 1) {
          assert.equal(await smsc.session.deliver(partSm(10 * each + count, 2, 1, "x")), STATUS.ok);
          assert.equal(await smsc.session.deliver(receiptSm(`r${each}-${count}`)), STATUS.ok);
        }
      };
      await Promise.all(Array.from({ length: 10 }, worker));
      assert.equal((await partRows(rig)).length, 100);
    }));
});
