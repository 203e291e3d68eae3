/** The hold: no node hands over a message, starts a fallback or expires a message of the queue. Messages are accepted, and receipts applied, as
 *  before. A restored database begins with a hold: messages that wait in it may have been handed over after the backup. */
import { recordInstallationChange } from "../audit/record-change.ts";
import { actorText, SYSTEM_ORIGIN, type ChangeOrigin } from "../model/origin.ts";
import { isoTime } from "../lib/time.ts";
import type { Clock } from "../database/database-clock.ts";
import type { Database, Queryable, Tx } from "../database/database.ts";
import { forgetRestored, isRestored } from "../embedded/restore-backup.ts";
import { HOLD, readPauses, setPaused, writePause, type Pause } from "./pauses.ts";
import { newestQueuedMs, raiseVersion } from "./setup-queries.ts";

/** `sinceMs`: messages from before may have been handed over after the backup. */
export type Hold = { sinceMs: number; reason: string };

const SINCE = /^on hold since (\S+): /;

/** Begins a hold. One that has begun already stays as it is. Returns whether it is new. */
export const beginHold = (db: Database, clock: Clock, why: string, origin: ChangeOrigin): Promise<boolean> =>
  db.transaction(async (tx) => (await writeHold(tx, clock, why, origin)) !== undefined);

/** Returns the new hold; undefined if one has begun already. */
async function writeHold(tx: Tx, clock: Clock, why: string, origin: ChangeOrigin): Promise<Pause | undefined> {
  const nowMs = clock.now();
  // The clock of the machine that accepted the newest message may have been ahead of this one.
  const sinceMs = Math.max(nowMs, (await newestQueuedMs(tx)) + 1);
  const detail = `on hold since ${isoTime(sinceMs)}: ${why}`;
  const pause: Pause = { kind: "hold", detail, endsAt: null, by: actorText(origin.actor) };
  if (!(await writePause(tx, HOLD, pause))) return undefined;
  await raiseVersion(tx);
  await recordInstallationChange(tx, nowMs, origin, { action: "link.paused", target: { type: "link", id: HOLD } });
  return pause;
}

/** Begins the hold of a database that was recovered to an earlier time while nodes ran. `begun` is called before the database is used again, also if
 *  another node has begun the hold: this node must not claim a message until it reads the stored hold. */
export const holdRecovered = (db: Database, clock: Clock, begun: (hold: Pause) => void): void =>
  db.history.onLoss(async (tx) => {
    const written = await writeHold(tx, clock, "the database was recovered to a time before the last commits", SYSTEM_ORIGIN);
    const hold = written ?? (await readPauses(tx, clock.now())).get(HOLD);
    if (hold !== undefined) begun(hold);
  });

/** Begins the hold of a database that was restored from a backup. The mark of the restoration is deleted after the commit. */
export async function holdRestored(
  { databaseUrl, dataDir }: { databaseUrl: string | undefined; dataDir: string },
  db: Database,
  clock: Clock,
): Promise<void> {
  if (databaseUrl !== undefined || !isRestored(dataDir)) return;
  await beginHold(db, clock, "the database was restored from a backup", SYSTEM_ORIGIN);
  forgetRestored(dataDir);
}

export async function readHold(db: Queryable, nowMs: number): Promise<Hold | undefined> {
  const hold = (await readPauses(db, nowMs)).get(HOLD);
  if (hold === undefined) return undefined;
  const sinceMs = Date.parse(SINCE.exec(hold.detail)?.[1] ?? "");
  return { sinceMs: Number.isNaN(sinceMs) ? nowMs : sinceMs, reason: hold.detail };
}

export const endHold = (db: Database, clock: Clock, origin: ChangeOrigin): Promise<boolean> =>
  setPaused(db, clock, { link: { name: HOLD, accountId: null }, isPaused: false, origin });
