import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { messageOf } from "../../test/support/message.ts";
import { encodeId, toId } from "../model/id.ts";
import { ERASED } from "../model/phone-number.ts";
import { USUAL_RULES } from "../model/segments.ts";
import { firstUuidAt, uuidTimeMs } from "../lib/uuid.ts";
import type { Link } from "../links/link.ts";
import { changeBy, type Change } from "../messages/change.ts";
import type { Message } from "../messages/message.ts";
import { OUTCOME_UNKNOWN } from "../messages/states.ts";
import type { SendOutcome } from "../providers/provider.ts";
import type { ProviderName } from "../providers/providers.ts";
import { sendingSignal } from "./begin-sending.ts";
import { afterHold, holdChange, ttlExpiredSignal, settleChange } from "./settle.ts";

const NOW_MS = Date.UTC(2030, 0, 1);
const LINK: Link = {
  name: "first",
  provider: "carrier" as ProviderName,
  settings: { speed: 1 },
  channels: ["sms", "whatsapp"],
  sender: null,
  country: null,
  source: "file",
  accountId: null,
  inboundAccount: null,
  segmentRules: USUAL_RULES,
  unwilling: { optedOut: new Set(), windowClosed: new Set() },
  onUnknown: { holdMs: 90_000.4, policy: "fail" },
};
const CONTEXT = { link: LINK, receiptWaitMs: 3_600_000, nowMs: NOW_MS };

const message = (fields: Partial<Message> = {}): Message =>
  messageOf({
    id: toId("msg", firstUuidAt(NOW_MS - 60_000)),
    status: "sending",
    sequence: 2,
    segments: { count: 1, encoding: "gsm7", characters: 19 },
    expiresAtMs: NOW_MS + 60_000,
    provider: { name: "carrier", link: "first", messageId: null },
    attempts: 1,
    updatedAtMs: NOW_MS - 1_000,
    ...fields,
  });

const ACCEPTED: SendOutcome = { kind: "accepted", providerMessageId: "7" };
const refused = (isPermanent: boolean): SendOutcome => ({
  kind: "refused",
  code: "invalid_destination",
  message: "No such number",
  providerCode: "E17",
  isPermanent,
});
const throttled = (scope: "link" | "recipient", retryAfterMs: number | null): SendOutcome => ({
  kind: "throttled",
  scope,
  retryAfterMs,
  providerCode: "429",
});
const UNKNOWN: SendOutcome = { kind: "unknown", detail: "broken pipe" };

const settle = (outcome: SendOutcome, fields: Partial<Message> = {}): Change => settleChange(message(fields), outcome, CONTEXT);
const attemptOf = ({ entry }: Change): Record<string, unknown> =>
  (JSON.parse(entry.detail ?? "") as { attempt: Record<string, unknown> }).attempt;
const waitOf = ({ move }: Change) => {
  assert.ok(move.kind === "wait", move.kind);
  return move;
};

describe("before the submission", () => {
  test("the message becomes sending with its attempt number, and its queue entry stays", () => {
    const written = changeBy(
      message({ status: "queued", attempts: 2, provider: null }),
      sendingSignal(message({ attempts: 2 }), LINK),
      NOW_MS,
    );
    assert.ok(written !== undefined);
    assert.equal(written.after.status, "sending");
    assert.equal(written.after.attempts, 3);
    assert.deepEqual(written.after.provider, { name: "carrier", link: "first", messageId: null });
    assert.deepEqual(attemptOf(written), { number: 3, link: "first", outcome: "written" });
    assert.deepEqual(written.move, { kind: "stay" });
    assert.equal(written.reference, null);
  });

  test("a new attempt does not keep the carrier id of an earlier one", () => {
    const earlier = { name: "carrier", link: "second", messageId: "6" };
    const written = changeBy(message({ status: "queued", provider: earlier }), sendingSignal(message(), LINK), NOW_MS);
    assert.equal(written?.after.provider?.messageId, null);
  });

  test("a message whose time to live has passed expires and leaves the queue", () => {
    const lapsed = changeBy(message({ status: "queued" }), ttlExpiredSignal, NOW_MS);
    assert.equal(lapsed?.after.status, "expired");
    assert.equal(lapsed?.after.error?.code, "ttl_expired");
    assert.deepEqual(lapsed?.move, { kind: "leave" });
  });
});

