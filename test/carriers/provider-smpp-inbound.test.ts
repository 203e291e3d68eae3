import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { within } from "../../src/lib/wait.ts";
import { STATUS, TLV } from "../../src/providers/smpp/pdu.ts";
import { Smsc, until, type Script } from "../support/fakes/smsc.ts";
import { idOf, LinkHost, openReady, sendOne, withLink } from "../support/fakes/smsc-link.ts";
import { deliverSm, receiptByTlvs, receiptSm } from "../support/fakes/smsc-words.ts";
import { settled } from "../support/recording-host.ts";

const quiet = (): Promise<unknown> => within(new Promise(() => undefined), 100);
const partSm = (reference: number, total: number, number: number, text: string) =>
  deliverSm({ esmClass: 0x40, text: Buffer.concat([Buffer.from([5, 0, 3, reference, total, number]), Buffer.from(text)]) });

describe("a receipt", () => {
  test("that is quicker than the answer is passed as it came, and acknowledged", () => {
    const submit: Script["submit"] = (each, session) => {
      void session.deliver(receiptSm("quick-1")).then(() => session.accept(each, "quick-1"));
    };
    return withLink({ submit }, {}, async ({ link, host }) => {
      const id = idOf(await sendOne(link));
      assert.deepEqual(
        host.receipts.map(({ providerMessageId, status }) => [providerMessageId, status]),
        [[id, "delivered"]],
      );
    });
  });

  test("that comes twice, or out of order, is passed as it comes: what it means is not ours to judge", () =>
    withLink({}, {}, async ({ smsc, link, host }) => {
      const id = idOf(await sendOne(link));
      for (const stat of ["DELIVRD", "DELIVRD", "ENROUTE", "ACCEPTD"])
        assert.equal(await smsc.session.deliver(receiptSm(id, stat)), STATUS.ok);
      assert.deepEqual(
        host.receipts.map(({ status }) => status),
        ["delivered", "delivered", "sent", "sent"],
      );
      assert.ok(host.receipts.every(({ providerMessageId }) => providerMessageId === id));
    }));

  test("with an id that nobody knows is passed, and acknowledged", () =>
    withLink({}, {}, async ({ smsc, host }) => {
      assert.equal(await smsc.session.deliver(receiptSm("who-is-it")), STATUS.ok);
      assert.equal(host.receipts[0]?.providerMessageId, "who-is-it");
      assert.deepEqual(host.messages, []);
    }));

  test("in decimal finds the answer that was in hexadecimal, and so does one of an older message after it", () =>
    withLink({ submit: (each, session) => void session.accept(each, "0A1B2C3D") }, {}, async ({ smsc, link, host }) => {
      const id = idOf(await sendOne(link));
      await smsc.session.deliver(receiptSm(String(0x0a1b2c3d)));
      assert.equal(host.receipts[0]?.providerMessageId, id);
      await smsc.session.deliver(receiptSm(String(0x0a0000ff)));
      assert.equal(host.receipts[1]?.providerMessageId, "0A0000FF");
    }));

  test("that came before anybody could know its form is passed once more when the form is known", () =>
    withLink({ submit: (each, session) => void session.accept(each, "ABCDEF12") }, {}, async ({ smsc, link, host }) => {
      await smsc.session.deliver(receiptSm(String(0xabcdef01)));
      assert.equal(host.receipts[0]?.providerMessageId, String(0xabcdef01));
      await sendOne(link);
      await smsc.session.deliver(receiptSm(String(0xabcdef12)));
      await until("it was passed again", () => host.receipts.some(({ providerMessageId }) => providerMessageId === "ABCDEF01"));
    }));

  test("is acknowledged only when it is committed; what is not, is to be sent again", () =>
    withLink({}, { times: { hostMs: 5_000 } }, async ({ smsc, host }) => {
      host.behave("rejects");
      assert.equal(await smsc.session.deliver(receiptByTlvs("a", 2)), STATUS.temporaryError);
      host.behave("hangs");
      const answer = smsc.session.deliver(receiptByTlvs("b", 2));
      assert.equal(await within(answer, 100), undefined, "no answer before the commit");
      assert.deepEqual(host.receipts, []);
    }));

  test("that the host takes too long for is to be sent again", () =>
    withLink({}, { times: { hostMs: 30 } }, async ({ smsc, host }) => {
      host.behave("hangs");
      assert.equal(await smsc.session.deliver(receiptSm("a")), STATUS.temporaryError);
    }));

  test("among many at once is committed together with them", () =>
    withLink({}, {}, async ({ smsc, host }) => {
      const ids = Array.from({ length: 60 }, (_, index) => `r${index}`);
      assert.ok((await Promise.all(ids.map((id) => smsc.session.deliver(receiptSm(id))))).every((status) => status === STATUS.ok));
      assert.deepEqual(
        host.receipts.map(({ providerMessageId }) => providerMessageId),
        ids,
      );
      assert.ok(host.calls.length < 60, `${host.calls.length} calls`);
    }));

  test("that names no message is acknowledged, since to repeat it would help nobody, and is no message of a person", () =>
    withLink({}, {}, async ({ smsc, host }) => {
      assert.equal(await smsc.session.deliver(deliverSm({ esmClass: 0x04, text: Buffer.from("nonsense") })), STATUS.ok);
      assert.deepEqual([host.receipts, host.messages], [[], []]);
    }));

  test("by data_sm is a receipt too", () =>
    withLink({}, {}, async ({ smsc, host }) => {
      const answer = await smsc.session.ask({ command: "data_sm", short: receiptByTlvs("d1", 5) });
      assert.deepEqual([answer?.command, answer?.status], ["data_sm_resp", STATUS.ok]);
      assert.deepEqual([host.receipts[0]?.providerMessageId, host.receipts[0]?.status], ["d1", "undelivered"]);
    }));
});

