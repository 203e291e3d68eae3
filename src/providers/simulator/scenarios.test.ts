import assert from "node:assert/strict";
import { test } from "node:test";
import { recipientOf } from "../../../test/support/recipient.ts";
import type { OutgoingMedia } from "../carrier-file.ts";
import type { Outgoing } from "../provider.ts";
import { OPTED_OUT, scenarioFor, WINDOW_CLOSED, type ScriptedResponse } from "./scenarios.ts";

const ACCEPTED: ScriptedResponse = { kind: "accepted" };

type Sent = Pick<Outgoing, "channel" | "attempt"> & { recipient: string };
const scenarioOf = ({ recipient, ...sent }: Sent) => scenarioFor({ ...sent, recipient: recipientOf(recipient) });

type Row = readonly [recipient: string, what: string, response: string, sms: readonly string[], whatsapp: readonly string[]];

const DEFAULT = [["delivered"], ["delivered", "read"]] as const;

const ROWS: readonly Row[] = [
  ["+14155550123", "delivered, as any number without a script", "accepted", ...DEFAULT],
  ["+15005550006", "delivered", "accepted", ...DEFAULT],
  ["+15005550002", "invalid", "refused invalid_destination", [], []],
  ["+15005550003", "not permitted", "refused destination_not_permitted", [], []],
  ["+15005550005", "blocked", "accepted", ["undelivered blocked_by_carrier"], ["undelivered blocked_by_carrier"]],
  ["+15005550007", "no receipt ever", "accepted", [], []],
  ["+15005550008", "delivered, before a reply", "accepted", ...DEFAULT],
  ["+15005550009", "a landline", "accepted", ["undelivered landline_unreachable"], ["undelivered landline_unreachable"]],
  ["+15005550010", "delivered, before an opt-out", "accepted", ...DEFAULT],
  ["+15005550011", "out of order and doubled", "accepted", ["delivered", "sent", "delivered"], ["read", "delivered", "read", "sent"]],
  ["+15005550012", "throttled at first", "throttled", [], []],
  ["+15005550013", "unknown, then delivered", "unknown", ["delivered"], ["delivered"]],
  ["+15005550016", "delivered, as any without a file", "accepted", ...DEFAULT],
  ["+15005550017", "delivered, as any without a file", "accepted", ...DEFAULT],
  ["+15005550018", "delivered, as any without a file", "accepted", ...DEFAULT],
  ["+15005550019", "delivered, before a picture", "accepted", ...DEFAULT],
];

for (const [recipient, what, response, sms, whatsapp] of ROWS) {
  for (const [channel, receipts] of [
    ["sms", sms],
    ["whatsapp", whatsapp],
  ] as const) {
    test(`${channel} to ${recipient}: ${what}`, () => {
      const scenario = scenarioOf({ recipient, channel, attempt: 1 });
      const actual = scenario.response.kind === "refused" ? `refused ${scenario.response.code}` : scenario.response.kind;
      assert.equal(actual, response);
      assert.deepEqual(
        scenario.receipts.map(({ status, error }) => (error === null ? status : `${status} ${error.code}`)),
        receipts,
      );
    });

    test(`${channel} to ${recipient}: receipts follow the response in the order of the script, each at its own time`, () => {
      const times = scenarioOf({ recipient, channel, attempt: 1 }).receipts.map(({ afterMs }) => afterMs);
      assert.deepEqual(
        times,
        times.toSorted((a, b) => a - b),
      );
      assert.equal(new Set(times).size, times.length);
      for (const time of times) assert.ok(time >= 1_000 && time <= 2_000);
    });
  }
}

test("the third attempt at a number that throttles is delivered, and so is every later one", () => {
  const kinds = [1, 2, 3, 4].map((attempt) => scenarioOf({ recipient: "+15005550012", channel: "sms", attempt }).response.kind);
  assert.deepEqual(kinds, ["throttled", "throttled", "accepted", "accepted"]);
  assert.deepEqual(
    scenarioOf({ recipient: "+15005550012", channel: "whatsapp", attempt: 3 }),
    scenarioOf({ recipient: "+15005550006", channel: "whatsapp", attempt: 1 }),
  );
});

