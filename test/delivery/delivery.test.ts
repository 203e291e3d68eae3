/** One message at one link: what is on record before it leaves, what each answer makes of it, and how often it is tried. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { advance } from "../../src/messages/advance.ts";
import { changeBy } from "../../src/messages/change.ts";
import type { Message } from "../../src/messages/message.ts";
import type { SendOutcome } from "../../src/providers/provider.ts";
import { linkTo, LINK, publicId, RECIPIENT, recipientNo, Rig, type Entry } from "../support/delivery-rig.ts";
import { until } from "../support/expect.ts";
import { keepLines } from "../support/log-lines.ts";
import { recipientOf } from "../support/recipient.ts";
import { accepted, receipt, refused, ScriptedCarrier, throttled, unknown, type Send } from "../support/scripted-carrier.ts";

/** What is said of each try in a timeline. */
const attemptsIn = (entries: readonly Entry[]) => entries.flatMap(({ detail }) => (detail?.attempt === undefined ? [] : [detail.attempt]));
const typesIn = (entries: readonly Entry[]): string[] => entries.map(({ type }) => type);

/** Another message has gone all the way through the lane: whatever was to be sent before it, has been. */
async function anotherPasses(rig: Rig, carrier: ScriptedCarrier): Promise<void> {
  const other = await rig.accept({ recipient: recipientOf("+14155559999") });
  carrier.changed();
  await rig.untilStatus(other, "sent");
}

describe("before a message is handed over", () => {
  test("it is committed that bytes may leave, at every try", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier();
    const message = await rig.accept();
    const seen: object[] = [];
    carrier.answers(RECIPIENT, refused(false), refused(false), accepted("7"));
    // Through another connection than the one that wrote it: what is seen there is committed.
    carrier.onSend = async () => {
      const { status, attempts, provider, sequence } = await rig.message(message);
      const last = (await rig.timeline(message)).at(-1);
      seen.push({ status, attempts, sequence, name: provider?.messageId, type: last?.type, attempt: last?.detail?.attempt });
    };
    await rig.deliver({ [LINK]: carrier });
    for (let sends = 1; sends <= 3; sends += 1) {
      await until(`try ${sends}`, () => carrier.sends.length >= sends || undefined);
      await rig.untilStatus(message, sends === 3 ? "sent" : "queued");
      await rig.makeDue(message);
      carrier.changed();
    }
    const written = (number: number) => ({ number, link: LINK, outcome: "written" });
    assert.deepEqual(seen, [
      { status: "sending", attempts: 1, sequence: 2, name: null, type: "message.sending", attempt: written(1) },
      { status: "sending", attempts: 2, sequence: 4, name: null, type: "message.sending", attempt: written(2) },
      { status: "sending", attempts: 3, sequence: 6, name: null, type: "message.sending", attempt: written(3) },
    ]);
    assert.deepEqual(
      carrier.sends.map(({ message: { attempt, id } }) => [attempt, id]),
      [1, 2, 3].map((attempt) => [attempt, publicId(message)]),
    );
  });

  test("nothing leaves of one that was canceled in this process's hands", async () => {
    await using rig = await Rig.open();
    // Room for one at the carrier, and for one that waits its turn in hand.
    const carrier = new ScriptedCarrier({ window: 1 });
    const { promise, resolve } = Promise.withResolvers<SendOutcome>();
    carrier.answers(recipientNo(1), () => promise);
    const [first, second] = await rig.acceptMany(2, (index) => ({ recipient: recipientNo(index + 1) }));
    assert.ok(first !== undefined && second !== undefined);
    const delivery = await rig.deliver({ [LINK]: carrier });
    await until(
      "one at the carrier, and one in hand",
      () => (carrier.sends.length === 1 && delivery.lanes.get(LINK)?.ownedCount === 2) || undefined,
    );
    const canceled = changeBy(second, { status: "canceled", detail: { reason: "asked" }, move: { kind: "leave" } }, rig.clock.now());
    assert.ok(canceled !== undefined);
    assert.deepEqual(await advance(rig.db, [canceled]), [true]);
    resolve(accepted());
    await rig.untilStatus(first, "sent");
    await anotherPasses(rig, carrier);
    assert.equal(carrier.sendsTo(recipientNo(2)).length, 0);
    assert.equal((await rig.message(second)).status, "canceled");
  });

  test("one whose time to live passed in the queue expires, and is not sent", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier();
    const message = await rig.accept();
    await rig.rows("update messages set expires_at = now() - interval '1 second' where id = $1", [message.id]);
    await rig.deliver({ [LINK]: carrier });
    const { error, attempts, failedAtMs } = await rig.untilStatus(message, "expired");
    assert.equal(error?.code, "ttl_expired");
    assert.equal(attempts, 0);
    assert.ok(failedAtMs !== null);
    await anotherPasses(rig, carrier);
    assert.equal(carrier.sendsTo(RECIPIENT).length, 0);
    assert.deepEqual(typesIn(await rig.timeline(message)), ["message.queued", "message.expired"]);
    assert.equal(await rig.queueRow(message), undefined);
  });

  test("one whose time to live passes between two tries expires, and is not tried again", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier();
    carrier.answers(RECIPIENT, refused(false));
    const message = await rig.accept();
    await rig.deliver({ [LINK]: carrier });
    await until("a first try", () => carrier.sends[0]);
    await rig.untilStatus(message, "queued");
    await rig.rows("update messages set expires_at = now() - interval '1 second' where id = $1", [message.id]);
    await rig.makeDue(message);
    carrier.changed();
    assert.equal((await rig.untilStatus(message, "expired")).attempts, 1);
    await anotherPasses(rig, carrier);
    assert.equal(carrier.sendsTo(RECIPIENT).length, 1);
  });
});

