/** Every outcome of the simulator, from the request to the final status, with its timeline, record, lists, counts
 *  and metrics. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { clientOf, typesOf, type Client, type TimelineEntry, type Json } from "../support/client.ts";
import { LIMIT_MS, until } from "../support/expect.ts";
import { startGodwit, type Godwit } from "../support/harness.ts";
import { readMetrics, seriesOf } from "../support/metrics-text.ts";
import { queueRowOf } from "../support/tables.ts";

type Channel = "sms" | "whatsapp";
type Journey = {
  recipient: string;
  channel: Channel;
  status: string;
  /** In short: the type, `ignored`, the attempt with its outcome, and the status of the receipt. */
  entries: readonly string[];
  error?: object;
  attempts?: number;
  times: readonly string[];
};

const START = ["message.queued", "message.sending #1 written"] as const;
const SENT = [...START, "message.sent #1 accepted"] as const;
const DELIVERED = [...SENT, "message.delivered receipt delivered"] as const;
const READ = [...DELIVERED, "message.read receipt read"] as const;
const THROTTLED = [
  ...START,
  "message.queued #1 throttled",
  "message.sending #2 written",
  "message.queued #2 throttled",
  "message.sending #3 written",
  "message.sent #3 accepted",
  "message.delivered receipt delivered",
] as const;

const failure = (code: string, message: string, providerCode: string): object => ({
  code,
  message,
  permanent: true,
  provider_code: providerCode,
});

const onBoth = (journey: Omit<Journey, "channel">): Journey[] => [
  { ...journey, channel: "sms" },
  { ...journey, channel: "whatsapp" },
];

const usual = (recipient: string): Journey[] => [
  { recipient, channel: "sms", status: "delivered", entries: DELIVERED, times: ["sent_at", "delivered_at"] },
  { recipient, channel: "whatsapp", status: "read", entries: READ, times: ["sent_at", "delivered_at", "read_at"] },
];

const JOURNEYS: readonly Journey[] = [
  ...usual("+14155550123"),
  ...usual("+15005550006"),
  ...onBoth({
    recipient: "+15005550002",
    status: "failed",
    entries: [...START, "message.failed #1 refused"],
    error: failure("invalid_destination", "The number does not exist", "sim-002"),
    times: ["failed_at"],
  }),
  ...onBoth({
    recipient: "+15005550003",
    status: "failed",
    entries: [...START, "message.failed #1 refused"],
    error: failure("destination_not_permitted", "This destination is not permitted on the link", "sim-003"),
    times: ["failed_at"],
  }),
  ...onBoth({
    recipient: "+15005550005",
    status: "undelivered",
    entries: [...SENT, "message.undelivered receipt undelivered"],
    error: failure("blocked_by_carrier", "The carrier blocked the message", "sim-005"),
    times: ["sent_at", "failed_at"],
  }),
  ...onBoth({
    recipient: "+15005550009",
    status: "undelivered",
    entries: [...SENT, "message.undelivered receipt undelivered"],
    error: failure("landline_unreachable", "The number is a landline, which takes no messages", "sim-009"),
    times: ["sent_at", "failed_at"],
  }),
  {
    recipient: "+15005550011",
    channel: "sms",
    status: "delivered",
    entries: [...DELIVERED, "message.sent ignored receipt sent", "message.delivered ignored receipt delivered"],
    times: ["sent_at", "delivered_at"],
  },
  {
    recipient: "+15005550011",
    channel: "whatsapp",
    status: "read",
    entries: [
      ...SENT,
      "message.read receipt read",
      "message.delivered ignored receipt delivered",
      "message.read ignored receipt read",
      "message.sent ignored receipt sent",
    ],
    times: ["sent_at", "delivered_at", "read_at"],
  },
  {
    recipient: "+15005550012",
    channel: "sms",
    status: "delivered",
    entries: THROTTLED,
    attempts: 3,
    times: ["sent_at", "delivered_at"],
  },
  {
    recipient: "+15005550012",
    channel: "whatsapp",
    status: "read",
    entries: [...THROTTLED, "message.read receipt read"],
    attempts: 3,
    times: ["sent_at", "delivered_at", "read_at"],
  },
  ...onBoth({
    recipient: "+15005550013",
    status: "delivered",
    entries: [...START, "attempt.unknown #1 unknown", "message.delivered receipt delivered"],
    times: ["sent_at", "delivered_at"],
  }),
];

const inShort = ({ type, ignored, attempt, receipt }: TimelineEntry): string =>
  [
    type,
    ...(ignored ? ["ignored"] : []),
    ...(attempt === null ? [] : [`#${attempt.number} ${attempt.outcome}`]),
    ...(receipt === null ? [] : [`receipt ${receipt.status}`]),
  ].join(" ");

