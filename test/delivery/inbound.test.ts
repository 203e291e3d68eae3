/** Inbound messages, through the interface that every carrier uses: each is stored once, causes one event, and applies the opt-out words
 *  in it. */
import { simulatorLink } from "../../src/links/link.ts";
import { LinkDirectory } from "../../src/links/directory.ts";
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { ConsentDefaults } from "../../src/consent/consent-defaults.ts";
import { findRefusal } from "../../src/consent/refusal.ts";
import type { DeliveryWatch } from "../../src/delivery/context.ts";
import { Inbound } from "../../src/delivery/inbound.ts";
import { createLog } from "../../src/model/log.ts";
import { uuidTimeMs } from "../../src/lib/uuid.ts";
import { messageRecord, type Message } from "../../src/messages/message.ts";
import { segmentsOf } from "../../src/model/segments.ts";
import type { Host, InboundMessage } from "../../src/providers/provider.ts";
import type { Delivery } from "../../src/delivery/delivery.ts";
import { encodeId, type MediaId } from "../../src/model/id.ts";
import { MEDIA_RETENTION_MS } from "../support/engine.ts";
import { DatabaseWire } from "../support/database-wire.ts";
import { linkTo, LINK, publicId, Rig } from "../support/delivery-rig.ts";
import { recipientNo } from "../support/recipient.ts";
import { LIMIT_MS } from "../support/expect.ts";
import { messageOf } from "../support/message.ts";
import { accepted, ScriptedCarrier } from "../support/scripted-carrier.ts";

const OURS = "+15005550000";

/** A carrier that also delivers inbound messages. */
class InboundCarrier extends ScriptedCarrier {
  readonly #opened: Host[] = [];

  override open(settings: unknown, host: Host): ReturnType<ScriptedCarrier["open"]> {
    this.#opened.push(host);
    return super.open(settings, host);
  }

  deliver(messages: readonly InboundMessage[], opened = 0): Promise<void> {
    const host = this.#opened[opened];
    return host === undefined ? Promise.reject(new Error("the carrier is not connected")) : host.receiveMessages(messages);
  }
}

let ids = 0;
const reply = (to: Message, fields: Partial<InboundMessage> = {}): InboundMessage => ({
  providerMessageId: `in-${(ids += 1)}`,
  channel: to.channel,
  from: to.recipient,
  to: OURS,
  text: "Thank you",
  inReplyTo: to.provider?.messageId ?? null,
  ...fields,
});

let rig: Rig;
let carrier: InboundCarrier;
let delivery: Delivery;
before(async () => {
  rig = await Rig.open();
  carrier = new InboundCarrier();
  delivery = await rig.deliver({ [LINK]: carrier });
});
after(() => rig[Symbol.asyncDispose]());

let people = 0;
/** A sent message to a recipient of its own, with its carrier id. */
async function sent(channel: "sms" | "whatsapp" = "sms"): Promise<Message> {
  people += 1;
  const message = await rig.accept({ recipient: recipientNo(people), channel }, { handover: delivery.handover });
  return rig.untilStatus(message, "sent");
}

/** The inbound messages of that recipient, oldest first. */
async function inboundFrom({ recipient }: Pick<Message, "recipient">): Promise<Message[]> {
  const rows = await rig.rows<Pick<Message, "id">>("select id from messages where direction = 'inbound' and sender = $1 order by id", [
    recipient,
  ]);
  return Promise.all(rows.map(({ id }) => rig.message({ accountId: rig.accountId, environment: "test", id })));
}

/** The types of the events about a recipient: inbound messages, opt-outs and opt-ins. */
const eventTypesOf = async ({ recipient }: Message): Promise<string[]> =>
  (
    await rig.rows<{ type: string }>(
      `select type
         from events
        where record::json ->> 'sender' = $1 or (type like 'recipient.%' and record::json ->> 'recipient' = $1)
        order by id`,
      [recipient],
    )
  ).map(({ type }) => type);

const refusalFor = ({ recipient }: Message, isFreeWhatsApp = false, sender: string | null = OURS): Promise<string | undefined> =>
  findRefusal(rig.db, { accountId: rig.accountId, environment: "test", recipient, sender, isFreeWhatsApp }, Date.now());

const windowOf = async ({ recipient }: Message): Promise<number | undefined> =>
  (
    await rig.rows<{ at: number }>(
      "select (extract(epoch from opened_at) * 1000)::float8 as at from service_windows where recipient = $1 and sender = $2",
      [recipient, OURS],
    )
  )[0]?.at;

