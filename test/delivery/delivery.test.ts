/** One message on one link: the state before it is submitted, the effect of each response, and the number of attempts. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { advance } from "../../src/messages/advance.ts";
import { changeBy } from "../../src/messages/change.ts";
import type { Message } from "../../src/messages/message.ts";
import type { SendOutcome } from "../../src/providers/provider.ts";
import { linkTo, LINK, publicId, Rig, type Entry } from "../support/delivery-rig.ts";
import { RECIPIENT, recipientNo, recipientOf } from "../support/recipient.ts";
import { until } from "../support/expect.ts";
import { keepLines } from "../support/harness.ts";
import { accepted, receipt, refused, ScriptedCarrier, throttled, unknown, type Send } from "../support/scripted-carrier.ts";

/** The attempts in a timeline. */
const attemptsIn = (entries: readonly Entry[]) => entries.flatMap(({ detail }) => (detail?.attempt === undefined ? [] : [detail.attempt]));
const typesIn = (entries: readonly Entry[]): string[] => entries.map(({ type }) => type);

/** Sends another message through the lane. Every earlier message that had to be sent has been sent by then. */
async function anotherPasses(rig: Rig, carrier: ScriptedCarrier): Promise<void> {
  const other = await rig.accept({ recipient: recipientOf("+14155559999") });
  carrier.changed();
  await rig.untilStatus(other, "sent");
}

/** Lets the lane make one attempt at a time: the carrier is not ready from an attempt until the test says so. Otherwise a message would stay
 *  queued for half a second after its first attempt, and a slow machine would not see it. */
function oneAttemptAtATime(carrier: ScriptedCarrier): void {
  const { onSend } = carrier;
  carrier.onSend = (send) => {
    carrier.isReady = false;
    return onSend(send);
  };
}

/** Makes the message due, and the carrier ready for the next attempt. */
async function attemptAgain(rig: Rig, carrier: ScriptedCarrier, message: Message): Promise<void> {
  await rig.makeDue(message);
  carrier.isReady = true;
  carrier.changed();
}

/** The time of the database, by which messages are due. */
async function databaseMs(rig: Rig): Promise<number> {
  const [row] = await rig.rows<{ ms: number }>("select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms");
  return row?.ms ?? assert.fail("no row");
}

