/** The compact text of a message: completed, it is byte for byte the record that was compacted. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { newUuid } from "../lib/uuid.ts";
import { LINK_REASONS } from "../links/choose-links.ts";
import { SENDER_REASONS } from "../links/choose-sender.ts";
import { STATUSES } from "../messages/states.ts";
import { toId } from "./id.ts";
import { compactRecord, completeRecord, eraseCompact, isCompact, recordOf, statusIn, type RecordFields } from "./message-record.ts";

const text = fc.string({ unit: "grapheme", maxLength: 20 });
const orNull = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | null> => fc.option(value, { nil: null });
const names = fc.oneof(text, fc.constantFrom("1", "0", "__proto__", "constructor", "10", "toJSON"));
// From JSON, as requests and rows are read, so that `__proto__` is a key like any other.
const texts = fc
  .array(fc.tuple(names, text), { maxLength: 5 })
  .map(
    (pairs) =>
      JSON.parse(`{${pairs.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`).join(",")}}`) as Record<
        string,
        string
      >,
  );

const CREATED_MS = Date.UTC(2026, 10, 18);
const time = fc.integer({ min: CREATED_MS - 1_000, max: CREATED_MS + 40 * 24 * 3_600_000 });
const messageId = fc.constant(null).map(() => toId("msg", newUuid(CREATED_MS)));

const fields: fc.Arbitrary<RecordFields> = fc.record({
  id: messageId,
  environment: fc.constantFrom("test", "live"),
  direction: fc.constant("outbound"),
  channel: fc.constantFrom("sms", "whatsapp"),
  recipient: text,
  body: orNull(text),
  content: orNull(text.map((name) => ({ type: "location", latitude: 47.5, longitude: 8.25, name, address: null }) as const)),
  template: orNull(fc.record({ id: text, version: fc.nat(), variables: orNull(texts) })),
  segments: orNull(fc.record({ count: fc.nat(), encoding: text, characters: fc.nat() })),
  priority: fc.constantFrom("high", "normal", "bulk"),
  clientReference: orNull(text),
  metadata: texts,
  sendAtMs: orNull(time),
  expiresAtMs: orNull(time),
  fallbackOf: orNull(messageId),
  inReplyTo: orNull(messageId),
  batchId: orNull(fc.constant(null).map(() => toId("batch", newUuid(CREATED_MS)))),
  source: orNull(fc.constantFrom("twilio", "kannel")),
  status: fc.constantFrom(...STATUSES),
  sequence: fc.integer({ min: 1, max: 1_000 }),
  sender: orNull(text),
  senderReason: orNull(fc.constantFrom(...SENDER_REASONS)),
  linkReason: orNull(fc.constantFrom(...LINK_REASONS)),
  error: orNull(fc.record({ code: text, message: text, permanent: fc.boolean(), provider_code: orNull(text) }, { noNullPrototype: true })),
  provider: orNull(
    fc.oneof(
      fc.record({ name: text, link: text, messageId: orNull(text) }),
      text.map((name) => ({ name, link: name, messageId: null })),
    ),
  ),
  attempts: fc.nat(),
  updatedAtMs: time,
  sentAtMs: orNull(time),
  deliveredAtMs: orNull(time),
  readAtMs: orNull(time),
  failedAtMs: orNull(time),
  canceledAtMs: orNull(time),
});

const eventOf = ({ status, sequence }: RecordFields, record: string) => ({ type: `message.${status}`, sequence, record });

describe("a compact record", () => {
  test("is completed to the bytes of the whole record, for every message", () => {
    fc.assert(
      fc.property(fields, (message) => {
        const event = eventOf(message, compactRecord(message));
        assert.ok(isCompact(event.record));
        assert.equal(completeRecord(event, message), JSON.stringify(recordOf(message)));
        assert.equal(statusIn(event), message.status);
      }),
    );
  });

  test("is erased as the whole record: without the id and the words of the carrier", () => {
    fc.assert(
      fc.property(fields, (message) => {
        const { provider, error } = message;
        const erased = {
          ...message,
          provider: provider && { ...provider, messageId: null },
          error: error && { ...error, message: "erased" },
        };
        const event = eventOf(message, eraseCompact(compactRecord(message)));
        assert.equal(completeRecord(event, message), JSON.stringify(recordOf(erased)));
      }),
    );
  });

  test("states every reason by a number", () => {
    for (const reason of [...SENDER_REASONS, ...LINK_REASONS])
      fc.assert(
        fc.property(fields, (message) => {
          const compact = JSON.parse(compactRecord({ ...message, senderReason: reason, linkReason: reason })) as unknown[];
          assert.deepEqual([typeof compact[2], typeof compact[3]], ["number", "number"]);
        }),
        { numRuns: 1 },
      );
  });

  test("of release 0.3 is still read", () => {
    const [message] = fc.sample(fields, { numRuns: 1, seed: 1 }) as [RecordFields];
    const record =
      '[45,"+15005550000",0,1,"smpp","carrier","id-1",2,45,60,null,70,null,{"code":"x","message":"y","permanent":true,"provider_code":"8"}]';
    const whole = JSON.parse(completeRecord({ type: "message.failed", sequence: 4, record }, message)) as Record<string, unknown>;
    assert.deepEqual(
      [whole["status"], whole["sequence"], whole["sender"], whole["sender_reason"], whole["link_reason"]],
      ["failed", 4, "+15005550000", "link_default", "only_link"],
    );
    assert.deepEqual(whole["provider"], { name: "smpp", link: "carrier", message_id: "id-1", attempts: 2 });
    assert.deepEqual(whole["error"], { code: "x", message: "y", permanent: true, provider_code: "8" });
    assert.deepEqual(
      [whole["delivered_at"], whole["read_at"], whole["failed_at"]],
      [new Date(CREATED_MS + 60).toISOString(), null, new Date(CREATED_MS + 70).toISOString()],
    );
  });
});
