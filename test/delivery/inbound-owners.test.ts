/** The owner of an inbound message, the accounts for which its opt-out word takes effect, and the messages that are kept for the operator. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ConsentDefaults } from "../../src/consent/consent-defaults.ts";
import { findRefusal } from "../../src/consent/refusal.ts";
import { Inbound } from "../../src/delivery/inbound.ts";
import { assignKept, countKeptInbound, KeptInboundFull, listKept, MAX_KEPT_MESSAGES } from "../../src/delivery/kept-inbound.ts";
import type { DeliveryWatch } from "../../src/delivery/context.ts";
import { decodeId, encodeId, newId, type AccountId, type MediaId } from "../../src/model/id.ts";
import { CarrierConsent } from "../../src/delivery/carrier-consent.ts";
import { createLog } from "../../src/model/log.ts";
import { SYSTEM_ORIGIN } from "../../src/model/origin.ts";
import type { Recipient } from "../../src/model/phone-number.ts";
import { LinkDirectory } from "../../src/links/directory.ts";
import { simulatorLink, type Link } from "../../src/links/link.ts";
import { EMPTY_PLAN, type Plan } from "../../src/links/plan.ts";
import type { Message } from "../../src/messages/message.ts";
import { RECIPIENT_OPTED_OUT, type InboundMessage } from "../../src/providers/provider.ts";
import { oldRowsJob } from "../../src/retention/old-rows.ts";
import { MEDIA_RETENTION_MS } from "../support/engine.ts";
import { NO_CHAIN_KEY } from "../support/audit.ts";
import { until } from "../support/expect.ts";
import { linkTo, LINK, Rig } from "../support/delivery-rig.ts";
import { recipientNo, recipientOf } from "../support/recipient.ts";
import { refused, ScriptedCarrier } from "../support/scripted-carrier.ts";

/** The sender of the link. No account has it. */
const SHARED = "+15005550000";
const PERSON = recipientNo(1);

type Scene = {
  rig: Rig;
  other: AccountId;
  carrier: ScriptedCarrier;
  outcomes: string[];
  linkDirectory: LinkDirectory;
  link: Link;
  inbound: Inbound;
};
type Setting = { link?: Partial<Link>; plan?: Partial<Plan>; accounts?: readonly string[] };

/** Two accounts, `house` (that of the rig) and `other`, which share a link. */
async function withLink(
  { link: fields, plan, accounts = ["house", "other"] }: Setting,
  run: (scene: Scene) => Promise<void>,
): Promise<void> {
  await using rig = await Rig.open();
  const other = newId("acct", Date.now());
  const ids = new Map([
    ["house", rig.accountId],
    ["other", other],
  ]);
  for (const name of accounts) await rig.rows("insert into accounts (id, name) values ($1, $2)", [ids.get(name), name]);
  const link: Link = { ...linkTo(LINK), anySender: true, ...fields };
  const linkDirectory = new LinkDirectory(simulatorLink(1), { ...EMPTY_PLAN, links: [link], ...plan }, ids);
  const carrier = new ScriptedCarrier();
  await rig.deliver({ [LINK]: carrier, simulator: new ScriptedCarrier() }, { linkDirectory });
  const outcomes: string[] = [];
  const watch = { inbound: (_link: string, outcome: string) => outcomes.push(outcome) } as unknown as DeliveryWatch;
  const nothing = (): undefined => undefined;
  const parts = {
    db: rig.db,
    clock: rig.clock,
    linkDirectory,
    wakeWebhooks: nothing,
    queued: nothing,
    filesCame: nothing,
    watch,
    log: createLog("silent").log,
  };
  await run({
    rig,
    other,
    carrier,
    outcomes,
    linkDirectory,
    link,
    inbound: new Inbound({ ...parts, consentDefaults: new ConsentDefaults(), mediaRetentionMs: MEDIA_RETENTION_MS }),
  });
}

let ids = 0;
const written = (fields: Partial<InboundMessage> = {}): InboundMessage => ({
  providerMessageId: `in-${(ids += 1)}`,
  channel: "sms",
  from: PERSON,
  to: SHARED,
  text: "Hello",
  inReplyTo: null,
  ...fields,
});

type SendOptions = { accountId?: AccountId; recipient?: Recipient; sender?: string };

/** Sends a message of an account in `live`. */
async function send(
  { rig, linkDirectory }: Scene,
  { accountId = rig.accountId, recipient = PERSON, sender }: SendOptions = {},
): Promise<Message> {
  const message = await rig.accept(
    { recipient, ...(sender === undefined ? {} : { sender }) },
    { accountId, environment: "live", linkDirectory },
  );
  return rig.untilStatus(message, "sent");
}

