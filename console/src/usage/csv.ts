/** Usage as a CSV file, made from the loaded response without a further request. */
import type { Usage } from "godwit-sdk";

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
    .map((cells) => `${cells.map(toCell).join(",")}\r\n`)
    .join("");

function toCell(value: string | number | null | undefined): string {
  const text = String(value ?? "");
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export const csvFileName = ({ environment, interval, from, to }: Usage): string =>
  `usage-${environment}-by-${interval}-${from.slice(0, 10)}-to-${to.slice(0, 10)}.csv`;

export function download(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
  const link = Object.assign(document.createElement("a"), { href: url, download: name });
  link.click();
  // Most browsers have read the file when the click is handled; some take a moment longer.
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
