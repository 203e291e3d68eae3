/** How every link is doing. */
import type { Link } from "./link.ts";
import type { Queryable } from "../storage/database.ts";
import { FRESH_SECONDS, linkRecord, type LinkRecord } from "./link-record.ts";
import { readStates } from "./queries.ts";

export async function listLinks(db: Queryable, links: readonly Link[]): Promise<LinkRecord[]> {
  const states = await readStates(db, FRESH_SECONDS);
  return links.map((link) => linkRecord(link, states));
}
