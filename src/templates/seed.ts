/** The template that every new environment has. */
import { actorText, SYSTEM_ORIGIN } from "../model/origin.ts";
import type { Clock } from "../database/database-clock.ts";
import type { Tx } from "../database/database.ts";
import type { Owner } from "../model/owner.ts";
import { newTemplate } from "./change-template.ts";
import type { NewTemplate } from "./new-template.ts";
import { insertTemplate } from "./queries.ts";

const VERIFICATION_CODE: NewTemplate = {
  name: "verification_code",
  language: "en",
  category: "authentication",
  channels: ["sms", "whatsapp"],
  body: "{{code}} is your verification code. Do not share it with anyone.",
  examples: { code: "123456" },
};

/** Inserts the template of a new environment. Migration 0004 inserted it for environments that existed before. */
export async function seedTemplates(tx: Tx, clock: Clock, owner: Owner): Promise<void> {
  const template = newTemplate(owner, VERIFICATION_CODE, clock.now(), actorText(SYSTEM_ORIGIN.actor));
  await insertTemplate(tx, { ...template, status: "approved" });
}