describe("an inbound message", () => {
  for (const channel of ["sms", "whatsapp"] as const) {
    test(`on ${channel} is stored as a reply to the outbound message, with its event`, async () => {
      const message = await sent(channel);
      const incoming = reply(message, { text: "Thank you, got it 👍" });
      await carrier.deliver([incoming]);
      const [inbound, ...more] = await inboundFrom(message);
      assert.ok(inbound !== undefined);
      assert.deepEqual(more, []);
      const { id, created_at: createdAt, updated_at: updatedAt, ...record } = messageRecord(inbound);
      assert.match(id, /^msg_/);
      assert.ok(Math.abs(Date.parse(createdAt) - Date.now()) < LIMIT_MS);
      assert.equal(updatedAt, createdAt);
      assert.deepEqual(record, {
        object: "message",
        environment: "test",
        direction: "inbound",
        channel,
        recipient: OURS,
        sender: message.recipient,
        sender_reason: null,
        link_reason: null,
        body: "Thank you, got it 👍",
        content: null,
        template_id: null,
        template_version: null,
        template_variables: null,
        status: "received",
        sequence: 1,
        error: null,
        segments: channel === "sms" ? { count: 1, encoding: "ucs2", characters: 19 } : null,
        priority: "normal",
        client_reference: null,
        metadata: {},
        send_at: null,
        expires_at: null,
        provider: { name: LINK, link: LINK, message_id: incoming.providerMessageId, attempts: 0 },
        fallback_of: null,
        in_reply_to: publicId(message),
        batch_id: null,
        source: null,
        sent_at: null,
        delivered_at: null,
        read_at: null,
        failed_at: null,
        canceled_at: null,
      });
      const events = await rig.rows<{ type: string; sequence: number; record: string }>(
        "select type, sequence, record from events where message_id = $1",
        [inbound.id],
      );
      assert.deepEqual(events, [{ type: "message.received", sequence: 1, record: JSON.stringify(messageRecord(inbound)) }]);
      assert.equal(await rig.queueRow(inbound), undefined, "an inbound message is not queued");
      assert.deepEqual(await rig.message(message), message, "the outbound message is unchanged");
    });
  }

  test("belongs to the account whose message it replies to, and to no other", async () => {
    const message = await sent();
    await carrier.deliver([reply(message)]);
    const owners = await rig.rows("select distinct account_id, environment from messages where sender = $1", [message.recipient]);
    assert.deepEqual(owners, [{ account_id: rig.accountId, environment: "test" }]);
  });

  test("is counted as received under its channel", async () => {
    const message = await sent();
    const count = async (): Promise<number> =>
      (
        await rig.rows<{ n: number }>(
          "select coalesce(sum(messages), 0)::integer as n from usage_changes where status = 'received' and channel = 'sms'",
        )
      )[0]?.n ?? 0;
    const already = await count();
    await carrier.deliver([reply(message), reply(message)]);
    assert.equal(await count(), already + 2);
  });

  test("is stored once, in the order of its sender, when many arrive together", async () => {
    const messages = await Promise.all(Array.from({ length: 12 }, () => sent()));
    const incoming = Array.from({ length: 120 }, (_, index) => reply(messages[index % 12] as Message, { text: `no ${index}` }));
    await carrier.deliver(incoming);
    for (const [person, message] of messages.entries()) {
      assert.deepEqual(
        (await inboundFrom(message)).map(({ body }) => body),
        Array.from({ length: 10 }, (_, index) => `no ${person + index * 12}`),
      );
    }
  });
});

