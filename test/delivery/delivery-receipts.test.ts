/** Delivery receipts: which message they belong to, which status they set, and how receipts of unknown messages are kept. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Message } from "../../src/messages/message.ts";
import type { Receipt } from "../../src/providers/provider.ts";
import { listOldRows } from "../../src/retention/old-rows.ts";
import { NO_CHAIN_KEY } from "../support/audit.ts";
import { DatabaseWire } from "../support/database-wire.ts";
import { linkTo, LINK, publicId, Rig } from "../support/delivery-rig.ts";
import { Lock } from "../support/locks.ts";
import { RECIPIENT, recipientNo } from "../support/recipient.ts";
import { until } from "../support/expect.ts";
import { accepted, CARRIER_ERROR, receipt, ScriptedCarrier, unknown, type Send } from "../support/scripted-carrier.ts";

const ERROR = { error: CARRIER_ERROR };

/** A message that a carrier has accepted with this carrier id. */
async function sent(rig: Rig, carrier: ScriptedCarrier, name = "7", fields: Parameters<Rig["accept"]>[0] = {}): Promise<Message> {
  carrier.responds(RECIPIENT, accepted(name));
  await rig.deliver({ [LINK]: carrier });
  const message = await rig.accept({ channel: "whatsapp", ...fields });
  carrier.changed();
  return rig.untilStatus(message, "sent");
}

const parked = (rig: Rig) => rig.rows<{ name: string }>("select provider_message_id as name from parked_receipts order by 1, status");

/** The receipts in the timeline: the status, and whether the receipt was ignored. */
const receiptsOf = async (rig: Rig, message: Message) =>
  (await rig.timeline(message)).flatMap(({ detail, isIgnored }) => (detail?.receipt ? [[detail.receipt["status"], isIgnored]] : []));

