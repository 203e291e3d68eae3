/** Delivery through real SMPP links: the carrier, the queue and the carrier ids together. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Provider } from "../../src/providers/provider.ts";
import { smpp } from "../../src/providers/smpp/smpp.ts";
import type { ShortMessage } from "../../src/providers/smpp/pdu.ts";
import type { SmppSettings } from "../../src/providers/smpp/settings.ts";
import type { Link } from "../../src/links/link.ts";
import type { Message } from "../../src/messages/message.ts";
import { LINK, linkTo, Rig } from "../support/delivery-rig.ts";
import { recipientNo } from "../support/recipient.ts";
import { until } from "../support/expect.ts";
import { Smsc, type Script, type Submit } from "../support/fakes/smsc.ts";
import { settingsFor } from "../support/fakes/smsc-link.ts";
import { deliverSm, international, receiptByTlvs, receiptSm, receiptText } from "../support/fakes/smsc-scripts.ts";

const carriers = { [LINK]: smpp as Provider<unknown> };
const linkAt = (smsc: Smsc, settings: Partial<SmppSettings> = {}): Link => ({ ...linkTo(LINK), settings: settingsFor(smsc, settings) });

/** A receipt about a message to `recipientNo(index)`. */
const receiptOf = (index: number, id: string): ShortMessage => ({ ...receiptSm(id), source: international(recipientNo(index).slice(1)) });

const parkedIds = async (rig: Rig): Promise<string[]> =>
  (await rig.rows<{ id: string }>("select provider_message_id as id from parked_receipts order by 1")).map(({ id }) => id);

async function withCarrier(script: Script, run: (smsc: Smsc, rig: Rig) => Promise<void>): Promise<void> {
  const smsc = await Smsc.start(script);
  try {
    await using rig = await Rig.open();
    await run(smsc, rig);
  } finally {
    await smsc.stop();
  }
}

describe("a carrier with hexadecimal ids in responses and decimal ids in receipts", () => {
  // With leading zeros, as some carriers write them.
  const idOf = (index: number): string => (0x0a1b0000 + index).toString(16).toUpperCase().padStart(10, "0");
  const inReceipts = (index: number): string => String(0x0a1b0000 + index);
  const counting = (): Script => {
    let count = 0;
    return { submit: (submit, session) => void session.accept(submit, idOf(count++)) };
  };

  test("has its receipts matched by a node that has sent nothing, for messages of other nodes", () =>
    withCarrier(counting(), async (smsc, rig) => {
      const links = [linkAt(smsc)];
      const first = await rig.deliver(carriers, { links });
      for (const index of [0, 1, 2]) await rig.untilStatus(await rig.accept({ recipient: recipientNo(index) }), "sent");
      await first.stop();
      await rig.deliver(carriers, { links, node: "node-2", db: rig.connect("node-2") });
      await until("the second node to be bound", () => (smsc.sessions.length >= 2 && smsc.bound.length === 1 ? true : undefined));
      for (const index of [2, 0, 1]) assert.equal(await smsc.session.deliver(receiptOf(index, inReceipts(index))), 0);
      assert.equal(await rig.count("delivered"), 3);
      assert.deepEqual(await rig.rows("select from parked_receipts"), []);
      const ids = await rig.rows("select distinct provider_message_id from provider_references order by 1");
      assert.deepEqual(
        ids,
        [0, 1, 2].map((index) => ({ provider_message_id: idOf(index) })),
        "only the ids of responses are stored",
      );
    }));

  test("has a receipt without an address parked, unless the form of its ids is configured", () =>
    withCarrier(counting(), async (smsc, rig) => {
      const first = await rig.deliver(carriers, { links: [linkAt(smsc)] });
      const message = await rig.untilStatus(await rig.accept(), "sent");
      assert.equal(await smsc.session.deliver(receiptSm(inReceipts(0))), 0);
      assert.deepEqual([(await rig.message(message)).status, (await parkedIds(rig)).length], ["sent", 1]);
      await first.stop();
      const links = [linkAt(smsc, { receiptIds: "decimal" })];
      await rig.deliver(carriers, { links, node: "node-2", db: rig.connect("node-2") });
      await until("the second node to be bound", () => (smsc.sessions.length >= 2 && smsc.bound.length === 1 ? true : undefined));
      assert.equal(await smsc.session.deliver(receiptSm(inReceipts(0))), 0);
      assert.equal((await rig.message(message)).status, "delivered");
    }));

  test("has a receipt that comes before its response applied soon after the response", () => {
    const script: Script = {
      submit: (submit, session) => void session.deliver(receiptOf(0, inReceipts(0))).then(() => session.accept(submit, idOf(0))),
    };
    return withCarrier(script, async (smsc, rig) => {
      await rig.deliver(carriers, { links: [linkAt(smsc)] });
      await rig.untilStatus(await rig.accept({ recipient: recipientNo(0) }), "delivered");
      await until("nothing to be parked", async () => (await parkedIds(rig)).length === 0 || undefined);
    });
  });

  test("has its receipts not matched with messages of another link", () =>
    withCarrier(counting(), async (smsc, rig) => {
      const first = await rig.deliver(carriers, { links: [linkAt(smsc)] });
      const message = await rig.accept();
      await rig.untilStatus(message, "sent");
      await first.stop();
      const other = { ...linkAt(smsc), name: "other", provider: "other" as Link["provider"] };
      await rig.deliver({ other: smpp }, { links: [other], node: "node-2", db: rig.connect("node-2") });
      await until("the other link to be bound", () => (smsc.sessions.length >= 2 && smsc.bound.length === 1 ? true : undefined));
      assert.equal(await smsc.session.deliver(receiptSm(inReceipts(0))), 0);
      assert.equal((await rig.message(message)).status, "sent");
      assert.deepEqual(await rig.rows("select link, provider_message_id from parked_receipts"), [
        { link: "other", provider_message_id: inReceipts(0) },
      ]);
    }));
});

