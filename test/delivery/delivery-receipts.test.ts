/** What carriers say later: whose message they mean, what it moves, and what becomes of what nobody can place. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Message } from "../../src/messages/message.ts";
import type { Receipt } from "../../src/providers/provider.ts";
import { DatabaseWire } from "../support/database-wire.ts";
import { linkTo, LINK, publicId, RECIPIENT, recipientNo, Rig } from "../support/delivery-rig.ts";
import { until } from "../support/expect.ts";
import { accepted, CARRIER_ERROR, receipt, ScriptedCarrier, unknown, type Send } from "../support/scripted-carrier.ts";

const ERROR = { error: CARRIER_ERROR };

/** A message that a carrier has taken under this name. */
async function sent(rig: Rig, carrier: ScriptedCarrier, name = "7", fields: Parameters<Rig["accept"]>[0] = {}): Promise<Message> {
  carrier.answers(RECIPIENT, accepted(name));
  await rig.deliver({ [LINK]: carrier });
  const message = await rig.accept({ channel: "whatsapp", ...fields });
  carrier.changed();
  return rig.untilStatus(message, "sent");
}

const parked = (rig: Rig) => rig.rows<{ name: string }>("select provider_message_id as name from parked_receipts order by 1, status");

/** What the timeline says of each receipt: its status, and whether it was ignored. */
const receiptsOf = async (rig: Rig, message: Message) =>
  (await rig.timeline(message)).flatMap(({ detail, isIgnored }) => (detail?.receipt ? [[detail.receipt["status"], isIgnored]] : []));

describe("a receipt", () => {
  test("moves its message, and is in the timeline in the carrier's own words", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier();
    const message = await sent(rig, carrier);
    await carrier.receive([receipt("7", "undelivered", { ...ERROR, raw: { stat: "UNDELIV", err: "8" } })]);
    // Committed when the carrier is told so, and not some time later.
    const now = await rig.message(message);
    assert.equal(now.status, "undelivered");
    assert.deepEqual(now.error, { code: "blocked_by_carrier", message: "The carrier blocked it", permanent: true, provider_code: "EC-8" });
    assert.equal(now.sequence, message.sequence + 1);
    const last = (await rig.timeline(message)).at(-1);
    assert.deepEqual(last, {
      type: "message.undelivered",
      sequence: 4,
      previous: "sent",
      status: "undelivered",
      isIgnored: false,
      detail: {
        receipt: {
          link: LINK,
          status: "undelivered",
          provider_message_id: "7",
          error_code: "blocked_by_carrier",
          provider_code: "EC-8",
          raw: { stat: "UNDELIV", err: "8" },
        },
      },
    });
  });

  for (const where of ["at the process that sent it", "at another process"]) {
    test(`${where} speaks of a message of its own link, whatever others are called there`, async () => {
      await using rig = await Rig.open();
      const senders = { first: new ScriptedCarrier(), second: new ScriptedCarrier() };
      for (const carrier of Object.values(senders)) carrier.answers(RECIPIENT, accepted("7"));
      await rig.deliver(senders);
      const messages = [await rig.accept({}, { link: "first" }), await rig.accept({}, { link: "second" })];
      for (const carrier of Object.values(senders)) carrier.changed();
      const [first, second] = await Promise.all(messages.map((each) => rig.untilStatus(each, "sent")));
      assert.ok(first !== undefined && second !== undefined);
      const others = { first: new ScriptedCarrier(), second: new ScriptedCarrier() };
      if (where === "at another process") await rig.deliver(others, { node: "node-2", db: rig.connect("node-2") });
      const hearing = where === "at another process" ? others : senders;
      await hearing.second.receive([receipt("7", "delivered")]);
      assert.equal((await rig.message(second)).status, "delivered");
      assert.deepEqual(await rig.message(first), first, "the other has not changed at all");
      await hearing.first.receive([receipt("7", "undelivered", ERROR)]);
      assert.equal((await rig.message(first)).status, "undelivered");
      assert.equal((await rig.message(second)).status, "delivered");
      // Our own reference means nothing to another link, either.
      await hearing.first.receive([receipt(null, "read", { reference: publicId(second) })]);
      assert.equal((await rig.message(second)).status, "delivered");
    });
  }

  test("read implies delivered, at the same moment", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier();
    const message = await sent(rig, carrier);
    await carrier.receive([receipt("7", "read")]);
    const { deliveredAtMs, readAtMs, sentAtMs } = await rig.message(message);
    assert.equal(deliveredAtMs, readAtMs);
    assert.equal(sentAtMs, message.sentAtMs);
  });

  test("repeated for ever does not fill the timeline, and the next that counts is still told", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier();
    const message = await sent(rig, carrier);
    const entries = async (): Promise<number> => (await rig.timeline(message)).length;
    for (let round = 0; round < 5; round += 1) await carrier.receive(Array.from({ length: 50 }, () => receipt("7", "sent")));
    const many = await entries();
    assert.ok(many >= 100 && many <= 110, `${many} entries`);
    await carrier.receive([receipt("7", "sent")]);
    assert.equal(await entries(), many);
    await carrier.receive([receipt("7", "delivered")]);
    assert.equal((await rig.message(message)).status, "delivered");
    assert.equal(await entries(), many + 1);
    assert.equal((await rig.timeline(message)).at(-1)?.type, "message.delivered");
  });
});

