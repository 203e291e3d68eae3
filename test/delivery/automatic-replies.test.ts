/** Automatic replies to opt-outs, opt-ins and requests for help. */
import assert from "node:assert/strict";
import { after, before, beforeEach, describe, test } from "node:test";
import type { ConsentSettings } from "../../src/consent/consent-settings.ts";
import type { Delivery } from "../../src/delivery/delivery.ts";
import { LinkDirectory } from "../../src/links/directory.ts";
import { EMPTY_PLAN } from "../../src/links/plan.ts";
import type { Message } from "../../src/messages/message.ts";
import type { InboundMessage } from "../../src/providers/provider.ts";
import { LINK, linkTo, Rig } from "../support/delivery-rig.ts";
import { recipientNo } from "../support/recipient.ts";
import { until } from "../support/expect.ts";
import { ScriptedCarrier } from "../support/scripted-carrier.ts";

const OURS = "+15005550000";
const TEXTS = { opt_out: "You get no more messages.", opt_in: "Welcome back.", help: "Call +15005550001." };

let rig: Rig;
let carrier: ScriptedCarrier;
let delivery: Delivery;
before(async () => {
  rig = await Rig.open();
  carrier = new ScriptedCarrier();
  delivery = await rig.deliver({ [LINK]: carrier });
});
after(() => rig[Symbol.asyncDispose]());

/** Sets the replies as the API stores them. */
const setReplies = (replies: Partial<ConsentSettings["replies"]>): Promise<unknown> =>
  rig.rows(
    `insert into consent_settings (account_id, environment, settings, updated_at)
     values ($1, 'test', $2::json, now())
     on conflict (account_id, environment) do update set settings = excluded.settings`,
    [rig.accountId, JSON.stringify({ replies })],
  );

let people = 0;
let ids = 0;
/** A person who has got a message, so that their replies find the account. */
async function person(channel: "sms" | "whatsapp" = "sms"): Promise<{ message: Message; write: Write }> {
  const recipient = recipientNo((people += 1));
  const accepted = await rig.accept({ recipient, channel, sender: OURS }, { handover: delivery.handover });
  const message = await rig.untilStatus(accepted, "sent");
  const write: Write = async (text, fields = {}) => {
    const inbound = { providerMessageId: `in-${(ids += 1)}`, channel, from: recipient, to: OURS, text };
    await carrier.host.receiveMessages([{ ...inbound, inReplyTo: message.provider?.messageId ?? null, ...fields }]);
  };
  return { message, write };
}
type Write = (text: string, fields?: Partial<InboundMessage>) => Promise<void>;

type ReplyRow = {
  id: Message["id"];
  body: string;
  sender: string;
  channel: string;
  priority: string;
  ttl: number;
  answered: string | null;
};

/** The automatic replies to a person, the oldest first. */
const repliesTo = ({ recipient }: Message): Promise<ReplyRow[]> =>
  rig.rows<ReplyRow>(
    `select m.id, m.body, m.sender, m.channel, m.priority, extract(epoch from m.expires_at - m.updated_at)::integer as ttl, i.body as answered
       from messages m
       join messages i on i.id = m.in_reply_to
      where m.recipient = $1 and m.direction = 'outbound'
      order by m.id`,
    [recipient],
  );
const textsTo = async (message: Message): Promise<string[]> => (await repliesTo(message)).map(({ body }) => body);
const sentTo = ({ recipient }: Message): string[] => carrier.sendsTo(recipient).map(({ message }) => message.body);

describe("without texts", () => {
  test("no word has a reply", async () => {
    const { message, write } = await person();
    for (const text of ["HELP", "STOP", "START"]) await write(text);
    assert.deepEqual(await repliesTo(message), []);
  });
});

