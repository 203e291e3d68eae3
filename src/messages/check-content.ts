/** The rules between the fields of a content in a request, and the rules of its channel. The schema reports fields of a wrong type. */
import type { Fault } from "../http/problem.ts";
import { parseBoundedUrl } from "../lib/urls.ts";
import { CHANNELS, MAX_BODY } from "../links/channel.ts";
import { channelFault, type Need } from "../links/content-support.ts";
import { mediaOf } from "../model/content.ts";
import type { Message } from "./message.ts";
import { MAX_LIST_ROWS, NEW_TYPES, type NewContent } from "./new-content.ts";

type Fields = Readonly<Record<string, unknown>>;
type Report = (place: string, code: string, detail: string) => void;

const isObject = (value: unknown): value is Fields => typeof value === "object" && value !== null && !Array.isArray(value);
const isGiven = (value: unknown): boolean => value !== undefined && value !== null;
const listOf = (value: unknown): readonly Fields[] => (Array.isArray(value) ? value.filter(isObject) : []);

/** The content may have any form: the schema has not refused it yet. */
export function checkNewContent(content: unknown, channel: unknown, pointer: string): Fault[] {
  const faults: Fault[] = [];
  const report: Report = (place, code, detail) => faults.push({ pointer: `${pointer}${place}`, code, detail });
  if (!isObject(content)) return faults;
  checkForm(content, report);
  const known = CHANNELS.find((each) => each === channel);
  if (known === undefined || faults.length > 0) return faults;
  if (content["type"] === "text") {
    const { text } = content;
    if (typeof text === "string" && Array.from(text).length > MAX_BODY[known])
      report("/text", "too_long", `must have at most ${MAX_BODY[known]} characters on ${known}`);
    return faults;
  }
  if (!isNewType(content["type"])) return faults;
  const refused = channelFault(known, needOfFields(content));
  if (refused !== undefined) report("", "not_supported", refused);
  return faults;
}

function checkForm(content: Fields, report: Report): void {
  switch (content["type"]) {
    case "media":
      return checkFile(content, "", report);
    case "buttons":
      checkHeader(content["header"], report);
      return checkButtons(listOf(content["buttons"]), report);
    case "list":
      return checkList(listOf(content["sections"]), report);
    case "contacts":
      return checkContacts(listOf(content["contacts"]), report);
    case "template":
      if (isObject(content["header"])) checkFile(content["header"], "/header", report);
      return checkTemplateButtons(listOf(content["buttons"]), report);
    default:
  }
}

function checkFile({ media_id: id, url, kind, file_name: name }: Fields, place: string, report: Report): void {
  if (isGiven(id) === isGiven(url))
    report(`${place}/media_id`, isGiven(id) ? "conflict" : "required", "exactly one of media_id and url is required");
  checkUrl(url, `${place}/url`, report);
  if (isGiven(name) && kind !== "document") report(`${place}/file_name`, "conflict", "is for documents");
}

/** The schema has checked the scheme. */
function checkUrl(url: unknown, place: string, report: Report): void {
  if (typeof url === "string" && /^https?:\/\//.test(url) && parseBoundedUrl(url) === null)
    report(place, "invalid_format", "must be a URL with a host, without spaces and control characters");
}

function checkContacts(contacts: readonly Fields[], report: Report): void {
  contacts.forEach(({ birthday }, index) => {
    if (typeof birthday === "string" && /^\d{4}-\d{2}-\d{2}$/.test(birthday) && !isDay(birthday))
      report(`/contacts/${index}/birthday`, "invalid_format", "must be a day of the calendar such as 1990-01-31");
  });
}

/** A day that the calendar does not have, such as February 30, is parsed as a later one. */
function isDay(text: string): boolean {
  const day = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(day.getTime()) && day.toISOString().startsWith(text);
}

function checkHeader(header: unknown, report: Report): void {
  if (!isObject(header) || header["type"] !== "media") return;
  checkFile(header, "/header", report);
  const { kind } = header;
  if (kind === "audio" || kind === "sticker") report("/header/kind", "not_supported", "must be image, video or document above a text");
}

function checkButtons(buttons: readonly Fields[], report: Report): void {
  const isOf = (wanted: string) => buttons.some(({ type }) => type === wanted);
  if (isOf("phone")) report("/buttons", "not_supported", "a phone button exists only in a template");
  else if (isOf("url") && buttons.length > 1)
    report("/buttons", "not_supported", "a url button must be the only button; several buttons are quick replies");
  buttons.forEach(({ url }, index) => checkUrl(url, `/buttons/${index}/url`, report));
  reportRepeated(buttons, "id", "/buttons", report);
  reportRepeated(buttons, "title", "/buttons", report);
}

function checkList(sections: readonly Fields[], report: Report): void {
  const rows = sections.flatMap(({ rows: each }) => listOf(each));
  if (rows.length > MAX_LIST_ROWS) report("/sections", "too_many", `must have at most ${MAX_LIST_ROWS} rows in all sections together`);
  sections.forEach(({ title }, index) => {
    if (sections.length > 1 && !isGiven(title)) report(`/sections/${index}/title`, "required", "is required if there are several sections");
  });
  reportRepeated(rows, "id", "/sections", report);
}

function checkTemplateButtons(buttons: readonly Fields[], report: Report): void {
  buttons.forEach(({ url_suffix: suffix, payload }, index) => {
    if (isGiven(suffix) === isGiven(payload))
      report(`/buttons/${index}`, isGiven(suffix) ? "conflict" : "required", "exactly one of url_suffix and payload is required");
  });
  reportRepeated(buttons, "index", "/buttons", report);
}

/** The reply of a person names an id, so it must tell the buttons apart. */
function reportRepeated(items: readonly Fields[], name: string, place: string, report: Report): void {
  const values = items.map((item) => item[name]).filter(isGiven);
  if (new Set(values).size < values.length) report(place, "conflict", `two of them have the same ${name}`);
}

const isNewType = (type: unknown): boolean => NEW_TYPES.some((each) => each === type);

const needOfFields = (content: Fields): Need => needOf(content as NewContent);

/** Names the abilities that a link must have for a content. */
export function needOf(content: NewContent): Need {
  if (content.type === "media") return { type: "media", kind: content.kind, hasCaption: isGiven(content.caption) };
  const header = content.type === "buttons" || content.type === "template" ? content.header : null;
  // A template with nothing but its variables is one of its short form.
  if (content.type === "template" && !header && !content.buttons?.length) return { type: "text" };
  return { type: content.type, kind: isObject(header) && "kind" in header ? header.kind : undefined };
}

/** Names the abilities that a link must have for a stored message with a content. */
export function needOfStored({ content, channel, inReplyTo }: Pick<Message, "content" | "channel" | "inReplyTo">): Need | undefined {
  if (content === null) return undefined;
  const file = mediaOf(content);
  const hasCaption = content.type === "media" && content.caption !== null;
  const isQuote = channel === "whatsapp" && inReplyTo !== null;
  return { type: content.type as Need["type"], kind: file?.kind, hasCaption, isQuote };
}
