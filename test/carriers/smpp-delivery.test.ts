/** Delivery through real SMPP links: the carrier, the queue and the carrier ids together. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Provider } from "../../src/providers/provider.ts";
import { smpp } from "../../src/providers/smpp/smpp.ts";
import type { SmppSettings } from "../../src/providers/smpp/settings.ts";
import type { Link } from "../../src/links/link.ts";
import { LINK, linkTo, recipientNo, Rig } from "../support/delivery-rig.ts";
import { until } from "../support/expect.ts";
import { Smsc, type Script } from "../support/fakes/smsc.ts";
import { settingsFor } from "../support/fakes/smsc-link.ts";
import { receiptSm } from "../support/fakes/smsc-scripts.ts";

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
