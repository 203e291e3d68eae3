/** The count to which a message belongs: the minute of its creation, with its current channel, status and error. A message that changes
 *  moves from one count to another. Also the buckets of delivery times, and the quantiles that they yield. */
import type { MessageId } from "../model/id.ts";
import { uuidTimeMs } from "../lib/uuid.ts";

export const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;

/** The fields of a message that usage needs. */
export type Countable = {
  id: MessageId;
  error: { code: string } | null;
  segments: { count: number } | null;
  deliveredAtMs: number | null;
  /** The delivery time of a scheduled message starts here, because its wait is not slowness. */
  sendAtMs?: number | null;
};

/** The minute in which a message was created, counted from 1970: half the bytes of a timestamp, and no big integer. */
export const usageMinute = ({ id }: Pick<Countable, "id">): number => Math.floor(uuidTimeMs(id) / MINUTE_MS);

/** The error of a message; empty: none. */
export const usageError = ({ error }: Pick<Countable, "error">): string => error?.code ?? "";

export const usageSegments = ({ segments }: Pick<Countable, "segments">): number => segments?.count ?? 0;

export const usageBucket = ({ id, deliveredAtMs, sendAtMs }: Omit<Countable, "error" | "segments">): number =>
  deliveredAtMs === null ? NOT_DELIVERED : deliveryBucket(deliveredAtMs - Math.max(uuidTimeMs(id), sendAtMs ?? 0));

/** The bucket of messages that were not delivered. */
export const NOT_DELIVERED = -1;

// Two buckets for each doubling: a time from the buckets is wrong by about a fifth. Sixty buckets reach from a tenth of a second to beyond
// the longest wait for a receipt.
const FIRST_BUCKET_MS = 100;
const BUCKETS_PER_DOUBLING = 2;
const LAST_BUCKET = 60;

/** The first bucket that covers this time. A negative time, from clocks that differ, counts as short. */
export function deliveryBucket(ms: number): number {
  if (ms <= FIRST_BUCKET_MS) return 0;
  return Math.min(Math.ceil(BUCKETS_PER_DOUBLING * Math.log2(ms / FIRST_BUCKET_MS)), LAST_BUCKET);
}

export const bucketUpperMs = (bucket: number): number => FIRST_BUCKET_MS * 2 ** (bucket / BUCKETS_PER_DOUBLING);

/** The number of messages in each bucket. */
export type Histogram = ReadonlyMap<number, number>;

/** The time within which the share `q` of the messages was delivered. The times inside a bucket are taken as even. */
export function quantileMs(histogram: Histogram, q: number): number | null {
  const steps = [...histogram].filter(([, messages]) => messages > 0).toSorted(([a], [b]) => a - b);
  const total = steps.reduce((sum, [, messages]) => sum + messages, 0);
  let rest = q * total;
  for (const [bucket, messages] of steps) {
    if (rest <= messages) return Math.round(lerp(bucketLowerMs(bucket), bucketUpperMs(bucket), rest / messages));
    rest -= messages;
  }
  // A rest after the last bucket is a rounding error.
  const last = steps.at(-1);
  return last === undefined ? null : Math.round(bucketUpperMs(last[0]));
}

const bucketLowerMs = (bucket: number): number => (bucket === 0 ? 0 : bucketUpperMs(bucket - 1));

const lerp = (from: number, to: number, share: number): number => from + (to - from) * share;
