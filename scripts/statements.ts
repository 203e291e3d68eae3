/** Writes docs/internals/sql/: the large statements as PostgreSQL receives them. test/tools/statements.test.ts fails while a file is out of date. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { claimStatement } from "../src/delivery/queue.ts";
import { acceptStatement } from "../src/messages/accept-statement.ts";
import type { Acceptance } from "../src/messages/acceptance.ts";
import type { Change } from "../src/messages/change.ts";
import { advanceStatement } from "../src/messages/advance-statement.ts";
import { webhookClaimStatement } from "../src/webhooks/queue.ts";

const FOLDER = join(import.meta.dirname, "..", "docs", "internals", "sql");

/** Changes that choose the variant of the advance statement: a delivery, a submission, and a message that waits again. */
const times = { error: null, deliveredAtMs: null, readAtMs: null, failedAtMs: null, canceledAtMs: null };
const plain = { entry: { isIgnored: false }, before: times, after: times, move: { kind: "stay" }, reference: null } as unknown as Change;
const referenced = { ...plain, reference: {} } as Change;
const whole: Change = { ...plain, move: { kind: "wait", state: "waiting" } };

/** Items that choose the variants of the accept statement with more columns. */
const absent = { maxSegments: null, sendAtMs: null, batchId: null, fallbackOf: null, inReplyTo: null, isOptOutReply: null, trace: null };
const sourcedItem = { message: { ...absent, source: "kannel" }, event: { detail: null } } as unknown as Acceptance;
const furtherItem = { message: { maxSegments: 1 } } as Acceptance;

export const STATEMENTS: Readonly<Record<string, string>> = {
  "accept.sql": `-- Accepts a batch of plain texts.\n${acceptStatement([]).text.trim()}\n`,
  "accept-sourced.sql": `-- Accepts a batch of plain texts, of which one came through a compatible API.\n${acceptStatement([sourcedItem, sourcedItem]).text.trim()}\n`,
  "accept-whole.sql": `-- Accepts a batch of which one message needs the further columns.\n${acceptStatement([furtherItem, furtherItem]).text.trim()}\n`,
  "advance.sql": `-- Writes a batch of changes of messages that become sending or delivered.\n${advanceStatement([plain, plain]).text.trim()}\n`,
  "advance-referenced.sql": `-- Writes a batch of changes of which one has the reference of a carrier.\n${advanceStatement([referenced, referenced]).text.trim()}\n`,
  "advance-whole.sql": `-- Writes a batch of changes of which one needs the further columns or steps.\n${advanceStatement([whole, whole]).text.trim()}\n`,
  "advance-single.sql": `-- Writes the change of a message that becomes sending or delivered.\n${advanceStatement([plain]).text.trim()}\n`,
  "claim.sql": `-- Claims due messages of a lane, an equal share for each account.\n${claimStatement.text.trim()}\n`,
  "claim-webhooks.sql": `-- Claims webhook deliveries, a share for each endpoint.\n${webhookClaimStatement([]).text.trim()}\n`,
};

if (import.meta.main) {
  mkdirSync(FOLDER, { recursive: true });
  for (const [name, text] of Object.entries(STATEMENTS)) writeFileSync(join(FOLDER, name), text);
}