describe("a carrier that counts its messages in decimal", () => {
  const numbered = (ids: readonly string[], submit: (id: string, ...args: Parameters<NonNullable<Script["submit"]>>) => void): Script => {
    const left = [...ids];
    return { submit: (each, session) => submit(left.shift() ?? assert.fail("more messages than ids"), each, session) };
  };

  test("has a receipt before the response applied to its own message, and not to one with the same number in hexadecimal", () => {
    // The first message gets no receipt. The receipts of the others come before their responses.
    const ids = ["10", "16", "17", "18", "19", "20"];
    const script = numbered(ids, (id, submit, session) => {
      if (id === "10") return void session.accept(submit, id);
      return void session.deliver(receiptOf(ids.indexOf(id), id)).then(() => session.accept(submit, id));
    });
    return withCarrier(script, async (smsc, rig) => {
      await rig.deliver(carriers, { links: [linkAt(smsc)] });
      const first = await rig.untilStatus(await rig.accept({ recipient: recipientNo(0) }), "sent");
      for (let index = 1; index < ids.length; index += 1)
        await rig.untilStatus(await rig.accept({ recipient: recipientNo(index) }), "delivered");
      assert.equal((await rig.message(first)).status, "sent");
    });
  });

  test("has the receipt of a message without a response parked, after a restart too", () => {
    const script = numbered(["3000", "12288"], (id, submit, session) => {
      if (id === "3000") session.accept(submit, id);
      else session.socket.destroy();
    });
    return withCarrier(script, async (smsc, rig) => {
      const before = await rig.deliver(carriers, { links: [linkAt(smsc)] });
      const first = await rig.untilStatus(await rig.accept({ recipient: recipientNo(1) }), "sent");
      await before.stop();
      await rig.deliver(carriers, { links: [linkAt(smsc)], node: "node-2", db: rig.connect("node-2") });
      const second = await rig.accept({ recipient: recipientNo(2) });
      await until("the link to be bound again", () => (smsc.submits.length === 2 && smsc.bound.length === 1 ? true : undefined));
      assert.equal(await smsc.session.deliver(receiptByTlvs("12288", 2)), 0);
      assert.deepEqual([(await rig.message(first)).status, (await rig.message(second)).status], ["sent", "sending"]);
      assert.deepEqual(await rig.rows("select provider_message_id from parked_receipts"), [{ provider_message_id: "12288" }]);
    });
  });
});

