/** The operations of the operator on all links: those that accounts created, and those in the configuration file. */
import { recordChange, recordInstallationChange } from "../audit/record-change.ts";
import { encodeId } from "../model/id.ts";
import { actorText, type ChangeOrigin } from "../model/origin.ts";
import { PAUSED_BY_OPERATOR } from "./link-record.ts";
import type { Link } from "./link.ts";
import type { Clock } from "../database/database-clock.ts";
import type { Database, Queryable } from "../database/database.ts";
import { deletePause, raiseVersion, readLinks, readPauses, writePause } from "./setup-queries.ts";
import { toListedLink } from "./stored-link.ts";

/** The links of all accounts, as far as lists show them, without their secrets; and the names that people gave them. */
export async function readAllLinks(db: Queryable): Promise<{ links: Link[]; titles: ReadonlyMap<string, string> }> {
  const rows = await readLinks(db, null);
  return {
    links: rows.map(toListedLink),
    titles: new Map(rows.map(({ id, name }) => [encodeId("lnk", id) as string, name])),
  };
}

/** The reasons of all pauses, by the names of links. */
export const readPauseReasons = async (db: Queryable, nowMs: number): Promise<ReadonlyMap<string, string>> =>
  new Map((await readPauses(db, nowMs)).map(({ link, reason }) => [link, reason]));

type Change = { link: Pick<Link, "name" | "accountId">; isPaused: boolean; origin: ChangeOrigin };

/** Pauses or resumes a link on all nodes. Returns whether anything changed. */
export const setPaused = (db: Database, clock: Clock, { link, isPaused, origin }: Change): Promise<boolean> =>
  db.transaction(async (tx) => {
    const { name, accountId } = link;
    const pause = { link: name, reason: PAUSED_BY_OPERATOR, ends_at: null, paused_by: actorText(origin.actor) };
    const isChanged = isPaused ? await writePause(tx, pause, true) : await deletePause(tx, name);
    if (!isChanged) return false;
    await raiseVersion(tx);
    const change = { action: isPaused ? "link.paused" : "link.resumed", target: { type: "link", id: name } } as const;
    const nowMs = clock.now();
    if (accountId === null) await recordInstallationChange(tx, nowMs, origin, change);
    else await recordChange(tx, nowMs, { accountId, environment: "live", origin }, change);
    return true;
  });