describe("before a message is submitted", () => {
  test("each attempt is committed", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier();
    const message = await rig.accept();
    const seen: object[] = [];
    carrier.responds(RECIPIENT, refused(false), refused(false), accepted("7"));
    // Another connection than the writer's sees only committed rows.
    carrier.onSend = async () => {
      const { status, attempts, provider, sequence } = await rig.message(message);
      const last = (await rig.timeline(message)).at(-1);
      seen.push({ status, attempts, sequence, name: provider?.messageId, type: last?.type, attempt: last?.detail?.attempt });
    };
    oneAttemptAtATime(carrier);
    await rig.deliver({ [LINK]: carrier });
    for (let sends = 1; sends <= 3; sends += 1) {
      await until(`attempt ${sends}`, () => carrier.sends.length >= sends || undefined);
      await rig.untilStatus(message, sends === 3 ? "sent" : "queued");
      await attemptAgain(rig, carrier, message);
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

  test("a cancellation stops it, also when this process has claimed it", async () => {
    await using rig = await Rig.open();
    // Room for one message at the carrier, and for one that is claimed and waits.
    const carrier = new ScriptedCarrier({ window: 1 });
    const { promise, resolve } = Promise.withResolvers<SendOutcome>();
    carrier.responds(recipientNo(1), () => promise);
    const [first, second] = await rig.acceptMany(2, (index) => ({ recipient: recipientNo(index + 1) }));
    assert.ok(first !== undefined && second !== undefined);
    const delivery = await rig.deliver({ [LINK]: carrier });
    await until(
      "one message at the carrier, and one claimed",
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

  test("it expires when its time to live has passed in the queue, and is not sent", async () => {
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

  test("it expires when its time to live passes between two attempts, and is not attempted again", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier();
    carrier.responds(RECIPIENT, refused(false));
    oneAttemptAtATime(carrier);
    const message = await rig.accept();
    await rig.deliver({ [LINK]: carrier });
    await until("a first attempt", () => carrier.sends[0]);
    await rig.untilStatus(message, "queued");
    await rig.rows("update messages set expires_at = now() - interval '1 second' where id = $1", [message.id]);
    await attemptAgain(rig, carrier, message);
    assert.equal((await rig.untilStatus(message, "expired")).attempts, 1);
    await anotherPasses(rig, carrier);
    assert.equal(carrier.sendsTo(RECIPIENT).length, 1);
  });
});

describe("the carrier's response", () => {
  test("accepted: the message is sent and stored with its carrier id", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier();
    carrier.responds(RECIPIENT, accepted("7"));
    const message = await rig.accept({ channel: "whatsapp", body: "Hello" });
    await rig.deliver({ [LINK]: carrier });
    const { provider, attempts, sentAtMs, sequence } = await rig.untilStatus(message, "sent");
    assert.deepEqual(provider, { name: LINK, link: LINK, messageId: "7" });
    assert.equal(attempts, 1);
    assert.ok(sentAtMs !== null);
    assert.equal(sequence, 3);
    assert.equal(await rig.queueRow(message), undefined);
    const { expiresAtMs, ...submitted } = carrier.sends[0]?.message ?? { expiresAtMs: 0 };
    const expected = {
      id: publicId(message),
      attempt: 1,
      channel: "whatsapp",
      recipient: RECIPIENT,
      sender: "+15005550000",
      body: "Hello",
      template: null,
      priority: "normal",
      carrierOptions: null,
      acceptedParts: undefined,
    };
    assert.deepEqual(submitted, expected);
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

  test("refused permanently: the message fails and is not attempted again", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier();
    carrier.responds(RECIPIENT, refused(true), accepted());
    const message = await rig.accept();
    await rig.deliver({ [LINK]: carrier });
    const { error, failedAtMs } = await rig.untilStatus(message, "failed");
    assert.deepEqual(error, { code: "invalid_destination", message: "The carrier said no", permanent: true, provider_code: "E17" });
    assert.ok(failedAtMs !== null);
    await anotherPasses(rig, carrier);
    assert.equal(carrier.sendsTo(RECIPIENT).length, 1);
    assert.equal(await rig.queueRow(message), undefined);
  });

  test("refused temporarily: the message waits and is attempted again when it is due", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier();
    carrier.responds(RECIPIENT, refused(false), accepted());
    oneAttemptAtATime(carrier);
    const message = await rig.accept();
    await rig.deliver({ [LINK]: carrier });
    await until("a first attempt", () => carrier.sends[0]);
    await rig.untilStatus(message, "queued");
    const waiting = await rig.queueRow(message);
    assert.equal(waiting?.state, 0);
    assert.ok(waiting.due_in_ms <= 1_000, String(waiting.due_in_ms));
    carrier.isReady = true;
    const sent = await rig.untilStatus(message, "sent");
    assert.equal(sent.attempts, 2);
    assert.equal(sent.error, null);
    const [first, second] = carrier.sends;
    const pauseMs = (second?.atMs ?? 0) - (first?.atMs ?? 0);
    assert.ok(pauseMs >= 490, `attempted again after ${pauseMs} ms`);
  });

  test("refused temporarily every time: each wait is longer, and the last error stays when no attempt is left", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier();
    carrier.responds(RECIPIENT, refused(false, "first_error"), ...Array.from({ length: 9 }, () => refused(false, "last_error")));
    let sentAtMs = 0;
    carrier.onSend = async () => {
      sentAtMs = await databaseMs(rig);
    };
    oneAttemptAtATime(carrier);
    const message = await rig.accept();
    await rig.deliver({ [LINK]: carrier });
    for (let attempt = 1; attempt <= 9; attempt += 1) {
      const waiting = await until(`the wait after attempt ${attempt}`, async () => {
        const { status, attempts } = await rig.message(message);
        return status === "queued" && attempts === attempt ? rig.queueRow(message) : undefined;
      });
      const full = 1_000 * 2 ** (attempt - 1);
      // The refusal was stored after the attempt and before the row was read.
      const [leastMs, mostMs] = [waiting.due_in_ms, waiting.due_at_ms - sentAtMs];
      assert.ok(leastMs <= full && mostMs >= full / 2, `after attempt ${attempt}: between ${leastMs} and ${mostMs} ms`);
      await attemptAgain(rig, carrier, message);
    }
    const { error, attempts, sequence } = await rig.untilStatus(message, "failed");
    assert.deepEqual(error, { code: "last_error", message: "The carrier said no", permanent: false, provider_code: "E17" });
    assert.equal(attempts, 10);
    assert.equal(sequence, 21);
    carrier.isReady = true;
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

  test("throttled for its recipient: only that message waits", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier();
    carrier.responds(RECIPIENT, throttled("recipient", 600_000), accepted());
    const message = await rig.accept();
    const delivery = await rig.deliver({ [LINK]: carrier });
    await until("a first attempt", () => carrier.sends[0]);
    await rig.untilStatus(message, "queued");
    const waiting = await rig.queueRow(message);
    assert.ok(waiting !== undefined && waiting.due_in_ms > 300_000 && waiting.due_in_ms <= 600_000, String(waiting?.due_in_ms));
    assert.equal(delivery.lanes.get(LINK)?.isPaused, false);
    await anotherPasses(rig, carrier);
    assert.equal(carrier.sendsTo(RECIPIENT).length, 1);
    await rig.makeDue(message);
    carrier.changed();
    assert.equal((await rig.untilStatus(message, "sent")).attempts, 2);
  });

  test("throttled for the link: the whole lane waits, and then the message is sent before the rest of the queue", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier({ window: 1 });
    const PAUSE_MS = 1_200;
    const throttle = (): SendOutcome => {
      // The test sets it again when it has seen the message in the queue.
      carrier.isReady = false;
      return throttled("link", PAUSE_MS);
    };
    carrier.responds(recipientNo(0), throttle, accepted());
    const messages: Message[] = [];
    for (let index = 0; index < 6; index += 1) messages.push(await rig.accept({ recipient: recipientNo(index) }));
    const [message] = messages;
    assert.ok(message !== undefined);
    await rig.deliver({ [LINK]: carrier });
    await until("a first attempt", () => carrier.sends[0]);
    await rig.untilStatus(message, "queued");
    assert.ok(((await rig.queueRow(message))?.due_in_ms ?? 1) < 0, "it is due again immediately");
    carrier.isReady = true;
    await until("everything to be sent", async () => ((await rig.count("sent")) === 6 ? true : undefined));
    const [first, second] = carrier.sends;
    assert.ok((second?.atMs ?? 0) - (first?.atMs ?? 0) >= PAUSE_MS - 10, "nothing is submitted during the pause");
    // One or two messages were claimed already. The throttled message follows them.
    const order = carrier.sends.map(({ message: { recipient } }) => recipient);
    const position = order.indexOf(recipientNo(0), 1);
    assert.ok(position >= 1 && position <= 2, order.join(" "));
    assert.equal((await rig.message(message)).attempts, 2);
  });

  test("throttled without a delay: the lane waits about one second, then twice as long", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier();
    carrier.responds(RECIPIENT, throttled("link", null), throttled("link", null), accepted());
    const message = await rig.accept();
    await rig.deliver({ [LINK]: carrier });
    await rig.untilStatus(message, "sent");
    const [first = 0, second = 0, third = 0] = carrier.sends.map(({ atMs }) => atMs);
    assert.ok(second - first >= 490, `the first pause: ${second - first} ms`);
    assert.ok(third - second >= 990, `the second pause, doubled: ${third - second} ms`);
  });
});

describe("a provider that breaks its contract", () => {
  const isHeld = (rig: Rig, message: Message) =>
    until("the message to be held", async () => (await rig.queueRow(message))?.state === 1 || undefined);

  test("by throwing has an unknown outcome", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier();
    carrier.responds(RECIPIENT, new Error("broken pipe"));
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

  test("by responding only after the abort has its response stored", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier();
    const respondsOnAbort = ({ signal }: Send): Promise<SendOutcome> =>
      new Promise((resolve) => signal.addEventListener("abort", () => resolve(accepted("late"))));
    carrier.responds(RECIPIENT, respondsOnAbort);
    const message = await rig.accept();
    await rig.deliver({ [LINK]: carrier }, { responseTimeoutMs: 50 });
    assert.equal((await rig.untilStatus(message, "sent")).provider?.messageId, "late");
    assert.equal(await rig.queueRow(message), undefined);
  });

  test("by not settling in time frees its place in the window, and its late response is stored", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier({ window: 1 });
    const { promise, resolve } = Promise.withResolvers<SendOutcome>();
    carrier.responds(RECIPIENT, () => promise);
    const message = await rig.accept();
    await rig.deliver({ [LINK]: carrier }, { responseTimeoutMs: 50 });
    await isHeld(rig, message);
    assert.equal(attemptsIn(await rig.timeline(message)).at(-1)?.["detail"], "no response in time");
    await anotherPasses(rig, carrier);
    assert.equal(carrier.sendsTo(RECIPIENT).length, 1);
    resolve(accepted("late"));
    const { provider, attempts } = await rig.untilStatus(message, "sent");
    assert.equal(provider?.messageId, "late");
    assert.equal(attempts, 1);
    await carrier.receive([receipt("late", "delivered")]);
    assert.equal((await rig.message(message)).status, "delivered");
  });

  test("by responding late is logged when the response cannot be stored", async () => {
    await using rig = await Rig.open();
    const { log, lines } = keepLines();
    const carrier = new ScriptedCarrier();
    const { promise, resolve } = Promise.withResolvers<SendOutcome>();
    carrier.responds(RECIPIENT, () => promise);
    const message = await rig.accept();
    await rig.deliver({ [LINK]: carrier }, { responseTimeoutMs: 50, log });
    await isHeld(rig, message);
    await rig.rows("alter table events add constraint no_departures check (type <> 'message.sent')");
    resolve(accepted("late"));
    const line = await until("a line in the log", () => lines.find(({ event }) => event === "delivery.late_response_lost"));
    assert.deepEqual([line["link"], line["message_id"], line.error?.code], [LINK, publicId(message), "23514"]);
  });
});

describe("a message of unknown outcome", () => {
  const held = async (rig: Rig, carrier: ScriptedCarrier, onUnknown: { holdMs: number; policy: "fail" | "resend" }): Promise<Message> => {
    carrier.responds(RECIPIENT, unknown, accepted("again"));
    const message = await rig.accept();
    await rig.deliver({ [LINK]: carrier }, { links: [linkTo(LINK, onUnknown)] });
    await until("the first attempt", () => carrier.sends[0]);
    return message;
  };

  test("is held for the link's hold time and not sent again", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier();
    const message = await held(rig, carrier, { holdMs: 600_000, policy: "fail" });
    const row = await until("the hold", async () => {
      const found = await rig.queueRow(message);
      return found?.state === 1 ? found : undefined;
    });
    assert.ok(row.due_in_ms > 300_000 && row.due_in_ms <= 600_000, String(row.due_in_ms));
    assert.equal((await rig.message(message)).status, "sending");
    await anotherPasses(rig, carrier);
    assert.equal(carrier.sendsTo(RECIPIENT).length, 1);
    assert.deepEqual(typesIn(await rig.timeline(message)), ["message.queued", "message.sending", "attempt.unknown"]);
  });

  test("fails with outcome_unknown after the hold, and was sent once", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier();
    const message = await held(rig, carrier, { holdMs: 300, policy: "fail" });
    const { error, attempts, sequence } = await rig.untilStatus(message, "failed");
    assert.equal(error?.code, "outcome_unknown");
    assert.equal(error.permanent, false);
    assert.equal(attempts, 1);
    assert.equal(sequence, 3, "the unknown outcome is no transition");
    await anotherPasses(rig, carrier);
    assert.equal(carrier.sendsTo(RECIPIENT).length, 1);
    assert.equal(await rig.queueRow(message), undefined);
    assert.equal((await rig.timeline(message)).at(-1)?.detail?.reason, "on_unknown: fail");
  });

  test("is sent again where the policy is resend, and the timeline shows it", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier();
    const message = await held(rig, carrier, { holdMs: 300, policy: "resend" });
    const { attempts, error } = await rig.untilStatus(message, "sent");
    assert.equal(attempts, 2);
    assert.equal(error, null);
    const [first, second] = carrier.sends;
    assert.ok((second?.atMs ?? 0) - (first?.atMs ?? 0) >= 300, "not before the hold ended");
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
