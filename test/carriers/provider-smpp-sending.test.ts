import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { within } from "../../src/lib/wait.ts";
import { STATUS, TLV, type ShortMessage } from "../../src/providers/smpp/pdu.ts";
import { decodeText } from "../../src/providers/smpp/text.ts";
import { until } from "../support/expect.ts";
import type { Script, Submit } from "../support/fakes/smsc.ts";
import { idOf, sendOne, withLink } from "../support/fakes/smsc-link.ts";
import { recipientNo } from "../support/recipient.ts";
import { mayLeave, outgoing, settled } from "../support/recording-host.ts";

const LONG = "a".repeat(153 * 2 + 1);
const quiet = (): Promise<unknown> => within(new Promise(() => undefined), 100);

/** Responses by the position of the submit: 0 means accepted, no entry means no response. */
function respondingWith(...statuses: (number | "silence")[]): Script["submit"] {
  let place = 0;
  return (submit, session) => {
    const status = statuses[place] ?? STATUS.ok;
    place += 1;
    if (status === "silence") return;
    if (status === STATUS.ok) session.accept(submit);
    else session.refuse(submit, status);
  };
}

describe("a message", () => {
  test("is encoded as the carrier expects it", () =>
    withLink({}, { serviceType: "OTP" }, async ({ smsc, link }) => {
      await sendOne(link, { sender: "Godwit", recipient: "+4915112345678", body: "@ [€]", expiresAtMs: Date.now() + 3_600_500 });
      const [bind] = smsc.binds;
      assert.deepEqual([bind?.command, bind?.systemId, bind?.password], ["bind_transceiver", "godwit", "secret"]);
      const short = smsc.submits[0]?.short;
      assert.deepEqual(short?.source, { ton: 5, npi: 0, text: "Godwit" });
      assert.deepEqual(short?.destination, { ton: 1, npi: 1, text: "4915112345678" });
      assert.deepEqual([short?.serviceType, short?.registeredDelivery, short?.dataCoding, short?.esmClass], ["OTP", 1, 0, 0]);
      assert.match(short?.validFor ?? "", /^000000(010000|005959)000R$/);
      assert.equal(short?.text.toString("hex"), "00201b3c1b651b3e");
    }));

  test("has the configured types of number", () =>
    withLink({}, { sourceTon: 0, sourceNpi: 8, destinationTon: 2, destinationNpi: 3 }, async ({ smsc, link }) => {
      await sendOne(link, { sender: "12345" });
      const short = smsc.submits[0]?.short;
      assert.deepEqual([short?.source.ton, short?.source.npi, short?.destination.ton, short?.destination.npi], [0, 8, 2, 3]);
    }));

  test("has the configured validity, priority and request for receipts", async () => {
    const expiresAtMs = Date.parse("2030-01-31T09:10:11.900Z");
    const sent = async (settings: Parameters<typeof withLink>[1], fields: Parameters<typeof sendOne>[1] = {}) => {
      let short: ShortMessage | undefined;
      await withLink({}, settings, async ({ smsc, link }) => {
        await sendOne(link, { expiresAtMs, ...fields });
        short = smsc.submits[0]?.short;
      });
      return short;
    };
    assert.equal((await sent({ validity: "none" }))?.validFor, "");
    const soon = new Date(Date.now() + 3_600_000);
    const absolute = await sent({ validity: "absolute" }, { expiresAtMs: soon.getTime() });
    assert.equal(absolute?.validFor, `${soon.toISOString().replaceAll(/\D/g, "").slice(2, 14)}000+`);
    assert.equal((await sent({ priorityFlag: 2 }))?.priority, 2);
    const priorityFlag = { high: 3, normal: 1 };
    assert.equal((await sent({ priorityFlag }, { priority: "high" }))?.priority, 3);
    assert.equal((await sent({ priorityFlag }, { priority: "bulk" }))?.priority, 0);
    assert.equal((await sent({ registeredDelivery: 0 }))?.registeredDelivery, 0);
  });

  test("is shown at once where its options say so, in the GSM alphabet and in UCS-2", () =>
    withLink({}, { alphabet: "latin1" }, async ({ smsc, link }) => {
      const carrierOptions = { flash: true };
      await sendOne(link, { body: "é@", carrierOptions });
      await sendOne(link, { body: "ж", carrierOptions });
      assert.deepEqual(
        smsc.submits.map(({ short }) => [short.dataCoding, short.text.toString("hex")]),
        [
          [0xf0, "0500"],
          [0x18, "0436"],
        ],
      );
    }));

  test("has as much time again for each part that the carrier accepts", () =>
    withLink({}, {}, async ({ link }) => {
      let renewals = 0;
      const message = outgoing({ recipient: "+4915112345678", body: LONG });
      const { signal } = new AbortController();
      const renew = (): AbortSignal => {
        renewals += 1;
        return signal;
      };
      assert.equal((await settled(link.send(message, signal, mayLeave, renew), "a send")).kind, "accepted");
      assert.equal(renewals, 2);
    }));

  test("of several parts has an id for each part, in order", () =>
    withLink({}, {}, async ({ smsc, link }) => {
      const outcome = await sendOne(link, { body: LONG });
      assert.deepEqual(outcome, { kind: "accepted", providerMessageId: "m1", furtherPartIds: ["m2", "m3"] });
      const references = new Set(smsc.submits.map(({ short }) => short.text.readUInt8(3)));
      assert.equal(references.size, 1);
      assert.deepEqual(
        smsc.submits.map(({ short }) => [short.esmClass, ...short.text.subarray(0, 3), ...short.text.subarray(4, 6)]),
        [1, 2, 3].map((number) => [0x40, 5, 0, 3, 3, number]),
      );
      assert.equal(smsc.submits.map(({ short }) => decodeText(short.text.subarray(6), 0, "gsm7")).join(""), LONG);
    }));

  test("that is sent as payload is one submit_sm", () =>
    withLink({}, { longText: "payload" }, async ({ smsc, link }) => {
      assert.deepEqual(await sendOne(link, { body: LONG }), { kind: "accepted", providerMessageId: "m1" });
      assert.equal(smsc.submits[0]?.short.tlvs.get(TLV.messagePayload)?.length, LONG.length);
    }));

  test("that the carrier accepts without an id gets an id of ours", () =>
    withLink({ submit: (each, session) => void session.accept(each, "") }, {}, async ({ link }) => {
      assert.match(idOf(await sendOne(link, { id: "msg_1" })), /msg_1/);
    }));

  test("whose first part is refused permanently is refused, and no other part leaves", () =>
    withLink({ submit: respondingWith(0x0b) }, {}, async ({ smsc, link }) => {
      const outcome = await sendOne(link, { body: LONG });
      assert.ok(outcome.kind === "refused" && outcome.isPermanent && outcome.code === "invalid_destination");
      assert.equal(smsc.submits.length, 1);
    }));

  test("whose later part is refused permanently is refused permanently, and the error shows it", () =>
    withLink({ submit: respondingWith(0, 0x45) }, {}, async ({ smsc, link }) => {
      const outcome = await sendOne(link, { body: LONG });
      assert.ok(outcome.kind === "refused" && outcome.isPermanent, JSON.stringify(outcome));
      assert.match(outcome.message, /part 2 of 3/);
      assert.equal(smsc.submits.length, 2);
    }));

  test("whose later part is refused temporarily has only that part sent again", () =>
    withLink({ submit: respondingWith(0, STATUS.throttled, 0, STATUS.systemError) }, {}, async ({ smsc, link }) => {
      const outcome = await sendOne(link, { body: LONG });
      assert.ok(outcome.kind === "accepted" && outcome.furtherPartIds?.length === 2);
      const numbers = smsc.submits.map(({ short }) => short.text.readUInt8(5));
      assert.deepEqual(numbers, [1, 2, 2, 3, 3]);
    }));

  test("that is aborted between its parts is unknown, because some parts have left", () =>
    withLink({ submit: respondingWith(0, ...Array.from({ length: 99 }, () => STATUS.queueFull)) }, {}, async ({ link }) => {
      const limit = new AbortController();
      const sent = sendOne(link, { body: LONG }, limit.signal);
      await until("the link is throttled", () => link.state?.kind === "throttled");
      limit.abort();
      const outcome = await sent;
      assert.ok(outcome.kind === "unknown" && outcome.detail.includes("1 of 3"), JSON.stringify(outcome));
    }));

  test("whose connection breaks between two parts continues with the next part on a new one", () => {
    const submit: Script["submit"] = (each, session) => {
      session.accept(each);
      if (each.short.text.readUInt8(5) === 1) session.socket.end();
    };
    return withLink({ submit }, {}, async ({ smsc, link }) => {
      const outcome = await sendOne(link, { body: LONG });
      const numbers = smsc.submits.map(({ short }) => short.text.readUInt8(5));
      // The second part may have been written to the connection that was ending.
      if (outcome.kind === "unknown") assert.deepEqual(numbers.slice(0, 1), [1]);
      else assert.deepEqual(numbers, [1, 2, 3]);
      assert.equal(new Set(numbers).size, numbers.length, "no part is sent twice");
    });
  });

  test("whose later part has no response is unknown, and a late response to the last part names every part", () => {
    const held: Submit[] = [];
    const submit: Script["submit"] = (each, session) => {
      if (each.short.text.readUInt8(5) === 3) held.push(each);
      else session.accept(each);
    };
    return withLink({ submit }, { times: { responseMs: 30 } }, async ({ smsc, link, host }) => {
      assert.equal((await sendOne(link, { body: LONG, id: "msg_1" })).kind, "unknown");
      const [last] = held;
      assert.ok(last);
      smsc.session.accept(last, "m3");
      await host.untilCalled();
      const [receipt] = host.receipts;
      assert.deepEqual([receipt?.partIds, receipt?.reference, receipt?.status], [["m1", "m2", "m3"], "msg_1", "sent"]);
    });
  });

  test("that is aborted while it waits for the window has not left, and is not sent later", () =>
    withLink({ submit: () => undefined }, { window: 1 }, async ({ smsc, link }) => {
      const first = sendOne(link);
      await until("the window is full", () => smsc.submits.length === 1);
      const limit = new AbortController();
      const second = sendOne(link, {}, limit.signal);
      limit.abort();
      assert.equal((await second).kind, "throttled");
      smsc.session.accept(smsc.submits[0] ?? assert.fail());
      idOf(await first);
      await quiet();
      assert.equal(smsc.submits.length, 1);
    }));
});

