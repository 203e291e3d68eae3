/** Only the database: runs the accept statement in batches, without a service in front of it. For each line `SIZE SECONDS` on
 *  standard input it runs for that time with batches of that size, and prints the number of stored messages and the CPU time.
 *  Arguments: socket folder, account (hex). */
import assert from "node:assert/strict";
import { randomBytes, randomUUID } from "node:crypto";
import { createInterface } from "node:readline";
import { idempotencyClaim, lockSecretOf, parseIdempotencyKey } from "../../src/idempotency/key.ts";
import { newId, toId } from "../../src/model/id.ts";
import { SecretBox } from "../../src/lib/secret-box.ts";
import { uuidFromBytes } from "../../src/lib/uuid.ts";
import { simulatorLink } from "../../src/links/link.ts";
import { acceptStatement } from "../../src/messages/accept-statement.ts";
import { toAcceptance, type Acceptance } from "../../src/messages/acceptance.ts";
import { fromRequest } from "../../src/messages/compose.ts";
import { Database } from "../../src/database/database.ts";
import { EMBEDDED_USER } from "../../src/embedded/embedded-roles.ts";
import { recipientOf } from "../../test/support/recipient.ts";

const [socketDir = "", account = ""] = process.argv.slice(2);
const db = new Database({ socketDir, user: EMBEDDED_USER, database: "postgres" }, "bench", () => undefined);
const lockSecret = lockSecretOf(new SecretBox(randomBytes(32)));
const accountId = toId("acct", uuidFromBytes(Buffer.from(account, "hex")));

function acceptance(): Acceptance {
  const nowMs = Date.now();
  const recipient = recipientOf(`+1415555${String(nowMs % 10_000).padStart(4, "0")}`);
  const body = "Your verification code is 123456. It is valid for ten minutes.";
  const link = { ...simulatorLink(1), name: "bench" };
  const message = fromRequest({
    request: { recipient, channel: "sms", body },
    content: { body, template: null },
    owner: { accountId, environment: "test" },
    id: newId("msg", nowMs),
    nowMs,
    shown: null,
    link,
    linkReason: "simulator",
    sender: link.sender,
    senderReason: "link_default",
    batchId: null,
    fallbackOf: null,
    hasFallback: false,
    trace: null,
  });
  const claim = idempotencyClaim(lockSecret, account, parseIdempotencyKey(randomUUID()) ?? assert.fail(), randomBytes(32));
  const accepted = toAcceptance({ message, link, steps: [], secret: null }, claim);
  // The lease keeps the service on the same database from claiming the message.
  return { ...accepted, queueEntry: { ...accepted.queueEntry, leaseMs: 3_600_000 } };
}

async function store(size: number, seconds: number): Promise<number> {
  const deadline = performance.now() + seconds * 1_000;
  let stored = 0;
  while (performance.now() < deadline) {
    const rows = await db.rows(acceptStatement(Array.from({ length: size }, acceptance)));
    stored += rows.length;
  }
  return stored;
}

for await (const line of createInterface({ input: process.stdin })) {
  const [size = 1, seconds = 1] = line.split(" ").map(Number);
  const before = process.cpuUsage();
  const stored = await store(size, seconds);
  const { user, system } = process.cpuUsage(before);
  process.stdout.write(`${JSON.stringify({ stored, cpuUs: user + system })}\n`);
}
await db.close();
