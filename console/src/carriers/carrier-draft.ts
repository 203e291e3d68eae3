/** The draft of a carrier: the values of the form, and how they become a request. */
import type { EditLink, Link, NewLink } from "godwit-sdk";
import type { Carrier, CarrierField } from "./carrier-fields.ts";

type Json = Record<string, unknown>;
/** A further setting, by its name and its value as JSON or as text. `key` identifies its row in the form. */
export type Extra = { key: number; name: string; value: string };

export type Draft = {
  name: string;
  /** By the names of fields. A flag is "true" or "". */
  values: Readonly<Record<string, string>>;
  country: string;
  sender: string;
  rate: string;
  window: string;
  /** Such as `DE 0.07, * 0.05`. */
  prices: string;
  extras: readonly Extra[];
};

const initial = ({ kind }: CarrierField, origin: string): string => (kind === "flag" ? "true" : kind === "origin" ? origin : "");

/** An empty draft. TLS is on, and the public URL is the address of the console. */
export const newDraft = ({ title, fields }: Carrier, origin: string): Draft => ({
  name: title,
  values: Object.fromEntries(fields.map((field) => [field.name, initial(field, origin)])),
  country: "",
  sender: "",
  rate: "",
  window: "",
  prices: "",
  extras: [],
});

/** The draft of a link. Secrets are empty: an empty one is kept. */
export function draftOf({ fields }: Carrier, link: Link): Draft {
  const flat = flatten(link.settings ?? {});
  const known = new Set(fields.map(({ name }) => name));
  return {
    name: link.name,
    values: Object.fromEntries(fields.map(({ name }) => [name, toText(flat[name])])),
    country: link.country ?? "",
    sender: link.sender ?? "",
    rate: toText(link.rate),
    window: toText(link.window),
    prices: pricesOf(link),
    extras: Object.entries(flat).flatMap(([name, value], key) => (known.has(name) ? [] : [{ key, name, value: toText(value, true) }])),
  };
}

/** The body that creates a link. Empty fields are left out, so that the service names those that it requires. */
export const toNewLink = (carrier: Carrier, draft: Draft): NewLink => ({
  name: draft.name.trim(),
  ...(carrier.isHttp === true
    ? { provider: "http", carrier: carrier.id as NonNullable<NewLink["carrier"]> }
    : { provider: carrier.id as "smpp" }),
  ...present({ country: draft.country.trim().toUpperCase(), sender: draft.sender.trim() }),
  ...(draft.rate === "" ? {} : { rate: Number(draft.rate) }),
  ...(draft.window === "" ? {} : { window: Number(draft.window) }),
  ...(draft.prices.trim() === "" ? {} : { prices: toPrices(draft.prices) }),
  settings: unflatten(toSettings(carrier, draft)),
});

/** The body that changes a link: what the form has, and null for the settings that it no longer has. Secrets only where they are given. */
export function toEditLink(carrier: Carrier, draft: Draft, link: Link): EditLink {
  const settings = unflatten(toSettings(carrier, draft));
  const removed = Object.keys(link.settings ?? {}).filter((name) => !(name in settings));
  return {
    name: draft.name.trim(),
    country: draft.country.trim().toUpperCase() || null,
    sender: draft.sender.trim() || null,
    // The record shows the default of a limit that is not set, and it stays the default.
    ...(draft.rate === toText(link.rate) ? {} : { rate: toLimit(draft.rate) }),
    ...(draft.window === toText(link.window) ? {} : { window: toLimit(draft.window) }),
    ...(draft.prices === pricesOf(link) ? {} : { prices: draft.prices.trim() === "" ? null : toPrices(draft.prices) }),
    settings: { ...settings, ...Object.fromEntries(removed.map((name) => [name, null])) },
  };
}

export const pricesOf = ({ prices }: Link): string =>
  Object.entries(prices ?? {})
    .map(([place, price]) => `${place} ${price}`)
    .join(", ");

/** A price that is no number becomes null in the JSON, and the service names its place. */
const toPrices = (text: string): Record<string, number> =>
  Object.fromEntries(
    text
      .split(/[,;\n]/)
      .filter((entry) => entry.trim() !== "")
      .map((entry) => {
        const [place = "", price] = entry
          .trim()
          .toUpperCase()
          .split(/[\s=:]+/);
        return [place, Number(price)];
      }),
  );

const toLimit = (text: string): number | null => (text === "" ? null : Number(text));

/** The settings by their paths. */
const toSettings = ({ fields }: Carrier, { values, extras }: Draft): Json => ({
  ...Object.fromEntries(fields.flatMap((field) => toSetting(field, values[field.name] ?? ""))),
  ...Object.fromEntries(extras.filter(({ name }) => name.trim() !== "").map(({ name, value }) => [name.trim(), parse(value)])),
});

function toSetting({ name, kind }: CarrierField, value: string): [string, unknown][] {
  if (kind === "flag") return [[name, value === "true"]];
  // White space at the ends of a pasted secret is not part of it.
  const trimmed = value.trim();
  if (trimmed === "") return [];
  return [[name, kind === "number" ? Number(trimmed) : trimmed]];
}

/** Reads numbers, true, false and JSON as such, and everything else as text. */
function parse(value: string): unknown {
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}

/** `isParsed`: the text is read again by `parse`, so that a text of digits needs quotes. */
function toText(value: unknown, isParsed = false): string {
  if (value === undefined || value === null || value === false) return isParsed && value === false ? "false" : "";
  if (typeof value !== "string") return JSON.stringify(value);
  return isParsed && typeof parse(value) !== "string" ? JSON.stringify(value) : value;
}

const present = (fields: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== ""));

/** The tables of HTTP carriers, whose members are settings of their own. */
const TABLES = new Set(["values", "secrets"]);

const flatten = (settings: Json): Json =>
  Object.fromEntries(
    Object.entries(settings).flatMap(([name, value]) =>
      TABLES.has(name) ? Object.entries(value as Json).map(([key, each]) => [`${name}.${key}`, each]) : [[name, value]],
    ),
  );

function unflatten(flat: Json): Json {
  const nested: Json = {};
  for (const [path, value] of Object.entries(flat)) {
    const [table = "", key] = path.split(".", 2);
    if (key === undefined || !TABLES.has(table)) nested[path] = value;
    else nested[table] = { ...(nested[table] as Json | undefined), [key]: value };
  }
  return nested;
}

/** The pointer of a fault of a setting. */
export const pointerOf = (name: string): string => `/settings/${name.replace(".", "/")}`;
