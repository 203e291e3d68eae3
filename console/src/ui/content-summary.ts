/** The content of a message in a few words, for lists and quotes. */
import type { components, Message } from "godwit-sdk";
import { plural } from "../lib/format.ts";

/** The contents that this version knows. A later version of the service may have others, so a switch over the types needs a default. */
export type KnownContent = components["schemas"]["Content"];
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
  const { type }: { type: string } = content;
  switch (content.type) {
    case "media":
      return summary(
        kindLabel(content.kind, content.is_voice),
        nonEmpty(content.caption, textBeside(body), content.file_name),
        content.further_media === undefined ? asPicture(content) : null,
      );
    case "buttons":
      return summary("Buttons", content.text, content.header?.type === "media" ? asPicture(content.header) : null);
    case "list":
      return summary("List", content.text);
    case "location":
      return summary("Location", nonEmpty(content.name, content.address, `${content.latitude}, ${content.longitude}`));
    case "contacts":
      return summary("Contact", content.contacts.map(({ name }) => name.formatted_name).join(", "));
    case "reaction":
      return summary("Reaction", content.emoji ?? "removed");
    case "template":
      return summary(content.header === null ? null : kindLabel(content.header.kind), body, content.header && asPicture(content.header));
    case "reply":
      return summary("Choice", nonEmpty(content.title, content.id));
    case "form":
      return summary("Form", nonEmpty(content.name, textBeside(body)));
    case "order":
      return summary("Order", nonEmpty(content.text, plural(content.items.length, "product")));
    case "system":
      return summary("Notice", nonEmpty(content.text, textBeside(body)));
    case "unsupported":
      return summary("Unsupported", content.kind);
    default:
      return summary(type, textBeside(body));
  }
}