describe("a message that someone wrote", () => {
  test("is passed, and acknowledged when it is committed", () =>
    withLink({}, {}, async ({ smsc, host }) => {
      assert.equal(await smsc.session.deliver(deliverSm({ text: Buffer.from("STOP") })), STATUS.ok);
      assert.deepEqual(host.messages, [
        { providerMessageId: null, channel: "sms", from: "+4915112345678", to: "+14155550100", text: "STOP", inReplyTo: null },
      ]);
      host.behave("rejects");
      assert.equal(await smsc.session.deliver(deliverSm({ text: Buffer.from("no") })), STATUS.temporaryError);
      assert.equal(host.messages.length, 1);
    }));

  test("in parts, out of order and one of them twice, is one message; none is acknowledged before it is committed", () =>
    withLink({}, { times: { partAckMs: 5_000 } }, async ({ smsc, host }) => {
      const parts = [partSm(7, 3, 3, "three"), partSm(7, 3, 1, "one "), partSm(7, 3, 1, "one ")];
      const answers = parts.map((part) => smsc.session.deliver(part));
      assert.equal(await within(Promise.race(answers), 50), undefined);
      assert.deepEqual(host.messages, []);
      assert.equal(await smsc.session.deliver(partSm(7, 3, 2, "two ")), STATUS.ok);
      assert.deepEqual(await Promise.all(answers), [0, 0, 0]);
      assert.deepEqual(
        host.messages.map(({ text }) => text),
        ["one two three"],
      );
      // A repetition of a part is of the message that is there already.
      assert.equal(await smsc.session.deliver(partSm(7, 3, 2, "two ")), STATUS.ok);
      assert.equal(host.messages.length, 1);
    }));

  test("in parts comes through also from a carrier that waits for each answer", () =>
    withLink({}, { times: { partAckMs: 20 } }, async ({ smsc, host }) => {
      for (const [number, text] of [
        [1, "one "],
        [2, "two"],
      ] as const)
        assert.equal(await smsc.session.deliver(partSm(9, 2, number, text)), STATUS.ok);
      assert.deepEqual(
        host.messages.map(({ text }) => text),
        ["one two"],
      );
    }));

  test("in parts by the sar parameters is one message", () =>
    withLink({}, {}, async ({ smsc, host }) => {
      const part = (number: number, text: string) =>
        deliverSm({
          text: Buffer.from(text),
          tlvs: new Map([
            [TLV.sarReference, Buffer.from([1, 2])],
            [TLV.sarTotal, Buffer.from([2])],
            [TLV.sarNumber, Buffer.from([number])],
          ]),
        });
      await Promise.all([smsc.session.deliver(part(2, "b")), smsc.session.deliver(part(1, "a"))]);
      assert.deepEqual(
        host.messages.map(({ text }) => text),
        ["ab"],
      );
    }));

  test("of which a part never comes is passed with what is there, and a mark", () =>
    withLink({}, { times: { partAckMs: 10, partsWaitMs: 40 } }, async ({ smsc, host }) => {
      await smsc.session.deliver(partSm(3, 3, 3, "end"));
      const [message] = await host.untilWritten(1);
      assert.equal(message?.text, "[…]end");
    }));

  test("of which a part has not come when the link closes is passed then", async () => {
    const smsc = await Smsc.start();
    const host = new LinkHost();
    const link = await openReady(smsc, host, { times: { partAckMs: 10 } });
    await smsc.session.deliver(partSm(3, 2, 1, "begin "));
    await settled(link.close(), "close");
    assert.deepEqual(
      host.messages.map(({ text }) => text),
      ["begin […]"],
    );
    await smsc.stop();
  });
});

