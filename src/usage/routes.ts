/** The HTTP routes of usage. */
import type { Credential } from "../access/authenticate.ts";
import { route, type Route } from "../api/route.ts";
import { jsonResponse } from "../http/json-response.ts";
import { oneOf, optional, timeParameter, Type, type Static } from "../http/schema.ts";
import { groupDigits } from "../lib/group-digits.ts";
import type { Clock } from "../database/database-clock.ts";
import type { Database } from "../database/database.ts";
import type { Owner } from "../model/owner.ts";
import { minutesKeptSince, readUsage, type UsageRange } from "./queries.ts";
import { DEFAULT_DAYS, MAX_DAYS, rangeOf, refused } from "./range.ts";
import { INTERVALS, toReport, usageReport, type MediaUsage, type Words } from "./report.ts";

// About two megabytes. A month of hours with a dozen kinds of messages fits, and half a day of minutes. More needs several requests.
const MAX_ROWS = 10_000;

const usageQuery = ({ channels, statuses }: Words) =>
  Type.Object(
    {
      created_after: timeParameter(
        `The start of the range: counts from the hour of this time on, or from its minute. Default: ${DEFAULT_DAYS} days before the end, or an hour before it by minute.`,
      ),
      created_before: timeParameter(
        "The end of the range: counts up to the end of the hour of this time, or of its minute. A time on the full hour, or minute, is not included. Default: now.",
      ),
      interval: optional(oneOf(INTERVALS, { description: "The interval of each row. Default: `day`, in UTC." })),
      channel: optional(oneOf(channels, { description: "Only messages of this channel." })),
      status: optional(oneOf(statuses, { description: "Only messages that have this status now." })),
      error_code: optional(Type.String({ minLength: 1, maxLength: 64, description: "Only messages with this error code." })),
    },
    { additionalProperties: false },
  );

type UsageQuery = Static<ReturnType<typeof usageQuery>>;

type UsageRouteParts = {
  db: Database;
  clock: Clock;
  words: Words;
  /** The stored files of an owner. Passed in, because media have a higher rank than usage. */
  mediaUsage: (owner: Owner) => Promise<MediaUsage>;
};

export const usageRoutes = ({ words, ...parts }: UsageRouteParts): Route[] => [
  route({
    method: "GET",
    path: "/v1/usage",
    operationId: "getUsage",
    weight: "heavy",
    mayLag: true,
    isCompressible: true,
    summary: "Retrieve usage",
    description:
      "Returns the number of messages and segments by minute, hour or day of their creation, and by their current status. Use it for reports and billing. `media` has the bytes of the stored files. " +
      `The range is in whole hours, and covers at most ${MAX_DAYS.day} days by day and ${MAX_DAYS.hour} days by hour. By minute it is in whole minutes of the last 24 hours. ` +
      `A response has at most ${groupDigits(MAX_ROWS)} rows; a range that needs more is refused with 400. See [Usage](/docs/usage).`,
    tag: "Usage",
    scope: "usage:read",
    isIdempotent: false,
    query: usageQuery(words),
    reply: { status: 200, description: "The usage.", schema: usageReport(words) },
    problems: [],
    handle: async ({ query, credential }) => jsonResponse(await report(parts, credential, query)),
  }),
];

async function report(
  { db, clock, mediaUsage }: Omit<UsageRouteParts, "words">,
  { accountId, environment }: Credential,
  query: UsageQuery,
): Promise<object> {
  const range = await keptPart(db, rangeOf(query, clock.now()));
  const { channel = null, status = null, error_code: errorCode = null } = query;
  const rows = await readUsage(db, accountId, environment, { ...range, channel, status, errorCode }, MAX_ROWS + 1);
  if (rows.length > MAX_ROWS) {
    throw refused(`the response would have more than ${groupDigits(MAX_ROWS)} rows: use a shorter range, or filters`);
  }
  return toReport(environment, range, rows, await mediaUsage({ accountId, environment }));
}

/** A database that is older than its minutes has fewer of them on the first day: `from` reports where they begin. */
async function keptPart(db: Database, range: UsageRange): Promise<UsageRange> {
  if (range.interval !== "minute") return range;
  const sinceMs = await minutesKeptSince(db);
  return { ...range, fromMs: Math.min(Math.max(range.fromMs, sinceMs), range.toMs) };
}