describe("a carrier that repeats a message", () => {
  test("has it stored once per carrier id, also with another text", async () => {
    const message = await sent();
    const incoming = reply(message);
    await carrier.deliver([incoming]);
    await carrier.deliver([incoming, { ...incoming, text: "another" }]);
    await carrier.deliver([incoming]);
    assert.deepEqual(
      (await inboundFrom(message)).map(({ body }) => body),
      ["Thank you"],
    );
    assert.deepEqual(await eventTypesOf(message), ["message.received"]);
  });

  test("has it stored once, also when it repeats concurrently in one process and in two", async () => {
    await rig.deliver({ [LINK]: carrier }, { node: "node-2", db: rig.connect("node-2") });
    const message = await sent("whatsapp");
    const incoming = Array.from({ length: 5 }, () => reply(message, { text: "STOP" }));
    await Promise.all(Array.from({ length: 20 }, (_, index) => carrier.deliver(incoming, index % 2)));
    assert.equal((await inboundFrom(message)).length, 5);
    assert.deepEqual((await eventTypesOf(message)).toSorted(), [
      ...Array.from({ length: 5 }, () => "message.received"),
      "recipient.opted_out",
    ]);
  });

  test("has it stored each time when the message has no carrier id", async () => {
    const message = await sent();
    const incoming = reply(message, { providerMessageId: null });
    await carrier.deliver([incoming]);
    await carrier.deliver([incoming]);
    const written = await inboundFrom(message);
    assert.equal(written.length, 2);
    assert.deepEqual(
      written.map(({ provider }) => provider?.messageId),
      [null, null],
    );
  });

  test("has a second message stored when another link uses the same carrier id", async () => {
    await using own = await Rig.open();
    const carriers = { [LINK]: new InboundCarrier(), second: new InboundCarrier() };
    await own.deliver(carriers);
    for (const [index, name] of [LINK, "second"].entries()) {
      carriers[name as keyof typeof carriers]?.responds(recipientNo(index), accepted("same"));
      const message = await own.accept({ recipient: recipientNo(index) }, { link: name });
      await own.untilStatus(message, "sent");
      await carriers[name as keyof typeof carriers]?.deliver([reply(message, { providerMessageId: "in-same", inReplyTo: "same" })]);
    }
    const rows = await own.rows<{ link: string }>("select link from messages where direction = 'inbound' order by id");
    assert.deepEqual(
      rows.map(({ link }) => link),
      [LINK, "second"],
    );
  });
});

describe("the text", () => {
  for (const channel of ["sms", "whatsapp"] as const) {
    for (const [word, keyword] of [
      ["STOP", "STOP"],
      [" stop\n", "STOP"],
      ["Stop.", "STOP"],
      ["opt out", "OPTOUT"],
      ["STOP ALL", "STOPALL"],
      ["Unsubscribe", "UNSUBSCRIBE"],
      ["ARRÊT", "ARRET"],
      ["QUIT", "QUIT"],
      ["стоп", "СТОП"],
    ] as const)
      test(`${JSON.stringify(word)} on ${channel} opts the recipient out of that sender, and is stored like any text`, async () => {
        const message = await sent(channel);
        await carrier.deliver([reply(message, { text: word })]);
        assert.equal(await refusalFor(message), "recipient_opted_out");
        assert.equal(await refusalFor(message, false, "+15005550001"), undefined, "of that number only");
        assert.deepEqual(await eventTypesOf(message), ["message.received", "recipient.opted_out"]);
        const [inbound] = await inboundFrom(message);
        assert.equal(inbound?.body, word);
        const [row] = await rig.rows<{ source: string; keyword: string; message_id: Buffer }>(
          "select source, keyword, message_id from suppressions where recipient = $1",
          [message.recipient],
        );
        assert.deepEqual(row, { source: "keyword", keyword, message_id: inbound?.id });
      });

    test(`START on ${channel} lifts the opt-out, and has no effect without one`, async () => {
      const message = await sent(channel);
      await carrier.deliver([reply(message, { text: "START" })]);
      assert.deepEqual(await eventTypesOf(message), ["message.received"]);
      await carrier.deliver([reply(message, { text: "STOP" })]);
      assert.equal(await refusalFor(message), "recipient_opted_out");
      await carrier.deliver([reply(message, { text: "start" })]);
      assert.equal(await refusalFor(message), undefined);
      assert.deepEqual(await eventTypesOf(message), [
        "message.received",
        "message.received",
        "recipient.opted_out",
        "message.received",
        "recipient.opted_in",
      ]);
    });

    for (const text of ["HELP", "INFO", "STOP it", "please stop", "Fin", "", "👍"])
      test(`${JSON.stringify(text)} on ${channel} is stored and has no other effect`, async () => {
        const message = await sent(channel);
        await carrier.deliver([reply(message, { text })]);
        assert.equal(await refusalFor(message), undefined);
        assert.deepEqual(await eventTypesOf(message), ["message.received"]);
        assert.equal((await inboundFrom(message))[0]?.body, text);
      });
  }

  test("that counts is the last opt-out or opt-in word of a batch", async () => {
    for (const [texts, refusal] of [
      [["STOP", "START"], undefined],
      [["STOP", "START", "STOP"], "recipient_opted_out"],
      [["START", "STOP", "thanks"], "recipient_opted_out"],
    ] as const) {
      const message = await sent();
      const others = await Promise.all(Array.from({ length: 6 }, () => sent()));
      await carrier.deliver([
        ...others.map((other) => reply(other)),
        ...texts.map((text) => reply(message, { text })),
        ...others.map((other) => reply(other)),
      ]);
      assert.equal(await refusalFor(message), refusal);
      assert.deepEqual(
        (await inboundFrom(message)).map(({ body }) => body),
        texts,
      );
    }
  });

  test("STOP in a group is stored, and neither opts out nor opens a service window", async () => {
    const message = await sent("whatsapp");
    await carrier.deliver([reply(message, { text: "STOP", isToGroup: true, details: { group_id: "g-1" } })]);
    assert.equal(await refusalFor(message), undefined);
    assert.equal(await windowOf(message), undefined);
    const [inbound] = await inboundFrom(message);
    assert.deepEqual([inbound?.body, inbound?.metadata], ["STOP", { group_id: "g-1" }]);
  });

  test("STOP sent twice causes one event", async () => {
    const message = await sent();
    await carrier.deliver([reply(message, { text: "STOP" }), reply(message, { text: "STOPALL" })]);
    assert.deepEqual(
      (await eventTypesOf(message)).filter((type) => type.startsWith("recipient.")),
      ["recipient.opted_out"],
    );
  });
});

