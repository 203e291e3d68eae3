/** Conversations are grouped by person, and a reply respects the service window and opt-outs. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Batch, Message, Suppression } from "godwit-sdk";
import { progressOf } from "../src/batches/batch.ts";
import {
  blockingSuppression,
  mergeMessages,
  isReactionIn,
  ownSideOf,
  reactionsOn,
  replyDefaults,
  toConversations,
  windowOf,
} from "../src/conversations/conversation.ts";

const [PERSON, OWN] = ["+14155550123", "+14155550100"];
const AT = "2026-11-15T10:00:00.000Z";

const outbound = (id: string, fields: Partial<Message> = {}): Message =>
  ({
    id,
    sequence: 1,
    direction: "outbound",
    channel: "sms",
    recipient: PERSON,
    sender: null,
    created_at: AT,
    metadata: {},
    ...fields,
  }) as Message;
const inbound = (id: string, fields: Partial<Message> = {}): Message =>
  outbound(id, { direction: "inbound", recipient: OWN, sender: PERSON, ...fields });

describe("reactions", () => {
  const reaction = (id: string, target: string | null, emoji: string | null, from = inbound): Message =>
    from(id, { content: { type: "reaction", message_id: target, emoji } });

  test("count once for each side, and the last one counts", () => {
    const messages = [
      outbound("1"),
      reaction("2", "1", "👍"),
      reaction("3", "1", "❤️"),
      reaction("4", "1", "🙏", outbound),
      reaction("5", null, "👍"),
    ];
    const on = reactionsOn(messages).get("1") ?? [];
    assert.deepEqual(
      on.map(({ emoji, by }) => [emoji, by.id]),
      [
        ["❤️", "3"],
        ["🙏", "4"],
      ],
    );
    assert.deepEqual(reactionsOn([...messages, reaction("6", "1", null)]).get("1")?.length, 1);
  });

  test("on a message that is not shown are messages of their own", () => {
    const known = new Map([["1", outbound("1")]]);
    assert.ok(isReactionIn(reaction("2", "1", "👍"), known));
    assert.ok(!isReactionIn(reaction("3", "7", "👍"), known));
    assert.ok(!isReactionIn(reaction("4", null, "👍"), known));
    assert.ok(!isReactionIn(outbound("5", { content: null }), known));
  });
});

describe("messages", () => {
  test("are merged oldest first, with the newest record of each", () => {
    const merged = mergeMessages([outbound("c"), outbound("a", { sequence: 3 })], [inbound("b"), outbound("a", { sequence: 2 })]);
    assert.deepEqual(
      merged.map(({ id, sequence }) => `${id}${sequence}`),
      ["a3", "b1", "c1"],
    );
  });

  test("are grouped by person, and those of an unknown sender are omitted", () => {
    const found = toConversations([
      outbound("a"),
      outbound("b", { recipient: "+14155550199" }),
      inbound("c"),
      inbound("d", { sender: null }),
    ]);
    assert.deepEqual(
      found.map(({ person, newest, messages, hasInbound }) => [person, newest.id, messages, hasInbound]),
      [
        [PERSON, "c", 2, true],
        ["+14155550199", "b", 1, false],
      ],
    );
    assert.deepEqual([ownSideOf(inbound("a")), ownSideOf(outbound("b"))], [OWN, null]);
  });
});

describe("a reply", () => {
  test("uses the channel and the number of the last inbound message", () => {
    assert.deepEqual(replyDefaults([]), { channel: "sms", sender: "" });
    assert.deepEqual(replyDefaults([outbound("a", { channel: "whatsapp" })]), { channel: "whatsapp", sender: "" });
    assert.deepEqual(replyDefaults([inbound("a"), outbound("b", { channel: "whatsapp" })]), { channel: "sms", sender: OWN });
  });

  test("needs an open service window on WhatsApp only", () => {
    const whatsapp = inbound("a", { channel: "whatsapp" });
    const hours = (count: number): number => Date.parse(AT) + count * 3_600_000;
    const kind = (messages: Message[], channel: string, sender: string, now: number): string =>
      windowOf(messages, channel, sender, now).kind;
    assert.equal(kind([], "sms", "", hours(0)), "not_needed");
    assert.equal(kind([inbound("a")], "whatsapp", "", hours(1)), "unknown", "a message on another channel opens nothing");
    assert.equal(kind([whatsapp], "whatsapp", OWN, hours(23)), "open");
    assert.equal(kind([whatsapp], "whatsapp", OWN, hours(24)), "closed");
    assert.equal(kind([whatsapp], "whatsapp", "+14155550101", hours(1)), "unknown", "another sender has its own window");
    assert.equal(kind([inbound("a", { channel: "whatsapp", metadata: { group_id: "1" } })], "whatsapp", "", hours(1)), "unknown");
  });

  test("is refused by a suppression of all senders or of this sender", () => {
    const suppression = (sender: string | null): Suppression => ({ id: "sup_1", sender }) as Suppression;
    assert.ok(blockingSuppression([suppression(null)], OWN));
    assert.ok(blockingSuppression([suppression(OWN)], OWN));
    assert.equal(blockingSuppression([suppression("Acme")], OWN), undefined);
    assert.equal(blockingSuppression([suppression(OWN)], ""), undefined);
  });
});

describe("a batch", () => {
  test("is finished as far as its accepted messages have a final status", () => {
    const batch = { accepted: 4, statuses: { delivered: 1, failed: 1, sent: 2 } } as unknown as Batch;
    assert.deepEqual(progressOf(batch), { finished: 2, all: 4, share: 0.5 });
    assert.equal(progressOf({ accepted: 0, statuses: {} } as unknown as Batch).share, 1);
  });
});
