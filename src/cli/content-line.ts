/** The content of a message as one line. */
import type { CarriedContent, StructuredContent } from "../model/content.ts";

const MAX_CHARACTERS = 120;

type Shown = StructuredContent | CarriedContent;

/** Undefined for a message that is only a text. */
export function contentLine(content: Shown | null | undefined): string | undefined {
  if (!content) return undefined;
  const line = [content.type, ...partsOf(content)].filter((part) => part !== null && part !== "").join(" ");
  const characters = Array.from(line.replaceAll(/\s+/g, " "));
  return characters.length > MAX_CHARACTERS ? `${characters.slice(0, MAX_CHARACTERS - 1).join("")}…` : characters.join("");
}

type Parts = readonly (string | null)[];

function partsOf(content: Shown): Parts {
  switch (content.type) {
    case "media":
      return [...fileParts(content), quoted(content.caption)];
    case "buttons":
      return [...headerParts(content.header), quoted(content.text), ...content.buttons.map(({ title }) => `[${title}]`)];
    case "list":
      return [
        quoted(content.text),
        `[${content.button}]`,
        content.sections.flatMap(({ rows }) => rows.map(({ title }) => title)).join(", "),
      ];
    case "location":
      return [`${content.latitude},${content.longitude}`, content.name, content.address];
    case "contacts":
      return [content.contacts.map(({ name }) => name.formatted_name).join(", ")];
    case "reaction":
      return [content.emoji ?? "removed", "message_id" in content ? content.message_id : null];
    case "template":
      return [...headerParts(content.header), ...content.buttons.map((button) => JSON.stringify(button))];
    case "reply":
      return [quoted(content.title), content.id === null ? null : `(${content.id})`];
    case "form":
      return [content.name, content.response];
    case "order":
      return [...content.items.map(({ product_id: id, quantity }) => `${quantity ?? "?"} × ${id ?? "?"}`), quoted(content.text)];
    case "system":
      return [quoted(content.text)];
    case "unsupported":
      return [content.kind];
    default:
      // The service may be newer than this program.
      return [];
  }
}

const quoted = (text: string | null): string | null => text && JSON.stringify(text);

type File = { kind: string; file_name: string | null; media_id: string };

const fileText = ({ kind, media_id: id, file_name: name }: File): string => `${kind} ${id}${name === null ? "" : ` (${name})`}`;

/** A kept inbound message has files that are still at the carrier. */
function fileParts(content: Extract<Shown, { type: "media" }>): Parts {
  if ("files" in content) return content.files.map(({ kind, fileName }) => `${kind}${fileName === null ? "" : ` (${fileName})`}`);
  return [content, ...(content.further_media ?? [])].map(fileText);
}

const headerParts = (header: ({ type: "media" } & File) | { type: "text"; text: string } | null): Parts =>
  header === null ? [] : [header.type === "media" ? fileText(header) : quoted(header.text)];
