import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { GodwitEvent, Message } from "godwit-sdk";
import { preset } from "../src/lib/time-range.ts";
import { asPartOfNumber, matches, readFilters, readSearch, toQuery, withFilter, withRange } from "../src/messages/filters.ts";
import { merge, newestRecords } from "../src/messages/live-messages.ts";

const message = (id: string, fields: Partial<Message> = {}): Message =>
  ({ id, status: "sent", sequence: 3, channel: "sms", error: null, created_at: "2026-11-15T10:00:00.000Z", ...fields }) as Message;

describe("a search", () => {
  test("is an id, a batch id, the id of a request with its time, a complete phone number in any notation, or otherwise a text", () => {
    assert.equal(readSearch("  "), undefined);
    assert.deepEqual(readSearch(" msg_01k9zs3v8mf4tb2xg1qj6n0d5c "), { kind: "message", id: "msg_01k9zs3v8mf4tb2xg1qj6n0d5c" });
    assert.deepEqual(readSearch("batch_01k9"), { kind: "filter", name: "batch_id", value: "batch_01k9" });
    for (const text of ["+1 415 555 0123", "0014155550123", "+1 (415) 555-0123"])
      assert.deepEqual(readSearch(text), { kind: "filter", name: "recipient", value: "+14155550123" });
    assert.deepEqual(readSearch("req_01m7rf6rc0e9frzfnfq7b797fc"), {
      kind: "request",
      id: "req_01m7rf6rc0e9frzfnfq7b797fc",
      range: { kind: "custom", after: "2026-11-18T23:16:24.480Z", before: "2026-11-18T23:18:24.480Z" },
    });
    assert.deepEqual(readSearch("order 1815"), { kind: "filter", name: "search", value: "order 1815" });
  });
});

describe("filters", () => {
  test("are read from and written to the address, without empty and unknown ones", () => {
    const filters = readFilters(new URLSearchParams("status=failed&recipient=&other=1"));
    assert.deepEqual(filters, { status: "failed" });
    assert.equal(withFilter(filters, "channel", "sms").toString(), "status=failed&channel=sms");
    assert.equal(withFilter(filters, "status", "").toString(), "");
  });

  test("can search for a recipient as a part of a number", () => {
    assert.equal(asPartOfNumber({ recipient: "+1415555", channel: "sms" }).toString(), "channel=sms&search=%2B1415555");
  });

  test("become a query with the period of their preset", () => {
    const filters = readFilters(new URLSearchParams("status=failed&range=1h"));
    const now = Date.parse("2026-11-15T10:00:00.000Z");
    assert.deepEqual(toQuery(filters, now), { status: "failed", created_after: "2026-11-15T09:00:00.000Z" });
    assert.equal(withRange(filters, preset("7d")).toString(), "status=failed&range=7d");
  });

  test("match the same messages as the service", () => {
    const failed = message("a", { status: "failed", error: { code: "no_route", message: "", permanent: true, provider_code: null } });
    assert.ok(matches(failed, { status: "failed", error_code: "no_route", channel: "sms" }));
    assert.ok(!matches(failed, { error_code: "other" }));
    assert.ok(!matches(failed, { created_after: "2026-11-15T10:00:00.000Z" }));
    assert.ok(matches(failed, { created_after: "2026-11-15T09:59:59.999Z", created_before: "2026-11-15T10:00:00.001Z" }));
    assert.ok(!matches(failed, { created_before: "2026-11-15T10:00:00.000Z" }));
  });
});

describe("a live list", () => {
  const all = (): boolean => true;

  test("takes the newest record of each message from events in any order", () => {
    const event = (record: Message): GodwitEvent => ({ data: { message: record } }) as unknown as GodwitEvent;
    const records = newestRecords([
      event(message("a", { sequence: 4 })),
      event(message("a", { sequence: 3 })),
      event(message("b")),
      { data: {} } as GodwitEvent,
    ]);
    assert.deepEqual(
      records.map(({ id, sequence }) => [id, sequence]),
      [
        ["a", 4],
        ["b", 3],
      ],
    );
  });

  test("inserts new messages by age, never replaces a newer record by an older one, and removes messages that no longer match", () => {
    const shown = { items: [message("c"), message("b", { sequence: 5 })], cursor: null };
    const merged = merge(shown, [message("d"), message("b", { sequence: 4 }), message("a")], all);
    assert.deepEqual(
      merged.items.map(({ id, sequence }) => `${id}${sequence}`),
      ["d3", "c3", "b5", "a3"],
    );
    assert.deepEqual(
      merge(shown, [message("c", { status: "delivered", sequence: 4 })], ({ status }) => status === "sent").items.map(({ id }) => id),
      ["b"],
    );
  });

  test("ignores older records that a resumed stream repeats", () => {
    const shown = { items: [message("c", { status: "failed", sequence: 5 })], cursor: "next" };
    const isFailed = ({ status }: Message): boolean => status === "failed";
    assert.deepEqual(merge(shown, [message("c", { status: "sent", sequence: 3 })], isFailed), shown);
  });

  test("keeps its length if the user has loaded more than the limit", () => {
    const many = Array.from({ length: 550 }, (_, at) => message(`m${String(at).padStart(4, "0")}`)).toReversed();
    const { items, cursor } = merge({ items: many, cursor: "next" }, [message("z")], all);
    assert.equal(items.length, 550);
    assert.equal(items[0]?.id, "z");
    assert.equal(cursor, "next");
  });

  test("omits messages of pages that are not loaded, and has a limit", () => {
    const shown = { items: [message("c")], cursor: "next" };
    assert.deepEqual(merge(shown, [message("a")], all).items.length, 1);
    const many = Array.from({ length: 700 }, (_, at) => message(`m${String(at).padStart(4, "0")}`));
    const { items, cursor } = merge({ items: [], cursor: null }, many, all);
    assert.equal(items.length, 200);
    assert.equal(items[0]?.id, "m0699");
    assert.equal(cursor, null);
  });
});
