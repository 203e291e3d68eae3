/** Sends a campaign to the recipients with consent, and follows it to the end. Run it again after a crash: it continues. */
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { Godwit, newIdempotencyKey } from "godwit-sdk";
import { readRecipients } from "./recipients.ts";

/** One batch. The recipients belong to the key: a repeated request must have the same body. */
type Part = { idempotencyKey: string; recipients: string[]; batchId?: string };
type Plan = { name: string; parts: Part[] };

const BATCH_SIZE = 1_000;
const TEXT = "Acme: 20 % off all boots until Sunday. Reply STOP to opt out.";

const name = process.argv[2];
if (name === undefined || !/^[\w-]+$/.test(name)) throw new Error("usage: npm start -- NAME, for example npm start -- boots-sale");
const planFile = `${name}.plan.json`;
const godwit = new Godwit(); // reads GODWIT_KEY and GODWIT_URL

/** Decides once who receives the campaign. */
function newPlan(): Plan {
  const phones = [...new Set(readRecipients().flatMap(({ phone, consentAt }) => (consentAt === "" ? [] : [phone])))];
  const parts: Part[] = [];
  for (let at = 0; at < phones.length; at += BATCH_SIZE)
    parts.push({ idempotencyKey: newIdempotencyKey(), recipients: phones.slice(at, at + BATCH_SIZE) });
  return { name: String(name), parts };
}

function save(plan: Plan): void {
  // A crash leaves the old file or the new one.
  writeFileSync(`${planFile}.new`, JSON.stringify(plan));
  renameSync(`${planFile}.new`, planFile);
}

async function send(part: Part): Promise<string> {
  const { id, results } = await godwit.batches.send(
    {
      defaults: { channel: "sms", priority: "bulk", body: TEXT, client_reference: String(name) },
      items: part.recipients.map((recipient) => ({ recipient })),
    },
    { idempotencyKey: part.idempotencyKey },
  );
  for (const { index, error } of results) if (error !== null) console.log(`not sent to ${part.recipients[index]}: ${error.code}`);
  return id;
}

async function follow(batchId: string): Promise<void> {
  for (;;) {
    const { status, accepted, statuses } = await godwit.batches.get(batchId);
    console.log(`${accepted} messages:`, JSON.stringify(statuses));
    if (status === "completed") return;
    await sleep(1_000);
  }
}

const plan = existsSync(planFile) ? (JSON.parse(readFileSync(planFile, "utf8")) as Plan) : newPlan();
// Before the first request, so that a second run has the same keys.
save(plan);
for (const part of plan.parts) {
  if (part.batchId !== undefined) continue;
  part.batchId = await send(part);
  save(plan);
}
for (const { batchId } of plan.parts) if (batchId !== undefined) await follow(batchId);