type Stored = { account: string; type: string; body: string };

/** The inbound messages with their owners and events, the oldest first. */
const storedBy = ({ rig }: Scene): Promise<Stored[]> =>
  rig.rows<Stored>(
    `select a.name as account, e.type, m.body
       from messages m
       join accounts a on a.id = m.account_id
       join events e on e.account_id = m.account_id and e.environment = m.environment and e.id = m.id
      where m.direction = 'inbound'
      order by m.id`,
  );

const refusalFor = (
  { rig }: Scene,
  accountId: AccountId,
  recipient = PERSON,
  sender: string | null = SHARED,
): Promise<string | undefined> =>
  findRefusal(rig.db, { accountId, environment: "live", recipient, sender, isFreeWhatsApp: false }, Date.now());

describe("an inbound message", () => {
  test("to the sender of the link belongs to the account that last sent to the person from it", () =>
    withLink({}, async (scene) => {
      await send(scene, { accountId: scene.other });
      await send(scene);
      await send(scene, { accountId: scene.other, recipient: recipientNo(2) });
      await scene.inbound.receive(scene.link, [written(), written({ from: recipientNo(2), text: "And me" })]);
      assert.deepEqual(
        (await storedBy(scene)).toSorted((one, another) => one.body.localeCompare(another.body)),
        [
          { account: "other", type: "message.received", body: "And me" },
          { account: "house", type: "message.received", body: "Hello" },
        ],
      );
    }));

  test("to a number of an account belongs to that account, also where another one sent to the person last", () => {
    const sender = { number: "+15005550001", link: LINK, account: "house", environment: "live" } as const;
    return withLink({ plan: { senders: [sender] } }, async (scene) => {
      await send(scene, { accountId: scene.other });
      await scene.inbound.receive(scene.link, [written({ to: "+15005550001" })]);
      assert.deepEqual(await storedBy(scene), [{ account: "house", type: "message.received", body: "Hello" }]);
    });
  });

  test("to any number of a link that one account may use belongs to that account", () =>
    withLink({ accounts: ["house"] }, async (scene) => {
      await scene.inbound.receive(scene.link, [written(), written({ to: "99999", text: "To another" })]);
      assert.deepEqual(
        (await storedBy(scene)).map(({ account, body }) => [account, body]),
        [
          ["house", "Hello"],
          ["house", "To another"],
        ],
      );
    }));

  test("belongs to the only account that the routes allow on the link", () =>
    withLink({ plan: { routes: [{ channel: "sms", account: "other", links: [LINK] }] } }, async (scene) => {
      await scene.inbound.receive(scene.link, [written()]);
      assert.deepEqual(await storedBy(scene), [{ account: "other", type: "message.received", body: "Hello" }]);
    }));

  test("without another owner goes to the inbound account of the link, as message.unrouted", () =>
    withLink({ link: { inboundAccount: "other" } }, async (scene) => {
      await scene.inbound.receive(scene.link, [written()]);
      assert.deepEqual(await storedBy(scene), [{ account: "other", type: "message.unrouted", body: "Hello" }]);
      assert.deepEqual(scene.outcomes, ["unrouted"]);
    }));

  test("without any owner is kept, once, before it is acknowledged", () =>
    withLink({}, async (scene) => {
      const message = written({ text: "a\0b", inReplyTo: "nothing" });
      await scene.inbound.receive(scene.link, [message]);
      await scene.inbound.receive(scene.link, [message]);
      assert.deepEqual(scene.outcomes, ["kept", "repeated"]);
      assert.deepEqual(await storedBy(scene), []);
      const [kept, ...more] = await listKept(scene.rig.db, 10);
      assert.deepEqual(more, []);
      assert.deepEqual(
        { ...kept, id: "", received_at: "" },
        {
          id: "",
          kind: "message",
          link: LINK,
          channel: "sms",
          provider_message_id: message.providerMessageId,
          sender: PERSON,
          recipient: SHARED,
          text: "a\uFFFDb",
          content: null,
          received_at: "",
        },
      );
    }));

  test("is refused, so that the carrier repeats it, when as many are kept as there may be", () =>
    withLink({}, async (scene) => {
      const { rig, inbound, link } = scene;
      await rig.rows(
        `insert into kept_inbound (id, kind, link, provider, channel, sender, recipient, body)
         select gen_random_uuid(), 'message', 'x', 'x', 'sms', '+1', '+2', 'x' from generate_series(1, $1::integer)`,
        [MAX_KEPT_MESSAGES],
      );
      const message = written({ text: "STOP" });
      const known = recipientNo(2);
      await send(scene, { recipient: known });
      await assert.rejects(inbound.receive(link, [written({ from: known, to: "80099", text: "STOP" })]), KeptInboundFull);
      assert.equal(await refusalFor(scene, rig.accountId, known), "recipient_opted_out", "the carrier may not repeat it");
      await assert.rejects(inbound.receive(link, [message]), KeptInboundFull);
      assert.equal((await countKeptInbound(rig.db)).messages, MAX_KEPT_MESSAGES);
      await rig.rows("delete from kept_inbound where id in (select id from kept_inbound limit 1)");
      await inbound.receive(link, [message]);
      assert.deepEqual(scene.outcomes, ["kept"]);
    }));

  for (const to of [null, ""])
    test(`whose number of ours the carrier ${to === null ? "does not name" : "leaves empty"} is to the sender of the link`, () =>
      withLink({}, async (scene) => {
        await send(scene);
        await scene.inbound.receive(scene.link, [written({ to })]);
        const rows = await scene.rig.rows("select account_id, recipient from messages where direction = 'inbound'");
        assert.deepEqual(rows, [{ account_id: scene.rig.accountId, recipient: SHARED }]);
      }));

  test("whose number of ours the carrier does not name belongs to the account that last sent to the person on the link", () => {
    const senders = [
      { number: SHARED, link: LINK, account: "house", environment: "live" as const },
      { number: "+15005550001", link: LINK, account: "other", environment: "live" as const },
    ];
    return withLink({ plan: { senders } }, async (scene) => {
      const { rig, other, inbound, link } = scene;
      await send(scene, { accountId: other });
      await inbound.receive(link, [written({ to: null, text: "STOP" }), written({ from: recipientNo(2), to: null, text: "Hi" })]);
      assert.deepEqual(
        (await storedBy(scene)).map(({ account, body }) => `${account} ${body}`).toSorted(),
        ["house Hi", "other STOP"],
        "without such an account it belongs to the one that has the sender of the link",
      );
      assert.equal(await refusalFor(scene, other, PERSON, "+15005550001"), "recipient_opted_out");
      assert.equal(await refusalFor(scene, rig.accountId), undefined);
    });
  });

  test("whose number of ours is not known is kept without it, also where no link is configured for the number", () =>
    withLink({ link: { sender: null } }, async (scene) => {
      await scene.inbound.receive(scene.link, [written({ to: null })]);
      await scene.inbound.keep({ ...scene.link, sender: SHARED }, [written({ to: null })]);
      const kept = await listKept(scene.rig.db, 10);
      assert.deepEqual(
        kept.map(({ sender, recipient }) => [sender, recipient]),
        [
          [PERSON, ""],
          [PERSON, ""],
        ],
      );
    }));

  test("without a writer is kept, and changes no consent, also when it is assigned", () =>
    withLink({ accounts: ["house"] }, async (scene) => {
      const { rig, inbound, link, linkDirectory } = scene;
      await send(scene);
      await inbound.receive(link, [written({ from: "", text: "STOP", channel: "whatsapp" })]);
      assert.deepEqual(scene.outcomes, ["kept"]);
      const [kept] = await listKept(rig.db, 1);
      const id = decodeId("inb", kept?.id ?? "") ?? assert.fail();
      const owner = { accountId: rig.accountId, environment: "live" } as const;
      const parts = {
        db: rig.db,
        clock: rig.clock,
        linkDirectory,
        consentDefaults: new ConsentDefaults(),
        mediaRetentionMs: MEDIA_RETENTION_MS,
      };
      assert.equal((await assignKept(parts, id, { owner, origin: SYSTEM_ORIGIN })).kind, "assigned");
      assert.deepEqual(await rig.rows("select sender, body from messages where direction = 'inbound'"), [{ sender: null, body: "STOP" }]);
      assert.deepEqual(await rig.rows("select recipient from suppressions union all select recipient from service_windows"), []);
    }));

  test("from a number in national format is of the person with the country of the link", () =>
    withLink({ link: { country: "US", sender: "+14155552801" } }, async (scene) => {
      const recipient = recipientOf("+14155559055");
      await send(scene, { recipient });
      await scene.inbound.receive(scene.link, [
        written({ from: "4155559055", fromType: "national", to: "4155552801", toType: "national", text: "STOP" }),
      ]);
      const [inbound] = await scene.rig.rows<{ sender: string; recipient: string }>(
        "select sender, recipient from messages where direction = 'inbound'",
      );
      assert.deepEqual(inbound, { sender: "+14155559055", recipient: "+14155552801" });
      assert.equal(await refusalFor(scene, scene.rig.accountId, recipient, "+14155552801"), "recipient_opted_out");
    }));

  test("from digits with two readings is of the person who got a message on the link", () =>
    withLink({ link: { country: "US" } }, async (scene) => {
      const national = recipientOf("+14785551234");
      const international = recipientOf("+4785559999");
      await send(scene, { recipient: national });
      await send(scene, { recipient: international });
      await scene.inbound.receive(scene.link, [
        written({ from: "4785551234" }),
        written({ from: "4785559999" }),
        written({ from: "4785550000", to: "99999" }),
      ]);
      const rows = await scene.rig.rows<{ sender: string }>("select sender from messages where direction = 'inbound'");
      assert.deepEqual(rows.map(({ sender }) => sender).toSorted(), [national, international].toSorted());
      assert.equal((await listKept(scene.rig.db, 10))[0]?.sender, "+4785550000");
    }));
});

