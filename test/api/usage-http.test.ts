/** GET /v1/usage and GET /v1/queue over HTTP. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { deliveryBucket } from "../../src/usage/usage.ts";
import { clientOfAccount } from "../support/client.ts";
import { assertCommonHeaders, assertProblem, faultsOf } from "../support/expect.ts";
import { startGodwit, type Godwit, type Reply } from "../support/harness.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const MIDNIGHT = Math.floor(Date.now() / DAY_MS) * DAY_MS;

type Times = { p50: number; p95: number } | null;
type Count = {
  start: string;
  channel: string;
  status: string;
  error_code: string | null;
  messages: number;
  segments: number;
  time_to_delivered_ms: Times;
};
type Totals = {
  messages: number;
  segments: number;
  by_status: Record<string, number>;
  by_error_code: Record<string, number>;
  delivery_rate: number | null;
  time_to_delivered_ms: Times;
};
type Usage = {
  object: string;
  environment: string;
  interval: string;
  from: string;
  to: string;
  data: Count[];
  intervals: (Totals & { start: string })[];
  totals: Totals;
};

let godwit: Godwit;
before(async () => {
  godwit = await startGodwit();
});
after(() => godwit.stop());

/** Creates a key of a new account, so that each test knows all its counts. */
const freshKey = async (account: string, environment: "test" | "live" = "live"): Promise<string> =>
  (await clientOfAccount(godwit, account, { environment })).key;

type Counts = {
  atMs?: number;
  channel?: string;
  status?: string;
  errorCode?: string;
  tookMs?: number;
  messages?: number;
  segments?: number;
};

async function count(account: string, counts: readonly Counts[]): Promise<void> {
  for (const { atMs = MIDNIGHT, channel = "sms", status = "queued", errorCode = "", tookMs, messages = 1, segments = messages } of counts) {
    await godwit.rows(
      `insert into usage_changes (account_id, environment, minute, channel, status, error_code, delivery_bucket, messages, segments)
       select id, 'live', to_timestamp($2::float8), $3, $4, $5, $6, $7, $8
         from accounts
        where name = $1`,
      [account, atMs / 1_000, channel, status, errorCode, tookMs === undefined ? -1 : deliveryBucket(tookMs), messages, segments],
    );
  }
}

const ask = (key: string, query: Record<string, string> = {}): Promise<Reply> =>
  godwit.request("GET", `/v1/usage?${new URLSearchParams(query).toString()}`, { key });

async function usage(key: string, query: Record<string, string> = {}): Promise<Usage> {
  const reply = await ask(key, query);
  assert.equal(reply.status, 200, reply.text);
  assertCommonHeaders(reply);
  return reply.json as Usage;
}

const iso = (timeMs: number): string => new Date(timeMs).toISOString();