describe("an accepted message", () => {
  test("is sent, leaves the queue, and keeps its carrier id until the wait for receipts ends", () => {
    const change = settle(ACCEPTED);
    assert.equal(change.after.status, "sent");
    assert.equal(change.after.sentAtMs, NOW_MS);
    assert.deepEqual(change.after.provider, { name: "carrier", link: "first", messageId: "7" });
    assert.deepEqual(change.move, { kind: "leave" });
    assert.deepEqual(change.reference, { link: "first", providerMessageId: "7", expiresAtMs: NOW_MS + 3_600_000 });
    assert.deepEqual(attemptOf(change), { number: 1, link: "first", outcome: "accepted", provider_message_id: "7" });
    assert.equal(change.after.error, null);
  });

  test("has no carrier id if the carrier gives none, and is found by our own id", () => {
    const change = settle({ kind: "accepted", providerMessageId: "msg_1", isOurs: true });
    assert.deepEqual(change.after.provider, { name: "carrier", link: "first", messageId: null });
    assert.equal(change.reference?.providerMessageId, "msg_1");
    assert.deepEqual(attemptOf(change), { number: 1, link: "first", outcome: "accepted" });
  });

  test("becomes sent from queued, when the response belongs to an earlier attempt", () => {
    const change = settle(ACCEPTED, { status: "queued", attempts: 1 });
    assert.equal(change.after.status, "sent");
    assert.deepEqual(change.move, { kind: "leave" });
  });
});

describe("a refused message", () => {
  test("fails at once after a permanent refusal", () => {
    const change = settle(refused(true));
    assert.equal(change.after.status, "failed");
    assert.equal(change.after.failedAtMs, NOW_MS);
    assert.deepEqual(change.after.error, {
      code: "invalid_destination",
      message: "No such number",
      permanent: true,
      provider_code: "E17",
    });
    assert.deepEqual(change.move, { kind: "leave" });
    assert.equal(attemptOf(change)["outcome"], "refused");
    assert.equal("retry_at" in attemptOf(change), false);
    assert.equal(change.reference, null);
  });

  const WAITS: readonly (readonly [attempts: number, least: number, most: number])[] = [
    [1, 500, 1_000],
    [2, 1_000, 2_000],
    [5, 8_000, 16_000],
    [9, 128_000, 256_000],
  ];
  for (const [attempts, least, most] of WAITS) {
    test(`waits ${least} to ${most} ms after transient fault number ${attempts}`, () => {
      const change = settle(refused(false), { attempts, refusals: attempts - 1 });
      assert.equal(change.after.status, "queued");
      const { afterMs = 0, state } = waitOf(change);
      assert.equal(state, "waiting");
      assert.ok(afterMs >= least && afterMs <= most, String(afterMs));
      assert.equal(attemptOf(change)["retry_at"], new Date(NOW_MS + afterMs).toISOString());
      assert.equal(attemptOf(change)["number"], attempts);
      assert.equal(change.after.error, null, "nothing has failed yet");
      assert.equal(change.after.failedAtMs, null);
    });
  }

  test("is retried after any number of throttled attempts, since only refusals count", () => {
    const change = settle(refused(false), { attempts: 40, refusals: 3 });
    assert.equal(change.after.status, "queued");
    assert.equal(change.after.refusals, 4);
  });

  test("fails with the last error after the last retry", () => {
    for (const attempts of [10, 11]) {
      const change = settle(refused(false), { attempts, refusals: attempts - 1 });
      assert.equal(change.after.status, "failed");
      assert.equal(change.after.error?.code, "invalid_destination");
      assert.equal(change.after.error?.permanent, false);
      assert.deepEqual(change.move, { kind: "leave" });
    }
  });
});

describe("a throttled message", () => {
  test("goes to the front of its lane when the link is throttled", () => {
    const change = settle(throttled("link", 4_000));
    assert.equal(change.after.status, "queued");
    const { atMs, afterMs, state } = waitOf(change);
    assert.equal(atMs, uuidTimeMs(change.before.id));
    assert.equal(afterMs, undefined);
    assert.equal(state, "waiting");
    assert.equal(attemptOf(change)["provider_code"], "429");
    assert.equal(attemptOf(change)["retry_at"], new Date(NOW_MS + 4_000).toISOString());
  });

  test("is the only one that waits when its recipient is throttled", () => {
    assert.equal(waitOf(settle(throttled("recipient", 1_234.6))).afterMs, 1_235);
    const { afterMs = 0 } = waitOf(settle(throttled("recipient", null), { attempts: 3 }));
    assert.ok(afterMs >= 2_000 && afterMs <= 4_000, String(afterMs));
  });

  test("waits for an hour at most, and for the default time after an invalid request of the carrier", () => {
    for (const [asked, waits] of [
      [40 * 24 * 3_600_000, 3_600_000],
      [3_600_000, 3_600_000],
      [1, 1],
    ] as const) {
      assert.equal(waitOf(settle(throttled("recipient", asked))).afterMs, waits);
      assert.equal(attemptOf(settle(throttled("link", asked)))["retry_at"], new Date(NOW_MS + waits).toISOString());
    }
    for (const asked of [0, -5, NaN, Infinity]) {
      const { afterMs = 0 } = waitOf(settle(throttled("recipient", asked)));
      assert.ok(afterMs >= 500 && afterMs <= 1_000, String(afterMs));
    }
  });

  test("does not fail, however often it is throttled", () => {
    for (const scope of ["link", "recipient"] as const) {
      const change = settle(throttled(scope, 1_000), { attempts: 50 });
      assert.equal(change.after.status, "queued");
      assert.equal(change.after.error, null);
    }
  });
});

