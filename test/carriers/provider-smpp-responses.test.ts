import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { COMMAND, HEADER_BYTES, MAX_PDU_BYTES, STATUS } from "../../src/providers/smpp/pdu.ts";
import { until } from "../support/expect.ts";
import type { Script, Submit } from "../support/fakes/smsc.ts";
import { idOf, sendOne, withLink } from "../support/fakes/smsc-link.ts";

const WINDOW = 10;
const TEN = Array.from({ length: WINDOW });

/** A PDU with only a header, which may be invalid. */
function header(length: number, commandId: number, sequence: number, status = 0): Buffer {
  const bytes = Buffer.alloc(HEADER_BYTES);
  [length, commandId, status, sequence].forEach((value, index) => bytes.writeUInt32BE(value, index * 4));
  return bytes;
}

describe("a submit", () => {
  test("without a response is unknown after its time limit, and the link continues", () => {
    let isFirst = true;
    const submit: Script["submit"] = (each, session) => {
      if (!isFirst) session.accept(each);
      isFirst = false;
    };
    return withLink({ submit }, { times: { responseMs: 50 } }, async ({ smsc, link }) => {
      assert.equal((await sendOne(link)).kind, "unknown");
      idOf(await sendOne(link));
      assert.equal(smsc.submits.length, 2, "the message is not sent again");
      assert.equal(smsc.sessions.length, 1);
    });
  });

  test("without a response, repeated for a whole window, ends the connection", () =>
    withLink({ submit: () => undefined }, { window: 3, times: { responseMs: 30 } }, async ({ smsc, link }) => {
      const [first] = smsc.sessions;
      for (let count = 0; count < 3; count += 1) assert.equal((await sendOne(link)).kind, "unknown");
      await until("the connection is closed", () => first?.isClosed === true);
    }));

  test("with a late response is unknown first, and the response is then passed on as a receipt with both ids", () => {
    const held: Submit[] = [];
    return withLink({ submit: (each) => void held.push(each) }, { times: { responseMs: 30 } }, async ({ smsc, link, host }) => {
      assert.equal((await sendOne(link, { id: "msg_late" })).kind, "unknown");
      const [submit] = held;
      assert.ok(submit);
      smsc.session.accept(submit, "late-1");
      await host.untilCalled();
      assert.deepEqual(host.receipts, [
        { providerMessageId: "late-1", reference: "msg_late", status: "sent", error: null, raw: { answer: "0x00", id: "late-1" } },
      ]);
      assert.equal(smsc.submits.length, 1);
    });
  });

  test("that is refused late fails by our reference only", () => {
    const held: Submit[] = [];
    return withLink({ submit: (each) => void held.push(each) }, { times: { responseMs: 30 } }, async ({ smsc, link, host }) => {
      assert.equal((await sendOne(link, { id: "msg_late" })).kind, "unknown");
      const [submit] = held;
      assert.ok(submit);
      smsc.session.refuse(submit, 0x0b);
      await host.untilCalled();
      const [receipt] = host.receipts;
      assert.deepEqual([receipt?.providerMessageId, receipt?.reference, receipt?.status], [null, "msg_late", "failed"]);
      assert.equal(receipt?.error?.code, "invalid_destination");
    });
  });

  const ERRORS: readonly (readonly [status: number, kind: string, isPermanent: boolean | null])[] = [
    [0x01, "refused", true],
    [0x03, "refused", true],
    [0x08, "refused", false],
    [0x0a, "refused", true],
    [0x0b, "refused", true],
    [0x14, "throttled", null],
    [0x45, "refused", true],
    [0x58, "throttled", null],
    [0x64, "refused", false],
    [0x65, "refused", true],
    [0xff, "refused", false],
    [0x61, "refused", false],
    [0x62, "refused", false],
    [0x66, "refused", false],
    [0xfe, "refused", false],
    [0x03ff, "refused", false],
    [0x0400, "refused", false],
    [0x0500, "refused", false],
    [0xffffffff, "refused", false],
  ];
  for (const [status, kind, isPermanent] of ERRORS)
    test(`with the response 0x${status.toString(16)} is ${kind}${isPermanent === null ? "" : isPermanent ? " permanently" : " temporarily"}`, () =>
      withLink({ submit: (each, session) => session.refuse(each, status) }, {}, async ({ link }) => {
        const outcome = await sendOne(link);
        assert.equal(outcome.kind, kind);
        if (outcome.kind === "refused") assert.equal(outcome.isPermanent, isPermanent);
      }));

  test("with a status that the link's settings name has the meaning of the settings", () => {
    const statuses = [0x0402, 0x0410, 0x45, 0x0499, 0x58];
    const submit: Script["submit"] = (each, session) => session.refuse(each, statuses.shift() ?? assert.fail());
    const settings = { statusFinal: ["0x400-0x40F", 0x58], statusTransient: [0x45], statusThrottle: ["0x410"] };
    return withLink({ submit }, settings, async ({ link }) => {
      const outcomes: unknown[] = [];
      for (let count = 0; count < 5; count += 1) {
        const outcome = await sendOne(link);
        outcomes.push(outcome.kind === "refused" ? outcome.isPermanent : outcome.kind);
        await until("the link is ready", () => link.isReady);
      }
      assert.deepEqual(outcomes, [true, "throttled", false, false, true]);
    });
  });

  test("with a generic_nack for its sequence number has failed", () =>
    withLink(
      { submit: ({ sequence }, session) => session.write({ command: "generic_nack", status: 0x03, sequence }) },
      {},
      async ({ smsc, link }) => {
        const outcome = await sendOne(link);
        assert.ok(outcome.kind === "refused" && outcome.isPermanent && outcome.providerCode === "0x03");
        assert.equal(smsc.sessions.length, 1);
      },
    ));

  test("is not changed by a generic_nack without its sequence number", () => {
    const submit: Script["submit"] = (each, session) => {
      session.write({ command: "generic_nack", status: 0x03, sequence: 0 });
      session.write({ command: "generic_nack", status: 0x03, sequence: 77_777 });
      session.accept(each);
    };
    return withLink({ submit }, {}, async ({ smsc, link }) => {
      idOf(await sendOne(link));
      assert.equal(smsc.sessions.length, 1);
    });
  });

  test("whose response cannot be read is unknown", () => {
    const submit: Script["submit"] = ({ sequence }, session) => {
      const id = Buffer.alloc(300, "a");
      session.raw(Buffer.concat([header(HEADER_BYTES + id.length, COMMAND.submit_sm_resp, sequence), id]));
    };
    return withLink({ submit }, {}, async ({ link }) => {
      assert.equal((await sendOne(link)).kind, "unknown");
      assert.equal(link.isReady, true);
    });
  });
});