describe("the window", () => {
  test("is never exceeded, however many parts there are, and sequence numbers are not used twice", () => {
    const held: Submit[] = [];
    let most = 0;
    const submit: Script["submit"] = (each, session) => {
      held.push(each);
      most = Math.max(most, held.length);
      setTimeout(() => {
        held.splice(held.indexOf(each), 1);
        session.accept(each);
      }, 2);
    };
    return withLink({ submit }, { window: 3 }, async ({ smsc, link }) => {
      const outcomes = await Promise.all(Array.from({ length: 20 }, () => sendOne(link, { body: LONG })));
      assert.ok(outcomes.every(({ kind }) => kind === "accepted"));
      assert.equal(most, 3);
      const sequences = smsc.submits.map(({ sequence }) => sequence);
      assert.equal(new Set(sequences).size, 60);
      assert.ok(sequences.every((sequence) => sequence >= 1 && sequence <= 0x7fffffff));
    });
  });
});

describe("a carrier that throttles", () => {
  test("pauses the link, which reports it and then continues, and throttling of a whole window counts once", () =>
    withLink(
      { submit: respondingWith(...Array.from({ length: 5 }, () => STATUS.throttled)) },
      { window: 5, times: { firstPauseMs: 60 } },
      async ({ smsc, link, host }) => {
        const outcomes = await Promise.all(Array.from({ length: 5 }, () => sendOne(link)));
        for (const outcome of outcomes) {
          assert.ok(outcome.kind === "throttled" && outcome.scope === "link", JSON.stringify(outcome));
          assert.ok((outcome.retryAfterMs ?? 0) <= 60, "five throttled responses do not make the pause longer");
        }
        assert.deepEqual([link.state?.kind, link.isReady], ["throttled", false]);
        const changes = host.changes;
        const next = sendOne(link);
        await until("the host is notified that the link continues", () => host.changes > changes);
        assert.equal(link.isReady, true);
        idOf(await next);
        assert.equal(link.state?.kind, "connected");
        const last = smsc.submits.map(({ atMs }) => atMs);
        assert.ok((last[5] ?? 0) - (last[4] ?? 0) >= 55, "nothing is sent during the pause");
      },
    ));

  test("repeatedly gets requests at growing intervals", () =>
    withLink(
      { submit: respondingWith(...Array.from({ length: 4 }, () => STATUS.queueFull)) },
      { times: { firstPauseMs: 20, maxPauseMs: 40 } },
      async ({ smsc, link }) => {
        for (let count = 0; count < 4; count += 1) assert.equal((await sendOne(link)).kind, "throttled");
        idOf(await sendOne(link));
        const at = smsc.submits.map(({ atMs }) => atMs);
        const gaps = at.slice(1).map((each, index) => each - (at[index] ?? 0));
        // 20, then at most 40, with the tolerance of a timer.
        [20, 40, 40, 40].forEach((leastMs, index) => assert.ok((gaps[index] ?? 0) >= leastMs - 4, `gap ${index}: ${gaps[index]}`));
      },
    ));
});

