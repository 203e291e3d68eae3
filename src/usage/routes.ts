/** The HTTP face of usage: what was counted, and what is under way. */
import type { Credential } from "../access/authenticate.ts";
import { route, type Route } from "../api/route.ts";
import { nullable, oneOf, openEnum, optional, timeParameter, timestamp, Type, type Static } from "../http/schema.ts";
import { isoTime } from "../lib/time.ts";
import { oldestDue } from "../queue/depth.ts";
import type { Clock } from "../storage/database-clock.ts";
import type { Database } from "../storage/database.ts";
import { minutesKeptSince, readDepth, readUsage, type UsageRange } from "./queries.ts";
import { DEFAULT_DAYS, MAX_DAYS, rangeOf, refused } from "./range.ts";
import { INTERVALS, toReport, usageReport, type Words } from "./report.ts";

// Some two megabytes. A month of hours with a dozen kinds of messages fits, and half a day of minutes; more is asked for in parts.
const MAX_ROWS = 10_000;

const usageQuery = ({ channels, statuses }: Words) =>
  Type.Object(
    {
      created_after: timeParameter(
        `From the hour of this moment on, or from its minute. Default: the day ${DEFAULT_DAYS} days before the end; by minute, an hour before it.`,
      ),
      created_before: timeParameter(
        "Up to the end of the hour of this moment, or of its minute; a full hour, or minute, ends before itself. Default: now.",
      ),
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
      `Counts of messages by the minute, hour or day of their creation, and by what they are now. The range is in whole hours: at most ${MAX_DAYS.day} days by day, ${MAX_DAYS.hour} by hour. ` +
      "By minute it is in whole minutes, none older than 24 hours. " +
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
  const range = await keptPart(db, rangeOf(query, nowMs));
  const { channel = null, status = null, error_code: errorCode = null } = query;
  const rows = await readUsage(db, accountId, environment, { ...range, channel, status, errorCode }, MAX_ROWS + 1);
  if (rows.length > MAX_ROWS) {
    const limit = MAX_ROWS.toLocaleString("en-US");
    throw refused(`the answer would have more than ${limit} rows: ask for a shorter range, or filter`);
  }
  return toReport(environment, range, rows);
}

/** In its first day a database that is older than its minutes has fewer: `from` says which were counted. */
async function keptPart(db: Database, range: UsageRange): Promise<UsageRange> {
  if (range.interval !== "minute") return range;
  const sinceMs = await minutesKeptSince(db);
  return { ...range, fromMs: Math.min(Math.max(range.fromMs, sinceMs), range.toMs) };
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