describe("a stream", () => {
  for (const [what, length] of [
    ["too short", 15],
    ["no", 0],
    ["too long", MAX_PDU_BYTES + 1],
    ["an absurdly large", 0xffffffff],
  ] as const)
    test(`with ${what} length is closed and reconnected, and pending messages are unknown`, () => {
      const submit: Script["submit"] = ({ sequence }, session) => session.raw(header(length, COMMAND.submit_sm_resp, sequence));
      return withLink({ submit }, {}, async ({ smsc, link }) => {
        assert.equal((await sendOne(link)).kind, "unknown");
        await until("the link is ready", () => link.isReady && smsc.sessions.length === 2);
        assert.equal(smsc.submits.length, 1);
      });
    });

  test("with an unknown command gets generic_nack as response, and continues", () =>
    withLink({}, {}, async ({ smsc, link }) => {
      smsc.session.raw(header(HEADER_BYTES, 0x00000999, 41));
      await until("the carrier has received it", () => smsc.session.received.some(({ command }) => command === "generic_nack"));
      const nack = smsc.session.received.find(({ command }) => command === "generic_nack");
      assert.deepEqual([nack?.sequence, nack?.status], [41, STATUS.invalidCommand]);
      idOf(await sendOne(link));
      assert.equal(smsc.sessions.length, 1);
    }));

  test("with an unknown response gets no response, because two such peers would never end", () =>
    withLink({}, {}, async ({ smsc, link }) => {
      smsc.session.raw(header(HEADER_BYTES, 0x80000999, 41));
      idOf(await sendOne(link));
      assert.ok(!smsc.session.received.some(({ command }) => command === "generic_nack"));
    }));

  test("in single bytes is read like a whole one", () => {
    const submit: Script["submit"] = ({ sequence }, session) => {
      const response = Buffer.concat([header(HEADER_BYTES + 3, COMMAND.submit_sm_resp, sequence), Buffer.from("m1\0")]);
      void (async () => {
        for (const byte of response) await new Promise<void>((done) => session.socket.write(Buffer.from([byte]), () => setImmediate(done)));
      })();
    };
    return withLink({ submit }, {}, async ({ link }) => assert.equal(idOf(await sendOne(link)), "m1"));
  });

  test("with many responses in one chunk, in any order, assigns each to its message", () => {
    const held: Submit[] = [];
    const submit: Script["submit"] = (each, session) => {
      held.push(each);
      if (held.length < WINDOW) return;
      const answers = held
        .toReversed()
        .map(({ sequence, short }) => [
          header(HEADER_BYTES + 4, COMMAND.submit_sm_resp, sequence),
          Buffer.from(`${short.destination.text.slice(-3)}\0`),
        ]);
      session.raw(Buffer.concat(answers.flat()));
    };
    return withLink({ submit }, {}, async ({ link }) => {
      const ids = await Promise.all(TEN.map(async (_, index) => idOf(await sendOne(link, { recipient: `+491511234510${index}` }))));
      assert.deepEqual(
        ids,
        TEN.map((_, index) => `10${index}`),
      );
    });
  });
});
