import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { within } from "../../src/lib/wait.ts";
import { encode } from "../../src/providers/smpp/encode.ts";
import { STATUS, TLV } from "../../src/providers/smpp/pdu.ts";
import type { Script } from "../support/fakes/smsc.ts";
import { until } from "../support/expect.ts";
import { idOf, sendOne, withLink } from "../support/fakes/smsc-link.ts";
import type { RecordingHost } from "../support/recording-host.ts";
import { deliverSm, receiptByTlvs, receiptSm } from "../support/fakes/smsc-scripts.ts";

const quiet = (): Promise<unknown> => within(new Promise(() => undefined), 100);
const partSm = (reference: number, total: number, number: number, text: string) =>
  deliverSm({ esmClass: 0x40, text: Buffer.concat([Buffer.from([5, 0, 3, reference, total, number]), Buffer.from(text)]) });

describe("a receipt", () => {
  test("that arrives before the response is passed on unchanged and acknowledged", () => {
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

  test("that arrives twice or out of order is passed on unchanged", () =>
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

  test("with an unknown id is passed on and acknowledged", () =>
    withLink({}, {}, async ({ smsc, host }) => {
      assert.equal(await smsc.session.deliver(receiptSm("who-is-it")), STATUS.ok);
      assert.equal(host.receipts[0]?.providerMessageId, "who-is-it");
      assert.deepEqual(host.messages, []);
    }));

  test("is passed on with its id unchanged, the setting for the form of ids, and its addresses", () =>
    withLink({}, { receiptIds: "decimal" }, async ({ smsc, host }) => {
      assert.equal(await smsc.session.deliver(receiptByTlvs("2882400000", 2)), STATUS.ok);
      const { providerMessageId, idForm, addresses } = host.receipts[0] ?? assert.fail();
      assert.deepEqual([providerMessageId, idForm, addresses], ["2882400000", "decimal", ["4915112345678", "14155550100"]]);
    }));

  test("is acknowledged only when it is committed, and is requested again otherwise", () =>
    withLink({}, { times: { hostMs: 5_000 } }, async ({ smsc, host }) => {
      host.behave("rejects");
      assert.equal(await smsc.session.deliver(receiptByTlvs("a", 2)), STATUS.temporaryError);
      host.behave("hangs");
      const response = smsc.session.deliver(receiptByTlvs("b", 2));
      assert.equal(await within(response, 100), undefined, "no response before the commit");
      assert.deepEqual(host.receipts, []);
    }));

  test("that takes the host too long is requested again", () =>
    withLink({}, { times: { hostMs: 30 } }, async ({ smsc, host }) => {
      host.behave("hangs");
      assert.equal(await smsc.session.deliver(receiptSm("a")), STATUS.temporaryError);
    }));

  test("beyond the limit of its link is requested again, like a message, without a line in the log", () =>
    withLink({}, { times: { hostMs: 5_000 } }, async ({ smsc, host }) => {
      host.behave("throttles");
      const lines = host.lines;
      const replies = [receiptSm("a"), deliverSm({ text: Buffer.from("Hello") })].map((each) => smsc.session.deliver(each));
      assert.deepEqual(await Promise.all(replies), [STATUS.temporaryError, STATUS.temporaryError]);
      assert.equal(host.lines, lines);
      host.behave("accepts");
      assert.equal(await smsc.session.deliver(deliverSm({ text: Buffer.from("Hello") })), STATUS.ok);
    }));

  test("among hundreds that arrive at once waits until fewer than a hundred wait for the host", () =>
    withLink({}, { times: { hostMs: 60_000 } }, async ({ smsc, host }) => {
      host.behave("hangs");
      const texts = Array.from({ length: 300 }, (_, at) => deliverSm({ text: Buffer.from(`text ${at}`) }));
      const bytes = texts.map((short, at) => encode({ command: "deliver_sm", short, status: STATUS.ok, sequence: at + 1 }));
      smsc.session.raw(Buffer.concat(bytes));
      await until("the first are passed on", () => host.messageCalls.length > 0);
      await quiet();
      assert.equal(host.messageCalls.length, 100);
    }));

  test("among many is committed together with them", () =>
    withLink({}, {}, async ({ smsc, host }) => {
      const ids = Array.from({ length: 60 }, (_, index) => `r${index}`);
      assert.ok((await Promise.all(ids.map((id) => smsc.session.deliver(receiptSm(id))))).every((status) => status === STATUS.ok));
      assert.deepEqual(
        host.receipts.map(({ providerMessageId }) => providerMessageId),
        ids,
      );
      assert.ok(host.calls.length < 60, `${host.calls.length} calls`);
    }));

  test("without a message id is acknowledged, because a repetition would not help, and is not an inbound message", () =>
    withLink({}, {}, async ({ smsc, host }) => {
      assert.equal(await smsc.session.deliver(deliverSm({ esmClass: 0x04, text: Buffer.from("nonsense") })), STATUS.ok);
      assert.deepEqual([host.receipts, host.messages], [[], []]);
    }));

  test("in a data_sm is a receipt too", () =>
    withLink({}, {}, async ({ smsc, host }) => {
      const response = await smsc.session.request({ command: "data_sm", short: receiptByTlvs("d1", 5) });
      assert.deepEqual([response?.command, response?.status], ["data_sm_resp", STATUS.ok]);
      assert.deepEqual([host.receipts[0]?.providerMessageId, host.receipts[0]?.status], ["d1", "undelivered"]);
    }));
});

describe("an inbound message", () => {
  test("is passed on, and acknowledged when it is committed", () =>
    withLink({}, {}, async ({ smsc, host }) => {
      assert.equal(await smsc.session.deliver(deliverSm({ text: Buffer.from("STOP") })), STATUS.ok);
      assert.deepEqual(host.messages, [
        {
          providerMessageId: null,
          channel: "sms",
          from: "4915112345678",
          fromType: "international",
          to: "14155550100",
          toType: "international",
          text: "STOP",
          inReplyTo: null,
        },
      ]);
      host.behave("rejects");
      assert.equal(await smsc.session.deliver(deliverSm({ text: Buffer.from("no") })), STATUS.temporaryError);
      assert.equal(host.messages.length, 1);
    }));

  test("in parts is passed on part by part, with its header, and each is acknowledged when it is committed", () =>
    withLink({}, { times: { hostMs: 50 } }, async ({ smsc, host }) => {
      assert.equal(await smsc.session.deliver(partSm(7, 3, 3, "three")), STATUS.ok);
      assert.deepEqual(host.parts, [
        {
          addresses: { from: "4915112345678", fromType: "international", to: "14155550100", toType: "international" },
          reference: "8:7",
          total: 3,
          number: 3,
          dataCoding: 0,
          hasHeader: true,
          userData: Buffer.from([5, 0, 3, 7, 3, 3, ...Buffer.from("three")]),
          waitMs: 600_000,
        },
      ]);
      assert.deepEqual([host.messages, host.answeredParts], [[], host.parts]);
      for (const behavior of ["rejects", "hangs"] as const) {
        host.behave(behavior);
        assert.equal(await smsc.session.deliver(partSm(7, 3, 1, "one ")), STATUS.temporaryError);
      }
      assert.equal(host.answeredParts.length, 1);
    }));

  test("in parts with the sar parameters is passed on part by part", () =>
    withLink({}, {}, async ({ smsc, host }) => {
      const tlvs = new Map([
        [TLV.sarReference, Buffer.from([1, 2])],
        [TLV.sarTotal, Buffer.from([2])],
        [TLV.sarNumber, Buffer.from([1])],
      ]);
      assert.equal(await smsc.session.deliver(deliverSm({ text: Buffer.from("a"), tlvs })), STATUS.ok);
      const [{ reference, total, number, hasHeader } = assert.fail()] = host.parts;
      assert.deepEqual([reference, total, number, hasHeader], ["sar:0102", 2, 1, false]);
    }));
});

describe("an inbound message that the carrier repeats", () => {
  const YES = deliverSm({ text: Buffer.from("YES") });
  /** A host that commits messages, or fails, when the test decides. */
  function slowly(host: RecordingHost): { commit: () => void; fail: () => void } {
    const gate = Promise.withResolvers<void>();
    host.receiveMessages = async (messages) => {
      await gate.promise;
      host.messages.push(...messages);
    };
    return { commit: gate.resolve, fail: () => gate.reject(new Error("the database is unavailable")) };
  }

  test("because its commit took too long is stored once, and the same text later is another message", () =>
    withLink({}, { times: { hostMs: 50 } }, async ({ smsc, host }) => {
      const { commit } = slowly(host);
      for (let tries = 0; tries < 2; tries += 1) assert.equal(await smsc.session.deliver(YES), STATUS.temporaryError);
      commit();
      assert.equal(await smsc.session.deliver(YES), STATUS.ok);
      assert.equal(host.messages.length, 1);
      assert.equal(await smsc.session.deliver(YES), STATUS.ok);
      assert.equal(host.messages.length, 2);
    }));

  test("because its commit failed is stored by the repetition", () =>
    withLink({}, { times: { hostMs: 50 } }, async ({ smsc, host }) => {
      const { fail } = slowly(host);
      assert.equal(await smsc.session.deliver(YES), STATUS.temporaryError);
      fail();
      host.receiveMessages = async (messages) => void host.messages.push(...messages);
      assert.equal(await smsc.session.deliver(YES), STATUS.ok);
      assert.equal(host.messages.length, 1);
    }));

  test("because the connection ended before our response is stored once", () =>
    withLink({}, {}, async ({ smsc, link, host }) => {
      const { commit } = slowly(host);
      void smsc.session.request({ command: "deliver_sm", short: YES }, 1);
      // Responses come in the order of arrival, so the message is being processed by then.
      await smsc.session.request({ command: "enquire_link" });
      smsc.session.socket.destroy();
      await until("the link is bound again", () => smsc.sessions.length === 2 && link.isReady);
      commit();
      await host.untilReceived(1);
      assert.equal(await smsc.session.deliver(YES), STATUS.ok);
      assert.equal(host.messages.length, 1);
      assert.equal(await smsc.session.deliver(YES), STATUS.ok);
      assert.equal(host.messages.length, 2, "the same text can be sent twice");
    }));
});

describe("a carrier that delivers more than the link can process", () => {
  test("is not read beyond a bound", () =>
    withLink({}, {}, async ({ smsc, host }) => {
      host.behave("hangs");
      const held: Promise<unknown>[] = [];
      for (let count = 0; count < 5_000; count += 1)
        held.push(smsc.session.request({ command: "deliver_sm", short: receiptSm(`h${count}`) }, 50));
      await Promise.all(held);
      await until("the first are read", () => host.calls.flat().length >= 100);
      const seen = host.calls.flat().length;
      assert.ok(seen >= 100 && seen < 5_000, `${seen} were read`);
      await quiet();
      assert.equal(host.calls.flat().length, seen, "no further message is read");
    }));
});