describe("two messages whose ids are one number in two bases", () => {
  // 0x10 is 16, and 0x16 is 22.
  const IDS = ["10", "16"];
  const inTurn = (): Script => {
    const left = [...IDS];
    return { submit: (submit, session) => void session.accept(submit, left.shift() ?? assert.fail("more messages than ids")) };
  };
  const twoMessages = (
    recipients: readonly [number, number],
    run: (smsc: Smsc, rig: Rig, statuses: () => Promise<string[]>) => Promise<void>,
  ) =>
    withCarrier(inTurn(), async (smsc, rig) => {
      await rig.deliver(carriers, { links: [linkAt(smsc)] });
      const messages: Message[] = [];
      for (const index of recipients) messages.push(await rig.untilStatus(await rig.accept({ recipient: recipientNo(index) }), "sent"));
      await run(smsc, rig, () => Promise.all(messages.map(async (message) => (await rig.message(message)).status)));
    });

  test("to two people get their own receipts in decimal", () =>
    twoMessages([1, 2], async (smsc, _, statuses) => {
      assert.equal(await smsc.session.deliver(receiptOf(1, "16")), 0);
      assert.deepEqual(await statuses(), ["delivered", "sent"]);
      assert.equal(await smsc.session.deliver(receiptOf(2, "22")), 0);
      assert.deepEqual(await statuses(), ["delivered", "delivered"]);
    }));

  test("to two people get their own receipts with the ids of the responses", () =>
    twoMessages([1, 2], async (smsc, _, statuses) => {
      assert.equal(await smsc.session.deliver(receiptOf(2, "16")), 0);
      assert.deepEqual(await statuses(), ["sent", "delivered"]);
      assert.equal(await smsc.session.deliver(receiptOf(1, "10")), 0);
      assert.deepEqual(await statuses(), ["delivered", "delivered"]);
    }));

  test("to one person: the message whose response has the id of the receipt gets it", () =>
    twoMessages([1, 1], async (smsc, _, statuses) => {
      assert.equal(await smsc.session.deliver(receiptOf(1, "16")), 0);
      assert.deepEqual(await statuses(), ["sent", "delivered"]);
      assert.equal(await smsc.session.deliver(receiptOf(1, "10")), 0);
      assert.deepEqual(await statuses(), ["delivered", "delivered"]);
    }));

  test("to one person: a receipt that fits both in another form stays parked", () =>
    twoMessages([1, 1], async (smsc, rig, statuses) => {
      // 0016 is 16 with leading zeros, and 0x10 in decimal.
      assert.equal(await smsc.session.deliver(receiptOf(1, "0016")), 0);
      assert.deepEqual(await statuses(), ["sent", "sent"]);
      assert.deepEqual(await parkedIds(rig), ["0016"]);
    }));

  test("to one person: a receipt before the response is applied to its own message", () => {
    const script: Script = {
      submit: (submit, session) => {
        if (session.submits.length === 1) session.accept(submit, "10");
        else void session.deliver(receiptOf(1, "16")).then(() => session.accept(submit, "16"));
      },
    };
    return withCarrier(script, async (smsc, rig) => {
      await rig.deliver(carriers, { links: [linkAt(smsc)] });
      const first = await rig.untilStatus(await rig.accept({ recipient: recipientNo(1) }), "sent");
      await rig.untilStatus(await rig.accept({ recipient: recipientNo(1) }), "delivered");
      assert.equal((await rig.message(first)).status, "sent");
    });
  });
});

describe("a text that looks like a receipt, without a mark of the carrier", () => {
  const accepting: Script = { submit: (submit, session) => void session.accept(submit, "4711") };
  const TEXT = receiptText("4711", "UNDELIV", "001");
  const unmarked = (source: string, destination = "15005550000"): ShortMessage =>
    deliverSm({ source: international(source), destination: international(destination), text: Buffer.from(TEXT) });

  test("is a message where it comes from another person than the recipient, after a restart too", () =>
    withCarrier(accepting, async (smsc, rig) => {
      const first = await rig.deliver(carriers, { links: [linkAt(smsc)] });
      const message = await rig.untilStatus(await rig.accept({ recipient: recipientNo(1) }), "sent");
      assert.equal(await smsc.session.deliver(unmarked(recipientNo(2).slice(1))), 0);
      await first.stop();
      await rig.deliver(carriers, { links: [linkAt(smsc)], node: "node-2", db: rig.connect("node-2") });
      await until("the second node to be bound", () => (smsc.sessions.length >= 2 && smsc.bound.length === 1 ? true : undefined));
      assert.equal(await smsc.session.deliver(unmarked(recipientNo(3).slice(1))), 0);
      assert.equal((await rig.message(message)).status, "sent");
      const kept = await rig.rows<{ sender: string; body: string }>("select sender, body from kept_inbound order by sender");
      assert.deepEqual(
        kept,
        [2, 3].map((number) => ({ sender: recipientNo(number), body: TEXT })),
      );
    }));

  for (const [what, addresses] of Object.entries({
    "its recipient": [recipientNo(1).slice(1)],
    "its recipient, in national format": [recipientNo(1).slice(2)],
    "our number, as a carrier writes it that does not swap the addresses": ["15005550000", recipientNo(1).slice(1)],
  } as Record<string, [string, string?]>))
    test(`is a receipt where it comes from ${what}`, () =>
      withCarrier(accepting, async (smsc, rig) => {
        await rig.deliver(carriers, { links: [linkAt(smsc)] });
        const message = await rig.untilStatus(await rig.accept({ recipient: recipientNo(1) }), "sent");
        assert.equal(await smsc.session.deliver(unmarked(...addresses)), 0);
        assert.equal((await rig.message(message)).status, "undelivered");
        assert.deepEqual(await rig.rows("select from kept_inbound"), []);
      }));
});