describe("the rate of a link that was throttled", () => {
  test("is cut to half of its value, and not only paused", () =>
    withLink(
      { submit: respondingWith(STATUS.throttled) },
      { partsPerSecond: 100, window: 50, times: { firstPauseMs: 20 } },
      async ({ smsc, link }) => {
        assert.equal((await sendOne(link)).kind, "throttled");
        const startedAt = performance.now();
        await Promise.all(Array.from({ length: 30 }, async () => idOf(await sendOne(link))));
        const tookMs = (smsc.submits.at(-1)?.atMs ?? 0) - startedAt;
        // Uncut, at most ten leave immediately and the others every 10 ms. Cut, they leave every 20 ms, and later a little faster.
        assert.ok(tookMs >= 400, `${tookMs} ms`);
      },
    ));
});

describe("the rate", () => {
  test("counts parts, not messages", () =>
    withLink({}, { partsPerSecond: 50 }, async ({ smsc, link }) => {
      const startedAt = performance.now();
      await Promise.all(Array.from({ length: 7 }, () => sendOne(link, { body: LONG })));
      assert.equal(smsc.submits.length, 21);
      // The bucket holds five. The other sixteen take 20 ms each.
      const tookMs = (smsc.submits.at(-1)?.atMs ?? 0) - startedAt;
      assert.ok(tookMs >= 300, `${tookMs} ms`);
    }));
});

