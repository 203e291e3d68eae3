/** The filters of the message list. They are kept in the address, so that a view can be shared. */
import type { Message, QueryOf } from "godwit-sdk";
import { ANY, readTimeRange, toBounds, withTimeRange, type TimeRange } from "../lib/time-range.ts";

const FILTERS = [
  "search",
  "status",
  "channel",
  "direction",
  "recipient",
  "client_reference",
  "batch_id",
  "error_code",
  "range",
  "created_after",
  "created_before",
] as const;

export type FilterName = (typeof FILTERS)[number];
export type Filters = Readonly<Partial<Record<FilterName, string>>>;

export function readFilters(query: URLSearchParams): Filters {
  const found = FILTERS.map((name) => [name, query.get(name)?.trim() ?? ""] as const).filter(([, value]) => value !== "");
  return Object.fromEntries(found);
}

export function withFilter(filters: Filters, name: FilterName, value: string): URLSearchParams {
  const changed = Object.entries({ ...filters, [name]: value }).filter(([, text]) => text !== "");
  return new URLSearchParams(changed);
}

/** Searches for the recipient as a part of a number: a part with a plus looks like a complete number. */
export const asPartOfNumber = ({ recipient = "", ...others }: Filters): URLSearchParams => withFilter(others, "search", recipient);

export const rangeOf = (filters: Filters): TimeRange => readTimeRange(new URLSearchParams(filters), ANY);

export const withRange = (filters: Filters, range: TimeRange): URLSearchParams => withTimeRange(new URLSearchParams(filters), range);

/** The query of the API. An address may contain any value; the service reports an invalid one. */
export function toQuery(filters: Filters, nowMs: number): MessageQuery {
  const { search: _, range: __, created_after: ___, created_before: ____, ...equal } = filters;
  return { ...equal, ...toBounds(rangeOf(filters), nowMs) } as MessageQuery;
}

export type MessageQuery = Omit<QueryOf<"listMessages">, "limit" | "cursor">;

/** Whether the message matches the query. Messages from events are added to the list without a request. */
export function matches(message: Message, query: MessageQuery): boolean {
  const { error_code: errorCode, created_after: after, created_before: before, ...equal } = query;
  if (errorCode !== undefined && message.error?.code !== errorCode) return false;
  if (after !== undefined && Date.parse(message.created_at) <= new Date(after).getTime()) return false;
  if (before !== undefined && Date.parse(message.created_at) >= new Date(before).getTime()) return false;
  return Object.entries(equal).every(([name, value]) => message[name as keyof typeof equal] === value);
}

export type Search =
  | { kind: "message"; id: string }
  | { kind: "request"; id: string; range: TimeRange }
  | { kind: "filter"; name: FilterName; value: string };

export const isRequestId = (text: string): boolean => /^req_[0-9a-z]{26}$/.test(text);

const DIGITS = "0123456789abcdefghjkmnpqrstvwxyz";
// An id begins with its time in milliseconds, in ten digits of base 32.
const TIME = { from: "req_".length, to: "req_".length + 10 };
// The clocks of the node and the database may differ, and the body of a request may be slow.
const AROUND_MS = 60_000;

/** The time in which a request created its messages. */
function rangeOfRequest(id: string): TimeRange {
  const atMs = Array.from(id.slice(TIME.from, TIME.to)).reduce((value, digit) => value * DIGITS.length + DIGITS.indexOf(digit), 0);
  const [after, before] = [-AROUND_MS, AROUND_MS].map((ms) => new Date(atMs + ms).toISOString());
  return { kind: "custom", after, before };
}

/** Interprets a search text: ids are recognized by their prefix, complete phone numbers by their plus; anything else is searched for in the
 *  newest messages. */
export function readSearch(text: string): Search | undefined {
  const word = text.trim();
  if (word === "") return undefined;
  if (/^msg_\w+$/.test(word)) return { kind: "message", id: word };
  if (/^batch_\w+$/.test(word)) return { kind: "filter", name: "batch_id", value: word };
  if (isRequestId(word)) return { kind: "request", id: word, range: rangeOfRequest(word) };
  const digits = word.replaceAll(/[\s().-]/g, "");
  if (/^(\+|00)\d{6,15}$/.test(digits)) return { kind: "filter", name: "recipient", value: digits.replace(/^00/, "+") };
  return { kind: "filter", name: "search", value: word };
}
