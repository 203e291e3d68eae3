/** The position in the reports of a carrier that a link polls. It is stored after the reports before it, so a restart repeats reports
 *  and leaves none out. */
import type { Queryable } from "../database/database.ts";
import type { PollCursor } from "../providers/provider.ts";
import { readCursor, storeCursor } from "./queries.ts";

export const linkCursor = (db: Queryable, link: string): PollCursor => ({
  read: () => readCursor(db, link),
  store: (position) => storeCursor(db, link, position),
});