describe("commits that take long and end together", () => {
  const RATE = 20;
  const COUNT = 45;

  test("do not bring more messages to the carrier in any second than the rate", () =>
    withLink({}, { partsPerSecond: RATE, window: 100 }, async ({ smsc, link }) => {
      const leftAt: number[] = [];
      const together = Promise.withResolvers<void>();
      let begun = 0;
      // The commits of the messages 16 to 25 end together. A message leaves as soon as `begin` resolves.
      const begin = async (): Promise<boolean> => {
        begun += 1;
        if (begun === 25) together.resolve();
        if (begun > 15 && begun < 25) await together.promise;
        leftAt.push(performance.now());
        return true;
      };
      const signal = new AbortController().signal;
      await Promise.all(
        Array.from({ length: COUNT }, async (_, index) =>
          idOf(await link.send(outgoing({ recipient: recipientNo(index) }), signal, begin)),
        ),
      );
      assert.equal(smsc.submits.length, COUNT);
      const spansMs = leftAt.slice(RATE).map((atMs, index) => atMs - (leftAt[index] ?? 0));
      // A timer counts in whole milliseconds.
      assert.ok(Math.min(...spansMs) >= 999, `${RATE + 1} messages left in ${Math.min(...spansMs)} ms`);
    }));
});

describe("a rate that is low for long texts", () => {
  const TWELVE = "a".repeat(153 * 11 + 1);

  test("starts only messages that can end in time: no message is sent in part, and waiting messages have not left", () =>
    withLink({}, { partsPerSecond: 40, times: { turnMs: 300, finishMs: 500 } }, async ({ smsc, link }) => {
      // Ten messages take three seconds. Each has half of that time.
      const limit = AbortSignal.timeout(1_500);
      const outcomes = await Promise.all(Array.from({ length: 10 }, () => sendOne(link, { body: TWELVE }, limit)));
      const kinds = outcomes.map(({ kind }) => kind);
      assert.deepEqual([...new Set(kinds)].toSorted(), ["accepted", "throttled"]);
      const accepted = kinds.filter((kind) => kind === "accepted").length;
      assert.equal(smsc.submits.length, accepted * 12, "every part at the carrier belongs to a complete message");
    }));

  test("has few messages in progress at a time, whatever the window", () =>
    withLink({}, { partsPerSecond: 1, window: 100 }, async ({ link }) => assert.equal(link.window, 5)));

  test("refuses a message that cannot be sent within the time of one attempt", () =>
    withLink({}, { partsPerSecond: 0.1 }, async ({ smsc, link }) => {
      const outcome = await sendOne(link, { body: TWELVE });
      assert.ok(outcome.kind === "refused" && outcome.isPermanent && outcome.code === "message_too_long", JSON.stringify(outcome));
      assert.deepEqual(smsc.submits, []);
      idOf(await sendOne(link));
    }));
});