describe("an inbound message on a link that only receives", () => {
  const NUMBER = "+14155552801";
  /** Two links of one account at the carrier. */
  const carrierAccount = { name: "godwit at smsc.example" };
  const transmitter: Link = { ...linkTo(LINK), carrierAccount };
  const receiver: Link = { ...linkTo("receiver"), provider: transmitter.provider, channels: [], sender: null, carrierAccount };
  const links = [transmitter, receiver];

  test("belongs to the account that has the number on the link that sends", () => {
    const senders = [{ number: NUMBER, link: LINK, account: "other", environment: "live" } as const];
    return withLink({ plan: { links, senders } }, async (scene) => {
      const { other, inbound } = scene;
      await inbound.receive(receiver, [written({ to: NUMBER, text: "STOP" })]);
      assert.deepEqual(await storedBy(scene), [{ account: "other", type: "message.received", body: "STOP" }]);
      assert.equal(await refusalFor(scene, other, PERSON, NUMBER), "recipient_opted_out");
      assert.equal(await refusalFor(scene, other), undefined, "another number");
    });
  });

  for (const [what, to, sender] of [
    ["from the number", SHARED, SHARED],
    ["from a number that the carrier chose", SHARED, null],
    ["if the carrier names no number", null, SHARED],
  ] as const)
    test(`belongs to the account that last sent to the person on the link that sends, ${what}`, () =>
      withLink({ plan: { links: [{ ...transmitter, sender }, receiver] } }, async (scene) => {
        const { rig, inbound, other } = scene;
        await send(scene);
        await inbound.receive(receiver, [written({ to, text: "STOP" })]);
        assert.deepEqual(await storedBy(scene), [{ account: "house", type: "message.received", body: "STOP" }]);
        assert.equal(await refusalFor(scene, rig.accountId, PERSON, sender), "recipient_opted_out");
        assert.equal(await refusalFor(scene, other, PERSON, sender), undefined, "another account");
      }));

  test("belongs to the only account that may use the link that sends", () =>
    withLink({ plan: { links }, accounts: ["house"] }, async (scene) => {
      await scene.inbound.receive(receiver, [written({ to: NUMBER })]);
      assert.deepEqual(await storedBy(scene), [{ account: "house", type: "message.received", body: "Hello" }]);
    }));

  test("gets its automatic reply on the link that sends", () =>
    withLink({ plan: { links } }, async (scene) => {
      const { rig, inbound } = scene;
      await rig.rows("insert into consent_settings (account_id, environment, settings, updated_at) values ($1, 'live', $2, now())", [
        rig.accountId,
        JSON.stringify({ replies: { help: "Call us." } }),
      ]);
      await send(scene);
      await inbound.receive(receiver, [written({ text: "HELP" })]);
      const replies = await rig.rows(
        `select m.body, coalesce(m.link, q.link) as link
           from messages m
           left join delivery_queue q on q.message_id = m.id
          where m.direction = 'outbound' and m.in_reply_to is not null`,
      );
      assert.deepEqual(replies, [{ body: "Call us.", link: LINK }]);
    }));

  test("of another account at the carrier is kept", () =>
    withLink({ plan: { links: [transmitter, { ...receiver, carrierAccount: { name: "another" } }] } }, async (scene) => {
      await send(scene);
      await scene.inbound.receive(receiver, [written()]);
      assert.deepEqual(scene.outcomes, ["kept"]);
    }));
});

