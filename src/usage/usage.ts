/** Where a message is counted: in the minute of its creation, under what it is now. A message that changes moves from one
 *  place to another. Also the scale on which times to delivery are kept, and what can be read off it. */
import type { MessageId } from "../lib/id.ts";
import { uuidTimeMs } from "../lib/uuid.ts";

export const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;

/** A message's place among the counts, and what it adds there. */
export type Counted = {
  minuteMs: number;
  channel: string;
  status: string;
  /** Empty: none. */
  errorCode: string;
  deliveryBucket: number;
  segments: number;
};

/** What is counted of a message; a whole message will do. */
export type Countable = {
  id: MessageId;
  channel: string;
  status: string;
  error: { code: string } | null;
  segments: { count: number } | null;
  deliveredAtMs: number | null;
  /** A message that was to wait is not slow for having waited: its time runs from here. */
  sendAtMs?: number | null;
};

/** Minutes since 1970: half the bytes of a time, and written without big integers. */
export const usageMinute = ({ minuteMs }: Counted): number => minuteMs / MINUTE_MS;

/** The rest of the place as one text. A statement hashes it once for each message of a batch and splits it once for each place;
 *  four columns would be built, sent and hashed for each message. */
export const usageKey = ({ channel, status, deliveryBucket: bucket, errorCode }: Counted): string =>
  `${channel}|${status}|${bucket}|${errorCode}`;

export function countedOf({ id, channel, status, error, segments, deliveredAtMs, sendAtMs }: Countable): Counted {
  const createdAtMs = uuidTimeMs(id);
  return {
    minuteMs: createdAtMs - (createdAtMs % MINUTE_MS),
    channel,
    status,
    errorCode: error?.code ?? "",
    deliveryBucket: deliveredAtMs === null ? NOT_DELIVERED : deliveryBucket(deliveredAtMs - Math.max(createdAtMs, sendAtMs ?? 0)),
    segments: segments?.count ?? 0,
  };
}

const NOT_DELIVERED = -1;

// Two steps to a doubling: a time read off the scale is wrong by a fifth or so, and sixty steps reach from a tenth of a
// second beyond every time that a receipt is waited for.
const FIRST_BUCKET_MS = 100;
const BUCKETS_PER_DOUBLING = 2;
const LAST_BUCKET = 60;

/** The first step that reaches as far as this time. Clocks differ, so a time may come out negative: it was short. */
export function deliveryBucket(ms: number): number {
  if (ms <= FIRST_BUCKET_MS) return 0;
  return Math.min(Math.ceil(BUCKETS_PER_DOUBLING * Math.log2(ms / FIRST_BUCKET_MS)), LAST_BUCKET);
}

export const bucketUpperMs = (bucket: number): number => FIRST_BUCKET_MS * 2 ** (bucket / BUCKETS_PER_DOUBLING);

/** How many messages there are on each step. */
export type Histogram = ReadonlyMap<number, number>;

/** The time within which the share `q` of the messages was delivered. Inside a step they are taken to lie evenly. */
export function quantileMs(histogram: Histogram, q: number): number | null {
  const steps = [...histogram].filter(([, messages]) => messages > 0).toSorted(([a], [b]) => a - b);
  const total = steps.reduce((sum, [, messages]) => sum + messages, 0);
  let rest = q * total;
  for (const [bucket, messages] of steps) {
    if (rest <= messages) return Math.round(lerp(bucketLowerMs(bucket), bucketUpperMs(bucket), rest / messages));
    rest -= messages;
  }
  // What is left over after the last step is a rounding error.
  const last = steps.at(-1);
  return last === undefined ? null : Math.round(bucketUpperMs(last[0]));
}

const bucketLowerMs = (bucket: number): number => (bucket === 0 ? 0 : bucketUpperMs(bucket - 1));

const lerp = (from: number, to: number, share: number): number => from + (to - from) * share;
