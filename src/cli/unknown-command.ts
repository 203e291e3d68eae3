/** The command that a user meant by a word that is no command. */
import { didYouMean } from "../lib/nearest.ts";

const RECORD = "godwit find ID, or godwit api GET /v1/messages/ID";
/** Words that people try, and what does it. */
const INSTEAD: ReadonlyMap<string, string> = new Map([
  ["get", RECORD],
  ["status", RECORD],
  ["message", RECORD],
  ["messages", "godwit find, or godwit api GET /v1/messages"],
  ["events", "godwit listen, or godwit api GET /v1/events"],
  ["logs", "godwit requests, or godwit find"],
  ["webhooks", "godwit api GET /v1/webhook_endpoints"],
  ["templates", "godwit api GET /v1/templates"],
  ["suppressions", "godwit api GET /v1/suppressions"],
]);

/** A hint for the end of an error about an unknown command, or the empty text. */
export function unknownCommandHint(name: string, commands: object, before = "godwit "): string {
  const instead = INSTEAD.get(name) ?? INSTEAD.get(`${name}s`);
  return instead === undefined ? didYouMean(name, Object.keys(commands), before) : `; use ${instead}`;
}