describe("usage", () => {
  test("without messages is empty, for the last thirty days", async () => {
    const key = await freshKey("nothing");
    const { from, to, ...rest } = await usage(key);
    const totals = { messages: 0, segments: 0, by_status: {}, by_error_code: {}, delivery_rate: null, time_to_delivered_ms: null };
    const media = { bytes: 0, quota_bytes: 5_000_000_000 };
    assert.deepEqual(rest, { object: "usage", environment: "live", interval: "day", data: [], intervals: [], totals, media });
    assert.ok(Date.parse(to) > Date.now() && Date.parse(to) <= Date.now() + HOUR_MS);
    assert.equal(Date.parse(to) % HOUR_MS, 0);
    const today = Math.floor(Date.now() / DAY_MS) * DAY_MS;
    assert.equal(Date.parse(from), today - 30 * DAY_MS);
  });

  test("has a row for each kind, newest first, and the totals", async () => {
    const key = await freshKey("kinds");
    await count("kinds", [
      { status: "queued", messages: 4 },
      { atMs: MIDNIGHT - DAY_MS, status: "delivered", tookMs: 100, messages: 60, segments: 90 },
      { atMs: MIDNIGHT - HOUR_MS, status: "delivered", tookMs: 200, messages: 20 },
      { atMs: MIDNIGHT - DAY_MS, channel: "whatsapp", status: "read", tookMs: 102_400, messages: 10, segments: 0 },
      { atMs: MIDNIGHT - DAY_MS, status: "failed", errorCode: "invalid_destination", messages: 8 },
      { atMs: MIDNIGHT - DAY_MS, status: "undelivered", errorCode: "blocked_by_carrier", messages: 2 },
      { atMs: MIDNIGHT - DAY_MS, status: "canceled", messages: 5 },
    ]);
    const { data, intervals, totals } = await usage(key);
    const [today, yesterday] = [iso(MIDNIGHT), iso(MIDNIGHT - DAY_MS)];
    const row = (start: string, fields: Partial<Count>): Count => ({
      start,
      channel: "sms",
      status: "queued",
      error_code: null,
      messages: 0,
      segments: fields.messages ?? 0,
      time_to_delivered_ms: null,
      ...fields,
    });
    assert.deepEqual(
      data.map((each) => ({ ...each, time_to_delivered_ms: null })),
      [
        row(today, { messages: 4 }),
        row(yesterday, { status: "canceled", messages: 5 }),
        row(yesterday, { status: "delivered", messages: 80, segments: 110 }),
        row(yesterday, { status: "failed", error_code: "invalid_destination", messages: 8 }),
        row(yesterday, { status: "undelivered", error_code: "blocked_by_carrier", messages: 2 }),
        row(yesterday, { channel: "whatsapp", status: "read", messages: 10, segments: 0 }),
      ],
    );
    const timed = data.filter(({ time_to_delivered_ms: times }) => times !== null);
    assert.deepEqual(
      timed.map(({ status }) => status),
      ["delivered", "read"],
    );
    const [first, second, ...more] = intervals;
    assert.deepEqual([first?.start, second?.start, more], [today, yesterday, []]);
    assert.deepEqual(
      [first?.messages, first?.by_status, first?.delivery_rate, first?.time_to_delivered_ms],
      [4, { queued: 4 }, null, null],
    );
    assert.deepEqual([second?.messages, second?.segments, second?.delivery_rate], [105, 125, 0.9]);
    assert.deepEqual(second?.by_error_code, totals.by_error_code);
    // All deliveries are of one day in three rows: the totals come from their histograms, not from their percentiles.
    assert.deepEqual(second?.time_to_delivered_ms, totals.time_to_delivered_ms);
    const { time_to_delivered_ms: times, ...sums } = totals;
    assert.deepEqual(sums, {
      messages: 109,
      segments: 129,
      by_status: { canceled: 5, delivered: 80, failed: 8, queued: 4, read: 10, undelivered: 2 },
      by_error_code: { blocked_by_carrier: 2, invalid_destination: 8 },
      delivery_rate: 0.9,
    });
    assert.ok(times !== null && times.p50 > 50 && times.p50 <= 100, "half of the ninety are in the first bucket");
    assert.ok(times.p95 > 60_000 && times.p95 <= 102_400, "the slowest ten are in their own bucket");
  });

  test("by hour has a row for each hour", async () => {
    const key = await freshKey("hours");
    await count("hours", [{ atMs: MIDNIGHT - HOUR_MS }, { atMs: MIDNIGHT - 2 * HOUR_MS, messages: 2 }]);
    const { data, interval } = await usage(key, { interval: "hour" });
    assert.equal(interval, "hour");
    assert.deepEqual(
      data.map(({ start, messages }) => [start, messages]),
      [
        [iso(MIDNIGHT - HOUR_MS), 1],
        [iso(MIDNIGHT - 2 * HOUR_MS), 2],
      ],
    );
  });

  test("includes every hour of which the range covers a part", async () => {
    const key = await freshKey("range");
    await count(
      "range",
      [-4, -3, -2, -1].map((hours) => ({ atMs: MIDNIGHT + hours * HOUR_MS })),
    );
    const asked = async (afterMs: number, beforeMs: number) => {
      const { from, to, totals } = await usage(key, { created_after: iso(afterMs), created_before: iso(beforeMs) });
      return [(Date.parse(from) - MIDNIGHT) / HOUR_MS, (Date.parse(to) - MIDNIGHT) / HOUR_MS, totals.messages];
    };
    assert.deepEqual(await asked(MIDNIGHT - 3 * HOUR_MS, MIDNIGHT - HOUR_MS), [-3, -1, 2]);
    assert.deepEqual(await asked(MIDNIGHT - 2 * HOUR_MS - 1, MIDNIGHT - HOUR_MS + 1), [-3, 0, 3]);
    assert.deepEqual(await asked(MIDNIGHT - HOUR_MS, MIDNIGHT - HOUR_MS + 1), [-1, 0, 1]);
  });

  test("can be filtered", async () => {
    const key = await freshKey("filters");
    await count("filters", [
      { status: "failed", errorCode: "no_route" },
      { status: "failed", messages: 2 },
      { status: "sent", channel: "whatsapp", messages: 4 },
    ]);
    const total = async (query: Record<string, string>) => (await usage(key, query)).totals.messages;
    assert.equal(await total({}), 7);
    assert.equal(await total({ status: "failed" }), 3);
    assert.equal(await total({ channel: "whatsapp" }), 4);
    assert.equal(await total({ error_code: "no_route" }), 1);
    assert.equal(await total({ error_code: "no_route", channel: "whatsapp" }), 0);
  });

  test("is that of the environment of the credential", async () => {
    const key = await freshKey("neighbors");
    await count("neighbors", [{ messages: 3 }]);
    assert.equal((await usage(key)).totals.messages, 3);
    assert.equal((await usage(await freshKey("others"))).totals.messages, 0);
    const other = await usage(await freshKey("neighbors", "test"));
    assert.equal(other.environment, "test");
    assert.equal(other.totals.messages, 0);
  });

  test("can cover 400 days by day and 31 by hour, and no more", async () => {
    const key = await freshKey("far");
    for (const [interval, days] of [
      ["day", 400],
      ["hour", 31],
    ] as const) {
      const range = (ms: number) => ({ interval, created_after: iso(MIDNIGHT - days * DAY_MS - ms), created_before: iso(MIDNIGHT) });
      await usage(key, range(0));
      const reply = await ask(key, range(1));
      assertProblem(reply, "invalid_request_payload");
      assert.deepEqual(
        faultsOf(reply).map(({ parameter, code }) => [parameter, code]),
        [["created_after", "out_of_range"]],
      );
    }
    const { from, to } = await usage(key, { created_before: "9999-12-31T23:59:59Z", created_after: "9999-12-31T00:00:00Z" });
    assert.deepEqual([from, to], ["9999-12-31T00:00:00.000Z", "9999-12-31T23:00:00.000Z"]);
    assert.deepEqual((await usage(key, { created_before: "1066-10-14T00:00:00Z" })).data, []);
  });

  test("with too many rows is refused", async () => {
    const key = await freshKey("wide");
    await godwit.rows(
      `insert into usage_hours (account_id, environment, hour, channel, status, error_code, delivery_bucket, messages, segments)
       select id, 'live', to_timestamp($1::float8) - make_interval(hours => hour), 'sms', 'failed', 'error_' || error, -1, 1, 1
         from accounts, generate_series(0, 499) hour, generate_series(1, 20) error
        where name = 'wide'`,
      [MIDNIGHT / 1_000],
    );
    assert.equal((await usage(key, { interval: "hour" })).data.length, 10_000);
    await count("wide", [{}]);
    const reply = await ask(key, { interval: "hour" });
    assertProblem(reply, "invalid_request_payload");
    assert.match(faultsOf(reply)[0]?.detail ?? "", /10,000 rows/);
    assert.equal((await usage(key, { interval: "hour", status: "failed" })).data.length, 10_000);
    assert.equal((await usage(key)).totals.messages, 10_001);
  });

  const WRONG: readonly (readonly [query: string, parameter: string])[] = [
    ["interval=week", "interval"],
    ["interval=", "interval"],
    ["channel=fax", "channel"],
    ["status=lost", "status"],
    ["error_code=", "error_code"],
    ["created_after=yesterday", "created_after"],
    ["created_before=2026-01-01", "created_before"],
    ["created_after=2026-01-02T00:00:00Z&created_before=2026-01-01T00:00:00Z", "created_after"],
    ["created_after=2026-01-01T00:00:00Z&created_before=2026-01-01T00:00:00Z", "created_after"],
    ["created_after=9999-01-01T00:00:00Z", "created_after"],
    ["interval=minute&created_after=2026-01-01T00:00:00Z", "created_after"],
    ["interval=minute&created_before=2026-01-01T00:00:00Z", "created_after"],
    ["interval=second", "interval"],
    ["limit=10", "limit"],
  ];
  for (const [query, parameter] of WRONG) {
    test(`with ?${query} is a 400 that names ${parameter}`, async () => {
      const reply = await godwit.request("GET", `/v1/usage?${query}`, { key: await freshKey("wrong") });
      assertProblem(reply, "invalid_request_payload");
      assert.deepEqual(new Set(faultsOf(reply).map((fault) => fault.parameter)), new Set([parameter]));
    });
  }
});