describe("receipts in any order", () => {
  let rig: Rig;
  const carrier = new ScriptedCarrier();
  carrier.otherwise = ({ message }: Send) => accepted(`name of ${message.recipient}`);
  before(async () => {
    rig = await Rig.open();
    await rig.deliver({ [LINK]: carrier });
  });
  after(() => rig[Symbol.asyncDispose]());

  const ORDERS: readonly (readonly [said: Receipt["status"][], status: string, ignored: boolean[]])[] = [
    [["delivered", "delivered"], "delivered", [false, true]],
    [["read", "delivered", "sent"], "read", [false, true, true]],
    [["delivered", "sent", "read"], "read", [false, true, false]],
    [["sent", "sent", "delivered"], "delivered", [true, true, false]],
    [["undelivered", "delivered"], "delivered", [false, false]],
    [["undelivered", "read"], "read", [false, false]],
    [["expired", "delivered"], "delivered", [false, false]],
    [["delivered", "undelivered", "expired", "failed"], "delivered", [false, true, true, true]],
    [["undelivered", "expired", "failed", "sent"], "undelivered", [false, true, true, true]],
    [["failed", "delivered"], "failed", [false, true]],
  ];
  for (const [row, [said, status, ignored]] of ORDERS.entries()) {
    for (const how of ["together", "one by one"] as const) {
      test(`${said.join(", ")}, ${how}: the message is ${status}`, async () => {
        const recipient = recipientNo(row + (how === "together" ? 0 : ORDERS.length));
        const accepting = await rig.accept({ recipient, channel: "whatsapp" });
        carrier.changed();
        const message = await rig.untilStatus(accepting, "sent");
        const receipts = said.map((each) => receipt(`name of ${recipient}`, each, each === "undelivered" ? ERROR : {}));
        if (how === "together") await carrier.receive(receipts);
        else for (const each of receipts) await carrier.receive([each]);
        const now = await rig.message(message);
        assert.equal(now.status, status);
        assert.equal(now.sequence, message.sequence + ignored.filter((each) => !each).length);
        assert.ok(now.updatedAtMs > message.updatedAtMs);
        assert.deepEqual(
          await receiptsOf(rig, message),
          said.map((each, index) => [each, ignored[index]]),
        );
        assert.equal(now.error?.code, said[0] === "undelivered" ? "blocked_by_carrier" : undefined, "an error once set is not erased");
        assert.equal(now.readAtMs !== null, status === "read");
        assert.deepEqual(await parked(rig), []);
      });
    }
  }
});