describe("the contents besides the text", () => {
  test("are metadata, if the content does not have them", async () => {
    const message = await sent("whatsapp");
    const details = { referral: '{"source_id":"7"}' };
    await carrier.deliver([reply(message, { text: "Hello", details })]);
    assert.deepEqual((await inboundFrom(message))[0]?.metadata, details);
  });

  test("that do not fit are left out, and the message is marked", async () => {
    const message = await sent("whatsapp");
    const details = { type: "contacts", contacts: "\u{1f600}".repeat(2_000), payload: "kept\0" };
    await carrier.deliver([reply(message, { text: "x".repeat(4_096), details })]);
    const [inbound] = await inboundFrom(message);
    assert.deepEqual(inbound?.metadata, { type: "contacts", payload: "kept\ufffd", truncated: "true" });
    assert.equal(inbound?.body?.length, 4_096);
  });
});

/** The files that are to be downloaded for a message. */
const filesOf = ({ id }: Pick<Message, "id">) =>
  rig.rows<{
    id: MediaId;
    status: string;
    kind: string;
    link: string;
    carrier_file: string;
    file_name: string | null;
    person: string;
    due: boolean;
  }>(
    `select id, status, kind, link, carrier_file, file_name, person, due_at <= now() as due
       from media
      where message_id = $1
      order by id`,
    [id],
  );