describe("STOP", () => {
  const CASES: readonly (readonly [what: string, setting: Setting, from: "number" | "elsewhere"])[] = [
    ["that the last sender gets", {}, "number"],
    ["that the inbound account gets", { link: { inboundAccount: "house" } }, "elsewhere"],
    ["that is kept", {}, "elsewhere"],
  ];
  for (const [what, setting, from] of CASES)
    test(`${what} takes effect for every account that has sent to the person from the number`, () =>
      withLink(setting, async (scene) => {
        const { rig, other, inbound, link } = scene;
        await send(scene, { accountId: other, sender: "+15005550077" });
        await send(scene, { sender: "+15005550077" });
        const uninvolved = newId("acct", Date.now());
        // On another link the number has sent nothing, so that no account gets the message by its last sender.
        const via = from === "number" ? link : { ...link, name: "elsewhere" };
        await inbound.receive(via, [written({ to: "+15005550077", text: "STOP" })]);
        for (const account of [rig.accountId, other])
          assert.equal(await refusalFor(scene, account, PERSON, "+15005550077"), "recipient_opted_out");
        assert.equal(await refusalFor(scene, uninvolved, PERSON, "+15005550077"), undefined);
        assert.equal(await refusalFor(scene, other), undefined, "of another number");
        const messages = await rig.rows<{ account_id: AccountId; message_id: Buffer | null }>(
          "select account_id, message_id from suppressions where message_id is not null",
        );
        const owners = await rig.rows<{ account_id: AccountId }>("select account_id from messages where direction = 'inbound'");
        assert.deepEqual(
          messages.map(({ account_id: id }) => id),
          owners.map(({ account_id: id }) => id),
          "only the owner of the message sees its id",
        );
      }));

  test("keeps a message from being sent that was queued before, also one of an account that has sent nothing yet", () =>
    withLink({}, async (scene) => {
      const { rig, other, carrier, inbound, link, linkDirectory } = scene;
      carrier.isReady = false;
      const queued = await rig.accept({ recipient: PERSON }, { accountId: other, environment: "live", linkDirectory });
      await inbound.receive(link, [written({ text: "STOP" })]);
      carrier.isReady = true;
      carrier.changed();
      assert.equal((await rig.untilStatus(queued, "failed")).error?.code, "recipient_opted_out");
      assert.deepEqual(carrier.sends, []);
    }));

  test("to a number that the carrier chose ends all messages of the account, and START lifts exactly that", () =>
    withLink({ link: { sender: null } }, async (scene) => {
      const { rig, inbound, link } = scene;
      const message = await send(scene);
      assert.equal(message.sender, null);
      await inbound.receive(link, [written({ to: "+15005550088", text: "STOP" })]);
      for (const sender of [null, "+15005550088"])
        assert.equal(await refusalFor(scene, rig.accountId, PERSON, sender), "recipient_opted_out");
      await inbound.receive(link, [written({ to: "+15005550088", text: "START" })]);
      assert.equal(await refusalFor(scene, rig.accountId, PERSON, null), undefined);
      await rig.rows("update suppressions set is_active = true, source = 'api' where sender = ''");
      await inbound.receive(link, [written({ to: "+15005550088", text: "START" })]);
      assert.equal(await refusalFor(scene, rig.accountId, PERSON, null), "recipient_opted_out", "the account added it");
    }));

  test("to a number of a pool ends the messages of the whole pool, and START to another number of it lifts that", () => {
    const [first, second, alone] = ["+14155552801", "+14155552802", "+14155552803"];
    const senders = [
      { number: first, pool: "alerts" },
      { number: second, pool: "alerts" },
      { number: alone, pool: undefined },
    ].map(({ pool, number }) => ({ number, link: LINK, account: "house", environment: "live" as const, ...(pool ? { pool } : {}) }));
    return withLink({ plan: { senders } }, async (scene) => {
      const { rig, inbound, link } = scene;
      const refusals = () => Promise.all([first, second, alone].map((sender) => refusalFor(scene, rig.accountId, PERSON, sender)));
      await inbound.receive(link, [written({ to: first, text: "STOP" })]);
      assert.deepEqual(await refusals(), ["recipient_opted_out", "recipient_opted_out", undefined]);
      await inbound.receive(link, [written({ to: second, text: "START" })]);
      assert.deepEqual(await refusals(), [undefined, undefined, undefined]);
    });
  });

  test("to a number of a pool ends the messages of a number that joins the pool later", () => {
    const [first, second] = ["+14155552801", "+14155552802"];
    const sender = (number: string) => ({ number, link: LINK, account: "house", environment: "live", pool: "alerts" }) as const;
    return withLink({ plan: { senders: [sender(first)] } }, async (scene) => {
      const { rig, other, inbound, link, linkDirectory, carrier } = scene;
      await inbound.receive(link, [written({ to: first, text: "STOP" })]);
      const accounts = new Map([
        ["house", rig.accountId],
        ["other", other],
      ]);
      linkDirectory.replaceFile({ ...EMPTY_PLAN, links: [link], senders: [sender(first), sender(second)] }, accounts);
      const { accountId } = rig;
      const message = await rig.accept({ recipient: PERSON, sender: second }, { accountId, environment: "live", linkDirectory });
      assert.equal((await rig.untilStatus(message, "failed")).error?.code, "recipient_opted_out");
      assert.deepEqual(carrier.sends, []);
    });
  });

  for (const [dialled, known] of [
    ["+525512345678", "+5215512345678"],
    ["+5215512345678", "+525512345678"],
    ["+541123456789", "+5491123456789"],
    ["+5511987654321", "+551187654321"],
  ] as const)
    test(`from ${known} ends the messages to ${dialled}, which is the same phone`, () =>
      withLink({}, async (scene) => {
        const { rig, inbound, link } = scene;
        await send(scene, { recipient: recipientOf(dialled) });
        await inbound.receive(link, [written({ from: known, text: "STOP" })]);
        for (const number of [dialled, known])
          assert.equal(await refusalFor(scene, rig.accountId, recipientOf(number)), "recipient_opted_out");
        const [stored] = await rig.rows<{ sender: string }>("select sender from messages where direction = 'inbound'");
        assert.equal(stored?.sender, dialled, "the person has the address to which the account wrote");
        await inbound.receive(link, [written({ from: known, text: "START" })]);
        for (const number of [dialled, known]) assert.equal(await refusalFor(scene, rig.accountId, recipientOf(number)), undefined);
      }));

  test("from a person with a number and a user id ends the messages to both", () => {
    const userId = "US.13491208655302741918";
    const sender = { number: SHARED, link: LINK, account: "house", environment: "live" } as const;
    return withLink({ plan: { senders: [sender] } }, async (scene) => {
      const { rig, inbound, link } = scene;
      await inbound.receive(link, [written({ channel: "whatsapp", alsoFrom: userId, text: "STOP" })]);
      for (const address of [PERSON, userId])
        assert.equal(await refusalFor(scene, rig.accountId, recipientOf(address)), "recipient_opted_out");
    });
  });

  test("from a user id, as a reply to a message to the number, ends the messages to both, and START lifts that", () => {
    const userId = "US.13491208655302741918";
    const sender = { number: SHARED, link: LINK, account: "house", environment: "live" } as const;
    return withLink({ plan: { senders: [sender] } }, async (scene) => {
      const { rig, inbound, link, other } = scene;
      const inReplyTo = (await send(scene, { sender: SHARED })).provider?.messageId ?? null;
      const reply = { channel: "whatsapp", from: userId, inReplyTo } as const;
      await inbound.receive(link, [written({ ...reply, text: "STOP" })]);
      for (const address of [PERSON, userId])
        assert.equal(await refusalFor(scene, rig.accountId, recipientOf(address)), "recipient_opted_out");
      assert.equal(await refusalFor(scene, other), undefined, "another account");
      await inbound.receive(link, [written({ ...reply, text: "START" })]);
      for (const address of [PERSON, userId]) assert.equal(await refusalFor(scene, rig.accountId, recipientOf(address)), undefined);
    });
  });

  test("from digits with two readings, to neither of which anybody has sent, ends the messages to both", () => {
    const sender = { number: SHARED, link: LINK, account: "house", environment: "live" } as const;
    return withLink({ link: { country: "US" }, plan: { senders: [sender] } }, async (scene) => {
      const { rig, inbound, link } = scene;
      await inbound.receive(link, [written({ from: "4785551234", text: "STOP" })]);
      for (const number of ["+14785551234", "+4785551234"])
        assert.equal(await refusalFor(scene, rig.accountId, recipientOf(number)), "recipient_opted_out");
    });
  });

  test("that the carrier of a pool reports ends the messages of the whole pool", () => {
    const [first, second] = ["+14155552801", "+14155552802"];
    const senders = [first, second].map(
      (number) => ({ number, link: LINK, account: "house", environment: "live", pool: "alerts" }) as const,
    );
    return withLink({ plan: { senders } }, async (scene) => {
      const { rig, carrier } = scene;
      carrier.responds(PERSON, refused(true, RECIPIENT_OPTED_OUT));
      const { accountId } = rig;
      await rig.accept({ recipient: PERSON, sender: first }, { accountId, environment: "live", linkDirectory: scene.linkDirectory });
      await until(
        "the pool to be suppressed",
        async () => (await refusalFor(scene, rig.accountId, PERSON, second)) === "recipient_opted_out",
      );
      assert.equal(await refusalFor(scene, rig.accountId, PERSON, first), "recipient_opted_out");
    });
  });

  test("to a number that the carrier does not name ends everything that the person got on the link", () =>
    withLink({}, async (scene) => {
      const { rig, other, inbound, link } = scene;
      await send(scene, { sender: "Acme" });
      await send(scene, { accountId: other });
      await inbound.receive(link, [written({ to: null, text: "STOP" })]);
      assert.equal(await refusalFor(scene, rig.accountId, PERSON, "Acme"), "recipient_opted_out");
      assert.equal(await refusalFor(scene, other), "recipient_opted_out");
      assert.equal(await refusalFor(scene, rig.accountId), undefined, "of a number from which this account has sent nothing");
      await inbound.receive(link, [written({ to: null, text: "START" })]);
      assert.equal(await refusalFor(scene, other), undefined);
    }));

  test("to a number that is not known ends all messages of the account that gets it", () =>
    withLink({ link: { sender: null }, accounts: ["house"] }, async (scene) => {
      const { rig, inbound, link } = scene;
      await inbound.receive(link, [written({ to: null, text: "STOP" })]);
      assert.deepEqual(scene.outcomes, ["received"]);
      assert.equal(await refusalFor(scene, rig.accountId, PERSON, "Acme"), "recipient_opted_out");
    }));

  test("to an unknown number ends everything that the person got on the link from all accounts, and nothing else", () =>
    withLink({}, async (scene) => {
      const { rig, other, inbound, link } = scene;
      await send(scene, { sender: "Acme" });
      await send(scene, { accountId: other });
      await inbound.receive(link, [written({ to: "80099", text: "STOP" })]);
      assert.deepEqual(scene.outcomes, ["kept"]);
      assert.equal(await refusalFor(scene, rig.accountId, PERSON, "Acme"), "recipient_opted_out");
      assert.equal(await refusalFor(scene, other), "recipient_opted_out");
      assert.equal(await refusalFor(scene, rig.accountId), undefined);
    }));
});

