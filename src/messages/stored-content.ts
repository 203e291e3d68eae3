/** The content of a request in the form in which it is stored, and its text and files. */
import { unreachable } from "../lib/assert.ts";
import type { Contact, ContentHeader, MediaReference, SentContent, TemplateParts } from "../model/content.ts";
import type { NewContact, NewContent, NewFile, NewHeader } from "./new-content.ts";

/** The files of a content in a request, each with its position. */
export function filesOf(content: NewContent): readonly { file: NewFile; pointer: string }[] {
  if (content.type === "media") return [{ file: content, pointer: "" }];
  if (content.type === "buttons" && content.header?.type === "media") return [{ file: content.header, pointer: "/header" }];
  return content.type === "template" && content.header ? [{ file: content.header, pointer: "/header" }] : [];
}

/** The readable text of a content: what a person sees first. */
export function textOf(content: NewContent): string | null {
  switch (content.type) {
    case "text":
    case "buttons":
    case "list":
      return content.text;
    case "media":
      return content.caption ?? null;
    case "reaction":
      return content.emoji ?? null;
    case "location":
    case "contacts":
    case "template":
      return null;
    default:
      return unreachable(content);
  }
}

type References = ReadonlyMap<NewFile, MediaReference>;

/** The content as it is stored, with the references of its files. Null for a text, and for a template that has nothing but its variables. */
export function toStored(content: NewContent, references: References): SentContent | null {
  switch (content.type) {
    case "text":
      return null;
    case "media":
      return { type: "media", ...referenceOf(content, references), caption: content.caption ?? null, is_voice: false };
    case "buttons": {
      const { text, header, footer = null, buttons } = content;
      return { type: "buttons", text, header: toHeader(header, references), footer, buttons };
    }
    case "list": {
      const { text, header = null, footer = null, button, sections } = content;
      return { type: "list", text, header, footer, button, sections: sections.map(toSection) };
    }
    case "location": {
      const { latitude, longitude, name = null, address = null } = content;
      return { type: "location", latitude, longitude, name, address };
    }
    case "contacts":
      return { type: "contacts", contacts: content.contacts.map(toContact) };
    case "reaction":
      return { type: "reaction", message_id: content.message_id, emoji: content.emoji ?? null };
    case "template":
      return toTemplate(content, references);
    default:
      return unreachable(content);
  }
}

function referenceOf(file: NewFile, references: References): MediaReference {
  const found = references.get(file);
  if (found === undefined) throw new Error("every file of a content is found before the content is stored");
  return found;
}

function toHeader(header: NewHeader | null | undefined, references: References): ContentHeader | null {
  if (!header) return null;
  return header.type === "text" ? { type: "text", text: header.text } : { type: "media", ...referenceOf(header, references) };
}

type Section = Extract<NewContent, { type: "list" }>["sections"][number];

const toSection = ({ title = null, rows }: Section) => ({
  title,
  rows: rows.map(({ id, title: label, description = null }) => ({ id, title: label, description })),
});

function toTemplate({ header, buttons }: Extract<NewContent, { type: "template" }>, references: References): TemplateParts | null {
  const set = (buttons ?? []).map(({ index, url_suffix: suffix, payload }) =>
    typeof suffix === "string" ? { index, url_suffix: suffix } : { index, payload: payload ?? "" },
  );
  if (!header && set.length === 0) return null;
  return { type: "template", header: header ? { type: "media", ...referenceOf(header, references) } : null, buttons: set };
}

const toContact = ({ name, phones, emails, urls, addresses, org, birthday }: NewContact): Contact => ({
  name: {
    formatted_name: name.formatted_name,
    first_name: name.first_name ?? null,
    last_name: name.last_name ?? null,
    middle_name: name.middle_name ?? null,
    prefix: name.prefix ?? null,
    suffix: name.suffix ?? null,
  },
  phones: (phones ?? []).map(({ phone, type = null, wa_id = null }) => ({ phone, type, wa_id })),
  emails: (emails ?? []).map(({ email, type = null }) => ({ email, type })),
  urls: (urls ?? []).map(({ url, type = null }) => ({ url, type })),
  addresses: (addresses ?? []).map((each) => ({
    street: each.street ?? null,
    city: each.city ?? null,
    state: each.state ?? null,
    zip: each.zip ?? null,
    country: each.country ?? null,
    country_code: each.country_code ?? null,
    type: each.type ?? null,
  })),
  org: org ? { company: org.company ?? null, department: org.department ?? null, title: org.title ?? null } : null,
  birthday: birthday ?? null,
});
