/** Runs statements that need strong locks of tables which others use. Every statement on such a table waits behind the one that waits for its
 *  lock, so each attempt waits only briefly, and others use the table before the next one. */
import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";
import { sqlState } from "./database.ts";

export type Run = (text: string) => Promise<pg.QueryResult>;

export type LockAttempts = { timeoutMs: number; pauseMs: number; most: number; onWait?: (attempts: number) => void };

/** Whether a lock was not free in time, or its wait was part of a deadlock. */
export const isLockRefused = (error: unknown): boolean => ["55P03", "40P01"].includes(sqlState(error) ?? "");

/** Runs statements in one transaction, and returns their results. */
export async function withShortLocks(
  run: Run,
  text: string,
  { timeoutMs, pauseMs, most, onWait }: LockAttempts,
): Promise<pg.QueryResult[]> {
  for (let attempts = 1; ; attempts += 1) {
    try {
      const result = await run(`begin;\nset local lock_timeout = ${timeoutMs};\n${text};\ncommit`);
      // One result for each statement; the first two and the last belong to the transaction.
      return [result].flat().slice(2, -1);
    } catch (error) {
      if (!isLockRefused(error)) throw error;
      await run("rollback");
      if (attempts >= most) throw error;
      onWait?.(attempts);
      await sleep(pauseMs * (0.5 + Math.random()));
    }
  }
}