describe("a choice in the app of the carrier", () => {
  const choice = (isOptOut: boolean) => ({ from: PERSON, to: SHARED, isOptOut });

  test("holds for every account that has sent to the person from the number, and is taken back for all of them", () =>
    withLink({}, async (scene) => {
      const { rig, other, link, linkDirectory } = scene;
      await send(scene);
      await send(scene, { accountId: other });
      const nothing = (): undefined => undefined;
      const consent = new CarrierConsent({
        db: rig.db,
        clock: rig.clock,
        linkDirectory,
        wakeWebhooks: nothing,
        log: createLog("silent").log,
      });
      await consent.apply(link, [choice(true)]);
      for (const account of [rig.accountId, other]) assert.equal(await refusalFor(scene, account), "recipient_opted_out");
      await consent.apply(link, [choice(false)]);
      for (const account of [rig.accountId, other]) assert.equal(await refusalFor(scene, account), undefined);
      await consent.apply(link, [{ ...choice(true), to: null }]);
      for (const account of [rig.accountId, other])
        assert.equal(await refusalFor(scene, account), "recipient_opted_out", "the carrier does not name the number");
    }));
});

describe("a kept message", () => {
  const assign = ({ rig, linkDirectory }: Scene, id: string, accountId: AccountId, environment: "live" | "test" = "live") =>
    assignKept(
      { db: rig.db, clock: rig.clock, linkDirectory, consentDefaults: new ConsentDefaults(), mediaRetentionMs: MEDIA_RETENTION_MS },
      decodeId("inb", id) ?? assert.fail(),
      {
        owner: { accountId, environment },
        origin: SYSTEM_ORIGIN,
      },
    );
  const keptId = async ({ rig }: Scene): Promise<string> => (await listKept(rig.db, 1))[0]?.id ?? assert.fail("nothing is kept");

  test("is received by the account that it is assigned to, with its opt-out word, and once", () =>
    withLink({}, async (scene) => {
      const { rig, other, inbound, link } = scene;
      await inbound.receive(link, [written({ text: "STOP" })]);
      const id = await keptId(scene);
      const [first, second] = await Promise.all([assign(scene, id, other), assign(scene, id, other)]);
      assert.deepEqual([first.kind, second.kind].toSorted(), ["already_assigned", "assigned"]);
      assert.deepEqual(await storedBy(scene), [{ account: "other", type: "message.received", body: "STOP" }]);
      assert.equal(await refusalFor(scene, other), "recipient_opted_out");
      assert.equal(await refusalFor(scene, rig.accountId), undefined);
      assert.deepEqual(await assign(scene, id, rig.accountId), { kind: "assigned_elsewhere" });
      assert.deepEqual(await assign(scene, id, other, "test"), { kind: "assigned_elsewhere" });
      assert.deepEqual(await countKeptInbound(rig.db), { messages: 0, notifications: 0 });
      const changes = await rig.rows<{ action: string }>("select action from audit_events where account_id = $1 order by id", [other]);
      assert.deepEqual(
        changes.map(({ action }) => action),
        ["suppression.created", "message.assigned"],
      );
      const [row] = await rig.rows("select sender, recipient, body from kept_inbound");
      assert.deepEqual(row, { sender: null, recipient: null, body: null }, "the person and the text are in the message only");
    }));

  test("has its content, and its files are downloaded for the account that it is assigned to", () =>
    withLink({}, async (scene) => {
      const { rig, other, inbound, link } = scene;
      const file = { kind: "image", carrierFile: "77", fileName: null } as const;
      await inbound.receive(link, [
        written({ text: "My cat", content: { type: "media", caption: "My cat", is_voice: false, files: [file] } }),
      ]);
      assert.deepEqual(await rig.rows("select id from media"), [], "files belong to accounts");
      await assign(scene, await keptId(scene), other);
      const [media = assert.fail(), ...more] = await rig.rows<{ id: MediaId; account_id: AccountId; status: string; carrier_file: string }>(
        "select id, account_id, status, carrier_file from media",
      );
      assert.deepEqual([more.length, media.status, media.carrier_file], [0, "pending", "77"]);
      assert.ok(media.account_id.equals(other));
      const [message] = await rig.rows<{ content: { media_id: string } }>("select content from messages where direction = 'inbound'");
      assert.equal(message?.content.media_id, encodeId("media", media.id));
      assert.deepEqual(await rig.rows("select content from kept_inbound"), [{ content: null }]);
    }));

  test("opens the service window from the time at which it came", () =>
    withLink({}, async (scene) => {
      const { rig, inbound, link, linkDirectory, other } = scene;
      await inbound.receive(link, [written({ channel: "whatsapp" })]);
      const [kept = assert.fail()] = await listKept(rig.db, 10);
      const owner = { accountId: other, environment: "live" } as const;
      const later = { now: (): number => Date.now() + 3_600_000 };
      const parts = {
        db: rig.db,
        clock: later,
        linkDirectory,
        consentDefaults: new ConsentDefaults(),
        mediaRetentionMs: MEDIA_RETENTION_MS,
      };
      await assignKept(parts, decodeId("inb", kept.id) ?? assert.fail(), { owner, origin: SYSTEM_ORIGIN });
      const [window] = await rig.rows<{ opened_at: Date }>("select opened_at from service_windows");
      assert.equal(window?.opened_at.toISOString(), kept.received_at);
    }));

  test("keeps its contents and the meaning that the carrier reported until it is assigned", () =>
    withLink({}, async (scene) => {
      const { rig, other, inbound, link } = scene;
      const details = { media_url: "https://media.example/1" };
      await inbound.receive(link, [written({ text: "gone", reported: "out", details })]);
      await assign(scene, await keptId(scene), other);
      assert.equal(await refusalFor(scene, other), "recipient_opted_out");
      const [message] = await rig.rows("select metadata from messages where account_id = $1", [other]);
      assert.deepEqual(message, { metadata: details });
      await inbound.receive(link, [written({ text: "STOP", isToGroup: true })]);
      await assign(scene, await keptId(scene), rig.accountId);
      assert.equal(await refusalFor(scene, rig.accountId), undefined, "STOP in a group is no opt-out");
    }));

  test("is deleted after 30 days, whatever the retention of messages is", () =>
    withLink({}, async ({ rig }) => {
      const idAt = (days: number) => newId("inb", rig.clock.now() - days * 24 * 3_600_000);
      for (const [id, body] of [
        [idAt(31), "old"],
        [idAt(29), "young"],
      ] as const)
        await rig.rows("insert into kept_inbound (id, kind, link, provider, channel, body) values ($1, 'message', 'x', 'x', 'sms', $2)", [
          id,
          body,
        ]);
      const errors: unknown[] = [];
      const parts = { db: rig.db, clock: rig.clock, retentionDays: 90, auditRetentionDays: 400, chainKey: NO_CHAIN_KEY };
      const job = oldRowsJob(parts, (error) => errors.push(error), 0);
      rig.atEnd(() => job.stop());
      job.start();
      const left = await until("the old one to be deleted", async () => {
        const rows = await rig.rows<{ body: string }>("select body from kept_inbound");
        return rows.length === 1 ? rows : undefined;
      });
      assert.deepEqual([left, errors], [[{ body: "young" }], []]);
    }));

  test("that does not exist is not assigned", () =>
    withLink({}, async (scene) => {
      await scene.inbound.receive(scene.link, [written()]);
      const id = await keptId(scene);
      await scene.rig.rows("delete from kept_inbound");
      assert.deepEqual(await assign(scene, id, scene.other), { kind: "unknown" });
    }));
});
