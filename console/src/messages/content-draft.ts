/** The content of a draft besides a text: the fields of the form, and their conversion to a request and from a message. */
import type { components, Message } from "godwit-sdk";
import type { KnownContent } from "../ui/content-summary.ts";

type Schemas = components["schemas"];
export type NewContent = Schemas["NewContent"];

/** A file: an uploaded or stored one by its id, or one behind a URL. */
export type FileDraft = { source: "upload" | "stored" | "url"; kind: string; mediaId: string; url: string; name: string };

/** `target` is the id of a quick reply, or the URL of a button that opens a page. */
export type ContentButton = { key: number; type: string; title: string; target: string };
type RowDraft = { key: number; id: string; title: string; description: string };
export type SectionDraft = { key: number; title: string; rows: readonly RowDraft[] };

/** The parts that a message gives a template besides its variables. Buttons have their positions in the template. */
export type TemplateParts = {
  header: FileDraft | null;
  buttons: readonly { index: number; label: string; field: "url_suffix" | "payload"; value: string }[];
};

export type ContentDraft = {
  file: FileDraft;
  caption: string;
  /** The texts of buttons and lists. */
  text: string;
  header: string;
  footer: string;
  buttons: readonly ContentButton[];
  listButton: string;
  sections: readonly SectionDraft[];
  latitude: string;
  longitude: string;
  placeName: string;
  address: string;
  /** Null: the template has none, or is not known yet. */
  parts: TemplateParts | null;
  /** A content that the form has no fields for, from an earlier message. */
  copied: NewContent | null;
};

const NO_FILE: FileDraft = { source: "upload", kind: "image", mediaId: "", url: "", name: "" };
const FIRST_ROW: RowDraft = { key: 0, id: "row_1", title: "", description: "" };

export const NO_CONTENT: ContentDraft = {
  file: NO_FILE,
  caption: "",
  text: "",
  header: "",
  footer: "",
  buttons: [{ key: 0, type: "reply", title: "", target: "button_1" }],
  listButton: "",
  sections: [{ key: 0, title: "", rows: [FIRST_ROW] }],
  latitude: "",
  longitude: "",
  placeName: "",
  address: "",
  parts: null,
  copied: null,
};

export type ContentKind = "media" | "buttons" | "list" | "location" | "copied";

/** The key of a further item, and with it the default of its id. */
export const nextKey = (items: readonly { key: number }[]): number => Math.max(-1, ...items.map(({ key }) => key)) + 1;

const given = <Name extends string>(name: Name, value: string): Partial<Record<Name, string>> =>
  value.trim() === "" ? {} : ({ [name]: value } as Record<Name, string>);

/** The fields that name a file. A file that is not chosen yet is left to the service to report. */
const toFile = ({ source, kind, mediaId, url, name }: FileDraft): Schemas["NewTemplateFile"] => ({
  kind: kind as Schemas["NewTemplateFile"]["kind"],
  ...(source === "url" ? { url: url.trim() } : given("media_id", mediaId.trim())),
  ...(kind === "document" ? given("file_name", name) : {}),
});

/** Builds the content of the request from the filled fields only. */
export function toContent(kind: ContentKind, draft: ContentDraft): NewContent {
  switch (kind) {
    case "media":
      return { type: "media", ...toFile(draft.file), ...given("caption", draft.caption) };
    case "buttons":
      return {
        type: "buttons",
        text: draft.text,
        ...(draft.header === "" ? {} : { header: { type: "text", text: draft.header } }),
        ...given("footer", draft.footer),
        buttons: draft.buttons.map(toButton),
      };
    case "list":
      return {
        type: "list",
        text: draft.text,
        ...given("header", draft.header),
        ...given("footer", draft.footer),
        button: draft.listButton,
        sections: draft.sections.map(({ title, rows }) => ({
          ...given("title", title),
          rows: rows.map(({ id, title: row, description }) => ({ id, title: row, ...given("description", description) })),
        })),
      };
    case "location":
      return {
        type: "location",
        ...position(draft),
        ...given("name", draft.placeName),
        ...given("address", draft.address),
      };
    case "copied":
      break;
  }
  return draft.copied ?? { type: "text", text: "" };
}

const toButton = ({ type, title, target }: ContentButton): Schemas["NewContentButton"] =>
  type === "url" ? { type: "url", title, url: target.trim() } : { type: "reply", title, id: target };

/** An empty field is absent, and not the latitude zero. */
const position = ({ latitude, longitude }: ContentDraft): { latitude: number; longitude: number } =>
  Object.fromEntries(
    Object.entries({ latitude, longitude }).flatMap(([name, text]) => (text.trim() === "" ? [] : [[name, Number(text)]])),
  ) as { latitude: number; longitude: number };

export const toTemplateContent = (
  template: string,
  variables: Readonly<Record<string, string>>,
  { header, buttons }: TemplateParts,
): NewContent => ({
  type: "template",
  template_id: template,
  ...(Object.keys(variables).length === 0 ? {} : { template_variables: { ...variables } }),
  ...(header === null ? {} : { header: toFile(header) }),
  ...(buttons.length === 0 ? {} : { buttons: buttons.map(({ index, field, value }) => ({ index, [field]: value })) }),
});

const URL_VARIABLE = "{{1}}";