describe("many receipts at once", () => {
  test("one that nobody knows does not hold up the others", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier();
    await rig.deliver({ [LINK]: carrier });
    carrier.otherwise = ({ message }: Send) => accepted(`name of ${message.recipient}`);
    const messages = await rig.acceptMany(250, (index) => ({ recipient: recipientNo(index) }));
    carrier.changed();
    await until("all to be sent", async () => (await rig.count("sent")) === 250 || undefined);
    const receipts = messages.flatMap(({ recipient }) => [
      receipt(`name of ${recipient}`, "delivered"),
      receipt(`name of ${recipient}`, "sent"),
    ]);
    receipts.splice(
      100,
      0,
      receipt("nobody", "delivered"),
      receipt(null, "delivered"),
      receipt(null, "delivered", { reference: "not of ours" }),
    );
    await carrier.receive(receipts);
    assert.equal(await rig.count("delivered"), 250);
    assert.deepEqual(await parked(rig), [{ name: "nobody" }]);
  });

  test("the same one through two processes at the same time moves the message once", async () => {
    await using rig = await Rig.open();
    const [here, there] = [new ScriptedCarrier(), new ScriptedCarrier()];
    const message = await sent(rig, here);
    await rig.deliver({ [LINK]: there }, { node: "node-2", db: rig.connect("node-2") });
    await Promise.all([here, there, here, there].map((carrier) => carrier.receive([receipt("7", "delivered")])));
    const now = await rig.message(message);
    assert.deepEqual([now.status, now.sequence], ["delivered", 4]);
    const seen = await receiptsOf(rig, message);
    assert.equal(seen.length, 4);
    assert.equal(seen.filter(([, isIgnored]) => isIgnored === false).length, 1);
  });

  test("one that arrives at another process than the one that sent it finds its message", async () => {
    await using rig = await Rig.open();
    const [here, there] = [new ScriptedCarrier(), new ScriptedCarrier()];
    const message = await sent(rig, here);
    await rig.deliver({ [LINK]: there }, { node: "node-2", db: rig.connect("node-2") });
    await there.receive([receipt("7", "delivered")]);
    assert.equal((await rig.message(message)).status, "delivered");
    await here.receive([receipt("7", "read")]);
    assert.equal((await rig.message(message)).status, "read");
  });
});

describe("a receipt that is quicker than the answer", () => {
  for (const arrivesAt of ["the process that sends", "another process"] as const) {
    test(`at ${arrivesAt} is parked, and taken up when the name is known`, async () => {
      await using rig = await Rig.open();
      const [here, there] = [new ScriptedCarrier(), new ScriptedCarrier()];
      const hearing = arrivesAt === "another process" ? there : here;
      let waiting: object[] = [];
      here.answers(RECIPIENT, accepted("7"));
      here.onSend = async () => {
        await hearing.receive([receipt("7", "delivered", { reference: null }), receipt("7", "read")]);
        waiting = await parked(rig);
      };
      const message = await rig.accept({ channel: "whatsapp" });
      if (hearing === there) {
        there.isReady = false;
        await rig.deliver({ [LINK]: there }, { node: "node-2", db: rig.connect("node-2") });
      }
      await rig.deliver({ [LINK]: here });
      const { sequence } = await rig.untilStatus(message, "read");
      assert.deepEqual(waiting, [{ name: "7" }, { name: "7" }]);
      await until("nothing to be parked", async () => (await parked(rig)).length === 0 || undefined);
      assert.ok(sequence >= 4);
      const types = (await rig.timeline(message)).map(({ type }) => type);
      assert.equal(types[2], "message.sent");
      assert.ok(types.includes("message.read"));
    });
  }

  test("and was never taken up by the process that made the name known, is taken up by another", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier();
    const message = await sent(rig, carrier);
    // As the process leaves it that ended between its commit and its look.
    await rig.rows(
      "insert into parked_receipts (link, provider_message_id, status, receipt, received_at) values ($1, '7', 'delivered', $2, now() - interval '1 minute')",
      [LINK, JSON.stringify(receipt("7", "delivered"))],
    );
    await rig.untilStatus(message, "delivered");
    await until("nothing to be parked", async () => (await parked(rig)).length === 0 || undefined);
  });

  test("of a message that never becomes known is kept for three days, and then dropped", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier();
    await rig.deliver({ [LINK]: carrier });
    await carrier.receive([receipt("old", "delivered"), receipt("young", "delivered"), receipt("young", "delivered")]);
    assert.deepEqual(await parked(rig), [{ name: "old" }, { name: "young" }], "the same one twice is one");
    const age = (name: string, hours: number) =>
      rig.rows("update parked_receipts set received_at = now() - make_interval(hours => $2) where provider_message_id = $1", [name, hours]);
    await age("young", 71);
    await age("old", 73);
    await until("the old one to be dropped", async () => (await parked(rig)).every(({ name }) => name !== "old") || undefined);
    assert.deepEqual(await parked(rig), [{ name: "young" }]);
  });
});

