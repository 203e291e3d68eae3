/** godwit audit export: the entries of an account with their links of the chain, as JSON lines. */
import { once } from "node:events";
import { auditEventRecord, type AuditRow } from "../audit/audit-event.ts";
import { listChainLinks, type ChainRow } from "../audit/queries.ts";
import { backoffMs } from "../lib/backoff.ts";
import { pause } from "../lib/wait.ts";
import { isDatabaseTrouble, type Database } from "../database/database.ts";
import { StartupError } from "../database/startup-error.ts";
import { encodeId, type AccountId } from "../model/id.ts";
import { EXIT, interruption, numberFlag, textFlag, UsageError, type Input } from "./command.ts";
import { say } from "./output.ts";
import { withDatabase } from "./with-database.ts";

const PAGE_ROWS = 500;
// Entries are sealed once in a second.
const POLL_MS = 1_000;
const FIRST_RETRY_MS = 500;
const MAX_RETRY_MS = 15_000;

type ChooseLog = (db: Database, wanted: string | undefined) => Promise<AccountId>;

export async function exportEntries(input: Input, chooseLog: ChooseLog): Promise<number> {
  const after = numberFlag(input.flags, "after") ?? 0;
  if (!Number.isSafeInteger(after) || after < 0) throw new UsageError("--after must be the sequence of an entry, such as 1200");
  const isFollowing = input.flags["follow"] === true;
  const place = { after };
  const signal = interruption();
  for (let failures = 0; !signal.aborted;) {
    try {
      await withDatabase(input, "audit", async ({ db }) => {
        const accountId = await chooseLog(db, textFlag(input.flags, "account"));
        while (!signal.aborted) {
          const count = await exportPage(db, accountId, place, signal);
          failures = 0;
          if (count === PAGE_ROWS) continue;
          if (!isFollowing) return;
          await pause(POLL_MS, signal);
        }
      });
      return EXIT.done;
    } catch (error) {
      if (!isFollowing || !isAway(error)) throw error;
      failures += 1;
      const waitMs = backoffMs(failures, FIRST_RETRY_MS, MAX_RETRY_MS);
      say(`${(error as Error).message}; trying again in ${Math.ceil(waitMs / 1_000)} s, after entry ${place.after}`);
      await pause(waitMs, signal);
    }
  }
  return EXIT.done;
}

const isAway = (error: unknown): boolean => isDatabaseTrouble(error) || (error instanceof StartupError && isDatabaseTrouble(error.cause));

/** Prints a page of entries after the place, and advances it. Returns the number of links of the page. */
async function exportPage(db: Database, accountId: AccountId, place: { after: number }, signal: AbortSignal): Promise<number> {
  const page = await listChainLinks(db, accountId, place.after, PAGE_ROWS);
  const [first] = page;
  const missing = first === undefined ? 0 : first.sequence - place.after - (isEntry(first) ? 1 : 0);
  if (missing > 0) say(`the next ${missing} entries after ${place.after} are not in the database: retention has deleted them`);
  const text = page.filter(isEntry).map(toLine).join("");
  // The export waits for a slow reader. The only possible error is the interruption.
  if (text !== "" && !process.stdout.write(text)) await once(process.stdout, "drain", { signal }).catch(() => undefined);
  place.after = page.at(-1)?.sequence ?? place.after;
  return page.length;
}

const isEntry = ({ id, checkpoint_mac: mac }: ChainRow): boolean => id !== null && mac === null;

function toLine({ sequence, hash, event_id: _event, checkpoint_mac: _mac, ...row }: ChainRow): string {
  const entry = row as AuditRow;
  const record = auditEventRecord(entry, hash);
  return `${JSON.stringify({ account: encodeId("acct", entry.account_id), sequence, ...record })}\n`;
}