const TIMES = ["sent_at", "delivered_at", "read_at", "failed_at", "canceled_at"];

/** Checks the invariants of every message with a final status. */
function assertSound(
  journey: Pick<Journey, "status" | "times" | "attempts" | "error">,
  record: Json,
  entries: readonly TimelineEntry[],
): void {
  const moves = entries.filter(({ status }) => status !== null);
  assert.deepEqual(
    moves.map(({ sequence }) => sequence),
    moves.map((_, index) => index + 1),
    "the sequence has no gaps",
  );
  assert.deepEqual(
    moves.map(({ previous_status: previous }) => previous),
    [null, ...moves.slice(0, -1).map(({ status }) => status)],
    "each transition starts at the status of the previous one",
  );
  for (const { type, status, ignored } of entries) {
    if (ignored || type.startsWith("attempt.")) assert.equal(status, null, "the status did not change");
    else assert.equal(type, `message.${status}`);
  }
  assert.equal(record["status"], journey.status);
  assert.equal(record["sequence"], moves.length);
  assert.deepEqual(record["error"], journey.error ?? null);
  assert.deepEqual(
    TIMES.filter((name) => record[name] !== null),
    journey.times,
  );
  const times = [record["created_at"], ...journey.times.map((name) => record[name])].map((time) => Date.parse(String(time)));
  assert.deepEqual(
    times,
    times.toSorted((a, b) => a - b),
  );
  const { name, link, message_id: messageId, attempts } = record["provider"] as Json;
  assert.deepEqual([name, link, attempts], ["simulator", "simulator", journey.attempts ?? 1]);
  if (record["sent_at"] === null) assert.equal(messageId, null);
  else assert.match(String(messageId), /^sim_/);
}

const LATE_DELIVERED = "message.delivered ignored receipt delivered";

/** The entries where both receipts came before the response was stored: then a read receipt can be applied first. */
const overtaken = (entries: readonly string[]): string[] => {
  const at = entries.indexOf("message.delivered receipt delivered");
  const read = "message.read receipt read";
  return at === -1 || entries[at + 1] !== read ? [...entries] : [...entries.slice(0, at), read, LATE_DELIVERED, ...entries.slice(at + 2)];
};