describe("a receipt", () => {
  test("changes its message, and is in the timeline with the carrier's raw fields", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier();
    const message = await sent(rig, carrier);
    await carrier.receive([receipt("7", "undelivered", { ...ERROR, raw: { stat: "UNDELIV", err: "8" } })]);
    // The change is committed when the receipt is acknowledged, not some time later.
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

  test("is applied after those of its message that came before it, also while they are being stored", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier();
    const message = await sent(rig, carrier);
    await Promise.all(["sent", "delivered", "read"].map((status) => carrier.receive([receipt("7", status as Receipt["status"])])));
    assert.deepEqual(await receiptsOf(rig, message), [
      ["sent", true],
      ["delivered", false],
      ["read", false],
    ]);
  });

  for (const where of ["at the process that sent it", "at another process"]) {
    test(`${where} belongs to a message of its own link, also when other links use the same carrier id`, async () => {
      await using rig = await Rig.open();
      const senders = { first: new ScriptedCarrier(), second: new ScriptedCarrier() };
      for (const carrier of Object.values(senders)) carrier.responds(RECIPIENT, accepted("7"));
      await rig.deliver(senders);
      const messages = [await rig.accept({}, { link: "first" }), await rig.accept({}, { link: "second" })];
      for (const carrier of Object.values(senders)) carrier.changed();
      const [first, second] = await Promise.all(messages.map((each) => rig.untilStatus(each, "sent")));
      assert.ok(first !== undefined && second !== undefined);
      const others = { first: new ScriptedCarrier(), second: new ScriptedCarrier() };
      if (where === "at another process") await rig.deliver(others, { node: "node-2", db: rig.connect("node-2") });
      const receiving = where === "at another process" ? others : senders;
      await receiving.second.receive([receipt("7", "delivered")]);
      assert.equal((await rig.message(second)).status, "delivered");
      assert.deepEqual(await rig.message(first), first, "the other message has not changed");
      await receiving.first.receive([receipt("7", "undelivered", ERROR)]);
      assert.equal((await rig.message(first)).status, "undelivered");
      assert.equal((await rig.message(second)).status, "delivered");
      // Our own reference is not valid on another link, either.
      await receiving.first.receive([receipt(null, "read", { reference: publicId(second) })]);
      assert.equal((await rig.message(second)).status, "delivered");
    });
  }

  test("with the status read sets the time of delivery to the same time", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier();
    const message = await sent(rig, carrier);
    await carrier.receive([receipt("7", "read")]);
    const { deliveredAtMs, readAtMs, sentAtMs } = await rig.message(message);
    assert.equal(deliveredAtMs, readAtMs);
    assert.equal(sentAtMs, message.sentAtMs);
  });

  test("that is repeated endlessly does not fill the timeline, and the next change is still recorded", async () => {
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

  const ORDERS: readonly (readonly [statuses: Receipt["status"][], status: string, ignored: boolean[]])[] = [
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
  for (const [row, [statuses, status, ignored]] of ORDERS.entries()) {
    for (const how of ["together", "one by one"] as const) {
      test(`${statuses.join(", ")}, ${how}: the message is ${status}`, async () => {
        const recipient = recipientNo(row + (how === "together" ? 0 : ORDERS.length));
        const accepting = await rig.accept({ recipient, channel: "whatsapp" });
        carrier.changed();
        const message = await rig.untilStatus(accepting, "sent");
        const receipts = statuses.map((each) => receipt(`name of ${recipient}`, each, each === "undelivered" ? ERROR : {}));
        if (how === "together") await carrier.receive(receipts);
        else for (const each of receipts) await carrier.receive([each]);
        const now = await rig.message(message);
        assert.equal(now.status, status);
        assert.equal(now.sequence, message.sequence + ignored.filter((each) => !each).length);
        assert.ok(now.updatedAtMs > message.updatedAtMs);
        assert.deepEqual(
          await receiptsOf(rig, message),
          statuses.map((each, index) => [each, ignored[index]]),
        );
        assert.equal(now.error?.code, statuses[0] === "undelivered" ? "blocked_by_carrier" : undefined, "an error once set is not erased");
        assert.equal(now.readAtMs !== null, status === "read");
        assert.deepEqual(await parked(rig), []);
      });
    }
  }
});

describe("many receipts together", () => {
  test("with an unknown one are all applied", async () => {
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
      receipt("unknown-2", "delivered"),
      receipt(null, "delivered"),
      receipt(null, "delivered", { reference: "not of ours" }),
    );
    await carrier.receive(receipts);
    assert.equal(await rig.count("delivered"), 250);
    assert.deepEqual(await parked(rig), [{ name: "unknown-2" }]);
  });

  test("change the message once when two processes receive the same one", async () => {
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

  test("find their messages also at another process than the sender", async () => {
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

describe("a receipt that arrives before the response", () => {
  for (const arrivesAt of ["the process that sends", "another process"] as const) {
    test(`at ${arrivesAt} is parked, and processed when the carrier id is known`, async () => {
      await using rig = await Rig.open();
      const [here, there] = [new ScriptedCarrier(), new ScriptedCarrier()];
      const receiving = arrivesAt === "another process" ? there : here;
      let waiting: object[] = [];
      here.responds(RECIPIENT, accepted("7"));
      here.onSend = async () => {
        await receiving.receive([receipt("7", "delivered", { reference: null }), receipt("7", "read")]);
        waiting = await parked(rig);
      };
      const message = await rig.accept({ channel: "whatsapp" });
      if (receiving === there) {
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

  test("and while its carrier id is being stored waits for that, and does not delay receipts of others", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier();
    const other = await sent(rig, carrier, "8");
    const message = await rig.accept({ channel: "sms" });
    let lock: Lock | undefined;
    carrier.responds(RECIPIENT, accepted("7"));
    carrier.onSend = async () => {
      lock = await Lock.take(rig.url, `select from messages where id = '${message.id.toString("hex")}' for update`);
    };
    carrier.changed();
    await until("the outcome to wait for the lock", async () => {
      const [waiting] = await rig.rows("select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'");
      return waiting;
    });
    const receiving = carrier.receive([receipt("7", "delivered"), receipt("8", "delivered")]);
    await rig.untilStatus(other, "delivered");
    assert.deepEqual(await parked(rig), []);
    await lock?.release();
    await receiving;
    assert.equal((await rig.message(message)).status, "delivered");
    assert.deepEqual(await receiptsOf(rig, message), [["delivered", false]]);
  });

  test("and is not processed by the node that stored the carrier id is processed by another", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier();
    const message = await sent(rig, carrier);
    // The state after a process that ended between its commit and its check for parked receipts.
    await rig.rows(
      "insert into parked_receipts (link, provider_message_id, status, receipt, received_at) values ($1, '7', 'delivered', $2, now() - interval '1 minute')",
      [LINK, JSON.stringify(receipt("7", "delivered"))],
    );
    await rig.untilStatus(message, "delivered");
    await until("nothing to be parked", async () => (await parked(rig)).length === 0 || undefined);
  });

  test("of a message that never becomes known is kept for three days and then deleted", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier();
    await rig.deliver({ [LINK]: carrier });
    await carrier.receive([receipt("old", "delivered"), receipt("young", "delivered"), receipt("young", "delivered")]);
    assert.deepEqual(await parked(rig), [{ name: "old" }, { name: "young" }], "a repeated receipt is stored once");
    const age = (name: string, hours: number) =>
      rig.rows("update parked_receipts set received_at = now() - make_interval(hours => $2) where provider_message_id = $1", [name, hours]);
    await age("young", 71);
    await age("old", 73);
    const kinds = listOldRows({ db: rig.db, clock: rig.clock, retentionDays: 90, auditRetentionDays: 400, chainKey: NO_CHAIN_KEY });
    await kinds.find(({ table }) => table === "parked_receipts")?.deleteBatch(rig.clock.now(), new AbortController().signal);
    assert.deepEqual(await parked(rig), [{ name: "young" }]);
  });
});

describe("a receipt with our own reference", () => {
  const heldMessage = async (rig: Rig, carrier: ScriptedCarrier, holdMs: number): Promise<Message> => {
    carrier.responds(RECIPIENT, unknown);
    const message = await rig.accept({ channel: "whatsapp" });
    await rig.deliver({ [LINK]: carrier }, { links: [linkTo(LINK, { holdMs, policy: "fail" })] });
    await until("the hold", async () => ((await rig.queueRow(message))?.state === 1 ? true : undefined));
    return message;
  };

  test("resolves an unknown outcome and provides the carrier id", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier();
    const message = await heldMessage(rig, carrier, 60_000);
    await carrier.receive([receipt("7", "sent", { reference: publicId(message) })]);
    const now = await rig.message(message);
    assert.deepEqual([now.status, now.provider?.messageId], ["sent", "7"]);
    assert.equal(await rig.queueRow(message), undefined, "the message is not held any more");
    // From now on the carrier id is sufficient.
    await carrier.receive([receipt("7", "delivered")]);
    assert.equal((await rig.message(message)).status, "delivered");
    assert.equal(carrier.sends.length, 1);
  });

  test("finds a message whose carrier id is another one, or that another link has taken over, and none of a link that never sent it", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier();
    const message = await sent(rig, carrier, "7");
    await carrier.receive([receipt(null, "delivered", { reference: publicId(message) })]);
    assert.equal((await rig.message(message)).status, "delivered");
    await rig.rows("update messages set link = 'elsewhere' where id = $1", [message.id]);
    await carrier.receive([receipt("another form of 7", "read", { reference: publicId(message) })]);
    assert.equal((await rig.message(message)).status, "read");
    const other = new ScriptedCarrier();
    await rig.deliver({ second: other }, { node: "node-2", links: [linkTo("second")] });
    await other.receive([receipt("9", "delivered", { reference: publicId(message) })]);
    assert.deepEqual(await parked(rig), [{ name: "9" }, { name: publicId(message) }]);
  });

  test("overrides the failure that the link's policy has set", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier();
    const message = await heldMessage(rig, carrier, 200);
    const failed = await rig.untilStatus(message, "failed");
    await carrier.receive([receipt(null, "sent", { reference: publicId(message) })]);
    assert.equal((await rig.message(message)).status, "failed", "the status sent does not override the failure");
    await carrier.receive([receipt(null, "delivered", { reference: publicId(message) })]);
    const now = await rig.message(message);
    assert.equal(now.status, "delivered");
    assert.equal(now.error?.code, "outcome_unknown");
    assert.equal(now.failedAtMs, failed.failedAtMs);
    assert.equal(now.sequence, failed.sequence + 1);
  });
});

describe("a receipt for the first attempt of a message that was sent again", () => {
  const failed = (message: Message) => receipt("first", "failed", { reference: publicId(message), error: CARRIER_ERROR });

  for (const isBefore of [true, false])
    test(`and failed there ${isBefore ? "before" : "after"} the response to the second one does not hide its delivery`, async () => {
      await using rig = await Rig.open();
      const carrier = new ScriptedCarrier();
      const message = await rig.accept();
      carrier.responds(RECIPIENT, unknown, async () => {
        if (isBefore) await carrier.receive([failed(message)]);
        return accepted("second");
      });
      await rig.deliver({ [LINK]: carrier }, { links: [linkTo(LINK, { holdMs: 50, policy: "resend" })] });
      await until(
        "the second response",
        async () => (await rig.rows("select from provider_references where provider_message_id = 'second'"))[0],
      );
      if (!isBefore) await carrier.receive([failed(message)]);
      assert.equal((await rig.message(message)).status, "undelivered");
      await carrier.receive([receipt("second", "delivered")]);
      const now = await rig.message(message);
      assert.deepEqual([now.status, now.error?.code], ["delivered", CARRIER_ERROR.code]);
    });
});

describe("a receipt whose id is unknown, because the process that sent the message ended before the response,", () => {
  const named = (id: string, phone = RECIPIENT) => receipt(id, "delivered", { idForm: "auto", addresses: [phone.slice(1), "15005550000"] });
  const held = async (rig: Rig, carrier: ScriptedCarrier, messages: readonly Parameters<Rig["accept"]>[0][]): Promise<Message[]> => {
    carrier.responds(RECIPIENT, ...messages.map(() => unknown));
    const all = await Promise.all(messages.map((each) => rig.accept(each)));
    await rig.deliver({ [LINK]: carrier });
    for (const message of all) await until("the hold", async () => (await rig.queueRow(message))?.state === 1 || undefined);
    return all;
  };

  test("belongs to the only message to its phone that has no response", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier();
    const [message] = (await held(rig, carrier, [{}])) as [Message];
    await carrier.receive([named("elsewhere", recipientNo(5)), named("8")]);
    const now = await rig.message(message);
    assert.deepEqual([now.status, now.provider?.messageId], ["delivered", "8"]);
    assert.deepEqual(await parked(rig), [{ name: "elsewhere" }]);
  });

  test("stays parked if two messages to the phone have no response, or if the message has several parts", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier();
    await held(rig, carrier, [{}, {}]);
    await carrier.receive([named("8")]);
    assert.deepEqual(await parked(rig), [{ name: "8" }]);
    await using other = await Rig.open();
    const second = new ScriptedCarrier();
    await held(other, second, [{ body: "long ".repeat(50) }]);
    await second.receive([named("9")]);
    assert.deepEqual(await parked(other), [{ name: "9" }]);
  });

  test("stays parked if it may be about an earlier attempt of a message that was sent again", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier();
    const again = await sent(rig, carrier);
    await rig.rows(`update messages set has_unknown = true where id = '${again.id.toString("hex")}'`);
    carrier.responds(RECIPIENT, unknown);
    const unseen = await rig.accept();
    await until("the hold", async () => (await rig.queueRow(unseen))?.state === 1 || undefined);
    await carrier.receive([named("8")]);
    assert.deepEqual(await parked(rig), [{ name: "8" }]);
    assert.equal((await rig.message(unseen)).status, "sending");
  });

  test("stays parked while the response may still come, and belongs to the message after its hold has begun", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier();
    let waiting: object[] = [];
    carrier.responds(RECIPIENT, unknown);
    carrier.onSend = async () => {
      await carrier.receive([named("8")]);
      waiting = await parked(rig);
    };
    const message = await rig.accept();
    await rig.deliver({ [LINK]: carrier });
    await rig.untilStatus(message, "delivered");
    assert.deepEqual(waiting, [{ name: "8" }]);
    await until("nothing to be parked", async () => (await parked(rig)).length === 0 || undefined);
  });
});

describe("without a database", () => {
  test("receipts are refused without partial effects, and are applied when they are repeated", async () => {
    await using rig = await Rig.open();
    const [here, there] = [new ScriptedCarrier(), new ScriptedCarrier()];
    const message = await sent(rig, here);
    const wire = await DatabaseWire.to(rig.url);
    await rig.deliver({ [LINK]: there }, { node: "node-2", db: rig.connect("node-2", wire.url) });
    await there.receive([receipt("unknown-2", "sent")]);
    await wire.close();
    await assert.rejects(there.receive([receipt("7", "delivered"), receipt("unknown-1", "sent")]));
    await assert.rejects(there.receive([receipt("unknown-1", "sent")]), "a receipt that would be parked is refused as well");
    assert.deepEqual(await rig.message(message), message);
    assert.equal((await rig.timeline(message)).length, 3);
    assert.deepEqual(await parked(rig), [{ name: "unknown-2" }]);
    await here.receive([receipt("7", "delivered"), receipt("unknown-1", "sent")]);
    assert.equal((await rig.message(message)).status, "delivered");
    assert.deepEqual(await parked(rig), [{ name: "unknown-1" }, { name: "unknown-2" }]);
  });
});
