/** A template as it is being written: every field a text, until the API takes it. */
import type { EditTemplate, NewTemplate, Template } from "godwit-sdk";
import { findVariables } from "./placeholders.ts";

/** `target` is what a button opens or calls; `key` tells buttons apart while they come and go. */
export type ButtonDraft = { key: number; type: string; text: string; target: string };

export type Draft = {
  name: string;
  language: string;
  category: string;
  channels: readonly string[];
  body: string;
  header: string;
  footer: string;
  buttons: readonly ButtonDraft[];
  /** By the name of the variable. Those of variables that are gone stay, since they may come back with the next letter. */
  examples: Readonly<Record<string, string>>;
};

export const CATEGORIES = ["authentication", "utility", "marketing"];
export const CHANNELS = ["sms", "whatsapp"];
export const BUTTON_TYPES = ["quick_reply", "url", "phone_number"];

export const EMPTY_DRAFT: Draft = {
  name: "",
  language: "en",
  category: "utility",
  channels: ["sms"],
  body: "",
  header: "",
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

export const draftVariables = (draft: Draft): string[] => findVariables(isOnWhatsapp(draft) ? draft.header : "", draft.body);

type TemplateContent = Omit<NewTemplate, "name" | "status">;

/** What is sent. Header, footer and buttons are WhatsApp's own: without it they are kept in the form, for whoever ticks it again. */
function toContent(draft: Draft): TemplateContent {
  const isForWhatsapp = isOnWhatsapp(draft);
  const examples = draftVariables(draft).map((name) => [name, draft.examples[name] ?? ""] as const);
  return {
    language: draft.language.trim(),
    category: draft.category as NewTemplate["category"],
    channels: [...draft.channels] as NewTemplate["channels"],
    body: draft.body,
    header: isForWhatsapp ? draft.header : "",
    footer: isForWhatsapp ? draft.footer : "",
    buttons: isForWhatsapp ? draft.buttons.map(toButton) : [],
    examples: Object.fromEntries(examples.filter(([, example]) => example !== "")),
  };
}

const toButton = ({ type, text, target }: ButtonDraft): NonNullable<NewTemplate["buttons"]>[number] => ({
  type: type as "quick_reply",
  text,
  ...(type === "url" ? { url: target.trim() } : {}),
  ...(type === "phone_number" ? { phone_number: target.trim() } : {}),
});

export const toNew = (draft: Draft, isSubmitted: boolean): NewTemplate => ({
  name: draft.name.trim(),
  ...toContent(draft),
  ...(isSubmitted ? {} : { status: "draft" }),
});

/** What differs from the saved template, and nothing else. */
export function toChanges(draft: Draft, template: Template): EditTemplate {
  const [now, before] = [toContent(draft), toContent(toDraft(template))];
  const isOther = (field: keyof TemplateContent): boolean => JSON.stringify(now[field]) !== JSON.stringify(before[field]);
  return Object.fromEntries(Object.entries(now).filter(([field]) => isOther(field as keyof TemplateContent)));
}