describe("the carrier's answer", () => {
  test("accepted: the message is sent, and known by the carrier's name", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier();
    carrier.answers(RECIPIENT, accepted("7"));
    const message = await rig.accept({ channel: "whatsapp", body: "Hello" });
    await rig.deliver({ [LINK]: carrier });
    const { provider, attempts, sentAtMs, sequence } = await rig.untilStatus(message, "sent");
    assert.deepEqual(provider, { name: LINK, link: LINK, messageId: "7" });
    assert.equal(attempts, 1);
    assert.ok(sentAtMs !== null);
    assert.equal(sequence, 3);
    assert.equal(await rig.queueRow(message), undefined);
    const { expiresAtMs, ...handed } = carrier.sends[0]?.message ?? { expiresAtMs: 0 };
    const expected = {
      id: publicId(message),
      attempt: 1,
      channel: "whatsapp",
      recipient: RECIPIENT,
      sender: "+15005550000",
      body: "Hello",
      template: null,
    };
    assert.deepEqual(handed, expected);
    assert.equal(expiresAtMs, message.expiresAtMs);
    const timeline = await rig.timeline(message);
    assert.deepEqual(
      timeline.map(({ type, sequence: number, previous, status }) => [type, number, previous, status]),
      [
        ["message.queued", 1, null, "queued"],
        ["message.sending", 2, "queued", "sending"],
        ["message.sent", 3, "sending", "sent"],
      ],
    );
    assert.deepEqual(attemptsIn(timeline), [
      { number: 1, link: LINK, outcome: "written" },
      { number: 1, link: LINK, outcome: "accepted", provider_message_id: "7" },
    ]);
  });

  test("refused for good: the message fails, and is not tried again", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier();
    carrier.answers(RECIPIENT, refused(true), accepted());
    const message = await rig.accept();
    await rig.deliver({ [LINK]: carrier });
    const { error, failedAtMs } = await rig.untilStatus(message, "failed");
    assert.deepEqual(error, { code: "invalid_destination", message: "The carrier said no", permanent: true, provider_code: "E17" });
    assert.ok(failedAtMs !== null);
    await anotherPasses(rig, carrier);
    assert.equal(carrier.sendsTo(RECIPIENT).length, 1);
    assert.equal(await rig.queueRow(message), undefined);
  });

  test("refused for now: the message waits, and is tried again by itself when its time has come", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier();
    carrier.answers(RECIPIENT, refused(false), accepted());
    const message = await rig.accept();
    await rig.deliver({ [LINK]: carrier });
    await until("a first try", () => carrier.sends[0]);
    await rig.untilStatus(message, "queued");
    const waiting = await rig.queueRow(message);
    assert.equal(waiting?.state, 0);
    assert.ok(waiting.due_in_ms <= 1_000, String(waiting.due_in_ms));
    const sent = await rig.untilStatus(message, "sent");
    assert.equal(sent.attempts, 2);
    assert.equal(sent.error, null);
    const [first, second] = carrier.sends;
    const pauseMs = (second?.atMs ?? 0) - (first?.atMs ?? 0);
    assert.ok(pauseMs >= 490, `tried again after ${pauseMs} ms`);
  });

  test("refused for now, every time: each wait is longer, and the last error stays when the tries are used up", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier();
    carrier.answers(RECIPIENT, refused(false, "first_error"), ...Array.from({ length: 9 }, () => refused(false, "last_error")));
    const message = await rig.accept();
    await rig.deliver({ [LINK]: carrier });
    for (let tries = 1; tries <= 9; tries += 1) {
      const waiting = await until(`the wait after try ${tries}`, async () => {
        const { status, attempts } = await rig.message(message);
        return status === "queued" && attempts === tries ? rig.queueRow(message) : undefined;
      });
      const full = 1_000 * 2 ** (tries - 1);
      // Looked at a moment after it was set.
      assert.ok(waiting.due_in_ms <= full && waiting.due_in_ms >= full / 2 - 1_500, `after try ${tries}: ${waiting.due_in_ms} ms`);
      await rig.makeDue(message);
      carrier.changed();
    }
    const { error, attempts, sequence } = await rig.untilStatus(message, "failed");
    assert.deepEqual(error, { code: "last_error", message: "The carrier said no", permanent: false, provider_code: "E17" });
    assert.equal(attempts, 10);
    assert.equal(sequence, 21);
    await anotherPasses(rig, carrier);
    assert.equal(carrier.sendsTo(RECIPIENT).length, 10);
    const timeline = await rig.timeline(message);
    assert.deepEqual(
      attemptsIn(timeline).map(({ number, outcome }) => [number, outcome]),
      Array.from({ length: 10 }, (_, index) => [
        [index + 1, "written"],
        [index + 1, "refused"],
      ]).flat(),
    );
    assert.deepEqual(
      timeline.map(({ sequence: each }) => each),
      Array.from({ length: 21 }, (_, index) => index + 1),
    );
  });

  test("throttled for its recipient: that message waits alone", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier();
    carrier.answers(RECIPIENT, throttled("recipient", 40_000), accepted());
    const message = await rig.accept();
    const delivery = await rig.deliver({ [LINK]: carrier });
    await until("a first try", () => carrier.sends[0]);
    await rig.untilStatus(message, "queued");
    const waiting = await rig.queueRow(message);
    assert.ok(waiting !== undefined && waiting.due_in_ms > 30_000 && waiting.due_in_ms <= 40_000, String(waiting?.due_in_ms));
    assert.equal(delivery.lanes.get(LINK)?.isPaused, false);
    await anotherPasses(rig, carrier);
    assert.equal(carrier.sendsTo(RECIPIENT).length, 1);
    await rig.makeDue(message);
    carrier.changed();
    assert.equal((await rig.untilStatus(message, "sent")).attempts, 2);
  });

  test("throttled for the link: the whole lane waits, and then the message goes before all that are in the queue", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier({ window: 1 });
    const PAUSE_MS = 1_200;
    carrier.answers(recipientNo(0), throttled("link", PAUSE_MS), accepted());
    const messages: Message[] = [];
    for (let index = 0; index < 6; index += 1) messages.push(await rig.accept({ recipient: recipientNo(index) }));
    const [message] = messages;
    assert.ok(message !== undefined);
    const delivery = await rig.deliver({ [LINK]: carrier });
    await until("the pause", () => delivery.lanes.get(LINK)?.isPaused || undefined);
    await rig.untilStatus(message, "queued");
    assert.ok(((await rig.queueRow(message))?.due_in_ms ?? 1) < 0, "it is due again at once");
    await until("everything to be sent", async () => ((await rig.count("sent")) === 6 ? true : undefined));
    const [first, second] = carrier.sends;
    assert.ok((second?.atMs ?? 0) - (first?.atMs ?? 0) >= PAUSE_MS - 10, "nothing was handed over in the pause");
    // One or two were in hand already; behind them it is the first.
    const order = carrier.sends.map(({ message: { recipient } }) => recipient);
    const place = order.indexOf(recipientNo(0), 1);
    assert.ok(place >= 1 && place <= 2, order.join(" "));
    assert.equal((await rig.message(message)).attempts, 2);
  });

  test("throttled without a time: the lane waits for a second or so", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier();
    carrier.answers(RECIPIENT, throttled("link", null), throttled("link", null), accepted());
    const message = await rig.accept();
    await rig.deliver({ [LINK]: carrier });
    await rig.untilStatus(message, "sent");
    const [first = 0, second = 0, third = 0] = carrier.sends.map(({ atMs }) => atMs);
    assert.ok(second - first >= 490, `the first pause: ${second - first} ms`);
    assert.ok(third - second >= 990, `the second pause, doubled: ${third - second} ms`);
  });
});

