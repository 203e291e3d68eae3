/** What WhatsApp tells of a template by itself: that it was approved, rejected, paused. */
import { nameIn, textIn } from "../http-answer.ts";
import type { DeskStatus, TemplateVerdict } from "../template-desk.ts";
import { statusOf } from "./template-list.ts";

type Words = Readonly<Record<string, unknown>>;

/** Names the business account that an entry is about: an app has one address for all of its accounts. */
export type AccountOf = (wabaId: string | undefined) => string | undefined;

/** Undefined where it cannot be told which template it is about. */
export function verdictIn(value: Words, entry: Words, accountOf: AccountOf): TemplateVerdict | undefined {
  const wabaId = nameIn(entry["id"]);
  const account = accountOf(wabaId !== undefined && /^\d+$/.test(wabaId) ? wabaId : undefined);
  const name = nameIn(value["message_template_name"]);
  const language = nameIn(value["message_template_language"]);
  if (account === undefined || name === undefined || language === undefined) return undefined;
  const { status, reason } = decisionIn(value);
  // Here it is now and then written as the standard has it.
  return { account, name, code: language.replaceAll("-", "_"), status, reason, atMs: timeIn(entry["time"]) };
}

/** Seconds; the last moment of the one that is named. */
const timeIn = (time: unknown): number | null =>
  typeof time === "number" && Number.isSafeInteger(time) && time > 0 && time < 1e11 ? time * 1_000 + 999 : null;

function decisionIn(value: Words): { status: DeskStatus | null; reason: string | null } {
  const { event } = value;
  if (event === "REINSTATED") return { status: "approved", reason: null };
  // Not a decision: that it may come to one.
  const known = event === "FLAGGED" ? undefined : statusOf(event);
  if (known === undefined) return { status: null, reason: null };
  return { status: known.status, reason: known.reason && (explained(value) ?? known.reason) };
}

const wordsIn = (value: unknown): Words => (typeof value === "object" && value !== null ? (value as Words) : {});

/** As much as WhatsApp says, most of it for people. */
function explained(value: Words): string | undefined {
  const { reason, recommendation } = wordsIn(value["rejection_info"]);
  const { title, description } = wordsIn(value["other_info"]);
  const short = textIn(value["reason"]);
  const said = [short === "NONE" ? undefined : short, textIn(reason), textIn(recommendation), textIn(description) ?? textIn(title)];
  const words = said.filter((each) => each !== undefined);
  return words.length === 0 ? undefined : words.join(": ");
}
