/** The operator's search for messages over all accounts. A search is recorded before its result is shown: in the audit log of the installation, and
 *  in that of each account whose messages it returns. */
import { recordChange, recordInstallationChange } from "../audit/record-change.ts";
import { listEntries } from "../events/queries.ts";
import { toTimelineEntry } from "../events/timeline.ts";
import { unreachable } from "../lib/assert.ts";
import { isoTime } from "../lib/time.ts";
import { MAX_UUID, uuidTimeMs } from "../lib/uuid.ts";
import { decodeId, encodeId, toId, type MessageId, type RequestId } from "../model/id.ts";
import type { ChangeOrigin } from "../model/origin.ts";
import { RECIPIENT_PATTERN } from "../model/phone-number.ts";
import type { Clock } from "../database/database-clock.ts";
import type { Database, Queryable } from "../database/database.ts";
import { listMessagesOfAll } from "./list-all.ts";
import {
  findByCarrierId,
  findByNumber,
  findByRequest,
  findInAllAccounts,
  type FoundMessage,
  type ListFilter,
  type SearchPage,
} from "./search-queries.ts";

export type Search =
  | { kind: "message"; id: MessageId }
  | { kind: "request"; id: RequestId }
  | { kind: "number"; number: string }
  | { kind: "carrier_id"; carrierId: string }
  | { kind: "filter"; filter: ListFilter };

export type SearchRequest = {
  search: Search;
  /** The last message of the page before this one. */
  before: MessageId | undefined;
  limit: number;
  /** Whether the operator sees the numbers. */
  showsNumbers: boolean;
  origin: ChangeOrigin;
};

/** `next` is the message after which the next page begins, if there is one. */
export type SearchResult = { items: FoundMessage[]; next: MessageId | undefined };

/** An entry of the timeline of a found message. */
export type FoundEntry = ReturnType<typeof toTimelineEntry>;

// The newest entries: a message that is retried for days has more.
export const MAX_TIMELINE = 100;

const NUMBER = new RegExp(RECIPIENT_PATTERN);
// Longer ids of carriers are not stored.
const MAX_CARRIER_ID = 512;

/** Undefined for a text that can be none of these. Any text that is no id of ours and no number may be the id of a carrier. */
export function parseSearch(word: string): Search | undefined {
  if (word.startsWith("msg_")) {
    const id = decodeId("msg", word);
    return id && { kind: "message", id };
  }
  if (word.startsWith("req_")) {
    const id = decodeId("req", word);
    return id && { kind: "request", id };
  }
  if (NUMBER.test(word)) return { kind: "number", number: word };
  const isPossible = word !== "" && word.length <= MAX_CARRIER_ID && !word.startsWith("+");
  return isPossible ? { kind: "carrier_id", carrierId: word } : undefined;
}

export async function searchMessages(db: Database, clock: Clock, request: SearchRequest): Promise<SearchResult> {
  const { search, origin } = request;
  const { items, next } = await find(db, request);
  const searched = { by: search.kind, ...filterRecord(search), numbers_shown: request.showsNumbers };
  await db.transaction(async (tx) => {
    for (const each of Map.groupBy(items, ({ account_id: id, environment }) => `${encodeId("acct", id)} ${environment}`).values()) {
      const [{ account_id: accountId, environment }] = each as [FoundMessage];
      const messages = each.map(({ id }) => encodeId("msg", id));
      const target = { type: "message", id: messages.length === 1 ? (messages[0] ?? null) : null } as const;
      const change = { action: "message.searched", target, changes: { ...searched, messages } } as const;
      await recordChange(tx, clock.now(), { accountId, environment, origin }, change);
    }
    const target = { type: "message", id: search.kind === "message" ? encodeId("msg", search.id) : null } as const;
    const change = { action: "message.searched", target, changes: { ...searched, found: items.length } } as const;
    await recordInstallationChange(tx, clock.now(), origin, change);
  });
  return { items, next };
}

/** The filters of a list, for the audit log. */
function filterRecord(search: Search): object {
  if (search.kind !== "filter") return {};
  const { status, errorCode, link, from } = search.filter;
  return { status, error_code: errorCode, link, since: isoTime(uuidTimeMs(from)) };
}

async function find(db: Queryable, { search, before = toId("msg", MAX_UUID), limit }: SearchRequest): Promise<SearchResult> {
  if (search.kind === "filter") return listMessagesOfAll(db, search.filter, { before, limit });
  // One message more than the page holds shows whether there is another page.
  const found = await runSearch(db, search, { before, limit: limit + 1 });
  const items = found.slice(0, limit);
  return { items, next: found.length > limit ? items.at(-1)?.id : undefined };
}

/** Reads the timeline of a found message, the oldest entry first. */
export const readTimeline = async (db: Queryable, { account_id: accountId, environment, id }: FoundMessage): Promise<FoundEntry[]> =>
  (await listEntries(db, { accountId, environment, id }, MAX_UUID, MAX_TIMELINE)).toReversed().map(toTimelineEntry);

function runSearch(db: Queryable, search: Exclude<Search, { kind: "filter" }>, page: SearchPage): Promise<FoundMessage[]> {
  switch (search.kind) {
    case "message":
      return findInAllAccounts(db, search.id, page);
    case "request":
      return findByRequest(db, search.id, page);
    case "number":
      return findByNumber(db, search.number, page);
    case "carrier_id":
      return findByCarrierId(db, search.carrierId, page);
    default:
      return unreachable(search);
  }
}