describe("a provider that does not keep its word", () => {
  const isHeld = (rig: Rig, message: Message) =>
    until("the message to be held", async () => (await rig.queueRow(message))?.state === 1 || undefined);

  test("one that throws has said unknown", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier();
    carrier.answers(RECIPIENT, new Error("broken pipe"));
    const message = await rig.accept();
    await rig.deliver({ [LINK]: carrier });
    await isHeld(rig, message);
    assert.equal((await rig.message(message)).status, "sending");
    assert.deepEqual(attemptsIn(await rig.timeline(message)).at(-1), {
      number: 1,
      link: LINK,
      outcome: "unknown",
      detail: "Error: broken pipe",
    });
    await anotherPasses(rig, carrier);
    assert.equal(carrier.sendsTo(RECIPIENT).length, 1);
  });

  test("one that is asked to end, and answers then, is believed", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier();
    const heeds = ({ signal }: Send): Promise<SendOutcome> =>
      new Promise((resolve) => signal.addEventListener("abort", () => resolve(accepted("late"))));
    carrier.answers(RECIPIENT, heeds);
    const message = await rig.accept();
    await rig.deliver({ [LINK]: carrier }, { responseTimeoutMs: 50 });
    assert.equal((await rig.untilStatus(message, "sent")).provider?.messageId, "late");
    assert.equal(await rig.queueRow(message), undefined);
  });

  test("one that never settles is given up, its place is free again, and its late answer counts", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier({ window: 1 });
    const { promise, resolve } = Promise.withResolvers<SendOutcome>();
    carrier.answers(RECIPIENT, () => promise);
    const message = await rig.accept();
    await rig.deliver({ [LINK]: carrier }, { responseTimeoutMs: 50 });
    await isHeld(rig, message);
    assert.equal(attemptsIn(await rig.timeline(message)).at(-1)?.["detail"], "no answer in time");
    await anotherPasses(rig, carrier);
    assert.equal(carrier.sendsTo(RECIPIENT).length, 1);
    resolve(accepted("late"));
    const { provider, attempts } = await rig.untilStatus(message, "sent");
    assert.equal(provider?.messageId, "late");
    assert.equal(attempts, 1);
    await carrier.receive([receipt("late", "delivered")]);
    assert.equal((await rig.message(message)).status, "delivered");
  });

  test("one whose late answer cannot be stored is in the log", async () => {
    await using rig = await Rig.open();
    const { log, lines } = keepLines();
    const carrier = new ScriptedCarrier();
    const { promise, resolve } = Promise.withResolvers<SendOutcome>();
    carrier.answers(RECIPIENT, () => promise);
    const message = await rig.accept();
    await rig.deliver({ [LINK]: carrier }, { responseTimeoutMs: 50, log });
    await isHeld(rig, message);
    await rig.rows("alter table events add constraint no_departures check (type <> 'message.sent')");
    resolve(accepted("late"));
    const line = await until("a line in the log", () => lines.find(({ event }) => event === "delivery.late_response_lost"));
    assert.deepEqual([line["link"], line["message_id"], line.error?.code], [LINK, publicId(message), "23514"]);
  });
});

