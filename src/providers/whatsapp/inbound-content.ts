/** The content of an inbound message of the Cloud API: its text, what it has beside the text, and facts that become metadata. Anybody can write to
 *  a number, so every text and every list has a bound, and a content in an unknown form is passed on as WhatsApp wrote it. */
import type { CarriedContent, Contact, MediaKind } from "../../model/content.ts";
import { asList, asObject, detailsOf, isObject, parseIdentifier, parseShort, parseText, type JsonObject } from "../carrier-fields.ts";

type Reading = (content: JsonObject, message: JsonObject) => CarriedContent | undefined;

// WhatsApp's limit of contacts in a message. An order has fewer products.
const MAX_ITEMS = 257;
// Of each kind of detail of a contact.
const MAX_DETAILS = 20;
// A longer original is not kept.
const MAX_ORIGINAL_CHARS = 4_096;

/** The text within the content of a message, by type. */
const TEXT_FIELDS: Readonly<Record<string, (content: JsonObject) => unknown>> = {
  text: ({ body }) => body,
  button: ({ text }) => text,
  interactive: (content) =>
    asObject(content["button_reply"])["title"] ?? asObject(content["list_reply"])["title"] ?? asObject(content["nfm_reply"])["body"],
  reaction: ({ emoji }) => emoji,
  system: ({ body }) => body,
  edit: ({ message }) => (isObject(message) ? inboundText(message) : undefined),
};

/** The text of a message, or its type in brackets if it has no text, such as a picture. */
export function inboundText(fields: JsonObject): string {
  const kind = kindOf(fields);
  const content = asObject(fields[kind]);
  const textField = Object.hasOwn(TEXT_FIELDS, kind) ? TEXT_FIELDS[kind] : undefined;
  return parseText(textField === undefined ? content["caption"] : textField(content)) ?? `[${kind}]`;
}

/** A type as WhatsApp writes them. The type is a name of our record then. */
const kindOf = ({ type }: JsonObject): string => (typeof type === "string" && /^[a-z_]{1,30}$/.test(type) ? type : "unsupported");

/** Reads the content of a message that is more than a text. Undefined for a text. */
export function parseContent(message: JsonObject): CarriedContent | undefined {
  const kind = kindOf(message);
  if (kind === "text") return undefined;
  const read = Object.hasOwn(READINGS, kind) ? READINGS[kind] : undefined;
  return read?.(asObject(message[kind]), message) ?? { type: "unsupported", kind, original: boundedJson(message) };
}

const media =
  (kind: MediaKind): Reading =>
  ({ id, filename, caption, voice }) => {
    const carrierFile = parseIdentifier(id);
    if (carrierFile === undefined || !/^[\w-]+$/.test(carrierFile)) return undefined;
    return {
      type: "media",
      caption: parseShort(caption, MAX_ORIGINAL_CHARS),
      is_voice: voice === true,
      files: [{ kind, carrierFile, fileName: parseShort(filename) }],
    };
  };

const READINGS: Readonly<Record<string, Reading>> = {
  image: media("image"),
  audio: media("audio"),
  video: media("video"),
  document: media("document"),
  sticker: media("sticker"),
  location({ latitude, longitude, name, address }) {
    if (!isDegrees(latitude, 90) || !isDegrees(longitude, 180)) return undefined;
    return { type: "location", latitude, longitude, name: parseShort(name), address: parseShort(address) };
  },
  contacts(_, message) {
    const contacts = asList(message["contacts"]).slice(0, MAX_ITEMS).map(asObject).map(toContact);
    return contacts.length === 0 ? undefined : { type: "contacts", contacts };
  },
  button: ({ payload, text }) => ({
    type: "reply",
    kind: "template_button",
    id: parseShort(payload),
    title: parseShort(text),
    description: null,
  }),
  interactive(content) {
    const { button_reply: button, list_reply: row, nfm_reply: form } = content;
    if (isObject(button))
      return { type: "reply", kind: "button", id: parseShort(button["id"]), title: parseShort(button["title"]), description: null };
    if (isObject(row)) {
      const { id, title, description } = row;
      return { type: "reply", kind: "list", id: parseShort(id), title: parseShort(title), description: parseShort(description) };
    }
    return isObject(form) ? toForm(form) : undefined;
  },
  order({ catalog_id: catalogId, text, product_items: items }) {
    const products = asList(items).slice(0, MAX_ITEMS).map(asObject);
    return {
      type: "order",
      catalog_id: parseShort(catalogId),
      text: parseShort(text),
      items: products.map(({ product_retailer_id: id, quantity, item_price: price, currency }) => ({
        product_id: parseShort(id),
        quantity: typeof quantity === "number" && Number.isFinite(quantity) ? quantity : null,
        price: typeof price === "number" && Number.isFinite(price) ? String(price) : parseShort(price),
        currency: parseShort(currency),
      })),
    };
  },
  reaction: ({ emoji }) => ({ type: "reaction", emoji: parseShort(emoji) }),
  system: ({ body }) => ({ type: "system", text: parseShort(body) }),
};