describe("an id that the carrier uses again after months", () => {
  const always = (id: string): Script => ({ submit: (submit, session) => void session.accept(submit, id) });

  test("belongs to the newest message", () =>
    withCarrier(always("7"), async (smsc, rig) => {
      await rig.deliver(carriers, { links: [linkAt(smsc)] });
      const old = await rig.untilStatus(await rig.accept({ recipient: recipientNo(1) }), "sent");
      const anew = await rig.untilStatus(await rig.accept({ recipient: recipientNo(2) }), "sent");
      assert.equal(await smsc.session.deliver(receiptSm("7")), 0);
      assert.deepEqual([(await rig.message(old)).status, (await rig.message(anew)).status], ["sent", "delivered"]);
    }));

  test("belongs to no message after the wait for receipts of the old one, and receipts are parked for the new one", () =>
    withCarrier(always("7"), async (smsc, rig) => {
      const first = await rig.deliver(carriers, { links: [linkAt(smsc)] });
      const old = await rig.untilStatus(await rig.accept({ recipient: recipientNo(1) }), "sent");
      await first.stop();
      // Three days, and another week in which a late receipt counts.
      await rig.rows("delete from provider_references");
      await rig.rows("update messages set status = 'expired'");
      smsc.script.submit = () => undefined;
      await rig.deliver(carriers, { links: [linkAt(smsc)], node: "node-2", db: rig.connect("node-2") });
      await until("the second node to be bound", () => smsc.bound.length === 1 || undefined);
      const anew = await rig.accept({ recipient: recipientNo(2) });
      const submit = await until("the message to be at the carrier", () => smsc.submits[1]);
      assert.equal(await smsc.session.deliver(receiptSm("7")), 0);
      smsc.session.accept(submit, "7");
      await rig.untilStatus(anew, "delivered");
      assert.equal((await rig.message(old)).status, "expired");
    }));
});

describe("two links of one account at the carrier", () => {
  const scripts = (ids: readonly string[]): Script => {
    const left = [...ids];
    return { submit: (submit, session) => void session.accept(submit, left.shift() ?? assert.fail("more messages than ids")) };
  };
  const ACCOUNT = { carrierAccount: { name: "smpp godwit@127.0.0.1" } };
  const pairAt = (smsc: Smsc): [Link, Link] => [
    { ...linkAt(smsc), ...ACCOUNT },
    { ...linkAt(smsc), ...ACCOUNT, name: "second", provider: "second" as Link["provider"] },
  ];
  const both = { ...carriers, second: smpp as Provider<unknown> };

  test("have the receipt of one matched when it comes on the other, also before the response", () =>
    withCarrier(scripts(["a-1"]), async (smsc, rig) => {
      await rig.deliver(both, { links: pairAt(smsc) });
      await until("both to be bound", () => smsc.bound.length === 2 || undefined);
      const message = await rig.untilStatus(await rig.accept(), "sent");
      const other = smsc.bound.find(({ submits }) => submits.length === 0) ?? assert.fail();
      assert.equal(await other.deliver(receiptSm("a-1")), 0);
      assert.equal((await rig.message(message)).status, "delivered");
      assert.equal(await other.deliver(receiptSm("a-2")), 0);
      smsc.script.submit = (submit, session) => void session.accept(submit, "a-2");
      await rig.untilStatus(await rig.accept({ recipient: recipientNo(2) }), "delivered");
      await until("nothing to be parked", async () => (await parkedIds(rig)).length === 0 || undefined);
    }));

  test("have the receipt with an id of messages on both applied to that of its own link", () =>
    withCarrier(scripts(["7", "7"]), async (smsc, rig) => {
      await rig.deliver(both, { links: pairAt(smsc) });
      await until("both to be bound", () => smsc.bound.length === 2 || undefined);
      const first = await rig.untilStatus(await rig.accept({ recipient: recipientNo(1) }), "sent");
      const second = await rig.untilStatus(await rig.accept({ recipient: recipientNo(2) }, { link: "second" }), "sent");
      const its = smsc.bound.find(({ submits }) => submits.some(({ short }) => `+${short.destination.text}` === recipientNo(1)));
      assert.equal(await its?.deliver(receiptSm("7")), 0);
      assert.deepEqual([(await rig.message(first)).status, (await rig.message(second)).status], ["delivered", "sent"]);
    }));
});