test("the attempt does not matter for other numbers", () => {
  for (const attempt of [1, 2, 3, 10]) {
    assert.deepEqual(scenarioOf({ recipient: "+14155550123", channel: "sms", attempt }).response, ACCEPTED);
    assert.equal(scenarioOf({ recipient: "+15005550002", channel: "sms", attempt }).response.kind, "refused");
  }
});

test("an error has our code, a sentence and the carrier's code, and is permanent", () => {
  for (const [recipient, providerCode] of [
    ["+15005550002", "sim-002"],
    ["+15005550003", "sim-003"],
    ["+15005550005", "sim-005"],
    ["+15005550009", "sim-009"],
  ] as const) {
    const { response, receipts } = scenarioOf({ recipient, channel: "sms", attempt: 1 });
    const error = response.kind === "refused" ? response : receipts[0]?.error;
    assert.ok(error);
    assert.equal(error.providerCode, providerCode);
    assert.equal(error.isPermanent, true);
    assert.match(error.message, /^[A-Z].* .*[a-z]$/);
  }
});

test("only the replying numbers reply, once, after their last receipt", () => {
  const replyTexts = new Map([
    ["+15005550008", "Thank you, got it."],
    ["+15005550010", "STOP"],
    ["+15005550019", "[image]"],
  ]);
  for (const [recipient] of ROWS)
    for (const channel of ["sms", "whatsapp"] as const) {
      const { replies = [], receipts } = scenarioOf({ recipient, channel, attempt: 1 });
      const text = replyTexts.get(recipient);
      assert.deepEqual(
        replies.map((reply) => reply.text),
        text === undefined ? [] : [text],
      );
      for (const { afterMs } of replies) assert.ok(afterMs > (receipts.at(-1)?.afterMs ?? 0) && afterMs <= 3_000);
    }
});

test("the number without WhatsApp is refused permanently on whatsapp and gets sms", () => {
  const recipient = "+15005550015";
  const { response, receipts } = scenarioOf({ recipient, channel: "whatsapp", attempt: 1 });
  assert.deepEqual(response, {
    kind: "refused",
    code: "recipient_not_on_whatsapp",
    message: "The number has no account on WhatsApp",
    providerCode: "sim-015",
    isPermanent: true,
  });
  assert.deepEqual(receipts, []);
  const expected = scenarioOf({ recipient: "+15005550006", channel: "sms", attempt: 1 });
  assert.deepEqual(scenarioOf({ recipient, channel: "sms", attempt: 1 }), expected);
});

test("the scenario accepts the numbers that are refused before a message reaches the carrier", () => {
  assert.deepEqual([...OPTED_OUT, ...WINDOW_CLOSED], ["+15005550004", "+15005550014"]);
  for (const recipient of [...OPTED_OUT, ...WINDOW_CLOSED])
    assert.deepEqual(scenarioOf({ recipient, channel: "sms", attempt: 1 }).response, ACCEPTED);
});

test("a message with a file to a recipient of faulty files fails, on both channels", () => {
  const media = { contentType: "image/png", bytes: 1, fileName: null } as OutgoingMedia;
  for (const channel of ["sms", "whatsapp"] as const) {
    const outcomes = ["+15005550016", "+15005550017", "+15005550018"].map((recipient) => {
      const { response, receipts } = scenarioFor({ recipient: recipientOf(recipient), channel, attempt: 1, media });
      return response.kind === "refused" ? ["failed", response.code] : [receipts[0]?.status, receipts[0]?.error?.code];
    });
    assert.deepEqual(outcomes, [
      ["failed", "media_expired"],
      ["failed", "media_type_refused"],
      ["undelivered", "media_fetch_failed"],
    ]);
  }
  const other = scenarioFor({ recipient: recipientOf("+15005550006"), channel: "sms", attempt: 1, media });
  assert.equal(other.receipts[0]?.status, "delivered");
});
