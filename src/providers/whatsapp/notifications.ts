/** What the Cloud API tells us: statuses of what we sent, and what people wrote. A call brings many, of several kinds; what is odd
 *  among them is counted and left, since a call that is refused comes again, with everything in it. */
import { nameIn, numberIn, rawOf, textIn, type Said } from "../http-answer.ts";
import type { InboundMessage, Receipt, ReceiptStatus } from "../provider.ts";
import { receiptError } from "./errors.ts";

export type Notifications = Said & {
  /** How many of each kind were left, for the log. */
  templates: number;
  ignored: number;
};

type Words = Readonly<Record<string, unknown>>;

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

export function notificationsIn(payload: unknown): Notifications {
  const receipts: Receipt[] = [];
  const messages: InboundMessage[] = [];
  let templates = 0;
  let ignored = 0;
  const changes = listIn(wordsIn(payload)["entry"]).flatMap((entry) => listIn(wordsIn(entry)["changes"]));
  for (const change of changes.map(wordsIn)) {
    if (change["field"] === "message_template_status_update") templates += 1;
    else if (change["field"] === "messages") {
      const value = wordsIn(change["value"]);
      const found = listIn(value["statuses"]).map(receiptIn);
      const written = listIn(value["messages"]).map((message) => messageIn(message, wordsIn(value["metadata"])));
      receipts.push(...found.filter((receipt) => receipt !== undefined));
      messages.push(...written.filter((message) => message !== undefined));
      ignored += [...found, ...written].filter((each) => each === undefined).length;
    } else ignored += 1;
  }
  return { receipts, messages, templates, ignored };
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