describe("a message that the carrier brings again", () => {
  const YES = deliverSm({ text: Buffer.from("YES") });
  /** Stores messages when it is told to, or fails to. */
  function slowly(host: LinkHost): { commit: () => void; fail: () => void } {
    const gate = Promise.withResolvers<void>();
    host.receiveMessages = async (messages) => {
      await gate.promise;
      host.messages.push(...messages);
    };
    return { commit: gate.resolve, fail: () => gate.reject(new Error("the database is away")) };
  }

  test("since its commit took too long is stored once, and the same words once more are another message", () =>
    withLink({}, { times: { hostMs: 50 } }, async ({ smsc, host }) => {
      const { commit } = slowly(host);
      for (let tries = 0; tries < 2; tries += 1) assert.equal(await smsc.session.deliver(YES), STATUS.temporaryError);
      commit();
      assert.equal(await smsc.session.deliver(YES), STATUS.ok);
      assert.equal(host.messages.length, 1);
      assert.equal(await smsc.session.deliver(YES), STATUS.ok);
      assert.equal(host.messages.length, 2);
    }));

  test("since its commit failed in the end is stored then", () =>
    withLink({}, { times: { hostMs: 50 } }, async ({ smsc, host }) => {
      const { fail } = slowly(host);
      assert.equal(await smsc.session.deliver(YES), STATUS.temporaryError);
      fail();
      host.receiveMessages = async (messages) => void host.messages.push(...messages);
      assert.equal(await smsc.session.deliver(YES), STATUS.ok);
      assert.equal(host.messages.length, 1);
    }));

  test("since the connection ended before our answer is stored once", () =>
    withLink({}, {}, async ({ smsc, link, host }) => {
      const { commit } = slowly(host);
      void smsc.session.ask({ command: "deliver_sm", short: YES }, 1);
      // Answered in the order in which they come: then the message is on its way as well.
      await smsc.session.ask({ command: "enquire_link" });
      smsc.session.socket.destroy();
      await until("it is bound anew", () => smsc.sessions.length === 2 && link.isReady);
      commit();
      await host.untilWritten(1);
      assert.equal(await smsc.session.deliver(YES), STATUS.ok);
      assert.equal(host.messages.length, 1);
      assert.equal(await smsc.session.deliver(YES), STATUS.ok);
      assert.equal(host.messages.length, 2, "people write the same thing twice");
    }));
});

describe("a carrier that delivers more than is taken", () => {
  test("is not read beyond a bound", () =>
    withLink({}, {}, async ({ smsc, host }) => {
      host.behave("hangs");
      const held: Promise<unknown>[] = [];
      for (let count = 0; count < 5_000; count += 1)
        held.push(smsc.session.ask({ command: "deliver_sm", short: receiptSm(`h${count}`) }, 50));
      await Promise.all(held);
      const seen = host.calls.flat().length;
      assert.ok(seen >= 100 && seen < 5_000, `${seen} were taken in`);
      await quiet();
      assert.equal(host.calls.flat().length, seen, "and no more");
    }));
});
