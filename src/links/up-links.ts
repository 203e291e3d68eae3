/** The links that some node has open and that take messages. */
import type { Queryable } from "../storage/database.ts";
import { FRESH_SECONDS } from "./link-record.ts";
import { readStates } from "./queries.ts";

const UP: ReadonlySet<string> = new Set(["connected", "throttled"]);

export async function readUpLinks(db: Queryable): Promise<ReadonlySet<string>> {
  const states = await readStates(db, FRESH_SECONDS);
  return new Set(states.filter(({ state }) => UP.has(state)).map(({ link }) => link));
}