describe("the content", () => {
  test("has the id of its file, which is stored as one to be downloaded", async () => {
    const message = await sent("whatsapp");
    const file = { kind: "document", carrierFile: "77", fileName: "c.pdf" } as const;
    const content = { type: "media", caption: "The contract", is_voice: false, files: [file] } as const;
    await carrier.deliver([reply(message, { text: "The contract", content })]);
    const [inbound = assert.fail()] = await inboundFrom(message);
    const [pending = assert.fail(), ...more] = await filesOf(inbound);
    assert.deepEqual(more, []);
    const mediaId = encodeId("media", pending.id);
    const expected = { type: "media", kind: "document", media_id: mediaId, file_name: "c.pdf", caption: "The contract", is_voice: false };
    assert.deepEqual(inbound.content, expected);
    const { id: _, ...stored } = pending;
    assert.deepEqual(stored, {
      status: "pending",
      kind: "document",
      link: LINK,
      carrier_file: "77",
      file_name: "c.pdf",
      person: message.recipient,
      due: true,
    });
    const [event = assert.fail()] = await rig.rows<{ record: string }>("select record from events where id = $1", [inbound.id]);
    assert.deepEqual((JSON.parse(event.record) as { content: unknown }).content, expected);
    assert.ok(!event.record.includes('"77"'), "the id at the carrier is not ours to tell");
  });

  test("has the ids of all files of an MMS", async () => {
    const message = await sent();
    const files = [0, 1, 2].map((index) => ({ kind: "image", carrierFile: `https://x.example/${index}`, fileName: null }) as const);
    const [first = assert.fail(), ...further] = files;
    await carrier.deliver([
      reply(message, { text: "[image]", content: { type: "media", caption: null, is_voice: false, files: [first, ...further] } }),
    ]);
    const [inbound = assert.fail()] = await inboundFrom(message);
    const stored = (await filesOf(inbound)).map(({ id }) => encodeId("media", id));
    assert.equal(stored.length, 3);
    assert.ok(inbound.content?.type === "media");
    const { media_id: id, further_media: others = [] } = inbound.content;
    assert.deepEqual([id, ...others.map((each) => each.media_id)], stored);
  });

  test("of a repeated message has no further files", async () => {
    const message = await sent("whatsapp");
    const content = { type: "media", caption: null, is_voice: true, files: [{ kind: "audio", carrierFile: "7", fileName: null }] } as const;
    const incoming = reply(message, { text: "[audio]", content });
    await carrier.deliver([incoming]);
    await carrier.deliver([incoming]);
    const [inbound = assert.fail(), ...more] = await inboundFrom(message);
    assert.deepEqual([more.length, (await filesOf(inbound)).length], [0, 1]);
  });

  test("of a reaction has the message that it is about", async () => {
    const message = await sent("whatsapp");
    await carrier.deliver([reply(message, { text: "👍", content: { type: "reaction", emoji: "👍" } })]);
    const [inbound] = await inboundFrom(message);
    assert.deepEqual(inbound?.content, { type: "reaction", message_id: publicId(message), emoji: "👍" });
  });

  test("that does not fit is shortened, and the message is marked", async () => {
    const message = await sent("whatsapp");
    const original = "\u{1f600}".repeat(2_100);
    const content = { type: "unsupported", kind: "poll", original } as const;
    await carrier.deliver([reply(message, { text: "[unsupported]", content })]);
    const [inbound = assert.fail()] = await inboundFrom(message);
    assert.deepEqual([inbound.content, inbound.metadata], [{ ...content, original: null }, { truncated: "true" }]);
  });

  for (const [what, content] of [
    ["caption", { type: "media", caption: "STOP", is_voice: false, files: [{ kind: "image", carrierFile: "7", fileName: null }] }],
    ["title of a button", { type: "reply", kind: "button", id: "b-1", title: "STOP", description: null }],
    ["title of a row", { type: "reply", kind: "list", id: "r-1", title: "STOP", description: "at noon" }],
  ] as const)
    test(`STOP as the ${what} opts out`, async () => {
      const message = await sent("whatsapp");
      await carrier.deliver([reply(message, { text: "STOP", content })]);
      assert.equal(await refusalFor(message), "recipient_opted_out");
    });

  test("of the system neither opts out nor opens a service window", async () => {
    const message = await sent("whatsapp");
    await carrier.deliver([reply(message, { text: "STOP", content: { type: "system", text: "STOP" } })]);
    assert.deepEqual([await refusalFor(message), await windowOf(message)], [undefined, undefined]);
    assert.deepEqual((await inboundFrom(message))[0]?.content, { type: "system", text: "STOP" });
  });
});

describe("the service window of WhatsApp", () => {
  test("is opened by any inbound message", async () => {
    const message = await sent("whatsapp");
    assert.equal(await windowOf(message), undefined);
    await carrier.deliver([reply(message)]);
    const [inbound] = await inboundFrom(message);
    assert.ok(inbound !== undefined);
    const openedAt = await windowOf(message);
    assert.ok(openedAt !== undefined && Math.abs(openedAt - uuidTimeMs(inbound.id)) < LIMIT_MS);
  });

  test("counts from the time at which the person wrote, and never from a later time than the arrival", async () => {
    const message = await sent("whatsapp");
    const hourMs = 3_600_000;
    await carrier.deliver([reply(message, { writtenAtMs: Date.now() - 25 * hourMs })]);
    assert.equal(await refusalFor(message, true), "service_window_closed");
    await carrier.deliver([reply(message, { writtenAtMs: Date.now() + 25 * hourMs })]);
    assert.equal(await refusalFor(message, true), undefined);
    const [, inbound] = await inboundFrom(message);
    const openedAt = (await windowOf(message)) ?? assert.fail();
    assert.ok(inbound !== undefined && Math.abs(openedAt - uuidTimeMs(inbound.id)) < LIMIT_MS);
  });

  test("is opened again after it closed, and free text may be sent again", async () => {
    const message = await sent("whatsapp");
    await carrier.deliver([reply(message)]);
    await rig.rows("update service_windows set opened_at = now() - interval '25 hours' where recipient = $1", [message.recipient]);
    assert.equal(await refusalFor(message, true), "service_window_closed");
    await carrier.deliver([reply(message)]);
    assert.equal(await refusalFor(message, true), undefined);
  });

  test("is not opened by an SMS", async () => {
    const message = await sent("sms");
    await carrier.deliver([reply(message)]);
    assert.equal(await windowOf(message), undefined);
  });
});

