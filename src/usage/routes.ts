/** The HTTP face of usage: what was counted, and what is under way. */
import type { Credential } from "../access/authenticate.ts";
import { route, type Route } from "../api/route.ts";
import { Problem } from "../http/problem.ts";
import { nullable, oneOf, openEnum, optional, timeParameter, timestamp, Type, type Static } from "../http/schema.ts";
import { isoTime } from "../lib/time.ts";
import { oldestDue } from "../queue/depth.ts";
import type { Clock } from "../storage/database-clock.ts";
import type { Database } from "../storage/database.ts";
import { readDepth, readUsage, type UsageRange } from "./queries.ts";
import { INTERVALS, toReport, usageReport, type Words } from "./report.ts";
import { HOUR_MS } from "./usage.ts";

const DAY_MS = 24 * HOUR_MS;
const DEFAULT_DAYS = 30;
// Counts are kept for 400 days. By the hour a month is 744 times as many rows as there are kinds of messages.
const MAX_DAYS = { hour: 31, day: 400 } as const;
// Some two megabytes. A month of hours with a dozen kinds of messages fits; more is asked for in parts.
const MAX_ROWS = 10_000;

const usageQuery = ({ channels, statuses }: Words) =>
  Type.Object(
    {
      created_after: timeParameter(`From the hour of this moment on. Default: the day ${DEFAULT_DAYS} days before the end.`),
      created_before: timeParameter("Up to the end of the hour of this moment; a full hour ends before itself. Default: now."),
      interval: optional(oneOf(INTERVALS, { description: "What a row stands for. Default: day, in UTC." })),
      channel: optional(oneOf(channels)),
      status: optional(oneOf(statuses)),
      error_code: optional(Type.String({ minLength: 1, maxLength: 64 })),
    },
    { additionalProperties: false },
  );

type UsageQuery = Static<ReturnType<typeof usageQuery>>;

const Queue = Type.Object(
  {
    object: Type.Literal("queue"),
    environment: openEnum(["test", "live"]),
    scheduled: Type.Integer({ description: "Messages that wait for their `send_at`." }),
    queued: Type.Integer({ description: "Messages that wait to be handed to a carrier." }),
    sending: Type.Integer({ description: "Messages that are being handed to a carrier." }),
    oldest_due_at: nullable(timestamp("Since when the longest waiting queued message could have been sent. Null when none waits.")),
    oldest_due_seconds: Type.Integer({ minimum: 0, description: "The same in seconds until now; 0 when none waits." }),
  },
  { title: "Queue", description: "What is under way." },
);

export const usageRoutes = (db: Database, clock: Clock, words: Words): Route[] => [
  route({
    method: "GET",
    path: "/v1/usage",
    summary: "Read the usage",
    description:
      `Counts of messages by the hour or day of their creation, and by what they are now. The range is in whole hours: at most ${MAX_DAYS.day} days by day, ${MAX_DAYS.hour} by hour. ` +
      `An answer has ${MAX_ROWS.toLocaleString("en-US")} rows at most; a range that needs more is refused with 400.`,
    tag: "Usage",
    scope: "usage:read",
    isIdempotent: false,
    query: usageQuery(words),
    reply: { status: 200, description: "The counts.", schema: usageReport(words) },
    problems: [],
    handle: async ({ query, credential }) => ({ status: 200, body: JSON.stringify(await report(db, credential, query, clock.now())) }),
  }),
  route({
    method: "GET",
    path: "/v1/queue",
    summary: "Read the queue's depth",
    description: "How many messages of this environment are under way, and how long the oldest that is due has been waiting.",
    tag: "Usage",
    scope: "usage:read",
    isIdempotent: false,
    reply: { status: 200, description: "The depth.", schema: Queue },
    problems: [],
    handle: async ({ credential }) => ({ status: 200, body: JSON.stringify(await depth(db, credential, clock)) }),
  }),
];

async function report(db: Database, { accountId, environment }: Credential, query: UsageQuery, nowMs: number): Promise<object> {
  const range = rangeOf(query, nowMs);
  const { channel = null, status = null, error_code: errorCode = null } = query;
  const rows = await readUsage(db, accountId, environment, { ...range, channel, status, errorCode }, MAX_ROWS + 1);
  if (rows.length > MAX_ROWS) {
    const limit = MAX_ROWS.toLocaleString("en-US");
    throw refused("created_after", `the answer would have more than ${limit} rows: ask for a shorter range, or filter`);
  }
  return toReport(environment, range, rows);
}

async function depth(db: Database, { accountId, environment }: Credential, clock: Clock): Promise<Static<typeof Queue>> {
  const [counts, dueAtMs] = await Promise.all([readDepth(db, accountId, environment), oldestDue(db, accountId, environment)]);
  return {
    object: "queue",
    environment,
    scheduled: counts.scheduled,
    queued: counts.queued,
    sending: counts.sending,
    oldest_due_at: dueAtMs === null ? null : isoTime(dueAtMs),
    oldest_due_seconds: dueAtMs === null ? 0 : Math.max(0, Math.floor((clock.now() - dueAtMs) / 1_000)),
  };
}

/** The hours that a request asks for: all that its range touches. */
function rangeOf(query: UsageQuery, nowMs: number): UsageRange {
  const interval = query.interval ?? "day";
  const isOpen = typeof query.created_before !== "string";
  const beforeMs = isOpen ? nowMs : Date.parse(query.created_before ?? "");
  const afterMs =
    typeof query.created_after === "string" ? Date.parse(query.created_after) : floorTo(DAY_MS, beforeMs - DEFAULT_DAYS * DAY_MS);
  checkRange(afterMs, beforeMs, interval);
  // The hour that has begun is a part of it, were it only for a moment.
  const toMs = isOpen ? floorTo(HOUR_MS, nowMs) + HOUR_MS : Math.ceil(beforeMs / HOUR_MS) * HOUR_MS;
  return { fromMs: bounded(floorTo(HOUR_MS, afterMs)), toMs: bounded(toMs), interval };
}

function checkRange(afterMs: number, beforeMs: number, interval: UsageRange["interval"]): void {
  if (afterMs >= beforeMs) {
    throw refused("created_after", "must be earlier than created_before, which is now unless it is given");
  }
  const days = MAX_DAYS[interval];
  if (beforeMs - afterMs > days * DAY_MS) {
    throw refused("created_after", `must be at most ${days} days before created_before where interval is ${interval}`);
  }
}

const refused = (parameter: string, detail: string): Problem =>
  new Problem("invalid_request_payload", { errors: [{ parameter, code: "out_of_range", detail }] });

const floorTo = (unitMs: number, timeMs: number): number => Math.floor(timeMs / unitMs) * unitMs;

// No message is older than the clock its id counts from, and no time of ours has a year of five digits.
const LAST_HOUR_MS = Date.UTC(9999, 11, 31, 23);
const bounded = (timeMs: number): number => Math.min(Math.max(timeMs, 0), LAST_HOUR_MS);