const isDegrees = (value: unknown, most: number): value is number => typeof value === "number" && Math.abs(value) <= most;

const answersOf = ({ response_json: answers }: JsonObject): string =>
  typeof answers === "string" ? answers.toWellFormed() : isObject(answers) ? JSON.stringify(answers) : "";

function toForm(form: JsonObject): CarriedContent {
  const text = answersOf(form);
  return { type: "form", name: parseShort(form["name"]), response: text === "" || text.length > MAX_ORIGINAL_CHARS ? null : text };
}

function toContact({ name, phones, emails, urls, addresses, org, birthday }: JsonObject): Contact {
  const names = asObject(name);
  return {
    name: {
      formatted_name: parseShort(names["formatted_name"]) ?? parseShort(names["first_name"]) ?? "",
      first_name: parseShort(names["first_name"]),
      last_name: parseShort(names["last_name"]),
      middle_name: parseShort(names["middle_name"]),
      prefix: parseShort(names["prefix"]),
      suffix: parseShort(names["suffix"]),
    },
    phones: details(phones, (each) => {
      const phone = parseShort(each["phone"]) ?? parseShort(each["wa_id"]);
      return phone === null ? undefined : { phone, type: parseShort(each["type"]), wa_id: parseShort(each["wa_id"]) };
    }),
    emails: details(emails, (each) => {
      const email = parseShort(each["email"]);
      return email === null ? undefined : { email, type: parseShort(each["type"]) };
    }),
    urls: details(urls, (each) => {
      const url = parseShort(each["url"]);
      return url === null ? undefined : { url, type: parseShort(each["type"]) };
    }),
    addresses: details(addresses, (each) => ({
      street: parseShort(each["street"]),
      city: parseShort(each["city"]),
      state: parseShort(each["state"]),
      zip: parseShort(each["zip"]),
      country: parseShort(each["country"]),
      country_code: parseShort(each["country_code"]),
      type: parseShort(each["type"]),
    })),
    org: isObject(org)
      ? { company: parseShort(org["company"]), department: parseShort(org["department"]), title: parseShort(org["title"]) }
      : null,
    birthday: parseShort(birthday),
  };
}

const details = <T>(list: unknown, read: (fields: JsonObject) => T | undefined): T[] =>
  asList(list)
    .slice(0, MAX_DETAILS)
    .flatMap((each) => read(asObject(each)) ?? []);

/** Null if the JSON text is too long. */
function boundedJson(value: unknown): string | null {
  const text = JSON.stringify(value);
  return text.length <= MAX_ORIGINAL_CHARS ? text : null;
}

/** Whether the answers of a form, or the original of an unknown content, were too long. */
function isCut(message: JsonObject, content: CarriedContent): boolean {
  if (content.type === "unsupported") return content.original === null;
  if (content.type !== "form" || content.response !== null) return false;
  return answersOf(asObject(asObject(message["interactive"])["nfm_reply"])) !== "";
}

/** The facts that neither the text nor the content has. */
export function messageDetails(message: JsonObject, content: CarriedContent | undefined): { details?: Record<string, string> } {
  const { type, group_id: groupId, referral } = message;
  const isAboutOther = type === "edit" || type === "revoke";
  return detailsOf({
    original_message_id: isAboutOther ? asObject(message[type])["original_message_id"] : undefined,
    url: type === "location" ? asObject(message["location"])["url"] : undefined,
    referral: referral === undefined || referral === null ? undefined : JSON.stringify(referral),
    group_id: groupId,
    truncated: content !== undefined && isCut(message, content) ? "true" : undefined,
  });
}