describe("an unusual text", () => {
  test("with invalid characters is stored with replacement characters", async () => {
    const message = await sent();
    await carrier.deliver([reply(message, { text: "a\0b\ud83d c\udc00 😀" })]);
    assert.equal((await inboundFrom(message))[0]?.body, "a\uFFFDb\uFFFD c\uFFFD 😀");
  });

  test("with invalid characters in its ids is stored, and so is the next message", async () => {
    const message = await sent();
    const odd = reply(message, { providerMessageId: "a\0b\ud800", to: "\0", text: "odd" });
    await carrier.deliver([odd, reply(message, { text: "next" })]);
    await carrier.deliver([odd]);
    assert.deepEqual(
      (await inboundFrom(message)).map(({ body }) => body),
      ["odd", "next"],
    );
    await carrier.deliver([reply(message, { inReplyTo: "\0" })]);
    assert.equal((await inboundFrom(message)).length, 3);
  });

  for (const [what, text, channel] of [
    ["of 20,000 characters", "ab ".repeat(6_667), "sms"],
    ["of 100,000 characters", "x".repeat(100_000), "sms"],
    ["of two million characters", "y".repeat(2_000_000), "whatsapp"],
    ["of 20,000 emoji", "😀".repeat(20_000), "sms"],
    ["of 10,000 characters that JSON escapes with six", "\u0001".repeat(10_000), "whatsapp"],
  ] as const)
    test(`${what} on ${channel} is truncated to the size limit and marked as truncated`, async () => {
      const message = await sent(channel);
      await carrier.deliver([reply(message, { text })]);
      const [inbound] = await inboundFrom(message);
      assert.ok(inbound !== undefined && inbound.body !== null);
      const record = messageRecord(inbound);
      assert.ok(Buffer.byteLength(JSON.stringify(record)) <= 16_384);
      assert.ok(Buffer.byteLength(JSON.stringify(record)) > 12_000, "no more is cut than necessary");
      assert.ok(text.startsWith(inbound.body) && inbound.body.isWellFormed(), "the beginning is kept, in whole characters");
      assert.deepEqual(record.metadata, { truncated: "true" });
      assert.deepEqual(record.segments, channel === "sms" ? segmentsOf(inbound.body) : null);
    });

  test("of 4,096 characters is kept whole and not marked", async () => {
    const message = await sent("whatsapp");
    await carrier.deliver([reply(message, { text: "é".repeat(4_096) })]);
    const [inbound] = await inboundFrom(message);
    assert.deepEqual([inbound?.body, inbound?.metadata], ["é".repeat(4_096), {}]);
  });

  test("with an opt-out word within a lot of white space is that opt-out word", async () => {
    const message = await sent();
    await carrier.deliver([reply(message, { text: `${" ".repeat(50_000)}STOP${"\n".repeat(50_000)}` })]);
    assert.equal(await refusalFor(message), "recipient_opted_out");
  });
});

