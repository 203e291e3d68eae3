/** What the Cloud API tells us: statuses of what we sent, what people wrote, and what became of templates. A call brings many, of several
 *  kinds; what is odd among them is counted and left, since a call that is refused comes again, with everything in it. */
import { nameIn, numberIn, rawOf, textIn, type Said } from "../http-answer.ts";
import type { InboundMessage, Receipt, ReceiptStatus } from "../provider.ts";
import type { CarrierTemplateStatus, ReviewUpdate } from "../business-account.ts";
import { receiptError } from "./errors.ts";
import { statusOf } from "./template-list.ts";

export type Notifications = Required<Said> & {
  /** How many were left, for the log. */
  ignored: number;
};

type Words = Readonly<Record<string, unknown>>;

/** Names the business account that an entry is about: an app has one address for all of its accounts. */
type AccountOf = (wabaId: string | undefined) => string | undefined;

/** `failed` comes after it was accepted: it was taken, and not delivered. */
const STATUSES: Readonly<Record<string, ReceiptStatus>> = {
  sent: "sent",
  delivered: "delivered",
  read: "read",
  failed: "undelivered",
};

const isRecord = (value: unknown): value is Words => typeof value === "object" && value !== null && !Array.isArray(value);
const wordsIn = (value: unknown): Words => (isRecord(value) ? value : {});
const listIn = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** `accountOf` names the business account that an entry is about. */
export function notificationsIn(payload: unknown, accountOf: AccountOf): Notifications {
  const said = { receipts: [] as Receipt[], messages: [] as InboundMessage[], verdicts: [] as ReviewUpdate[], ignored: 0 };
  const keep = <T>(list: T[], found: readonly (T | undefined)[]): void => {
    const known = found.filter((each) => each !== undefined);
    list.push(...known);
    said.ignored += found.length - known.length;
  };
  for (const entry of listIn(wordsIn(payload)["entry"]).map(wordsIn))
    for (const { field, value } of listIn(entry["changes"]).map(wordsIn)) {
      const words = wordsIn(value);
      if (field === "message_template_status_update") keep(said.verdicts, [verdictIn(words, entry, accountOf)]);
      else if (field === "messages") {
        keep(said.receipts, listIn(words["statuses"]).map(receiptIn));
        keep(
          said.messages,
          listIn(words["messages"]).map((message) => messageIn(message, wordsIn(words["metadata"]))),
        );
      } else said.ignored += 1;
    }
  return said;
}

function receiptIn(status: unknown): Receipt | undefined {
  const words = wordsIn(status);
  const id = nameIn(words["id"]);
  const word = words["status"];
  const known = typeof word === "string" && Object.hasOwn(STATUSES, word) ? STATUSES[word] : undefined;
  if (id === undefined || known === undefined) return undefined;
  const [error] = listIn(words["errors"]).map(wordsIn);
  return {
    providerMessageId: id,
    reference: nameIn(words["biz_opaque_callback_data"]) ?? null,
    status: known,
    error: known === "undelivered" ? receiptError(error) : null,
    // The number that WhatsApp knows them by may be another than the one we asked for.
    raw: rawOf({
      id,
      status: word,
      timestamp: words["timestamp"],
      recipient_id: words["recipient_id"],
      error_code: error?.["code"],
      error_title: error?.["title"],
    }),
  };
}

/** Not written by a person: that a number has changed, or that a chat was opened. */
const NOT_WRITTEN: ReadonlySet<unknown> = new Set(["system", "request_welcome"]);

function messageIn(message: unknown, metadata: Words): InboundMessage | undefined {
  const words = wordsIn(message);
  const id = nameIn(words["id"]);
  const from = numberIn(words["from"]);
  const to = numberIn(metadata["display_phone_number"]);
  if (id === undefined || from === undefined || to === undefined || NOT_WRITTEN.has(words["type"])) return undefined;
  const answered = words["type"] === "reaction" ? wordsIn(words["reaction"])["message_id"] : wordsIn(words["context"])["id"];
  return {
    providerMessageId: id,
    channel: "whatsapp",
    from,
    to,
    text: writtenIn(words),
    inReplyTo: nameIn(answered) ?? null,
  };
}

/** Where in a message of a kind its words are. */
const PLACES: Readonly<Record<string, (content: Words) => unknown>> = {
  text: ({ body }) => body,
  button: ({ text }) => text,
  interactive: (content) =>
    wordsIn(content["button_reply"])["title"] ?? wordsIn(content["list_reply"])["title"] ?? wordsIn(content["nfm_reply"])["body"],
  reaction: ({ emoji }) => emoji,
};

/** The words of a message; of one without, such as a picture, what it is. */
function writtenIn(words: Words): string {
  const { type } = words;
  const kind = typeof type === "string" && /^[a-z_]{1,30}$/.test(type) ? type : "unsupported";
  const content = wordsIn(words[kind]);
  const place = Object.hasOwn(PLACES, kind) ? PLACES[kind] : undefined;
  return textIn(place === undefined ? content["caption"] : place(content)) ?? `[${kind}]`;
}

/** Undefined where it cannot be told which template it is about. */
function verdictIn(value: Words, entry: Words, accountOf: AccountOf): ReviewUpdate | undefined {
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

function decisionIn(value: Words): { status: CarrierTemplateStatus | null; reason: string | null } {
  const { event } = value;
  if (event === "REINSTATED") return { status: "approved", reason: null };
  // Not a decision: that it may come to one.
  const known = event === "FLAGGED" ? undefined : statusOf(event);
  if (known === undefined) return { status: null, reason: null };
  return { status: known.status, reason: known.reason && (explained(value) ?? known.reason) };
}

/** As much as WhatsApp says, most of it for people. */
function explained(value: Words): string | undefined {
  const { reason, recommendation } = wordsIn(value["rejection_info"]);
  const { title, description } = wordsIn(value["other_info"]);
  const short = textIn(value["reason"]);
  const said = [short === "NONE" ? undefined : short, textIn(reason), textIn(recommendation), textIn(description) ?? textIn(title)];
  const words = said.filter((each) => each !== undefined);
  return words.length === 0 ? undefined : words.join(": ");
}