describe("with texts", () => {
  beforeEach(() => setReplies(TEXTS));

  for (const channel of ["sms", "whatsapp"] as const)
    test(`an opt-out on ${channel} has one reply, which is sent although the person has opted out`, async () => {
      const { message, write } = await person(channel);
      await write("STOP");
      const [reply] = await repliesTo(message);
      assert.deepEqual(
        { ...reply, id: undefined, ttl: undefined },
        {
          id: undefined,
          body: TEXTS.opt_out,
          sender: OURS,
          channel,
          priority: "high",
          ttl: undefined,
          answered: "STOP",
        },
      );
      assert.ok(reply !== undefined && Math.abs(reply.ttl - 300) <= 1);
      await rig.untilStatus({ accountId: rig.accountId, environment: "test", id: reply.id } as Message, "sent");
      assert.deepEqual(sentTo(message).slice(1), [TEXTS.opt_out]);
      await write("stop.");
      assert.deepEqual(await textsTo(message), [TEXTS.opt_out], "the second word changes nothing");
    });

  test("a message that was queued before the opt-out fails, while the reply is sent", async () => {
    const { message, write } = await person();
    carrier.isReady = false;
    carrier.changed();
    const waiting = await rig.accept({ recipient: message.recipient, channel: "sms", sender: OURS }, { handover: delivery.handover });
    await write("STOP");
    carrier.isReady = true;
    carrier.changed();
    const failed = await rig.untilStatus(waiting, "failed");
    assert.equal(failed.error?.code, "recipient_opted_out");
    await until("the reply", async () => sentTo(message).includes(TEXTS.opt_out) || undefined);
    assert.equal(sentTo(message).length, 2);
  });

  test("an opt-in that lifts an opt-out has a reply, and one that changes nothing has none", async () => {
    const { message, write } = await person();
    await write("START");
    assert.deepEqual(await textsTo(message), []);
    await write("STOP");
    await write("START");
    assert.deepEqual(await textsTo(message), [TEXTS.opt_out, TEXTS.opt_in]);
  });

  test("a request for help has a reply once in 24 hours, and another one when the text has changed", async () => {
    const { message, write } = await person();
    await write("HELP");
    await write("Info?");
    assert.deepEqual(await textsTo(message), [TEXTS.help]);
    await setReplies({ ...TEXTS, help: "Write to us." });
    await write("help");
    assert.deepEqual(await textsTo(message), [TEXTS.help, "Write to us."]);
  });

  test("a person who has opted out gets no help", async () => {
    const { message, write } = await person();
    await write("STOP");
    await write("HELP");
    assert.deepEqual(await textsTo(message), [TEXTS.opt_out]);
  });

  test("a repeated message has no second reply", async () => {
    const { message, write } = await person();
    for (const _ of [1, 2]) await write("HELP", { providerMessageId: `same-${message.recipient}` });
    assert.equal((await repliesTo(message)).length, 1);
  });

  for (const [what, fields] of [
    ["the carrier has replied", { reported: "out" }],
    ["the message was written to a group", { isToGroup: true }],
    ["a short code wrote it", { from: "72345" }],
    ["a name wrote it", { from: "Acme" }],
  ] as const)
    test(`there is no reply where ${what}`, async () => {
      const { message, write } = await person();
      await write("STOP", fields);
      assert.deepEqual(
        await rig.rows("select from messages where recipient = $1 and in_reply_to is not null", [fields.from ?? message.recipient]),
        [],
      );
    });

  test("where the carrier does not name our number, it chooses the number of the reply, of which there is one", async () => {
    await using own = await Rig.open();
    const other = new ScriptedCarrier();
    const links = [{ ...linkTo(LINK), sender: null }];
    const linkDirectory = new LinkDirectory(linkTo("simulator"), { ...EMPTY_PLAN, links }, new Map([["main", own.accountId]]));
    await own.deliver({ simulator: new ScriptedCarrier(), [LINK]: other }, { links, linkDirectory });
    await own.rows("insert into accounts (id, name) values ($1, 'main')", [own.accountId]);
    await own.rows("insert into consent_settings values ($1, 'live', $2::json, now())", [
      own.accountId,
      JSON.stringify({ replies: TEXTS }),
    ]);
    const inbound = { channel: "sms", from: recipientNo(1), to: null, text: "HELP", inReplyTo: null } as const;
    for (const providerMessageId of ["in-1", "in-2"]) await other.host.receiveMessages([{ ...inbound, providerMessageId }]);
    assert.deepEqual(await own.rows("select body, sender, sender_reason from messages where direction = 'outbound'"), [
      { body: TEXTS.help, sender: null, sender_reason: null },
    ]);
  });

  test("there is no reply to a country that is not allowed", async () => {
    const own = await Rig.open();
    const other = new ScriptedCarrier();
    const plan = {
      ...EMPTY_PLAN,
      links: [linkTo(LINK)],
      senders: [{ number: OURS, link: LINK, account: "main", environment: "live" as const }],
      allowedCountries: { live: ["DE"] },
    };
    await own.deliver(
      { simulator: new ScriptedCarrier(), [LINK]: other },
      { links: plan.links, linkDirectory: new LinkDirectory(linkTo("simulator"), plan, new Map([["main", own.accountId]])) },
    );
    await own.rows("insert into consent_settings values ($1, 'live', $2::json, now())", [
      own.accountId,
      JSON.stringify({ replies: TEXTS }),
    ]);
    const from = recipientNo(1);
    const inbound = { channel: "sms", from, to: OURS, text: "STOP", inReplyTo: null } as const;
    await other.host.receiveMessages([{ ...inbound, providerMessageId: "in-1" }]);
    assert.equal((await own.rows("select from suppressions where recipient = $1", [from])).length, 1);
    assert.deepEqual(await own.rows("select from messages where recipient = $1", [from]), []);
    await own[Symbol.asyncDispose]();
  });
});
