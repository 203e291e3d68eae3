import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { recipientOf } from "../../test/support/recipient.ts";
import { channelsOf, checkNewVerification, toMessageRequest, type NewVerification } from "./new-verification.ts";

const BASE = { recipient: recipientOf("+14155550123") };

type Row = readonly [what: string, request: Record<string, unknown>, faults: readonly string[]];

const ROWS: readonly Row[] = [
  ["a channel", { channel: "sms" }, []],
  ["channels", { channels: ["sms", "whatsapp"] }, []],
  ["a channel, and null for the other", { channel: "sms", channels: null }, []],
  ["neither", {}, ["/channel required"]],
  ["null for both", { channel: null, channels: null }, ["/channel required"]],
  ["both", { channel: "sms", channels: ["whatsapp"] }, ["/channels conflict"]],
  ["a number that cannot be", { channel: "sms", recipient: "+1415555" }, ["/recipient impossible_number"]],
  [
    "everything at once",
    { recipient: "+1415555", ttl: 60, after_seconds: 60 },
    ["/recipient impossible_number", "/channel required", "/after_seconds out_of_range"],
  ],
  ["the next channel just before the code expires", { channel: "sms", ttl: 60, after_seconds: 59 }, []],
  ["the next channel when the code expires", { channel: "sms", ttl: 60, after_seconds: 60 }, ["/after_seconds out_of_range"]],
  ["the next channel when a code of the default time expires", { channel: "sms", after_seconds: 600 }, ["/after_seconds out_of_range"]],
  ["times that are no numbers, which the schema reports", { channel: "sms", ttl: "60", after_seconds: "60" }, []],
];

describe("a request with", () => {
  for (const [what, request, faults] of ROWS) {
    test(`${what}: ${faults.length === 0 ? "is fine" : faults.join(", ")}`, () => {
      const found = checkNewVerification({ ...BASE, ...request }).map((fault) =>
        "pointer" in fault ? `${fault.pointer} ${fault.code}` : "",
      );
      assert.deepEqual(found, faults);
    });
  }
});

describe("the message that carries the code", () => {
  const request = (fields: Partial<NewVerification>): NewVerification => ({ ...BASE, ...fields });
  const said = { template_id: "verification_code", template_variables: { code: "1234" } };

  test("uses the only channel, urgently, for ten minutes, without a fallback", () => {
    assert.deepEqual(toMessageRequest(request({ channel: "whatsapp" }), "1234"), {
      ...said,
      ...BASE,
      channel: "whatsapp",
      sender: null,
      priority: "high",
      ttl_seconds: 600,
      fallback: [],
    });
  });

  test("uses the first channel, with the same text on the next one", () => {
    const message = toMessageRequest(request({ channels: ["whatsapp", "sms"] }), "1234");
    assert.equal(message.channel, "whatsapp");
    assert.deepEqual(message.fallback, [{ ...said, channel: "sms", after_seconds: 30 }]);
  });

  test("takes over the fields of the request", () => {
    const message = toMessageRequest(
      request({ channels: ["sms", "whatsapp"], after_seconds: 7, template_id: "mine", sender: "SHOP", ttl: 60 }),
      "1234",
    );
    const { template_id: template, sender, ttl_seconds: ttl } = message;
    assert.deepEqual({ template, sender, ttl }, { template: "mine", sender: "SHOP", ttl: 60 });
    assert.deepEqual(message.fallback, [{ ...said, template_id: "mine", channel: "whatsapp", after_seconds: 7 }]);
  });

  test("always has a channel", () => {
    assert.deepEqual(channelsOf(request({})), []);
    assert.throws(() => toMessageRequest(request({}), "1234"));
  });
});
