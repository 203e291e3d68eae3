/** Usage as a CSV file, made from the loaded response without a further request. */
import type { Usage } from "godwit-sdk";
import { toCsvLine } from "../../../src/lib/csv.ts";

const HEAD = ["start", "channel", "status", "error_code", "messages", "segments", "p50_ms", "p95_ms"];

export const toCsv = ({ data }: Usage): string =>
  [
    HEAD,
    ...data.map(({ start, channel, status, error_code: errorCode, messages, segments, time_to_delivered_ms: time }) => [
      start,
      channel,
      status,
      errorCode,
      messages,
      segments,
      time?.p50,
      time?.p95,
    ]),
  ]
    .map(toCsvLine)
    .join("");

export const csvFileName = ({ environment, interval, from, to }: Usage): string =>
  `usage-${environment}-by-${interval}-${from.slice(0, 10)}-to-${to.slice(0, 10)}.csv`;