describe("a reply", () => {
  type Counted = [link: string, outcome: string][];
  const watching = (db = rig.db): { inbound: Inbound; counted: Counted; woken: () => number } => {
    const counted: Counted = [];
    let woken = 0;
    const watch = { inbound: (link: string, outcome: string) => counted.push([link, outcome]) } as unknown as DeliveryWatch;
    const wakeWebhooks = () => (woken += 1);
    return {
      inbound: new Inbound({
        linkDirectory: new LinkDirectory(simulatorLink(1)),
        consentDefaults: new ConsentDefaults(),
        mediaRetentionMs: MEDIA_RETENTION_MS,
        queued: () => undefined,
        filesCame: () => undefined,
        db,
        clock: rig.clock,
        wakeWebhooks,
        watch,
        log: createLog("silent").log,
      }),
      counted,
      woken: () => woken,
    };
  };

  test("to a carrier id that is not known belongs to the account that last sent to the person from the number", async () => {
    const { inbound, counted } = watching();
    const message = await sent();
    await inbound.receive(linkTo(LINK), [
      reply(message, { inReplyTo: null, text: "one" }),
      reply(message, { inReplyTo: "unknown-id", text: "two" }),
    ]);
    assert.deepEqual(counted, [
      [LINK, "received"],
      [LINK, "received"],
    ]);
    assert.deepEqual(
      (await inboundFrom(message)).map(({ body, inReplyTo }) => [body, inReplyTo]),
      [
        ["one", null],
        ["two", null],
      ],
    );
  });

  test("to a carrier id of another link is kept", async () => {
    const { inbound, counted } = watching();
    const message = await sent();
    await inbound.receive(linkTo("elsewhere"), [reply(message)]);
    assert.deepEqual(counted, [["elsewhere", "kept"]]);
    assert.deepEqual(await inboundFrom(message), []);
  });

  test("is counted as received, then as repeated, and only the first one wakes the webhook workers", async () => {
    const { inbound, counted, woken } = watching();
    const message = await sent();
    const incoming = reply(message);
    await inbound.receive(linkTo(LINK), [incoming]);
    await inbound.receive(linkTo(LINK), [incoming]);
    assert.deepEqual(counted, [
      [LINK, "received"],
      [LINK, "repeated"],
    ]);
    assert.equal(woken(), 1);
  });

  test("that arrives before the carrier id of the outbound message is assigned to that message", async () => {
    people += 1;
    const recipient = recipientNo(people);
    const { promise: isDelivered, resolve } = Promise.withResolvers<void>();
    carrier.responds(recipient, async ({ message }) => {
      const name = `quick-${message.id}`;
      resolve(carrier.deliver([reply(messageOf({ recipient, provider: { name: LINK, link: LINK, messageId: name } }))]));
      // The response to the submission has not arrived yet.
      await new Promise((later) => setTimeout(later, 300));
      return accepted(name);
    });
    const message = await rig.accept({ recipient }, { handover: delivery.handover });
    await isDelivered;
    const [inbound] = await inboundFrom(message);
    assert.deepEqual(inbound?.inReplyTo, message.id);
    assert.equal((await rig.message(message)).status, "sent");
  });

  for (const [moment, mark, what] of [
    ["asked", "insert into inbound_names", "before its id is claimed"],
    ["asked", "commit\0", "before the commit"],
    ["answered", "commit\0", "after the commit"],
  ] as const)
    test(`is not acknowledged when the database is lost ${what}, and is stored once when it is repeated`, async () => {
      const wire = await DatabaseWire.to(rig.url);
      const db = rig.connect("cut", wire.url);
      try {
        const { inbound, counted } = watching(db);
        const message = await sent("whatsapp");
        const incoming = [reply(message, { text: "STOP" })];
        wire.cutNext(moment, mark);
        await assert.rejects(inbound.receive(linkTo(LINK), incoming));
        assert.deepEqual(counted, []);
        const isThere = moment === "answered";
        assert.equal((await inboundFrom(message)).length, isThere ? 1 : 0);
        assert.equal(await refusalFor(message), isThere ? "recipient_opted_out" : undefined);
        assert.equal((await windowOf(message)) !== undefined, isThere);
        await inbound.receive(linkTo(LINK), incoming);
        assert.deepEqual(counted, [[LINK, isThere ? "repeated" : "received"]]);
        assert.deepEqual(await eventTypesOf(message), ["message.received", "recipient.opted_out"]);
      } finally {
        await wire.close();
      }
    });

  test("that are lost together with their connection are stored one by one, each once, also when they are repeated", async () => {
    const wire = await DatabaseWire.to(rig.url);
    try {
      const { inbound } = watching(rig.connect("cut", wire.url));
      const messages = await Promise.all(Array.from({ length: 8 }, () => sent()));
      const incoming = messages.map((message) => reply(message));
      wire.cutNext("asked", "insert into inbound_names");
      await inbound.receive(linkTo(LINK), incoming);
      for (const message of messages) assert.equal((await inboundFrom(message)).length, 1);
      await inbound.receive(linkTo(LINK), incoming);
      for (const message of messages) assert.equal((await inboundFrom(message)).length, 1);
    } finally {
      await wire.close();
    }
  });
});
