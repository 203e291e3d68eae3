/** Twilio's lists of messages: its filters, its pages, and the links between them. */
import type { MessageFilter } from "../messages/queries.ts";
import type { MessageId } from "../model/id.ts";
import { firstUuidAt, MAX_UUID, NIL_UUID, type Uuid } from "../lib/uuid.ts";
import { isDateTime } from "../lib/time.ts";
import type { Channel } from "../links/channel.ts";
import { twilioProblem } from "./errors.ts";
import { PAGING, requireKnown, valueOf, type TwilioParameters } from "./forms.ts";
import type { MessageResource } from "./message-resource.ts";
import { readAddress } from "./new-message.ts";
import { messageOfSid, messageSid } from "./sids.ts";

const FILTERS = ["To", "From", "DateSent", "DateSent<", "DateSent>"] as const;
const KNOWN = new Set<string>([...FILTERS, ...PAGING]);

const DEFAULT_SIZE = 50;
// Twilio's pages have up to 1,000 records. Ours have as many as those of our own lists, and name the next page in any case.
const MAX_SIZE = 100;
const MAX_PAGE = 1_000_000;

type Position = { page: number; size: number; token: string | undefined };

export type ListRequest = { filter: MessageFilter; position: Position; query: string };

export function readList(parameters: TwilioParameters): ListRequest {
  requireKnown(parameters, KNOWN);
  const position = readPosition(parameters);
  const { channel, address: recipient } = addressIn(parameters, "To");
  const { channel: channelOfSender, address: sender } = addressIn(parameters, "From");
  const before = position.token === undefined ? MAX_UUID : tokenId(position.token);
  const { from, until } = rangeOf(parameters);
  const kept = FILTERS.flatMap((name): [string, string][] => {
    const value = valueOf(parameters, name);
    return value === undefined ? [] : [[name, value]];
  });
  return {
    filter: {
      from,
      before: Buffer.compare(before, until) < 0 ? before : until,
      recipient,
      sender,
      clientReference: null,
      status: null,
      channel: channel ?? channelOfSender,
      direction: null,
      batchId: null,
      errorCode: null,
    },
    position,
    query: new URLSearchParams(kept).toString(),
  };
}

function addressIn(parameters: TwilioParameters, name: "To" | "From"): { channel: Channel | null; address: string | null } {
  const text = valueOf(parameters, name);
  return text === undefined ? { channel: null, address: null } : readAddress(text);
}

function readPosition(parameters: TwilioParameters): Position {
  const size = wholeNumber(parameters, "PageSize", DEFAULT_SIZE);
  if (size < 1) throw twilioProblem(20001, "PageSize must be at least 1");
  const page = wholeNumber(parameters, "Page", 0);
  const token = valueOf(parameters, "PageToken");
  if (page > 0 && token === undefined) throw twilioProblem(20001, "Page needs the PageToken of next_page_uri");
  return { page, size: Math.min(size, MAX_SIZE), token };
}

function wholeNumber(parameters: TwilioParameters, name: string, absent: number): number {
  const text = valueOf(parameters, name);
  if (text === undefined) return absent;
  if (!/^\d{1,7}$/.test(text) || Number(text) > MAX_PAGE) throw twilioProblem(20001, `${name} must be a whole number`);
  return Number(text);
}

/** A token is `PA` with the SID after which the page begins, as with Twilio. */
function tokenId(token: string): MessageId {
  const id = token.startsWith("PA") ? messageOfSid(token.slice(2)) : undefined;
  if (id === undefined) throw twilioProblem(20001, "PageToken must be that of next_page_uri");
  return id;
}

const DAY_MS = 24 * 3_600_000;
const DAY = /^\d{4}-\d\d-\d\d$/;
const TIME = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:?\d\d)?$/;

/** The range of ids of the filters by date. Both ends are inclusive, and a date without a time is the whole day in UTC. The time is that of the
 *  creation, which is in the ids. */
function rangeOf(parameters: TwilioParameters): { from: Uuid; until: Uuid } {
  const on = momentIn(parameters, "DateSent");
  const after = momentIn(parameters, "DateSent>");
  const before = momentIn(parameters, "DateSent<");
  const starts = [on, after].flatMap((moment) => (moment === undefined ? [] : [moment.startMs]));
  const ends = [on, before].flatMap((moment) => (moment === undefined ? [] : [moment.endMs]));
  return {
    from: starts.length === 0 ? NIL_UUID : firstUuidAt(Math.max(...starts)),
    until: ends.length === 0 ? MAX_UUID : firstUuidAt(Math.min(...ends)),
  };
}

/** The first millisecond of a date or second, and the first one after it. */
function momentIn(parameters: TwilioParameters, name: string): { startMs: number; endMs: number } | undefined {
  const text = valueOf(parameters, name);
  if (text === undefined) return undefined;
  const isDay = DAY.test(text);
  const exists = isDateTime(`${text.slice(0, "2030-01-31".length)}T00:00:00Z`);
  const startMs =
    exists && (isDay || TIME.test(text)) ? Date.parse(isDay || /(Z|[+-]\d\d:?\d\d)$/.test(text) ? text : `${text}Z`) : Number.NaN;
  if (Number.isNaN(startMs))
    throw twilioProblem(20001, `${name} must be a date such as 2030-01-31, or a time such as 2030-01-31T09:00:00Z`);
  return { startMs, endMs: startMs + (isDay ? DAY_MS : 1_000) };
}

/** The response of a list. `next`: the id after which the next page begins. */
export function listResource(
  { position: { page, size, token }, query }: ListRequest,
  path: string,
  messages: readonly MessageResource[],
  next: MessageId | null,
) {
  const uriOf = (number: number, pageToken?: string): string => {
    const parts = [query, `PageSize=${size}`, `Page=${number}`, pageToken === undefined ? "" : `PageToken=${pageToken}`];
    return `${path}?${parts.filter((part) => part !== "").join("&")}`;
  };
  return {
    first_page_uri: uriOf(0),
    end: page * size + Math.max(0, messages.length - 1),
    previous_page_uri: null,
    messages,
    uri: uriOf(page, token),
    page_size: size,
    start: page * size,
    next_page_uri: next === null ? null : uriOf(page + 1, `PA${messageSid(next, false)}`),
    page,
  };
}