describe("a link whose lease may belong to another node", () => {
  test("writes nothing from that moment on, returns waiting messages, and continues when the lease is ours again", () =>
    withLink({}, { partsPerSecond: 20 }, async ({ smsc, link, host }) => {
      const sends = Array.from({ length: 8 }, () => sendOne(link));
      await until("some messages have left", () => smsc.submits.length >= 2);
      host.isLeaseHeld = false;
      const seen = smsc.submits.length;
      assert.equal(link.isReady, false);
      const kinds = (await Promise.all(sends)).map(({ kind }) => kind);
      assert.equal(kinds.filter((kind) => kind === "accepted").length, seen);
      assert.equal(kinds.filter((kind) => kind === "throttled").length, 8 - seen, "waiting messages are not refused");
      assert.equal(smsc.submits.length, seen);
      host.isLeaseHeld = true;
      assert.equal(link.isReady, true);
      idOf(await sendOne(link));
    }));

  test("holds the parts of started messages, and sends them when the lease is ours again", () =>
    withLink({}, { partsPerSecond: 3 }, async ({ smsc, link, host }) => {
      const sent = sendOne(link, { body: LONG });
      await until("a part has left", () => smsc.submits.length === 2);
      host.isLeaseHeld = false;
      // Longer than the time between two parts.
      await sleep(700);
      assert.equal(smsc.submits.length, 2);
      host.isLeaseHeld = true;
      assert.equal((await sent).kind, "accepted");
      assert.deepEqual(
        smsc.submits.map(({ short }) => short.text.readUInt8(5)),
        [1, 2, 3],
      );
    }));
});