describe("the outcomes of the simulator", () => {
  let godwit: Godwit;
  let client: Client;
  const ended = new Map<Journey, { record: Json; entries: TimelineEntry[] }>();
  before(async () => {
    // Slow enough for every receipt to arrive after the response to its message is stored.
    godwit = await startGodwit({ roles: "api,dispatch", simulatorSpeed: 3 });
    await godwit.unlimited();
    client = clientOf(godwit, await godwit.key());
    await Promise.all(
      JOURNEYS.map(async (journey) => {
        const { recipient, channel, entries } = journey;
        const { id } = await client.messages.send({ recipient, channel });
        const all = await until(`${recipient} on ${channel} to reach its final status`, async () => {
          const known = await client.messages.timeline(id);
          return known.length >= entries.length ? known : undefined;
        });
        ended.set(journey, { record: await client.messages.read(id), entries: all });
      }),
    );
  });
  after(() => godwit.stop());

  const endOf = (journey: Journey): { record: Json; entries: TimelineEntry[] } => {
    const end = ended.get(journey);
    assert.ok(end !== undefined);
    return end;
  };
  const allEntries = (): TimelineEntry[] => [...ended.values()].flatMap(({ entries }) => entries);
  const countBy = (words: readonly string[]): Record<string, number> => {
    const counts: Record<string, number> = {};
    for (const word of words) counts[word] = (counts[word] ?? 0) + 1;
    return counts;
  };

  for (const journey of JOURNEYS) {
    test(`${journey.recipient} on ${journey.channel} ends as ${journey.status}`, async () => {
      const { record, entries } = endOf(journey);
      const short = entries.map(inShort);
      assert.deepEqual(short, short.includes(LATE_DELIVERED) ? overtaken(journey.entries) : journey.entries);
      assertSound(journey, record, entries);
      assert.equal(await queueRowOf(godwit, record["id"]), undefined);
    });
  }

  test("a throttled attempt shows when the next one follows, and the next one is not earlier", () => {
    for (const journey of JOURNEYS.filter(({ recipient }) => recipient === "+15005550012")) {
      const attempts = endOf(journey).entries.filter(({ attempt }) => attempt !== null);
      attempts.forEach(({ attempt }, index) => {
        if (attempt?.outcome !== "throttled") return;
        assert.equal(attempt.provider_code, "sim-012");
        const next = attempts[index + 1];
        assert.equal(next?.attempt?.outcome, "written");
        const waitedMs = Date.parse(next?.created_at ?? "") - Date.parse(attempt.retry_at ?? "");
        assert.ok(waitedMs >= -50, `the attempt was ${-waitedMs} ms early`);
      });
    }
  });

  test("an attempt shows the carrier's response, and a receipt the carrier's later report", () => {
    for (const { record, entries } of ended.values()) {
      const { message_id: messageId } = record["provider"] as Json;
      for (const { attempt, receipt } of entries) {
        for (const each of [attempt, receipt]) if (each !== null) assert.equal(each.link, "simulator");
        if (attempt?.outcome === "accepted") assert.equal(attempt.provider_message_id, messageId);
        if (receipt !== null) {
          assert.equal(receipt.provider_message_id, messageId);
          assert.equal(receipt.raw["id"], messageId);
        }
        if (receipt?.status === "undelivered") assert.equal(receipt.error_code, (record["error"] as Json)["code"]);
      }
    }
    const refused = JOURNEYS.filter(({ status }) => status === "failed").map((journey) => endOf(journey).entries.at(-1)?.attempt);
    assert.deepEqual(
      refused.map((attempt) => attempt?.provider_code),
      ["sim-002", "sim-002", "sim-003", "sim-003"],
    );
  });

  test("the lists find the messages by status and error code", async () => {
    const find = async (query: string): Promise<Set<unknown>> =>
      new Set(((await client.request("GET", `/v1/messages?limit=100&${query}`)).json["data"] as Json[]).map(({ id }) => id));
    const idsOf = (journeys: readonly Journey[]): Set<unknown> => new Set(journeys.map((journey) => endOf(journey).record["id"]));
    for (const status of ["delivered", "read", "failed", "undelivered"]) {
      assert.deepEqual(await find(`status=${status}`), idsOf(JOURNEYS.filter((journey) => journey.status === status)));
    }
    for (const status of ["scheduled", "queued", "sending", "sent", "expired", "canceled"])
      assert.deepEqual(await find(`status=${status}`), new Set());
    for (const code of ["invalid_destination", "destination_not_permitted", "blocked_by_carrier", "landline_unreachable"]) {
      const expected = JOURNEYS.filter(({ error }) => error !== undefined && (error as Json)["code"] === code);
      assert.equal(expected.length, 2);
      assert.deepEqual(await find(`error_code=${code}`), idsOf(expected));
      assert.deepEqual(await find(`error_code=${code}&channel=sms`), idsOf(expected.filter(({ channel }) => channel === "sms")));
      assert.deepEqual(await find(`error_code=${code}&status=delivered`), new Set());
    }
  });

  test("the counts match the messages that were sent", async () => {
    const { totals, data } = (await client.request("GET", "/v1/usage")).json as { totals: Json; data: Json[] };
    const { time_to_delivered_ms: times, ...sums } = totals;
    const good = JOURNEYS.filter(({ status }) => ["delivered", "read"].includes(status)).length;
    assert.deepEqual(sums, {
      messages: JOURNEYS.length,
      segments: JOURNEYS.filter(({ channel }) => channel === "sms").length,
      by_status: countBy(JOURNEYS.map(({ status }) => status)),
      by_error_code: countBy(JOURNEYS.flatMap(({ error }) => (error === undefined ? [] : [String((error as Json)["code"])]))),
      delivery_rate: Math.round((good / JOURNEYS.length) * 10_000) / 10_000,
    });
    const { p50, p95 } = times as { p50: number; p95: number };
    assert.ok(p50 > 200 && p95 >= p50, `${p50} and ${p95}`);
    assert.equal(
      data.reduce((sum, { messages }) => sum + Number(messages), 0),
      JOURNEYS.length,
    );
  });

  test("the queue and the parked receipts are empty at the end", async () => {
    const { scheduled, queued, sending, oldest_due_at: dueAt } = (await client.request("GET", "/v1/queue")).json;
    assert.deepEqual({ scheduled, queued, sending, dueAt }, { scheduled: 0, queued: 0, sending: 0, dueAt: null });
    const [counts] = await godwit.rows<object>(
      `select (select count(*)::integer from delivery_queue) as waiting,
              (select count(*)::integer from parked_receipts) as parked`,
    );
    assert.deepEqual(counts, { waiting: 0, parked: 0 });
  });

  test("the metrics match the messages that were sent", async () => {
    const metrics = await readMetrics(godwit);
    const outcomes = allEntries().flatMap(({ attempt }) => (attempt === null || attempt.outcome === "written" ? [] : [attempt.outcome]));
    assert.deepEqual(
      seriesOf(metrics, "godwit_attempts_total"),
      countBy(outcomes.map((outcome) => `{link="simulator",outcome="${outcome}"}`)),
    );
    const moves = allEntries().filter(({ status, sequence }) => status !== null && sequence !== 1);
    assert.deepEqual(seriesOf(metrics, "godwit_transitions_total"), countBy(moves.map(({ status }) => `{status="${status}"}`)));
    const receipts = allEntries().flatMap(({ receipt, ignored }) =>
      receipt === null ? [] : [`{link="simulator",status="${receipt.status}",ignored="${ignored}"}`],
    );
    assert.deepEqual(seriesOf(metrics, "godwit_receipts_total"), countBy(receipts));
    assert.equal(metrics.get('godwit_handover_seconds_count{link="simulator"}'), JOURNEYS.length);
    assert.ok((metrics.get('godwit_handover_seconds_sum{link="simulator"}') ?? Infinity) < JOURNEYS.length, "under a second each");
    const delivered = moves.filter(({ status }) => status === "delivered").length;
    assert.equal(metrics.get('godwit_delivered_seconds_count{link="simulator"}'), delivered);
    assert.equal(metrics.get('godwit_messages_in_hand{link="simulator"}'), 0);
    assert.equal(metrics.get('godwit_link_throttled{link="simulator"}'), 0);
    for (const name of ["depth", "held", "oldest_due_seconds"]) assert.deepEqual(seriesOf(metrics, `godwit_queue_${name}`), {});
    assert.ok((metrics.get("godwit_oldest_xmin_age") ?? -1) >= 0);
  });

  test("no message changes after its final status", async () => {
    for (const { record, entries } of ended.values()) {
      assert.deepEqual(await client.messages.timeline(record["id"]), entries);
      assert.deepEqual(await client.messages.read(record["id"]), record);
    }
  });
});

