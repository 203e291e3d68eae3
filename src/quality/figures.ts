/** The figures of a link over the last quarter of an hour, as the API and the metrics show them. */
import { nullable, Type, type Static } from "../http/schema.ts";
import { TIMINGS } from "../timings.ts";
import type { Queryable } from "../database/database.ts";
import { readCounts, type CountRow } from "./queries.ts";
import { windowsOf } from "./windows.ts";

const SHOWN_WINDOWS = windowsOf(TIMINGS.qualityHalfLifeMs);

const MAX_ERRORS = 10;
const MAX_COUNTRIES = 20;
// The rate of fewer messages would tell an account how single messages of others ended.
const MIN_SHARED_RESULTS = 20;

const count = (description: string) =>
  nullable(Type.Integer({ description: `${description} Null for a link of the operator, which other accounts use as well.` }));
const rate = nullable(
  Type.Number({ description: "The share of messages with a result that were delivered, from 0 to 1. Null without one." }),
);

export const LinkQuality = Type.Object(
  {
    window_seconds: Type.Integer({ description: "The figures are about messages that were sent within this time." }),
    sent: count("The number of messages that the carrier accepted."),
    delivered: count("The number of messages that were delivered."),
    failed: count("The number of messages that the carrier refused or did not deliver."),
    pending: count("The number of messages without a report of the carrier."),
    delivery_rate: rate,
    seconds_to_receipt: nullable(Type.Number({ description: "The mean time until the carrier reported a delivery. Null without one." })),
    errors: Type.Array(
      Type.Object({
        code: Type.String({ description: "The [error code](/docs/states#error-codes-of-messages)." }),
        count: Type.Integer({ description: "The number of messages with it." }),
      }),
      { description: `The ${MAX_ERRORS} most frequent errors. Empty for a link of the operator.` },
    ),
    countries: Type.Array(
      Type.Object({
        country: Type.String({ description: "The country of the recipients. Empty if it is not known." }),
        sent: Type.Integer({ description: "The number of messages that the carrier accepted." }),
        delivered: Type.Integer({ description: "The number of messages that were delivered." }),
        failed: Type.Integer({ description: "The number of messages that the carrier refused or did not deliver." }),
        delivery_rate: rate,
      }),
      { description: `The ${MAX_COUNTRIES} countries with most messages. Empty for a link of the operator.` },
    ),
  },
  {
    title: "LinkQuality",
    description: "How the messages on the link ended lately. Null if there were none, or too few on a link of the operator.",
  },
);
export type LinkQuality = Static<typeof LinkQuality>;

/** The figures of some links, or of all. A link without outcomes is not among them. */
export async function readQuality(db: Queryable, links: readonly string[] | null, nowMs: number): Promise<Map<string, LinkQuality>> {
  const counts = Map.groupBy(await readCounts(db, links, SHOWN_WINDOWS, nowMs), ({ link }) => link);
  return new Map(Array.from(counts, ([link, rows]) => [link, qualityOf(rows)]));
}

function qualityOf(rows: readonly CountRow[]): LinkQuality {
  const sums = sumsOf(rows);
  const errors = Map.groupBy(
    rows.filter(({ code }) => code !== ""),
    ({ code }) => code,
  );
  const countries = Array.from(
    Map.groupBy(rows, ({ country }) => country),
    ([country, own]) => {
      const { sent, delivered, failed, delivery_rate } = sumsOf(own);
      return { country, sent, delivered, failed, delivery_rate };
    },
  );
  return {
    window_seconds: SHOWN_WINDOWS.windowMs / 1_000,
    ...sums,
    errors: Array.from(errors, ([code, own]) => ({ code, count: total(own) }))
      .toSorted((a, b) => b.count - a.count)
      .slice(0, MAX_ERRORS),
    countries: countries.toSorted((a, b) => b.sent + b.failed - (a.sent + a.failed)).slice(0, MAX_COUNTRIES),
  };
}

/** The figures of a link of the operator for an account: how well it delivers, but not how much the other accounts send. */
export function sharedQuality(quality: LinkQuality): LinkQuality | null {
  if ((quality.delivered ?? 0) + (quality.failed ?? 0) < MIN_SHARED_RESULTS) return null;
  const hidden = { sent: null, delivered: null, failed: null, pending: null, errors: [], countries: [] };
  return { ...quality, ...hidden };
}

const total = (rows: readonly CountRow[]): number => rows.reduce((sum, { messages }) => sum + messages, 0);

function sumsOf(rows: readonly CountRow[]) {
  const countOf = (outcome: CountRow["outcome"]): number => total(rows.filter((row) => row.outcome === outcome));
  const [sent, delivered, failedLater] = [countOf("sent"), countOf("delivered"), countOf("failed")];
  const failed = failedLater + countOf("refused");
  const waitMs = rows.reduce((sum, row) => sum + row.wait_ms, 0);
  return {
    sent,
    delivered,
    failed,
    // A count that a crash has lost can make the difference negative.
    pending: Math.max(0, sent - delivered - failedLater),
    delivery_rate: delivered + failed === 0 ? null : rounded(delivered / (delivered + failed)),
    seconds_to_receipt: delivered === 0 ? null : rounded(waitMs / delivered / 1_000),
  };
}

const rounded = (value: number): number => Math.round(value * 1_000) / 1_000;