/** The parts that a template needs. Null if it needs nothing but its variables. */
export function partsOf({ header_media: media, buttons }: Schemas["Template"]): TemplateParts | null {
  const open = (buttons ?? []).flatMap(({ type, text, url }, index): TemplateParts["buttons"] =>
    type === "url" && url?.endsWith(URL_VARIABLE) === true
      ? [{ index, label: `${text}: ${url.slice(0, -URL_VARIABLE.length)}…`, field: "url_suffix", value: "" }]
      : [],
  );
  return media === null && open.length === 0 ? null : { header: media === null ? null : { ...NO_FILE, kind: media }, buttons: open };
}

const storedFile = ({
  kind,
  media_id: mediaId,
  file_name: name,
}: {
  kind: string;
  media_id: string;
  file_name: string | null;
}): FileDraft => ({
  source: "stored",
  kind,
  mediaId,
  url: "",
  name: name ?? "",
});

type Drafted = Partial<ContentDraft> & { kind: ContentKind | "template" };

/** Makes the fields of the same content. Undefined for a text, and for a template without further parts. */
export function fromMessage({ content }: Message): Drafted | undefined {
  if (content === null) return undefined;
  const known = content as KnownContent;
  switch (known.type) {
    case "media":
      return { kind: "media", file: storedFile(known), caption: known.caption ?? "" };
    case "buttons":
      return fromButtons(known);
    case "list":
      return {
        kind: "list",
        text: known.text,
        header: known.header ?? "",
        footer: known.footer ?? "",
        listButton: known.button,
        sections: known.sections.map(({ title, rows }, key) => ({
          key,
          title: title ?? "",
          rows: rows.map((row, at) => ({ key: at, id: row.id, title: row.title, description: row.description ?? "" })),
        })),
      };
    case "location":
      return {
        kind: "location",
        latitude: String(known.latitude),
        longitude: String(known.longitude),
        placeName: known.name ?? "",
        address: known.address ?? "",
      };
    case "template":
      return { kind: "template", parts: { header: known.header && storedFile(known.header), buttons: known.buttons.map(toPart) } };
    case "contacts":
    case "reaction":
    case "reply":
    case "form":
    case "order":
    case "system":
    case "unsupported":
    default:
      return { kind: "copied", copied: withoutNulls(known) as NewContent };
  }
}

const toPart = ({
  index,
  url_suffix: suffix,
  payload,
}: Schemas["TemplateContent"]["buttons"][number]): TemplateParts["buttons"][number] => ({
  index,
  label: `Button ${index + 1}`,
  field: suffix === undefined ? "payload" : "url_suffix",
  value: suffix ?? payload ?? "",
});

function fromButtons(content: Schemas["ButtonsContent"]): Drafted {
  const { text, header, footer, buttons } = content;
  // The form has neither files above the text nor buttons that call a number.
  if (header?.type === "media") {
    const { file_name: name, ...file } = header;
    const named = header.kind === "document" ? { ...file, file_name: name } : file;
    return { kind: "copied", copied: withoutNulls({ ...content, header: named }) as NewContent };
  }
  return {
    kind: "buttons",
    text,
    header: header?.text ?? "",
    footer: footer ?? "",
    buttons: buttons.map(({ type, title, id, url }, key) => ({ key, type, title, target: id ?? url ?? "" })),
  };
}

/** A record without its empty fields, as a request has it. */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).flatMap(([name, each]) => (each === null ? [] : [[name, withoutNulls(each)]])));
}

/** The content of a request as the record of its message would have it, for a preview. A file behind a URL has no id yet. */
export function toShown(content: NewContent): KnownContent | null {
  switch (content.type) {
    case "text":
      return null;
    case "media":
      return { type: "media", ...toReference(content), caption: content.caption ?? null, is_voice: false };
    case "buttons":
      return {
        type: "buttons",
        text: content.text,
        header: content.header?.type === "media" ? { type: "media", ...toReference(content.header) } : (content.header ?? null),
        footer: content.footer ?? null,
        buttons: content.buttons,
      };
    case "list":
      return {
        type: "list",
        text: content.text,
        header: content.header ?? null,
        footer: content.footer ?? null,
        button: content.button,
        sections: content.sections.map(({ title, rows }) => ({
          title: title ?? null,
          rows: rows.map((row) => ({ ...row, description: row.description ?? null })),
        })),
      };
    case "location":
      return Number.isFinite(content.latitude) && Number.isFinite(content.longitude)
        ? { ...content, name: content.name ?? null, address: content.address ?? null }
        : null;
    case "contacts":
      return { type: "contacts", contacts: content.contacts.map(toContact) };
    case "reaction":
      return { ...content, emoji: content.emoji ?? null };
    case "template":
      break;
  }
  return { type: "template", header: content.header ? { type: "media", ...toReference(content.header) } : null, buttons: [] };
}

const toReference = ({ kind, media_id: id, url, file_name: name }: Schemas["NewTemplateFile"]) => ({
  kind,
  media_id: id ?? "",
  file_name: name ?? url ?? null,
});

const NO_CONTACT: Omit<Schemas["Contact"], "name"> = { phones: [], emails: [], urls: [], addresses: [], org: null, birthday: null };

/** A copied contact is a record without its empty fields. */
const toContact = (contact: Schemas["NewContact"]): Schemas["Contact"] => ({ ...NO_CONTACT, ...contact }) as Schemas["Contact"];
