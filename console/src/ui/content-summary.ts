/** The content of a message in a few words, for lists and quotes. */
import type { components, Message } from "godwit-sdk";
import { plural } from "../lib/format.ts";

type Schemas = components["schemas"];
/** The contents that the console knows. A later version of the service may have others, so a switch over the types needs a default. */
export type KnownContent = Schemas[
  | "MediaContent"
  | "ButtonsContent"
  | "ListContent"
  | "LocationContent"
  | "ContactsContent"
  | "ReactionContent"
  | "TemplateContent"
  | "ReplyContent"
  | "FormContent"
  | "OrderContent"
  | "SystemContent"
  | "UnsupportedContent"];
export type FileReference = { kind: string; media_id: string; file_name: string | null };

export type Summary = {
  /** The kind of the content, if it is more than a text. */
  label: string | null;
  text: string | null;
  /** A file that can be shown in small. */
  picture: FileReference | null;
};

const KIND_LABELS: Readonly<Record<string, string>> = {
  image: "Picture",
  audio: "Recording",
  video: "Video",
  document: "Document",
  sticker: "Sticker",
};

/** The word for a kind of file. The kind of a later version is its own word. */
export const kindLabel = (kind: string, isVoice = false): string => (isVoice ? "Voice note" : (KIND_LABELS[kind] ?? kind));

const asPicture = (file: FileReference): FileReference | null => (file.kind === "image" || file.kind === "sticker" ? file : null);

/** The text of a message, unless it only names the kind of its content, such as [image]. */
export const textBeside = (body: string | null): string | null => (body === null || /^\[\w+\]$/.test(body) ? null : body);

const nonEmpty = (...texts: readonly (string | null)[]): string | null => texts.find((text) => text !== null && text.trim() !== "") ?? null;

export function summaryOf({ body, content }: Pick<Message, "body" | "content">): Summary {
  const summary = (label: string | null, text: string | null, picture: FileReference | null = null): Summary => ({ label, text, picture });
  if (content === null) return summary(null, body);
  const known = content as KnownContent;
  switch (known.type) {
    case "media":
      return summary(
        kindLabel(known.kind, known.is_voice),
        nonEmpty(known.caption, textBeside(body), known.file_name),
        known.further_media === undefined ? asPicture(known) : null,
      );
    case "buttons":
      return summary("Buttons", known.text, known.header?.type === "media" ? asPicture(known.header) : null);
    case "list":
      return summary("List", known.text);
    case "location":
      return summary("Location", nonEmpty(known.name, known.address, `${known.latitude}, ${known.longitude}`));
    case "contacts":
      return summary("Contact", known.contacts.map(({ name }) => name.formatted_name).join(", "));
    case "reaction":
      return summary("Reaction", known.emoji ?? "removed");
    case "template":
      return summary(known.header === null ? null : kindLabel(known.header.kind), body, known.header && asPicture(known.header));
    case "reply":
      return summary("Choice", nonEmpty(known.title, known.id));
    case "form":
      return summary("Form", nonEmpty(known.name, textBeside(body)));
    case "order":
      return summary("Order", nonEmpty(known.text, plural(known.items.length, "product")));
    case "system":
      return summary("Notice", nonEmpty(known.text, textBeside(body)));
    case "unsupported":
      return summary("Unsupported", known.kind);
    default:
      return summary(content.type, textBeside(body));
  }
}
