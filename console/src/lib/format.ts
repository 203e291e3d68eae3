/** Formats values for display. */

const WHOLE = new Intl.NumberFormat(undefined);
const SHORT = new Intl.NumberFormat(undefined, { notation: "compact", maximumFractionDigits: 1 });
const PERCENT = new Intl.NumberFormat(undefined, { style: "percent", maximumFractionDigits: 1 });
const MOMENT = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const DAY = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });
// Usage is counted by UTC days and hours, so it is shown in UTC in every time zone.
const UTC_DAY = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeZone: "UTC" });
const UTC_HOUR = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short", timeZone: "UTC" });
const CLOCK = new Intl.DateTimeFormat(undefined, { timeStyle: "medium" });

export const formatCount = (value: number): string => (Math.abs(value) < 100_000 ? WHOLE : SHORT).format(value);
export const formatPercent = (share: number | null): string => (share === null ? "–" : PERCENT.format(share));
export const formatMoment = (iso: string): string => MOMENT.format(new Date(iso));
export const formatDay = (iso: string): string => DAY.format(new Date(iso));
export const formatUtcDay = (iso: string): string => UTC_DAY.format(new Date(iso));
export const formatUtcHour = (iso: string): string => UTC_HOUR.format(new Date(iso));
export const formatClock = (iso: string): string => CLOCK.format(new Date(iso));

/** Formats a duration with the precision that matters: 340 ms, 4.2 s, 3 min, 2 h, 5 d. */
export function formatDuration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  const seconds = ms / 1_000;
  if (seconds < 60) return `${seconds < 10 ? seconds.toFixed(1).replace(".0", "") : Math.round(seconds)} s`;
  if (seconds < 5_400) return `${Math.round(seconds / 60)} min`;
  if (seconds < 129_600) return `${Math.round(seconds / 3_600)} h`;
  return `${Math.round(seconds / 86_400)} d`;
}

/** Formats a time relative to now: 5 s ago, in 3 min. */
export function formatAgo(iso: string, nowMs = Date.now()): string {
  const ms = nowMs - Date.parse(iso);
  if (Math.abs(ms) < 1_000) return "now";
  return ms > 0 ? `${formatDuration(Math.floor(ms / 1_000) * 1_000)} ago` : `in ${formatDuration(-ms)}`;
}

/** Formats a date for an `<input type="datetime-local">`: local time, without a time zone. */
export function toLocalInput(date: Date): string {
  const shifted = new Date(date.getTime() - date.getTimezoneOffset() * 60_000);
  return shifted.toISOString().slice(0, 16);
}

/** Stands for a date of which a part is missing. The browser returns an empty value for it, but it does not mean "no date". */
export const INCOMPLETE = "incomplete";

/** Converts the value of such a field to UTC. An invalid value is returned unchanged, so that the service reports the fault. */
export function fromLocalInput(text: string): string {
  const date = new Date(text);
  return Number.isNaN(date.getTime()) || date.getFullYear() > 9_999 ? text : date.toISOString();
}

/** Replaces the underscores of an API value: `service_window_closed` → service window closed. */
export const words = (code: string): string => code.replaceAll("_", " ");

export const plural = (count: number, one: string, many = `${one}s`): string => `${formatCount(count)} ${count === 1 ? one : many}`;

const APIS: Readonly<Record<string, string>> = { twilio: "Twilio", kannel: "Kannel" };

/** The product with which an API is compatible. */
export const apiTitle = (source: string): string => APIS[source] ?? source;

/** The name to display for an endpoint: its URL. An endpoint of a compatible API has none if each message names its own. */
export const endpointName = ({ url, description, id }: { url: string; description: string | null; id: string }): string =>
  url || description || id;

const BYTES = new Intl.NumberFormat(undefined, { maximumFractionDigits: 1 });

/** Formats the size of a file. A megabyte has 1,048,576 bytes, as in the limits of the service. */
export function formatBytes(bytes: number): string {
  if (bytes < 1_024) return plural(bytes, "byte");
  if (bytes < 1_048_576) return `${WHOLE.format(Math.round(bytes / 1_024))} kB`;
  return `${BYTES.format(bytes / 1_048_576)} MB`;
}

const MAX_EXCERPT = 80;

/** Shortens the text between two characters, never within one. */
export const excerpt = (text: string): string => {
  const characters = [...text];
  return characters.length <= MAX_EXCERPT ? text : `${characters.slice(0, MAX_EXCERPT).join("")}…`;
};