describe("usage by minute", () => {
  const minuteNow = (): number => Math.floor(Date.now() / MINUTE_MS) * MINUTE_MS;

  test("covers the last hour, newest first, and adds up", async () => {
    const key = await freshKey("minutes");
    const now = minuteNow();
    await count("minutes", [
      { atMs: now, status: "delivered", tookMs: 100 },
      { atMs: now - 30 * MINUTE_MS, status: "failed", errorCode: "no_route", messages: 2 },
      { atMs: now - 30 * MINUTE_MS, status: "delivered", tookMs: 200, messages: 6, segments: 9 },
      { atMs: now - 70 * MINUTE_MS, messages: 50 },
    ]);
    const { data, interval, from, to, totals } = await usage(key, { interval: "minute" });
    assert.equal(interval, "minute");
    assert.equal(Date.parse(to) - Date.parse(from), HOUR_MS + MINUTE_MS);
    assert.ok(Date.parse(to) > now && Date.parse(to) <= minuteNow() + MINUTE_MS);
    assert.deepEqual(
      data.map(({ start, status, error_code: code, messages }) => [start, status, code, messages]),
      [
        [iso(now), "delivered", null, 1],
        [iso(now - 30 * MINUTE_MS), "delivered", null, 6],
        [iso(now - 30 * MINUTE_MS), "failed", "no_route", 2],
      ],
    );
    assert.deepEqual([totals.messages, totals.segments, totals.delivery_rate], [9, 12, 0.7778]);
    assert.deepEqual(totals.by_status, { delivered: 7, failed: 2 });
    assert.equal((await usage(key, { interval: "minute", status: "failed" })).totals.messages, 2);
  });

  test("includes every minute of which the range covers a part", async () => {
    const key = await freshKey("minute range");
    const end = minuteNow() - HOUR_MS;
    await count(
      "minute range",
      [-4, -3, -2, -1].map((minutes) => ({ atMs: end + minutes * MINUTE_MS })),
    );
    const asked = async (afterMs: number, beforeMs: number) => {
      const { from, to, totals } = await usage(key, { interval: "minute", created_after: iso(afterMs), created_before: iso(beforeMs) });
      return [(Date.parse(from) - end) / MINUTE_MS, (Date.parse(to) - end) / MINUTE_MS, totals.messages];
    };
    assert.deepEqual(await asked(end - 3 * MINUTE_MS, end - MINUTE_MS), [-3, -1, 2]);
    assert.deepEqual(await asked(end - 2 * MINUTE_MS - 1, end - MINUTE_MS + 1), [-3, 0, 3]);
    assert.deepEqual(await asked(end - MINUTE_MS, end - MINUTE_MS + 1), [-1, 0, 1]);
  });

  test("covers 24 hours, with some tolerance for the clock of the client, and no more", async () => {
    const key = await freshKey("minutes ago");
    const yesterday = minuteNow() - DAY_MS;
    await count("minutes ago", [{ atMs: yesterday + MINUTE_MS }, { atMs: yesterday - HOUR_MS }]);
    for (const early of [0, MINUTE_MS]) {
      const { totals } = await usage(key, { interval: "minute", created_after: iso(yesterday - early) });
      assert.equal(totals.messages, 1);
    }
    const reply = await ask(key, { interval: "minute", created_after: iso(yesterday - HOUR_MS), created_before: iso(yesterday) });
    assertProblem(reply, "invalid_request_payload");
    const [fault] = faultsOf(reply);
    assert.deepEqual([fault?.parameter, fault?.code], ["created_after", "out_of_range"]);
    assert.match(fault?.detail ?? "", /at most 24 hours ago where interval is minute/);
  });

  test("reports in `from` where minutes begin, in a database that is older than the minutes", async () => {
    const key = await freshKey("minutes begin");
    const begin = minuteNow() - 10 * MINUTE_MS;
    // A message from before the minutes changes its status: only half of the change could be counted.
    await count("minutes begin", [
      { atMs: begin - MINUTE_MS, status: "queued", messages: -1 },
      { atMs: begin - MINUTE_MS, status: "delivered" },
      { atMs: begin, status: "sent" },
    ]);
    await godwit.rows("update installation set usage_minutes_since = to_timestamp($1::float8)", [begin / 1_000]);
    try {
      const { from, data } = await usage(key, { interval: "minute" });
      assert.equal(from, iso(begin));
      assert.deepEqual(
        data.map(({ start, status, messages }) => [start, status, messages]),
        [[iso(begin), "sent", 1]],
      );
      const earlier = await usage(key, { interval: "minute", created_before: iso(begin) });
      assert.deepEqual([earlier.from, earlier.to, earlier.data], [iso(begin), iso(begin), []]);
    } finally {
      await godwit.rows("update installation set usage_minutes_since = to_timestamp(0)");
    }
  });

  test("with too many rows is refused", async () => {
    const key = await freshKey("dense");
    const now = minuteNow();
    await godwit.rows(
      `insert into usage_minutes (account_id, environment, minute, channel, status, error_code, delivery_bucket, messages, segments)
       select id, 'live', to_timestamp($1::float8) - make_interval(mins => minute), 'sms', 'failed', 'error_' || error, -1, 1, 1
         from accounts, generate_series(1, 1000) minute, generate_series(1, 10) error
        where name = 'dense'`,
      [now / 1_000],
    );
    const range = { interval: "minute", created_after: iso(now - 20 * HOUR_MS) };
    assert.equal((await usage(key, range)).data.length, 10_000);
    await count("dense", [{ atMs: now }]);
    const reply = await ask(key, range);
    assertProblem(reply, "invalid_request_payload");
    assert.match(faultsOf(reply)[0]?.detail ?? "", /10,000 rows/);
    assert.equal((await usage(key, { ...range, status: "failed" })).data.length, 10_000);
  });
});

