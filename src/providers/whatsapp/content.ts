/** The contents of messages in the form in which the Cloud API accepts them. */
import { unreachable } from "../../lib/assert.ts";
import type { ButtonsContent, Contact, ContentHeader, ListContent, MediaKind, SentContent } from "../../model/content.ts";
import type { Outgoing } from "../provider.ts";

/** A file that was uploaded. */
type Uploaded = { carrierFile: string; fileName: string | null };

/** The members of the request that are the content: its type, and a member of that name. Templates have further parts. */
export function contentMembers(
  content: Exclude<SentContent, { type: "template" }>,
  { carrierFile = "", quotes = "", media }: Outgoing,
): object {
  const file = { carrierFile, fileName: media?.fileName ?? null };
  switch (content.type) {
    case "media":
      return { type: content.kind, [content.kind]: toFile(content.kind, file, content.caption) };
    case "buttons":
      return { type: "interactive", interactive: toButtons(content, file) };
    case "list":
      return { type: "interactive", interactive: toList(content) };
    case "location": {
      const { latitude, longitude, name, address } = content;
      return { type: "location", location: { latitude, longitude, ...given({ name, address }) } };
    }
    case "contacts":
      return { type: "contacts", contacts: content.contacts.map(toContact) };
    case "reaction":
      return { type: "reaction", reaction: { message_id: quotes, emoji: content.emoji ?? "" } };
    default:
      return unreachable(content);
  }
}

function toFile(kind: MediaKind, { carrierFile, fileName }: Uploaded, caption: string | null = null): object {
  return { id: carrierFile, ...given({ caption: wellFormed(caption), filename: kind === "document" ? fileName : null }) };
}

const toHeader = (header: ContentHeader, file: Uploaded): object =>
  header.type === "text"
    ? { type: "text", text: header.text.toWellFormed() }
    : { type: header.kind, [header.kind]: toFile(header.kind, file) };

function toButtons({ text, header, footer, buttons }: ButtonsContent, file: Uploaded): object {
  const common = {
    ...(header === null ? {} : { header: toHeader(header, file) }),
    body: { text: text.toWellFormed() },
    ...(footer === null ? {} : { footer: { text: footer.toWellFormed() } }),
  };
  const [first] = buttons;
  if (first?.type === "url")
    return { type: "cta_url", ...common, action: { name: "cta_url", parameters: { display_text: first.title, url: first.url } } };
  const replies = buttons.flatMap((button) =>
    button.type === "reply" ? [{ type: "reply", reply: { id: button.id, title: button.title } }] : [],
  );
  return { type: "button", ...common, action: { buttons: replies } };
}

const toList = ({ text, header, footer, button, sections }: ListContent): object => ({
  type: "list",
  ...(header === null ? {} : { header: { type: "text", text: header.toWellFormed() } }),
  body: { text: text.toWellFormed() },
  ...(footer === null ? {} : { footer: { text: footer.toWellFormed() } }),
  action: {
    button,
    sections: sections.map(({ title, rows }) => ({
      ...given({ title }),
      rows: rows.map(({ id, title: label, description }) => ({ id, title: label, ...given({ description }) })),
    })),
  },
});

const toContact = ({ name, phones, emails, urls, addresses, org, birthday }: Contact): object => ({
  name: given(name),
  ...(phones.length === 0 ? {} : { phones: phones.map(given) }),
  ...(emails.length === 0 ? {} : { emails: emails.map(given) }),
  ...(urls.length === 0 ? {} : { urls: urls.map(given) }),
  ...(addresses.length === 0 ? {} : { addresses: addresses.map(given) }),
  ...(org === null ? {} : { org: given(org) }),
  ...given({ birthday }),
});

/** The components of a template that this message sets: the file of its header, and parts of its buttons. */
export function templateParts(content: Extract<SentContent, { type: "template" }>, { carrierFile = "", media }: Outgoing): object[] {
  const { header, buttons } = content;
  const file = { carrierFile, fileName: media?.fileName ?? null };
  return [
    ...(header === null ? [] : [{ type: "header", parameters: [{ type: header.kind, [header.kind]: toFile(header.kind, file) }] }]),
    ...buttons.map((button) =>
      "url_suffix" in button
        ? { type: "button", sub_type: "url", index: String(button.index), parameters: [{ type: "text", text: button.url_suffix }] }
        : {
            type: "button",
            sub_type: "quick_reply",
            index: String(button.index),
            parameters: [{ type: "payload", payload: button.payload }],
          },
    ),
  ];
}

/** The members that are not null: the Cloud API refuses null. */
const given = (members: object): object =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null && value !== undefined));

const wellFormed = (text: string | null): string | null => text && text.toWellFormed();
