/** Whether a server still has what this process saw committed. A failover keeps it; a recovery to an earlier time, or to a standby that lacked it,
 *  does not. Each witness knows something that was committed, and is asked when a server begins another timeline. */
import { sql, type Sql } from "./sql.ts";

/** The statements of one transaction. */
type Statements = { rows<T>(statement: Sql): Promise<T[]> };

/** Returns whether the server has what the witness saw committed. */
export type Witness = (db: Statements) => Promise<boolean>;

export class History {
  readonly #witnesses: Witness[] = [(db) => this.#hasLastCommit(db)];
  #lastCommit: string | undefined;
  #onLoss: ((tx: Statements) => Promise<void>) | undefined;

  addWitness(witness: Witness): void {
    this.#witnesses.push(witness);
  }

  /** Calls back within a transaction, before anything else uses a server that lacks a commit. If it fails, the server is not used. */
  onLoss(begin: (tx: Statements) => Promise<void>): void {
    this.#onLoss = begin;
  }

  /** Takes note of a transaction that has committed, also on a synchronous standby. */
  committed(transactionId: string): void {
    this.#lastCommit = transactionId;
  }

  /** Called with the first sessions on another timeline. */
  async check(db: Statements): Promise<void> {
    if (this.#onLoss === undefined) return;
    for (const hasAll of this.#witnesses) if (!(await hasAll(db))) return this.#onLoss(db);
  }

  /** A server that was recovered gives the numbers of lost transactions to others. The one that marked the timeline is the first of them, or almost. */
  async #hasLastCommit(db: Statements): Promise<boolean> {
    if (this.#lastCommit === undefined) return true;
    const [row] = await db.rows<{ is_kept: boolean }>(sql`
      select case when last.id >= coalesce(case when record ->> 'marked_by_of' = record ->> 'timeline_mark'
                                                then (record ->> 'marked_by')::xid8 end,
                                           pg_snapshot_xmax(pg_current_snapshot())) then false
                  else coalesce(pg_xact_status(last.id) = 'committed', true) end as is_kept
        from (select ${this.#lastCommit}::text::xid8 as id) last
        -- As it was recovered, the table may be from before the migration that added the columns.
        cross join (select to_jsonb(installation) as record from installation) found`);
    return row?.is_kept !== false;
  }
}
