/** The draft of a message on the send page. Another page can hand over a draft; it stays in memory and never appears in an address. */
import type { Message, NewMessage } from "godwit-sdk";
import { cleanNumber } from "../../../src/bulk/clean-number.ts";
import { fromLocalInput } from "../lib/format.ts";
import { fromMessage, NO_CONTENT, toContent, toTemplateContent, type ContentDraft, type ContentKind } from "./content-draft.ts";

export type DraftKind = "text" | "template" | ContentKind;

export type Draft = ContentDraft & {
  channel: string;
  recipient: string;
  kind: DraftKind;
  body: string;
  template: string;
  variables: Readonly<Record<string, string>>;
  /** The id of the message that this one quotes. */
  replyTo: string;
  sender: string;
  /** The value of the browser's field, in local time. */
  sendAt: string;
  priority: string;
  clientReference: string;
  /** One line for each entry: name=value. */
  metadata: string;
  ttlSeconds: string;
  maxSegments: string;
};

export const EMPTY: Draft = {
  ...NO_CONTENT,
  channel: "sms",
  recipient: "",
  kind: "text",
  body: "",
  template: "",
  variables: {},
  replyTo: "",
  sender: "",
  sendAt: "",
  priority: "normal",
  clientReference: "",
  metadata: "",
  ttlSeconds: "",
  maxSegments: "",
};

/** Makes a draft of the same message. The record does not contain the time to live, the maximum of segments and the fallback, so the draft
 *  has none of them. */
export const toDraft = (message: Message): Draft => ({
  ...EMPTY,
  channel: message.channel,
  recipient: message.recipient,
  kind: message.template_id === null ? "text" : "template",
  body: message.template_id === null ? (message.body ?? "") : "",
  template: message.template_id ?? "",
  variables: message.template_variables ?? {},
  ...fromMessage(message),
  replyTo: message.channel === "whatsapp" && message.content?.type !== "reaction" ? (message.in_reply_to ?? "") : "",
  sender: message.sender ?? "",
  priority: message.priority,
  clientReference: message.client_reference ?? "",
  metadata: Object.entries(message.metadata)
    .map(([name, value]) => `${name}=${value}`)
    .join("\n"),
});

let kept: { draft: Draft; keyId: string } | undefined;

/** Keeps a draft for the send page. Only the same key gets it back, because a session may end while the user writes. */
export const keepDraft = (draft: Draft, keyId: string): void => {
  kept = { draft, keyId };
};

/** Returns the kept draft once. */
export const takeKeptDraft = (keyId: string): Draft | undefined => {
  const found = kept;
  kept = undefined;
  return found?.keyId === keyId ? found.draft : undefined;
};

export const forgetKeptDraft = (): void => {
  kept = undefined;
};

/** Builds the request body from the filled fields only, so that the code sample beside the form stays short. */
export function toRequest(draft: Draft): NewMessage {
  const { replyTo, sender, sendAt, priority, clientReference, metadata, ttlSeconds, maxSegments } = draft;
  return {
    recipient: cleanNumber(draft.recipient),
    // The service reports an unknown channel.
    channel: draft.channel as NewMessage["channel"],
    ...contentFields(draft),
    ...(replyTo.trim() === "" ? {} : { reply_to: replyTo.trim() }),
    ...(sender.trim() === "" ? {} : { sender: cleanNumber(sender) }),
    ...(sendAt === "" ? {} : { send_at: fromLocalInput(sendAt) }),
    ...(priority === "normal" ? {} : { priority: priority as "high" }),
    ...(clientReference.trim() === "" ? {} : { client_reference: clientReference.trim() }),
    ...(metadata.trim() === "" ? {} : { metadata: parseMetadata(metadata) }),
    ...(ttlSeconds === "" ? {} : { ttl_seconds: Number(ttlSeconds) }),
    ...(maxSegments === "" ? {} : { max_segments: Number(maxSegments) }),
  };
}

/** A text and a template without further parts have their short form. */
function contentFields(draft: Draft): Pick<NewMessage, "body" | "template_id" | "template_variables" | "content"> {
  const { kind, body, template, variables, parts } = draft;
  if (kind === "text") return { body };
  if (kind !== "template") return { content: toContent(kind, draft) };
  if (parts !== null) return { content: toTemplateContent(template, variables, parts) };
  return { template_id: template, ...(Object.keys(variables).length === 0 ? {} : { template_variables: { ...variables } }) };
}

const isBlank = (value: unknown): boolean => value === undefined || value === "";

/** The pointers of the values that differ between two requests. A new empty value is none: its user has not written it yet. */
export function changedPointers(before: unknown, after: unknown, pointer = ""): string[] {
  const [one, other] = [membersOf(before), membersOf(after)];
  if (one === undefined && other === undefined) return before === after || (isBlank(before) && isBlank(after)) ? [] : [pointer];
  const names = new Set([...Object.keys(one ?? {}), ...Object.keys(other ?? {})]);
  return [...names].flatMap((name) => changedPointers(one?.[name], other?.[name], `${pointer}/${escapePointer(name)}`));
}

const membersOf = (value: unknown): Readonly<Record<string, unknown>> | undefined =>
  typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;

const escapePointer = (name: string): string => name.replaceAll("~", "~0").replaceAll("/", "~1");

/** Parses lines of name=value. A line without an equals sign is a name with an empty value. */
const parseMetadata = (text: string): Record<string, string> =>
  Object.fromEntries(
    text
      .split("\n")
      .filter((line) => line.trim() !== "")
      .map((line) => {
        const at = line.indexOf("=");
        return at < 0 ? [line.trim(), ""] : [line.slice(0, at).trim(), line.slice(at + 1).trim()];
      }),
  );
