/** Receipts of links that share addresses, users and ranges of ids: each is applied to its own message, or to none. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { readPlan } from "../../src/links/plan.ts";
import type { Link } from "../../src/links/link.ts";
import type { Message } from "../../src/messages/message.ts";
import type { Receipt } from "../../src/providers/provider.ts";
import { smpp } from "../../src/providers/smpp/smpp.ts";
import { LINK, linkTo, Rig } from "../support/delivery-rig.ts";
import { until } from "../support/expect.ts";
import { Smsc, type Submit } from "../support/fakes/smsc.ts";
import { international, receiptSm } from "../support/fakes/smsc-scripts.ts";
import { RECIPIENT, recipientNo } from "../support/recipient.ts";
import { accepted, receipt, ScriptedCarrier } from "../support/scripted-carrier.ts";

const statusOf = async (rig: Rig, message: Message): Promise<string> => (await rig.message(message)).status;
const parkedCount = async (rig: Rig): Promise<number> => (await rig.rows("select from parked_receipts")).length;

describe("two carriers behind one address, with the same user", () => {
  const linksTo = (smscs: readonly Smsc[]): Link[] => {
    const shared = { provider: "smpp", host: "127.0.0.1", system_id: "godwit", password_env: "PW" };
    const link = smscs.map(({ port }, index) => ({ ...shared, name: `carrier-${index + 1}`, port }));
    return [...readPlan({ link }, () => "secret", []).links];
  };

  // The second carrier's receipt comes before its response.
  for (const [what, source] of [
    ["without an address", ""],
    ["with the phone", recipientNo(2).slice(1)],
  ] as const)
    test(`keep their receipts apart, also one ${what} before its response`, async () => {
      const smscs = [await Smsc.start(), await Smsc.start()];
      const [first, second] = smscs as [Smsc, Smsc];
      const held: Submit[] = [];
      first.script.submit = (submit, session) => void session.accept(submit, "5001");
      second.script.submit = (submit) => void held.push(submit);
      try {
        await using rig = await Rig.open();
        await rig.deliver({ smpp }, { links: linksTo(smscs) });
        const one = await rig.untilStatus(await rig.accept({ recipient: recipientNo(1) }, { link: "carrier-1" }), "sent");
        const two = await rig.accept({ recipient: recipientNo(2) }, { link: "carrier-2" });
        const submit = await until("the message to be at the second carrier", () => held[0]);
        assert.equal(await second.session.deliver({ ...receiptSm("5001"), source: international(source) }), 0);
        assert.equal(await statusOf(rig, one), "sent", "the message of the other carrier");
        second.session.accept(submit, "5001");
        await rig.untilStatus(two, "delivered");
        assert.equal(await statusOf(rig, one), "sent", "the message of the other carrier");
      } finally {
        await Promise.all(smscs.map((smsc) => smsc.stop()));
      }
    });
});

describe("a receipt that names phones", () => {
  const SENDER = "+15005550000";
  const [recipient, other] = [RECIPIENT.slice(1), recipientNo(9).slice(1)];
  /** A message with the id 7, and its status after a receipt with these addresses. */
  async function statusAfter(fields: Partial<Receipt>, name = SENDER): Promise<[status: string, parked: number]> {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier();
    carrier.responds(RECIPIENT, accepted("7"));
    await rig.deliver({ [LINK]: carrier });
    const message = await rig.accept({ sender: name });
    carrier.changed();
    await rig.untilStatus(message, "sent");
    await carrier.receive([receipt("7", "delivered", fields)]);
    return [await statusOf(rig, message), await parkedCount(rig)];
  }

  test("is applied to a message to one of them, in either order and in national form", async () => {
    for (const addresses of [
      [recipient, SENDER],
      [SENDER, recipient],
      [recipient.slice(1), "12345"],
      ["", other],
      ["SHOP", other],
    ])
      assert.deepEqual(await statusAfter({ addresses }), ["delivered", 0], addresses.join(" "));
  });

  test("is not applied to a message to somebody else, and stays parked", async () => {
    assert.deepEqual(await statusAfter({ addresses: [other, SENDER] }), ["sent", 1]);
    assert.deepEqual(await statusAfter({ addresses: ["SHOP", other] }, "SHOP"), ["sent", 1], "with the addresses swapped");
    assert.deepEqual(await statusAfter({ addresses: [other, SENDER], idForm: "same" }), ["sent", 1]);
  });
});

describe("an id of messages on two links of one account", () => {
  const account = { carrierAccount: { name: "named acme" } };
  const NAMES = ["a", "b", "receiver"] as const;

  test("means the message to the phone of the receipt, and none without a phone", async () => {
    await using rig = await Rig.open();
    const carriers = Object.fromEntries(NAMES.map((name) => [name, new ScriptedCarrier()]));
    for (const carrier of Object.values(carriers)) carrier.otherwise = () => accepted("5001");
    await rig.deliver(carriers, { links: NAMES.map((name) => ({ ...linkTo(name), ...account })) });
    const messages = [
      await rig.accept({ recipient: recipientNo(1) }, { link: "a" }),
      await rig.accept({ recipient: recipientNo(2) }, { link: "b" }),
    ];
    for (const carrier of Object.values(carriers)) carrier.changed();
    const [one, two] = (await Promise.all(messages.map((each) => rig.untilStatus(each, "sent")))) as [Message, Message];
    await carriers["receiver"]?.receive([receipt("5001", "delivered")]);
    assert.deepEqual([await statusOf(rig, one), await statusOf(rig, two)], ["sent", "sent"]);
    await carriers["receiver"]?.receive([receipt("5001", "undelivered", { addresses: [recipientNo(2)] })]);
    assert.deepEqual([await statusOf(rig, one), await statusOf(rig, two)], ["sent", "undelivered"]);
  });
});

describe("a low counter, in hexadecimal in responses and in decimal in receipts without an address", () => {
  test("has no receipt applied to the message whose response has the same digits", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier();
    let count = 9;
    carrier.otherwise = () => accepted((count += 1).toString(16));
    await rig.deliver({ [LINK]: carrier });
    const messages: Message[] = [];
    // a to 1a: the receipts 10 to 14 have the digits of 0x10 to 0x14.
    for (let index = 0; index < 17; index += 1) {
      const message = await rig.accept();
      carrier.changed();
      messages.push(await rig.untilStatus(message, "sent"));
    }
    await carrier.receive([10, 11, 12, 13, 14].map((id) => receipt(String(id), "delivered", { idForm: "auto", addresses: ["", ""] })));
    assert.equal(await rig.count("delivered"), 0);
    // 26 is 0x1a, and no response is 26.
    await carrier.receive([receipt("1a", "delivered", { idForm: "auto", addresses: ["", ""] })]);
    assert.equal(await statusOf(rig, messages[16] as Message), "delivered");
  });
});