describe("a long message whose connection ends after its first part", () => {
  const THREE_PARTS = "a".repeat(153 * 2 + 1);
  const positions = (smsc: Smsc): string[] => smsc.submits.map(({ short }) => short.text.subarray(4, 6).toString("hex"));
  /** Accepts the first part of each connection, and ends the first connection at the second part. */
  const endingOnce = (): Script => {
    let count = 0;
    return {
      submit: (submit, session) => {
        count += 1;
        if (count === 2) session.socket.destroy();
        else session.accept(submit, `p${count}`);
      },
    };
  };
  const partsIn = (rig: Rig) => rig.rows("select number, provider_message_id as id, status, total from message_parts order by number");

  test("is completed with the missing parts only, under the same reference, where the link sends again", () =>
    withCarrier(endingOnce(), async (smsc, rig) => {
      const link: Link = { ...linkAt(smsc), onUnknown: { holdMs: 50, policy: "resend" } };
      await rig.deliver(carriers, { links: [link] });
      const message = await rig.untilStatus(await rig.accept({ body: THREE_PARTS }), "sent");
      assert.deepEqual(positions(smsc), ["0301", "0302", "0302", "0303"]);
      assert.equal(new Set(smsc.submits.map(({ short }) => short.text[3])).size, 1, "one reference");
      assert.deepEqual(
        await partsIn(rig),
        [1, 2, 3].map((number) => ({ number, id: `p${[1, 3, 4][number - 1]}`, status: "sent", total: 3 })),
      );
      for (const id of ["p1", "p3", "p4"]) assert.equal(await smsc.session.deliver(receiptSm(id)), 0);
      assert.equal((await rig.message(message)).status, "delivered");
    }));

  test("keeps the part and its receipt, and is not delivered by it, where the link does not send again", () =>
    withCarrier(endingOnce(), async (smsc, rig) => {
      await rig.deliver(carriers, { links: [{ ...linkAt(smsc), onUnknown: { holdMs: 50, policy: "fail" } }] });
      const message = await rig.untilStatus(await rig.accept({ body: THREE_PARTS }), "failed");
      await until("the link to be bound again", () => smsc.bound.length === 1 || undefined);
      assert.equal(await smsc.session.deliver(receiptSm("p1")), 0);
      assert.deepEqual(await partsIn(rig), [{ number: 1, id: "p1", status: "delivered", total: 3 }]);
      assert.equal((await rig.message(message)).status, "failed");
      assert.deepEqual(await rig.rows("select from parked_receipts"), []);
    }));

  test("has all its parts when the response to the last one comes late", async () => {
    const held: Submit[] = [];
    const script: Script = {
      submit: (submit, session) => void (session.submits.length < 3 ? session.accept(submit) : held.push(submit)),
    };
    await withCarrier(script, async (smsc, rig) => {
      await rig.deliver(carriers, { links: [linkAt(smsc, { times: { responseMs: 50 } })] });
      const message = await rig.accept({ body: THREE_PARTS });
      await until("the outcome to be unknown", async () => (await rig.message(message)).hasUnknown || undefined);
      assert.equal(await smsc.session.deliver(receiptSm("m1")), 0);
      assert.equal((await rig.message(message)).status, "sending");
      smsc.session.accept(held[0] ?? assert.fail(), "m3");
      await rig.untilStatus(message, "sent");
      for (const id of ["m2", "m3"]) assert.equal(await smsc.session.deliver(receiptSm(id)), 0);
      await rig.untilStatus(message, "delivered");
    });
  });
});
