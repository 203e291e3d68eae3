/** The draft of a template in the form, and its conversion to requests. */
import type { EditTemplate, NewTemplate, Template } from "godwit-sdk";
import { findVariables } from "./placeholders.ts";

/** `target` is the URL or phone number of a button; `key` identifies a button while others are added and removed. */
export type ButtonDraft = { key: number; type: string; text: string; target: string };

export type Draft = {
  name: string;
  language: string;
  category: string;
  channels: readonly string[];
  body: string;
  header: string;
  /** The kind of file in place of the text above the body. Empty: none. */
  headerMedia: string;
  footer: string;
  buttons: readonly ButtonDraft[];
  /** The examples by variable. The examples of removed variables stay, because the variable may reappear while the user types. */
  examples: Readonly<Record<string, string>>;
};

export const CATEGORIES = ["authentication", "utility", "marketing"];
export const CHANNELS = ["sms", "whatsapp"];
export const HEADER_MEDIA = ["image", "video", "document"];
/** The end of a URL that each message gives. */
export const URL_VARIABLE = "{{1}}";
export const BUTTON_TYPES = ["quick_reply", "url", "phone_number"];

export const EMPTY_DRAFT: Draft = {
  name: "",
  language: "en",
  category: "utility",
  channels: ["sms"],
  body: "",
  header: "",
  headerMedia: "",
  footer: "",
  buttons: [],
  examples: {},
};

export const toDraft = (template: Template): Draft => ({
  name: template.name,
  language: template.language,
  category: template.category,
  channels: template.channels,
  body: template.body,
  header: template.header ?? "",
  headerMedia: template.header_media ?? "",
  footer: template.footer ?? "",
  buttons: (template.buttons ?? []).map(({ type, text, url, phone_number: phoneNumber }, key) => ({
    key,
    type,
    text,
    target: url ?? phoneNumber ?? "",
  })),
  examples: Object.fromEntries(template.variables.map(({ name, example }) => [name, example ?? ""])),
});

export const isOnWhatsapp = ({ channels }: Pick<Draft, "channels">): boolean => channels.includes("whatsapp");

/** The text above the body. A file takes its place; the text stays in the form in case the user removes the file again. */
export const headerText = (draft: Draft): string => (isOnWhatsapp(draft) && draft.headerMedia === "" ? draft.header : "");

export const draftVariables = (draft: Draft): string[] => findVariables(headerText(draft), draft.body);

type TemplateContent = Omit<NewTemplate, "name" | "status">;

/** Builds the content of the request. Header, footer and buttons exist only for WhatsApp; without it they stay in the form in case the user
 *  selects it again. */
function toContent(draft: Draft): TemplateContent {
  const isForWhatsapp = isOnWhatsapp(draft);
  const examples = draftVariables(draft).map((name) => [name, draft.examples[name] ?? ""] as const);
  return {
    language: draft.language.trim(),
    category: draft.category as NewTemplate["category"],
    channels: [...draft.channels] as NewTemplate["channels"],
    body: draft.body,
    header: headerText(draft),
    header_media: isForWhatsapp ? (draft.headerMedia as NonNullable<NewTemplate["header_media"]>) : "",
    footer: isForWhatsapp ? draft.footer : "",
    buttons: isForWhatsapp ? draft.buttons.map(toButton) : [],
    examples: Object.fromEntries(examples.filter(([, example]) => example !== "")),
  };
}

const toButton = ({ type, text, target }: ButtonDraft): NonNullable<NewTemplate["buttons"]>[number] => ({
  type: type as NonNullable<NewTemplate["buttons"]>[number]["type"],
  text,
  ...(type === "url" ? { url: target.trim() } : {}),
  ...(type === "phone_number" ? { phone_number: target.trim() } : {}),
});

export const toNew = (draft: Draft, isSubmitted: boolean): NewTemplate => ({
  name: draft.name.trim(),
  ...toContent(draft),
  ...(isSubmitted ? {} : { status: "draft" }),
});

/** Returns only the fields that differ from the saved template. */
export function toChanges(draft: Draft, template: Template): EditTemplate {
  const [now, before] = [toContent(draft), toContent(toDraft(template))];
  const isOther = (field: keyof TemplateContent): boolean => JSON.stringify(now[field]) !== JSON.stringify(before[field]);
  return Object.fromEntries(Object.entries(now).filter(([field]) => isOther(field as keyof TemplateContent)));
}