describe("a message of which nobody knows whether it left", () => {
  const held = async (rig: Rig, carrier: ScriptedCarrier, onUnknown: { holdMs: number; policy: "fail" | "resend" }): Promise<Message> => {
    carrier.answers(RECIPIENT, unknown, accepted("again"));
    const message = await rig.accept();
    await rig.deliver({ [LINK]: carrier }, { links: [linkTo(LINK, onUnknown)] });
    await until("the first try", () => carrier.sends[0]);
    return message;
  };

  test("is held for as long as the link says, and not sent again", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier();
    const message = await held(rig, carrier, { holdMs: 60_000, policy: "fail" });
    const row = await until("the hold", async () => {
      const found = await rig.queueRow(message);
      return found?.state === 1 ? found : undefined;
    });
    assert.ok(row.due_in_ms > 50_000 && row.due_in_ms <= 60_000, String(row.due_in_ms));
    assert.equal((await rig.message(message)).status, "sending");
    await anotherPasses(rig, carrier);
    assert.equal(carrier.sendsTo(RECIPIENT).length, 1);
    assert.deepEqual(typesIn(await rig.timeline(message)), ["message.queued", "message.sending", "attempt.unknown"]);
  });

  test("fails with outcome_unknown after that, and was sent once", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier();
    const message = await held(rig, carrier, { holdMs: 300, policy: "fail" });
    const { error, attempts, sequence } = await rig.untilStatus(message, "failed");
    assert.equal(error?.code, "outcome_unknown");
    assert.equal(error.permanent, false);
    assert.equal(attempts, 1);
    assert.equal(sequence, 3, "the unknown answer is no transition");
    await anotherPasses(rig, carrier);
    assert.equal(carrier.sendsTo(RECIPIENT).length, 1);
    assert.equal(await rig.queueRow(message), undefined);
    assert.equal((await rig.timeline(message)).at(-1)?.detail?.reason, "on_unknown: fail");
  });

  test("is sent again where the link says resend, for everyone to see", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier();
    const message = await held(rig, carrier, { holdMs: 300, policy: "resend" });
    const { attempts, error } = await rig.untilStatus(message, "sent");
    assert.equal(attempts, 2);
    assert.equal(error, null);
    const [first, second] = carrier.sends;
    assert.ok((second?.atMs ?? 0) - (first?.atMs ?? 0) >= 300, "not before the hold was over");
    const timeline = await rig.timeline(message);
    assert.deepEqual(
      timeline.map(({ type, detail }) => [type, detail?.attempt?.["outcome"] ?? detail?.reason]),
      [
        ["message.queued", undefined],
        ["message.sending", "written"],
        ["attempt.unknown", "unknown"],
        ["message.queued", "on_unknown: resend"],
        ["message.sending", "written"],
        ["message.sent", "accepted"],
      ],
    );
  });
});
