/** The template that every new environment has. */
import { newId } from "../model/id.ts";
import { actorText, SYSTEM_ORIGIN } from "../model/origin.ts";
import type { Clock } from "../database/database-clock.ts";
import type { Tx } from "../database/database.ts";
import type { Owner } from "../model/owner.ts";
import { insertTemplate } from "./queries.ts";

/** Inserts the template of a new environment. Migration 0004 inserted it for environments that existed before. */
export async function seedTemplates(tx: Tx, clock: Clock, { accountId, environment }: Owner): Promise<void> {
  const nowMs = clock.now();
  await insertTemplate(tx, {
    accountId,
    environment,
    id: newId("tmpl", nowMs),
    name: "verification_code",
    language: "en",
    category: "authentication",
    channels: ["sms", "whatsapp"],
    status: "approved",
    statusReason: null,
    version: 1,
    body: "{{code}} is your verification code. Do not share it with anyone.",
    header: null,
    footer: null,
    buttons: null,
    examples: { code: "123456" },
    updatedAtMs: nowMs,
    createdBy: actorText(SYSTEM_ORIGIN.actor),
  });
}
