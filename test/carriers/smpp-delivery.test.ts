/** Delivery through real SMPP links: the carrier, the queue and the carrier ids together. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Provider } from "../../src/providers/provider.ts";
import { smpp } from "../../src/providers/smpp/smpp.ts";
import type { ShortMessage } from "../../src/providers/smpp/pdu.ts";
import type { SmppSettings } from "../../src/providers/smpp/settings.ts";
import type { Link } from "../../src/links/link.ts";
import { listLinks } from "../../src/links/link-record.ts";
import { LINK, linkTo, recipientNo, Rig } from "../support/delivery-rig.ts";
import { until } from "../support/expect.ts";
import { Smsc, type Script, type Submit } from "../support/fakes/smsc.ts";
import { settingsFor } from "../support/fakes/smsc-link.ts";
import { deliverSm, international, receiptByTlvs, receiptSm, receiptText } from "../support/fakes/smsc-scripts.ts";

const carriers = { [LINK]: smpp as Provider<unknown> };
const linkAt = (smsc: Smsc, settings: Partial<SmppSettings> = {}): Link => ({ ...linkTo(LINK), settings: settingsFor(smsc, settings) });

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
      const messages = await rig.acceptMany(3, (index) => ({ recipient: recipientNo(index) }));
      for (const message of messages) await rig.untilStatus(message, "sent");
      await first.stop();
      await rig.deliver(carriers, { links, node: "node-2", db: rig.connect("node-2") });
      await until("the second node to be bound", () => (smsc.sessions.length === 2 && smsc.bound.length === 1 ? true : undefined));
      for (const index of [2, 0, 1]) assert.equal(await smsc.session.deliver(receiptSm(inReceipts(index))), 0);
      await until("all to be delivered", async () => (await rig.count("delivered")) === 3 || undefined);
      assert.deepEqual(await rig.rows("select from parked_receipts"), []);
      assert.equal(smsc.submits.length, 3);
    }));

  test("has the learnt form after a restart, unless its settings have changed", () =>
    withCarrier(counting(), async (smsc, rig) => {
      const links = [linkAt(smsc)];
      const first = await rig.deliver(carriers, { links });
      const messages = await rig.acceptMany(4, (index) => ({ recipient: recipientNo(index) }));
      for (const message of messages) await rig.untilStatus(message, "sent");
      for (const index of [0, 1, 2]) assert.equal(await smsc.session.deliver(receiptSm(inReceipts(index))), 0);
      await until("three to be delivered", async () => (await rig.count("delivered")) === 3 || undefined);
      const formIn = async (link: Link | undefined): Promise<unknown> =>
        (await listLinks(rig.db, [{ ...(link ?? assert.fail()), provider: "smpp" }], Date.now()))[0]?.receipt_ids;
      await until("the form to be stored", async () => (await formIn(links[0])) === "decimal" || undefined);
      assert.equal(await formIn(linkAt(smsc, { systemId: "other" })), "learn");
      assert.equal(await formIn(linkAt(smsc, { receiptIds: "hex" })), "hex");
      await first.stop();
      await rig.deliver(carriers, { links, node: "node-2", db: rig.connect("node-2") });
      await until("the second node to be bound", () => (smsc.sessions.length === 2 && smsc.bound.length === 1 ? true : undefined));
      assert.equal(await smsc.session.deliver(receiptSm(inReceipts(3))), 0);
      assert.equal(await rig.count("delivered"), 4);
    }));

  test("has its receipts not matched with messages of another link", () =>
    withCarrier(counting(), async (smsc, rig) => {
      const first = await rig.deliver(carriers, { links: [linkAt(smsc)] });
      const message = await rig.accept();
      await rig.untilStatus(message, "sent");
      await first.stop();
      const other = { ...linkAt(smsc), name: "other", provider: "other" as Link["provider"] };
      await rig.deliver({ other: smpp }, { links: [other], node: "node-2", db: rig.connect("node-2") });
      await until("the other link to be bound", () => (smsc.sessions.length === 2 && smsc.bound.length === 1 ? true : undefined));
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
      return void session.deliver(receiptSm(id)).then(() => session.accept(submit, id));
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
      await until("the second node to be bound", () => (smsc.sessions.length === 2 && smsc.bound.length === 1 ? true : undefined));
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
  const ACCOUNT = { carrierAccount: "smpp godwit@127.0.0.1" };
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
      assert.deepEqual(await rig.rows("select from parked_receipts"), []);
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