describe("the queue", () => {
  const depth = async (key: string): Promise<Record<string, unknown>> => {
    const reply = await godwit.request("GET", "/v1/queue", { key });
    assert.equal(reply.status, 200, reply.text);
    assertCommonHeaders(reply);
    return reply.json;
  };

  test("without messages is empty", async () => {
    const key = await freshKey("idle");
    assert.deepEqual(await depth(key), {
      object: "queue",
      environment: "live",
      scheduled: 0,
      queued: 0,
      sending: 0,
      oldest_due_at: null,
      oldest_due_seconds: 0,
    });
  });

  test("counts the messages in it, and shows how long the oldest has waited", async () => {
    const key = await freshKey("busy");
    await count("busy", [
      { status: "scheduled", messages: 7 },
      { status: "queued", messages: 5 },
      { status: "queued", channel: "whatsapp", messages: 1 },
      { status: "queued", messages: -2 },
      { status: "sending", messages: 3 },
      { status: "sent", messages: 90 },
    ]);
    const dueAtMs = Date.now() - 90_000;
    // No link of this server serves this lane, so that the entry stays there.
    await godwit.rows(
      `insert into delivery_queue (message_id, account_id, environment, priority, due_at, link, expires_at)
       select gen_random_uuid(), id, 'live', 1, to_timestamp($1::float8), 'nowhere', now() + interval '2 days'
         from accounts
        where name = 'busy'`,
      [dueAtMs / 1_000],
    );
    const { oldest_due_at: dueAt, oldest_due_seconds: seconds, ...counts } = await depth(key);
    assert.deepEqual(counts, { object: "queue", environment: "live", scheduled: 7, queued: 4, sending: 3 });
    assert.equal(dueAt, iso(dueAtMs));
    assert.ok(Number(seconds) >= 85 && Number(seconds) < 200 && Number.isInteger(seconds), String(seconds));
  });
});

test("usage and queue require the scope usage:read", async () => {
  const key = await godwit.key({ account: "scopeless", scopes: ["messages:read"] });
  await godwit.unlimited();
  for (const path of ["/v1/usage", "/v1/queue"]) {
    assertProblem(await godwit.request("GET", path, { key }), "forbidden_insufficient_scope");
    assertProblem(await godwit.request("GET", path), "unauthorized_missing_token");
  }
});

test("an accepted message is counted at once", async () => {
  const key = await freshKey("sender", "test");
  for (let index = 0; index < 3; index += 1) assert.equal((await godwit.send(key)).status, 202);
  const { totals } = await usage(key);
  assert.equal(totals.messages, 3);
  assert.equal(totals.segments, 3);
  const minutes = await usage(key, { interval: "minute" });
  assert.equal(minutes.totals.messages, 3);
  const sum = minutes.data.reduce((messages, row) => messages + row.messages, 0);
  assert.equal(sum, 3);
});
