/** Lists the messages of all accounts, the newest first. No index has the messages of all environments by time, so the environments are read page
 *  by page, always the one whose next message is the newest. */
import type { MessageId } from "../model/id.ts";
import { toId } from "../model/id.ts";
import type { Owner } from "../model/owner.ts";
import { uuidFromBytes, type Uuid } from "../lib/uuid.ts";
import type { Queryable } from "../database/database.ts";
import { findNewest, listFiltered, type FoundMessage, type ListFilter, type SearchPage } from "./search-queries.ts";

/** `at`: the newest message that was not read yet, or the last one that was. */
type Source = { owner: Owner; at: Uuid; isBegun: boolean };

// Half a million messages, in seconds.
const MAX_PAGES = 100;

/** The next possible id: a page before it has the message with this id. */
const idAfter = (id: Uuid): Uuid =>
  uuidFromBytes(Buffer.from((BigInt(`0x${id.toString("hex")}`) + 1n).toString(16).padStart(32, "0"), "hex"));

/** `next`: where the next page begins. With fewer messages than the limit, the rest was not searched. */
export async function listMessagesOfAll(
  db: Queryable,
  filter: ListFilter,
  { before, limit }: SearchPage,
): Promise<{ items: FoundMessage[]; next: MessageId | undefined }> {
  const sources: Source[] = (await findNewest(db, filter.from, before)).map(({ id, ...owner }) => ({ owner, at: id, isBegun: false }));
  const found: FoundMessage[] = [];
  for (let pages = 0; ;) {
    const source = sources.toSorted((a, b) => Buffer.compare(b.at, a.at))[0];
    // An environment that is read later has no newer message than these.
    const ready = found.filter(({ id }) => source === undefined || Buffer.compare(id, source.at) >= 0);
    const items = ready.toSorted((a, b) => Buffer.compare(b.id, a.id)).slice(0, limit);
    if (source === undefined || ready.length > limit) return { items, next: ready.length > limit ? items.at(-1)?.id : undefined };
    if (pages >= MAX_PAGES) return { items, next: toId("msg", source.isBegun ? source.at : idAfter(source.at)) };
    pages += 1;
    const page = await listFiltered(db, source.owner, filter, { before: source.isBegun ? source.at : before, limit: limit + 1 });
    found.push(...page.items);
    if (page.next === null) sources.splice(sources.indexOf(source), 1);
    else Object.assign(source, { at: page.next, isBegun: true });
  }
}