describe("a receipt by our own reference", () => {
  const heldMessage = async (rig: Rig, carrier: ScriptedCarrier, holdMs: number): Promise<Message> => {
    carrier.answers(RECIPIENT, unknown);
    const message = await rig.accept({ channel: "whatsapp" });
    await rig.deliver({ [LINK]: carrier }, { links: [linkTo(LINK, { holdMs, policy: "fail" })] });
    await until("the hold", async () => ((await rig.queueRow(message))?.state === 1 ? true : undefined));
    return message;
  };

  test("resolves an unknown outcome, and brings the carrier's name", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier();
    const message = await heldMessage(rig, carrier, 60_000);
    await carrier.receive([receipt("7", "sent", { reference: publicId(message) })]);
    const now = await rig.message(message);
    assert.deepEqual([now.status, now.provider?.messageId], ["sent", "7"]);
    assert.equal(await rig.queueRow(message), undefined, "it is held no more");
    // From now on the carrier's name is enough.
    await carrier.receive([receipt("7", "delivered")]);
    assert.equal((await rig.message(message)).status, "delivered");
    assert.equal(carrier.sends.length, 1);
  });

  test("that comes after the link's policy overrides the failure", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier();
    const message = await heldMessage(rig, carrier, 200);
    const failed = await rig.untilStatus(message, "failed");
    await carrier.receive([receipt(null, "sent", { reference: publicId(message) })]);
    assert.equal((await rig.message(message)).status, "failed", "that it was taken is no news that overrides");
    await carrier.receive([receipt(null, "delivered", { reference: publicId(message) })]);
    const now = await rig.message(message);
    assert.equal(now.status, "delivered");
    assert.equal(now.error?.code, "outcome_unknown");
    assert.equal(now.failedAtMs, failed.failedAtMs);
    assert.equal(now.sequence, failed.sequence + 1);
  });
});

describe("without a database", () => {
  test("receipts are refused, nothing is half done, and they are good when they come again", async () => {
    await using rig = await Rig.open();
    const [here, there] = [new ScriptedCarrier(), new ScriptedCarrier()];
    const message = await sent(rig, here);
    const wire = await DatabaseWire.to(rig.url);
    await rig.deliver({ [LINK]: there }, { node: "node-2", db: rig.connect("node-2", wire.url) });
    await there.receive([receipt("nobody", "sent")]);
    await wire.close();
    await assert.rejects(there.receive([receipt("7", "delivered"), receipt("no one", "sent")]));
    await assert.rejects(there.receive([receipt("no one", "sent")]), "a receipt that would be parked is refused as well");
    assert.deepEqual(await rig.message(message), message);
    assert.equal((await rig.timeline(message)).length, 3);
    assert.deepEqual(await parked(rig), [{ name: "nobody" }]);
    await here.receive([receipt("7", "delivered"), receipt("no one", "sent")]);
    assert.equal((await rig.message(message)).status, "delivered");
    assert.deepEqual(await parked(rig), [{ name: "no one" }, { name: "nobody" }]);
  });
});
