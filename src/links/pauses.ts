/** The pauses of links. A paused link sends nothing, and still receives. */
import { recordChange, recordInstallationChange } from "../audit/record-change.ts";
import type { Clock } from "../database/database-clock.ts";
import type { Database, Queryable, Tx } from "../database/database.ts";
import { actorText, type ChangeOrigin } from "../model/origin.ts";
import { deletePause, raiseVersion, readPauseRows, writePauseRow, type PauseRow } from "./setup-queries.ts";
import type { Link } from "./link.ts";

/** Why a link is paused. `operator` and `account`: one of them requested it. `carrier`: the carrier blocks the account; the pause ends by
 *  itself. `unusable`: the link cannot be opened; such a pause is not stored. `hold`: no link sends. */
export type Pause = {
  kind: "operator" | "account" | "carrier" | "unusable" | "hold";
  /** The reason, for people. */
  detail: string;
  endsAt: Date | null;
  /** The actor that paused the link. */
  by: string | null;
};

/** By the names of links. */
export type Pauses = ReadonlyMap<string, Pause>;

/** The name under which a pause of all links is stored. No link has it. */
export const HOLD = "*";

const BY_OPERATOR = "paused by the operator";
const BY_REQUEST = "paused by request";

export const pauseByOperator = (origin: ChangeOrigin): Pause => byPerson("operator", BY_OPERATOR, origin);
export const pauseByRequest = (origin: ChangeOrigin): Pause => byPerson("account", BY_REQUEST, origin);
export const cannotBeOpened = (fault: string): string => `the link cannot be opened: ${fault}`;
export const unusable = (fault: string): Pause => ({ kind: "unusable", detail: cannotBeOpened(fault), endsAt: null, by: null });

const byPerson = (kind: Pause["kind"], detail: string, { actor }: ChangeOrigin): Pause => ({
  kind,
  detail,
  endsAt: null,
  by: actorText(actor),
});

/** The reason that accounts see. `isOwn`: the link belongs to the account, which can correct its settings. */
export function publicReason({ kind }: Pick<Pause, "kind">, isOwn: boolean) {
  if (kind === "operator") return "paused_by_operator";
  if (kind === "account") return "paused_by_request";
  return isOwn ? "needs_account" : "needs_operator";
}

/** The pauses that have not ended. */
export const readPauses = async (db: Queryable, nowMs: number): Promise<Map<string, Pause>> =>
  new Map(
    (await readPauseRows(db, nowMs)).map((row) => [
      row.link,
      { kind: kindOf(row), detail: row.reason, endsAt: row.ends_at, by: row.paused_by },
    ]),
  );

/** Each kind has its text or name. All other texts come from carriers. */
function kindOf({ link, reason }: PauseRow): Pause["kind"] {
  if (link === HOLD) return "hold";
  if (reason === BY_OPERATOR) return "operator";
  if (reason === BY_REQUEST) return "account";
  return "carrier";
}

/** Pauses a link. Returns whether anything changed. */
export const writePause = (tx: Tx, link: string, { kind, detail, endsAt, by }: Pause): Promise<boolean> =>
  writePauseRow(tx, { link, reason: detail, ends_at: endsAt, paused_by: by }, kind === "operator");

type Change = { link: Pick<Link, "name" | "accountId">; isPaused: boolean; origin: ChangeOrigin };

/** Pauses or resumes a link on all nodes, for the operator. Returns whether anything changed. */
export const setPaused = (db: Database, clock: Clock, { link: { name, accountId }, isPaused, origin }: Change): Promise<boolean> =>
  db.transaction(async (tx) => {
    if (!(await (isPaused ? writePause(tx, name, pauseByOperator(origin)) : deletePause(tx, name)))) return false;
    await raiseVersion(tx);
    const change = { action: isPaused ? "link.paused" : "link.resumed", target: { type: "link", id: name } } as const;
    const nowMs = clock.now();
    if (accountId === null) await recordInstallationChange(tx, nowMs, origin, change);
    else await recordChange(tx, nowMs, { accountId, environment: "live", origin }, change);
    return true;
  });
