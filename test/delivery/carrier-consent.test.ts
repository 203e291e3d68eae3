/** The consent that carriers report: opt-outs in responses, in receipts and with inbound messages, and choices of people in the carrier's app. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Delivery } from "../../src/delivery/delivery.ts";
import { CarrierConsent } from "../../src/delivery/carrier-consent.ts";
import { findRefusal } from "../../src/consent/refusal.ts";
import { ERASED } from "../../src/model/phone-number.ts";
import { createLog } from "../../src/model/log.ts";
import { LinkDirectory } from "../../src/links/directory.ts";
import { simulatorLink } from "../../src/links/link.ts";
import type { Message } from "../../src/messages/message.ts";
import { RECIPIENT_OPTED_OUT, type InboundMessage, type Receipt } from "../../src/providers/provider.ts";
import { LINK, linkTo, Rig } from "../support/delivery-rig.ts";
import { recipientNo } from "../support/recipient.ts";
import { receipt, refused, ScriptedCarrier } from "../support/scripted-carrier.ts";

const OURS = "+15005550000";
const OPT_OUT_ERROR = { code: RECIPIENT_OPTED_OUT, message: "The recipient has opted out", providerCode: "21610", isPermanent: true };

let rig: Rig;
let carrier: ScriptedCarrier;
let delivery: Delivery;
before(async () => {
  rig = await Rig.open();
  carrier = new ScriptedCarrier();
  delivery = await rig.deliver({ [LINK]: carrier });
});
after(() => rig[Symbol.asyncDispose]());

let people = 0;
const nextRecipient = () => recipientNo((people += 1));
const accept = (recipient = nextRecipient()): Promise<Message> =>
  rig.accept({ recipient, channel: "sms", sender: OURS }, { handover: delivery.handover });
const sent = async (): Promise<Message> => rig.untilStatus(await accept(), "sent");

const refusalFor = ({ recipient }: Pick<Message, "recipient">, sender: string | null = OURS): Promise<string | undefined> =>
  findRefusal(rig.db, { accountId: rig.accountId, environment: "test", recipient, sender, isFreeWhatsApp: false }, Date.now());

const suppressionsOf = ({ recipient }: Pick<Message, "recipient">) =>
  rig.rows("select sender, is_active, source, keyword, created_by from suppressions where recipient = $1 order by sender", [recipient]);
const eventsOf = async ({ recipient }: Pick<Message, "recipient">): Promise<string[]> =>
  (
    await rig.rows<{ type: string }>(
      "select type from events where type like 'recipient.%' and record::json ->> 'recipient' = $1 order by id",
      [recipient],
    )
  ).map(({ type }) => type);

const REPORTED = { sender: OURS, is_active: true, source: "carrier", keyword: null, created_by: `carrier:${LINK}` };

describe("an opt-out that the carrier reports", () => {
  test("in its response suppresses the recipient for the sender of the message", async () => {
    const recipient = nextRecipient();
    carrier.responds(recipient, refused(true, RECIPIENT_OPTED_OUT));
    const message = await rig.untilStatus(await accept(recipient), "failed");
    assert.equal(message.error?.code, RECIPIENT_OPTED_OUT);
    assert.deepEqual(await suppressionsOf(message), [REPORTED]);
    assert.equal(await refusalFor(message), RECIPIENT_OPTED_OUT);
    assert.equal(await refusalFor(message, "+15005550001"), undefined, "from that sender only");
    assert.deepEqual(await eventsOf(message), ["recipient.opted_out"]);
  });

  test("in a receipt suppresses the recipient, once for a repeated receipt", async () => {
    const message = await sent();
    const report: Receipt = receipt(message.provider?.messageId ?? null, "undelivered", { error: OPT_OUT_ERROR });
    await carrier.receive([report]);
    await carrier.receive([report]);
    assert.deepEqual(await suppressionsOf(message), [REPORTED]);
    assert.deepEqual(await eventsOf(message), ["recipient.opted_out"]);
    assert.equal((await rig.message(message)).status, "undelivered");
  });

  test("in a receipt that is repeated after an opt-in does not suppress the recipient again", async () => {
    const message = await sent();
    const report: Receipt = receipt(message.provider?.messageId ?? null, "undelivered", { error: OPT_OUT_ERROR });
    await carrier.receive([report]);
    await deliver(message, { text: "START" });
    await carrier.receive([report]);
    assert.equal(await refusalFor(message), undefined);
  });

  test("in a receipt that arrives before the carrier id is known suppresses the recipient when the receipt is applied", async () => {
    const recipient = nextRecipient();
    carrier.responds(recipient, async () => {
      await carrier.receive([receipt(`early-${recipient}`, "undelivered", { error: OPT_OUT_ERROR })]);
      return { kind: "accepted", providerMessageId: `early-${recipient}` };
    });
    const message = await rig.untilStatus(await accept(recipient), "undelivered");
    assert.deepEqual(await suppressionsOf(message), [REPORTED]);
  });

  test("about an erased recipient stores nothing", async () => {
    const message = await sent();
    await rig.rows("update messages set recipient = $1 where id = $2", [ERASED, message.id]);
    await consent().refused(LINK, message);
    assert.deepEqual(await suppressionsOf(message), []);
  });

  test("for a message without a sender suppresses the recipient for all senders, until START to one of them", async () => {
    const message = await sent();
    await consent().refused(LINK, { ...message, sender: null });
    assert.equal(await refusalFor(message, "+15005550001"), RECIPIENT_OPTED_OUT);
    await deliver(message, { text: "START" });
    assert.equal(await refusalFor(message, "+15005550001"), undefined);
    assert.deepEqual(await eventsOf(message), ["recipient.opted_out", "recipient.opted_in"]);
  });
});

let ids = 0;
const deliver = (to: Message, fields: Partial<InboundMessage>): Promise<void> =>
  carrier.host.receiveMessages([
    {
      providerMessageId: `in-${(ids += 1)}`,
      channel: "sms",
      from: to.recipient,
      to: OURS,
      text: "",
      inReplyTo: to.provider?.messageId ?? null,
      ...fields,
    },
  ]) ?? assert.fail("the carrier is not connected");

describe("the meaning of an inbound message that the carrier reports", () => {
  test("opts out and in again, also where no list has the word", async () => {
    const message = await sent();
    await deliver(message, { text: "Laissez-moi", reported: "out" });
    assert.deepEqual(await suppressionsOf(message), [REPORTED]);
    await deliver(message, { text: "Encore", reported: "in" });
    assert.equal(await refusalFor(message), undefined);
  });

  test("counts in place of our lists", async () => {
    const message = await sent();
    await deliver(message, { text: "STOP", reported: "help" });
    assert.equal(await refusalFor(message), undefined);
  });
});

const chooser = (): LinkDirectory =>
  new LinkDirectory(
    simulatorLink(1),
    {
      links: [linkTo(LINK)],
      senders: [{ number: OURS, link: LINK, account: "main", environment: "test" }],
      routes: [],
      allowedCountries: {},
    },
    new Map([["main", rig.accountId]]),
  );
const consent = (): CarrierConsent =>
  new CarrierConsent({
    db: rig.db,
    clock: rig.clock,
    linkDirectory: chooser(),
    wakeWebhooks: () => undefined,
    log: createLog("silent").log,
  });

describe("the choice of a person in the carrier's app", () => {
  const choose = (from: string, isOptOut: boolean, to = OURS): Promise<void> => consent().apply(linkTo(LINK), [{ from, to, isOptOut }]);

  test("to stop suppresses the person, and to resume lifts that", async () => {
    const recipient = nextRecipient();
    await choose(recipient, true);
    assert.deepEqual(await suppressionsOf({ recipient }), [REPORTED]);
    await choose(recipient, false);
    assert.equal(await refusalFor({ recipient }), undefined);
    assert.deepEqual(await eventsOf({ recipient }), ["recipient.opted_out", "recipient.opted_in"]);
  });

  test("to resume lifts neither an opt-out by word, nor one by word after a choice to stop", async () => {
    for (const isStoppedFirst of [false, true]) {
      const message = await sent();
      if (isStoppedFirst) await choose(message.recipient, true);
      await deliver(message, { text: "STOP" });
      await choose(message.recipient, false);
      assert.equal(await refusalFor(message), RECIPIENT_OPTED_OUT);
    }
  });

  test("about a number without an owner stores nothing", async () => {
    const recipient = nextRecipient();
    await choose(recipient, true, "+15005550001");
    assert.deepEqual(await suppressionsOf({ recipient }), []);
  });
});