describe("a carrier that sends no receipt", () => {
  test("has its message expired when the wait for a receipt has ended", async (context) => {
    await using godwit = await startGodwit({ roles: "api,dispatch", args: ["--receipt-wait", "1"], simulatorSpeed: 20 });
    await godwit.unlimited();
    const client = clientOf(godwit, await godwit.key());
    const sent = await Promise.all(
      (["sms", "whatsapp"] as const).map((channel) => client.messages.send({ recipient: "+15005550007", channel })),
    );
    for (const { id } of sent) {
      const record = await client.messages.reached(id, "expired");
      const entries = await client.messages.timeline(id);
      assert.deepEqual(entries.map(inShort), [...SENT, "message.expired"]);
      assert.equal(entries.at(-1)?.reason, "no receipt arrived in time");
      const error = {
        code: "no_receipt",
        message: "The carrier accepted the message, and no delivery receipt arrived in time.",
        permanent: false,
        provider_code: null,
      };
      assertSound({ status: "expired", error, times: ["sent_at", "failed_at"] }, record, entries);
      const waitedMs = Date.parse(String(record["failed_at"])) - Date.parse(String(record["sent_at"]));
      context.diagnostic(`after ${waitedMs} ms`);
      assert.ok(waitedMs >= 950 && waitedMs < LIMIT_MS, `after ${waitedMs} ms`);
    }
    const found = (await client.request("GET", "/v1/messages?status=expired&error_code=no_receipt")).json["data"] as Json[];
    assert.equal(found.length, 2);
    const { by_status: byStatus, delivery_rate: rate } = (await client.request("GET", "/v1/usage")).json["totals"] as Json;
    assert.deepEqual([byStatus, rate], [{ expired: 2 }, 0]);
    const names = await godwit.rows("select from provider_references where expires_at > now() + interval '6 days'");
    assert.equal(names.length, 2, "a late receipt would still find its message");
  });
});

describe("a carrier whose receipt arrives before its response is stored", () => {
  test("has the receipt in the timeline once", async () => {
    await using godwit = await startGodwit({ roles: "api,dispatch", simulatorSpeed: 100 });
    await godwit.unlimited();
    const client = clientOf(godwit, await godwit.key());
    const sent = await Promise.all(Array.from({ length: 200 }, () => client.messages.send()));
    for (const { id } of sent) {
      await client.messages.reached(id, "delivered");
      assert.deepEqual(typesOf(await client.messages.timeline(id)), [
        "message.queued",
        "message.sending",
        "message.sent",
        "message.delivered",
      ]);
    }
  });
});
