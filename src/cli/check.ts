/** The result of one check of `godwit doctor`, and functions that run checks. */
import { ConcurrencyLimit } from "../lib/concurrency-limit.ts";

export type Check = { name: string; status: "ok" | "warn" | "fail"; detail: string; /** The operator's next step. */ hint: string | null };

export const ok = (name: string, detail: string): Check => ({ name, status: "ok", detail, hint: null });
export const warn = (name: string, detail: string, hint: string): Check => ({ name, status: "warn", detail, hint });
export const fail = (name: string, detail: string, hint: string): Check => ({ name, status: "fail", detail, hint });

/** The next step during a hold. */
export const END_HOLD = "godwit resume shows what waits, and ends the hold with --send or --end (docs/backup.md)";

export const errorMessage = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** Runs a check. An exception becomes a failed check, so that the other checks still run. */
export async function runCheck(name: string, check: () => Promise<Check>): Promise<Check> {
  try {
    return await check();
  } catch (error) {
    return fail(name, `could not be checked: ${errorMessage(error)}`, "check the database, and the permissions of its role");
  }
}

/** Applies `work` to all items, at most `concurrency` at a time. */
export function mapConcurrently<T, R>(items: readonly T[], concurrency: number, work: (item: T) => Promise<R>): Promise<R[]> {
  const limit = new ConcurrencyLimit(concurrency);
  return Promise.all(items.map((item) => limit.run(() => work(item))));
}
