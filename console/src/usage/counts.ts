/** The rows of an answer, put together: by interval, and as shares of the whole. */
import type { Usage } from "godwit-sdk";

export type IntervalCount = {
  start: string;
  messages: number;
  segments: number;
  delivered: number;
  failed: number;
  underWay: number;
  /** Canceled, came in, or something that is not known here yet. */
  other: number;
  /** As the API has it: of those whose end is known. */
  deliveryRate: number | null;
};

type Kind = "delivered" | "failed" | "underWay" | "other";

const KINDS: Readonly<Record<string, Kind>> = {
  delivered: "delivered",
  read: "delivered",
  undelivered: "failed",
  failed: "failed",
  expired: "failed",
  scheduled: "underWay",
  queued: "underWay",
  sending: "underWay",
  sent: "underWay",
};

/** Newest first, as the API has them. An hour or day without messages is not among them. */
export function byInterval(rows: Usage["data"]): IntervalCount[] {
  const counts = new Map<string, IntervalCount>();
  for (const { start, status, messages, segments } of rows) {
    const count = counts.get(start) ?? none(start);
    counts.set(start, count);
    count.messages += messages;
    count.segments += segments;
    count[KINDS[status] ?? "other"] += messages;
  }
  return Array.from(counts.values(), (count) => ({ ...count, deliveryRate: rateOf(count) }));
}

const none = (start: string): IntervalCount => ({
  start,
  messages: 0,
  segments: 0,
  delivered: 0,
  failed: 0,
  underWay: 0,
  other: 0,
  deliveryRate: null,
});

const rateOf = ({ delivered, failed }: IntervalCount): number | null =>
  delivered + failed === 0 ? null : delivered / (delivered + failed);

export type Share = { word: string; messages: number; share: number };

/** The most first. */
export const sharesOf = (counts: Readonly<Record<string, number>>, all: number): Share[] =>
  Object.entries(counts)
    .map(([word, messages]) => ({ word, messages, share: all === 0 ? 0 : messages / all }))
    .toSorted((a, b) => b.messages - a.messages || a.word.localeCompare(b.word));
