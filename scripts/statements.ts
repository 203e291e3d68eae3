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

/** Items that choose the variant of the accept statement: one without any optional column, and one with all of them. */
const plain = { message: null, fallback: null } as Acceptance;
const whole = { ...plain, message: { trace: "" }, fallback: {} } as Acceptance;

/** Changes that choose the variant of the advance statement: a delivery, a submission, and one with all optional columns. */
const times = { error: null, readAtMs: null, failedAtMs: null, canceledAtMs: null };
const delivered = {
  before: { status: "sent" },
  after: { status: "delivered", ...times },
  move: { kind: "stay" },
  reference: null,
} as Change;
const sending = { ...delivered, before: { status: "queued" }, after: { status: "sending", ...times } } as Change;
const every = {
  before: { status: "queued" },
  after: { ...times, status: "sending", readAtMs: 0, senderReason: "named" },
  move: { kind: "wait" },
  reference: { parts: {} },
} as unknown as Change;

export const STATEMENTS: Readonly<Record<string, string>> = {
  "accept.sql": `-- Accepts a batch of plain messages: every optional column is null.\n${acceptStatement([plain]).text.trim()}\n`,
  "accept-whole.sql": `-- Accepts a batch that has a value in every optional column.\n${acceptStatement([whole]).text.trim()}\n`,
  "advance.sql": `-- Writes a batch of changes of messages: every optional column is null.\n${advanceStatement([delivered]).text.trim()}\n`,
  "advance-sending.sql": `-- Writes a batch of changes in which messages become sending.\n${advanceStatement([sending]).text.trim()}\n`,
  "advance-whole.sql": `-- Writes a batch of changes that has a value in every optional column.\n${advanceStatement([every]).text.trim()}\n`,
  "claim.sql": `-- Claims due messages of a lane, an equal share for each account.\n${claimStatement.text.trim()}\n`,
  "claim-webhooks.sql": `-- Claims webhook deliveries, a share for each endpoint.\n${webhookClaimStatement([]).text.trim()}\n`,
};

if (import.meta.main) {
  mkdirSync(FOLDER, { recursive: true });
  for (const [name, text] of Object.entries(STATEMENTS)) writeFileSync(join(FOLDER, name), text);
}
