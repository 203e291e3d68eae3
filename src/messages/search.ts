/** The operator's search for messages over all accounts. A search is recorded before its result is shown: in the audit log of the installation, and
 *  in that of each account whose messages it returns. */
import { recordChange, recordInstallationChange } from "../audit/record-change.ts";
import { unreachable } from "../lib/assert.ts";
import { MAX_UUID } from "../lib/uuid.ts";
import { decodeId, encodeId, toId, type MessageId, type RequestId } from "../model/id.ts";
import type { ChangeOrigin } from "../model/origin.ts";
import { RECIPIENT_PATTERN } from "../model/phone-number.ts";
import type { Clock } from "../database/database-clock.ts";
import type { Database, Queryable } from "../database/database.ts";
import { findByCarrierId, findByNumber, findByRequest, findInAllAccounts, type FoundMessage, type SearchPage } from "./search-queries.ts";

export type Search =
  | { kind: "message"; id: MessageId }
  | { kind: "request"; id: RequestId }
  | { kind: "number"; number: string }
  | { kind: "carrier_id"; carrierId: string };

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

export function searchMessages(db: Database, clock: Clock, request: SearchRequest): Promise<SearchResult> {
  const { search, before = toId("msg", MAX_UUID), limit, origin } = request;
  return db.transaction(async (tx) => {
    // One message more than the page holds shows whether there is another page.
    const found = await runSearch(tx, search, { before, limit: limit + 1 });
    const items = found.slice(0, limit);
    const searched = { by: search.kind, numbers_shown: request.showsNumbers };
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
    return { items, next: found.length > limit ? items.at(-1)?.id : undefined };
  });
}

function runSearch(db: Queryable, search: Search, page: SearchPage): Promise<FoundMessage[]> {
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