describe("a message of unknown outcome", () => {
  test("is held in its lane, referenced by our own id, and is not sent again", () => {
    const change = settle(UNKNOWN);
    assert.equal(change.after.status, "sending");
    assert.equal(change.after.sequence, change.before.sequence);
    assert.deepEqual(change.move, { kind: "wait", state: "held", afterMs: 90_000, atMs: NOW_MS + 90_000 });
    assert.deepEqual(change.reference, {
      link: "first",
      providerMessageId: encodeId("msg", change.before.id),
      expiresAtMs: NOW_MS + 3_600_000,
    });
    assert.equal(change.entry.type, "attempt.unknown");
    assert.equal(change.entry.isIgnored, false);
    assert.equal(change.entry.record, null, "it is no event");
    assert.deepEqual(attemptOf(change), { number: 1, link: "first", outcome: "unknown", detail: "broken pipe" });
    assert.equal(holdChange(message(), { detail: "x" }, CONTEXT).entry.type, "attempt.unknown");
  });

  test("fails after the hold where the policy of the link is fail", () => {
    const change = changeBy(message(), afterHold(LINK), NOW_MS);
    assert.equal(change?.after.status, "failed");
    assert.equal(change?.after.error?.code, OUTCOME_UNKNOWN);
    assert.deepEqual(change?.move, { kind: "leave" });
    assert.deepEqual(JSON.parse(change?.entry.detail ?? ""), { reason: "on_unknown: fail" });
  });

  test("is queued again where the policy of the link is resend, with that reason", () => {
    const change = changeBy(message(), afterHold({ ...LINK, onUnknown: { holdMs: 1, policy: "resend" } }), NOW_MS);
    assert.equal(change?.after.status, "queued");
    assert.deepEqual(change?.move, { kind: "wait", state: "waiting", afterMs: 0, atMs: NOW_MS });
    assert.deepEqual(JSON.parse(change?.entry.detail ?? ""), { reason: "on_unknown: resend" });
    assert.equal(change?.after.error, null);
  });

  test("keeps the status that a receipt has set", () => {
    const change = settle(UNKNOWN, { status: "delivered", sequence: 3 });
    assert.equal(change.after.status, "delivered");
    assert.equal(change.after.sequence, 3);
    assert.equal(change.entry.record, null);
  });
});

describe("a response that arrives after the receipt", () => {
  const named = { name: "carrier", link: "first", messageId: "7" };

  test("changes no status, and stores the carrier id", () => {
    const change = settle(ACCEPTED, { status: "delivered", sequence: 3, sentAtMs: 1, deliveredAtMs: 1 });
    assert.equal(change.after.status, "delivered");
    assert.equal(change.after.sequence, 3);
    assert.equal(change.entry.isIgnored, true);
    assert.equal(change.entry.type, "message.sent");
    assert.deepEqual(change.after.provider, named);
    assert.equal(change.reference?.providerMessageId, "7");
    assert.deepEqual(change.move, { kind: "stay" });
  });

  test("does not replace the carrier id of the message", () => {
    const change = settle({ kind: "accepted", providerMessageId: "8" }, { status: "delivered", provider: named });
    assert.deepEqual(change.after.provider, named);
    assert.equal(change.reference?.providerMessageId, "8", "the other is known as well");
  });

  for (const status of ["delivered", "read", "undelivered", "failed", "expired", "canceled"] as const) {
    test(`that is a refusal changes nothing where the message is ${status}`, () => {
      for (const outcome of [refused(true), refused(false), throttled("link", 1), throttled("recipient", 1)]) {
        const change = settle(outcome, { status, provider: named });
        assert.equal(change.after.status, status);
        assert.equal(change.entry.isIgnored, true);
        assert.deepEqual(change.move, { kind: "stay" });
        assert.equal(change.reference, null);
      }
    });
  }
});

test("the response to a message that was erased meanwhile leaves no carrier id and no words of the carrier", () => {
  const fields = { recipient: ERASED, isRedacted: true, status: "delivered" } as const;
  for (const outcome of [ACCEPTED, refused(true)]) {
    const { after, entry } = settle(outcome, fields);
    assert.deepEqual([after.provider?.messageId, after.recipient], [null, ERASED]);
    assert.doesNotMatch(String(entry.detail), /"7"|No such number/);
  }
});
