/** The content of an inbound message: gives its files ids and its reaction a message, and keeps it within its part of the record. */
import { unreachable } from "../lib/assert.ts";
import { referenceTo, withId, type InboundFile } from "../media/inbound-media.ts";
import type { CarriedContent, InboundContent } from "../model/content.ts";
import { encodeId, type MessageId } from "../model/id.ts";

// Half of the record. The other half is for the text and the metadata.
const MAX_CONTENT_BYTES = 8_192;

/** The metadata of a message of which something was left out. */
export const TRUNCATED = { truncated: "true" };

/** A content that fits into the record. `isCut`: something of it was left out. */
export type FittedContent = { content: CarriedContent; isCut: boolean };

/** Leaves out the longest parts of a content that is too large. Half an id or half an answer would be useless. */
export function fitContent(content: CarriedContent): FittedContent {
  return sizeOf(content) <= MAX_CONTENT_BYTES ? { content, isCut: false } : { content: shortened(content), isCut: true };
}

export type IdentifiedContent = { content: InboundContent; files: readonly InboundFile[] };

export function identifyContent(content: CarriedContent, inReplyTo: MessageId | null, nowMs: number): IdentifiedContent {
  if (content.type === "reaction")
    return { content: { type: "reaction", message_id: inReplyTo && encodeId("msg", inReplyTo), emoji: content.emoji }, files: [] };
  if (content.type !== "media") return { content, files: [] };
  const { caption, is_voice, files: carried } = content;
  const files = carried.map((file) => withId(file, nowMs));
  const [first, ...further] = files.map(referenceTo);
  if (first === undefined) throw new Error("a content of media has a file");
  const furtherMedia = further.length === 0 ? {} : { further_media: further };
  return { content: { type: "media", ...first, caption, is_voice, ...furtherMedia }, files };
}

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

/** The size in the record, without what only the download needs. */
const sizeOf = (content: CarriedContent): number =>
  content.type === "media" ? bytesOf({ ...content, files: content.files.map(({ fileName }) => fileName) }) : bytesOf(content);

function shortened(content: CarriedContent): CarriedContent {
  switch (content.type) {
    case "media": {
      // The text of the message has the caption as well.
      const [first, ...further] = content.files;
      return { ...content, caption: null, files: [{ ...first, fileName: null }, ...further.map((file) => ({ ...file, fileName: null }))] };
    }
    case "contacts":
      return { ...content, contacts: firstThatFit(content.contacts) };
    case "order":
      return { ...content, text: null, items: firstThatFit(content.items) };
    case "form":
      return { ...content, response: null };
    case "location":
      return { ...content, name: null, address: null };
    case "reply":
      return { ...content, title: null, description: null };
    case "reaction":
      return { ...content, emoji: null };
    case "system":
      return { ...content, text: null };
    case "unsupported":
      return { ...content, original: null };
    default:
      return unreachable(content);
  }
}

// The names of the other members.
const MEMBERS_BYTES = 1_024;

function firstThatFit<T>(items: readonly T[]): T[] {
  let bytes = 0;
  const most = MAX_CONTENT_BYTES - MEMBERS_BYTES;
  return items.filter((item) => {
    if (bytes <= most) bytes += bytesOf(item) + 1;
    return bytes <= most;
  });
}
