/** The plan: the links, senders and routes of the configuration file. Every fault is reported, and none is corrected. */
import { mustBeOneOf } from "../lib/nearest.ts";
import { parseBoundedUrl } from "../lib/urls.ts";
import type { Fault } from "../http/problem.ts";
import { HINT, oneOf, Type, type Static } from "../http/schema.ts";
import { compile, type Validate } from "../http/validate.ts";
import { isKnownCountry } from "../model/phone-number.ts";
import { USUAL_RULES } from "../model/segments.ts";
import { ENVIRONMENTS, type Environment } from "../model/owner.ts";
import { countryField, nameField, senderField } from "./address.ts";
import { CHANNELS } from "./channel.ts";
import { providerMeant } from "./carrier-files.ts";
import { COMMON, described, optionally } from "./link-kind.ts";
import { findPlaintext, isProviderName, LINK_KINDS } from "./link-settings.ts";
import { SIMULATOR_LINK, type Link } from "./link.ts";
import type { Prices } from "./prices.ts";
import { STRATEGIES } from "./strategy.ts";

const accountName = Type.String({ minLength: 1, maxLength: 100 });
/** The fields of senders and routes that requests have as well. */
export const countryList = Type.Array(countryField, { minItems: 1, maxItems: 250 });
export const rankField = Type.Integer({ minimum: -1_000, maximum: 1_000 });
export const senderRate = Type.Number({ minimum: 0.01, maximum: 10_000 });
const prefix = Type.String({ pattern: "^\\+\\d{1,14}$", [HINT]: "must be the beginning of a number such as +1415" });
export const prefixList = Type.Array(prefix, { minItems: 1, maxItems: 1_000 });
export const weightList = Type.Array(Type.Integer({ minimum: 0, maximum: 1_000 }), { minItems: 1, maxItems: 20 });

/** A number or name on a link, with its owner, so that an inbound message to the number finds its owner. */
export const SenderTable = Type.Object(
  {
    number: described(senderField, '"+14155550100"', "Number, short code or name that messages come from."),
    link: described(Type.String({ maxLength: 64 }), '"carrier"', "Link that carries its messages."),
    account: described(accountName, '"default"', "Account that owns it and receives the messages to it."),
    environment: described(oneOf(ENVIRONMENTS), '"live"', "Environment of the account: `live`, since `test` has only the simulator."),
    countries: optionally(
      countryList,
      '["US", "CA"]',
      "Countries of recipients that the sender is for, by default all. For others it is refused (`422 sender_not_allowed`).",
    ),
    pool: optionally(nameField, '"alerts"', "Senders of an account on a link with the same pool share its messages."),
    preference: optionally(
      rankField,
      "10",
      "Senders with a higher value are chosen first; 0 by default. Among equal ones, a sender that lists the country comes first, then the first in the file.",
    ),
    rate: optionally(senderRate, "1", "Messages per second of this sender on this link. By default only the rate of the link applies."),
  },
  { additionalProperties: false },
);
export type Sender = Static<typeof SenderTable>;

export const RouteTable = Type.Object(
  {
    channel: described(oneOf(CHANNELS), '"sms"', "Channel of the messages: `sms` or `whatsapp`."),
    links: described(
      Type.Array(Type.String({ maxLength: 64 }), { minItems: 1, maxItems: 20 }),
      '["carrier"]',
      "Links in the order in which they are used; the second when the first cannot.",
    ),
    countries: optionally(countryList, '["US", "CA"]', "Countries of recipients. By default every country."),
    prefixes: optionally(prefixList, '["+1415"]', "Beginnings of numbers. By default every number."),
    account: optionally(accountName, '"default"', "Account whose messages take the route. By default every account."),
    environment: optionally(oneOf(ENVIRONMENTS), '"live"', "Environment of the messages."),
    priority: optionally(
      rankField,
      "10",
      "The matching route with the highest value is used; 0 by default. Among equal ones: the longest prefix, then a route with a country, one with an account, the first.",
    ),
    weights: optionally(
      weightList,
      "[1]",
      "Shares of the links, in their order. The first link is chosen at random by weight; the others follow it.",
    ),
    strategy: optionally(
      oneOf(STRATEGIES),
      '"quality"',
      "Choice of the link by figures of the last minutes, `quality` or `price`, in place of `weights`.",
    ),
  },
  { additionalProperties: false },
);
export type RouteRow = Static<typeof RouteTable>;

const CountriesTable = Type.Object(
  { test: Type.Optional(Type.Array(countryField)), live: Type.Optional(Type.Array(countryField)) },
  { additionalProperties: false },
);

/** The tables of the file before they are checked. */
export type Tables = { link?: unknown; sender?: unknown; route?: unknown; allowed_countries?: unknown; consent?: unknown };

export type Plan = {
  links: readonly Link[];
  senders: readonly Sender[];
  routes: readonly RouteRow[];
  /** An environment without a list allows every country. */
  allowedCountries: Readonly<Partial<Record<Environment, readonly string[]>>>;
};

export const EMPTY_PLAN: Plan = { links: [], senders: [], routes: [], allowedCountries: {} };

type ReadContext = { secretOf: (variable: string) => string | undefined; faults: string[] };

export function readPlan(tables: Tables, secretOf: ReadContext["secretOf"], faults: string[]): Plan {
  const context = { secretOf, faults };
  const links = namedTables(tables.link, "link", faults).flatMap((table, index) => readLink(table, `link ${index + 1}`, context) ?? []);
  const senders = namedTables(tables.sender, "sender", faults).flatMap(
    (table, index) => (checkTable(SENDER, table, `sender ${index + 1}`, faults) as Sender | undefined) ?? [],
  );
  const names = linkNames(tables.link);
  const routes = namedTables(tables.route, "route", faults).flatMap((table, index) => {
    const at = `route ${index + 1}`;
    const row = checkTable(ROUTE, table, at, faults) as RouteRow | undefined;
    if (row !== undefined) checkRoute(row, at, { links, names }, faults);
    return row ?? [];
  });
  const allowedCountries =
    tables.allowed_countries === undefined
      ? {}
      : ((checkTable(COUNTRIES, tables.allowed_countries, "allowed_countries", faults) as Plan["allowedCountries"] | undefined) ?? {});
  checkLinks(names, faults);
  checkSenders(senders, new Set(names), faults);
  return { links, senders, routes, allowedCountries };
}

const SENDER = compile(SenderTable, "body");
const ROUTE = compile(RouteTable, "body");
const COUNTRIES = compile(CountriesTable, "body");

/** The tables of one name, or a fault if the file has something else there. */
export function namedTables(value: unknown, name: string, faults: string[]): readonly unknown[] {
  if (value === undefined) return [];
  if (Array.isArray(value)) return value;
  faults.push(`${name}: must be written [[${name}]]`);
  return [];
}

/** Returns the table, or reports its faults and returns undefined. */
export function checkTable(validate: Validate, table: unknown, where: string, faults: string[]): unknown {
  const found = validate(table);
  faults.push(...found.map((fault) => `${where}: ${fieldPath(fault)}${fault.detail}`));
  return found.length === 0 ? table : undefined;
}

const fieldPath = (fault: Fault): string => {
  const path = "pointer" in fault ? fault.pointer.slice(1).replaceAll("/", ".") : "";
  return path === "" ? "" : `${path}: `;
};

const SECRET_SUFFIX = "_env";
const DEFAULT_HOLD_SECONDS = 300;

/** Reads the table of one link. A fault begins with `link NAME: ` and the name of its setting. */
export function readLink(table: unknown, where: string, { secretOf, faults }: ReadContext): Link | undefined {
  const { provider, name } = (typeof table === "object" && table !== null ? table : {}) as Record<string, unknown>;
  const at = typeof name === "string" && name !== "" ? `link ${name}` : where;
  if (!isProviderName(provider)) {
    faults.push(`${at}: provider: ${mustBeOneOf(undefined, Object.keys(LINK_KINDS), providerMeant(provider))}`);
    return undefined;
  }
  const { schema, channels, defaults, rateName, derive, required, findFaults, isReceiveOnly, carrierAccount, segmentRules } =
    LINK_KINDS[provider];
  const missing = required?.(table as Record<string, unknown>).filter((setting) => !Object.hasOwn(table as object, setting)) ?? [];
  faults.push(...missing.map((setting) => `${at}: ${setting}: is required`));
  const fields = checkTable(compile(schema, "body"), table, at, faults) as Record<string, unknown> | undefined;
  if (fields === undefined) {
    // One start reports every fault of the link. A value that is not the name of a variable may be the secret itself, and is not repeated.
    for (const [key, value] of Object.entries(table as Record<string, unknown>)) {
      const isNamed = key.endsWith(SECRET_SUFFIX) && !faults.some((fault) => fault.startsWith(`${at}: ${key}: `));
      if (isNamed && typeof value === "string") readSecret(value, `${at}: ${key}`);
    }
    return undefined;
  }
  if (typeof fields["country"] === "string" && !isKnownCountry(fields["country"])) faults.push(`${at}: country: is not a country`);
  for (const key of ["base_url", "public_url"])
    if (typeof fields[key] === "string" && parseBoundedUrl(fields[key]) === null) faults.push(`${at}: ${key}: is not a URL`);
  const settings: Record<string, unknown> = { ...defaults };
  for (const [key, value] of Object.entries(fields)) {
    if (COMMON_KEYS.has(key)) continue;
    if (key === "rate") settings[rateName] = value;
    else if (key.endsWith(SECRET_SUFFIX)) settings[camel(key.slice(0, -SECRET_SUFFIX.length))] = readSecret(String(value), `${at}: ${key}`);
    else settings[camel(key)] = value;
  }
  const derived = derive?.(settings, String(name), { readSecret: (variable, field) => readSecret(variable, `${at}: ${field}`), report });
  const plaintext = settings["allowPlaintext"] === true ? undefined : findPlaintext({ ...settings, ...derived });
  if (plaintext !== undefined) faults.push(`${at}: ${plaintext}, or allow_plaintext = true if the network in between is trusted`);
  faults.push(...(findFaults?.(settings) ?? []).map((fault) => `${at}: ${fault}`));
  return {
    name: String(name),
    provider,
    source: "file",
    accountId: null,
    settings: derived ?? settings,
    channels: isReceiveOnly?.(settings) === true ? [] : channels,
    sender: (fields["sender"] as string | undefined) ?? null,
    ...(fields["any_sender"] === true ? { anySender: true } : {}),
    country: (fields["country"] as string | undefined) ?? null,
    inboundAccount: (fields["inbound_account"] as string | undefined) ?? null,
    ...(carrierAccount === undefined ? {} : { carrierAccount: carrierAccount(settings) }),
    ...(fields["prices"] === undefined ? {} : { prices: fields["prices"] as Prices }),
    segmentRules: segmentRules?.(settings) ?? USUAL_RULES,
    unwilling: { optedOut: new Set(), windowClosed: new Set() },
    onUnknown: {
      holdMs: Number(fields["hold_seconds"] ?? DEFAULT_HOLD_SECONDS) * 1_000,
      policy: (fields["on_unknown"] as Link["onUnknown"]["policy"] | undefined) ?? "fail",
    },
  };

  function report(fault: string): void {
    faults.push(`${at}: ${fault}`);
  }

  function readSecret(variable: string, field: string): string {
    const value = secretOf(variable);
    if (value === undefined) faults.push(`${field}: the variable ${variable} is not set`);
    return value ?? "";
  }
}

/** The settings of every link, which its provider does not receive. */
const COMMON_KEYS: ReadonlySet<string> = new Set(Object.keys(COMMON).filter((key) => key !== "rate" && key !== "window"));

const camel = (name: string): string => name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());

/** The names of all links, including links with a fault, so that a route to such a link is not reported as well. */
const linkNames = (tables: unknown): string[] =>
  (Array.isArray(tables) ? tables : []).flatMap((table: unknown) => {
    const { name } = (typeof table === "object" && table !== null ? table : {}) as Record<string, unknown>;
    return typeof name === "string" ? [name] : [];
  });

/** A name belongs to one link. */
function checkLinks(names: readonly string[], faults: string[]): void {
  for (const name of new Set(names)) {
    if (name === SIMULATOR_LINK) faults.push(`link ${name}: is the name of the built-in simulator; choose another name`);
    if (names.filter((other) => other === name).length > 1) faults.push(`link ${name}: is defined twice`);
  }
}

/** `names` includes the links that have a fault. */
type Declared = { links: readonly Link[]; names: readonly string[] };

function checkRoute(row: RouteRow, at: string, { links, names }: Declared, faults: string[]): void {
  const { links: taken, weights, channel, environment } = row;
  if (environment === "test") faults.push(`${at}: environment: test always uses the simulator`);
  for (const name of new Set(taken)) {
    const link = links.find((each) => each.name === name);
    if (!names.includes(name) && name !== SIMULATOR_LINK) faults.push(`${at}: there is no link ${name}`);
    else if (link !== undefined && !link.channels.includes(channel)) faults.push(`${at}: the link ${name} does not carry ${channel}`);
    if (taken.filter((other) => other === name).length > 1) faults.push(`${at}: links: ${name} is listed twice`);
  }
  if (weights !== undefined && row.strategy !== undefined) faults.push(`${at}: strategy: cannot be combined with weights`);
  if (weights !== undefined && weights.length !== taken.length) faults.push(`${at}: weights: must have one number for each link`);
  if (weights?.every((weight) => weight === 0)) faults.push(`${at}: weights: must not all be 0`);
}

/** A number has one owner on all links. */
function checkSenders(senders: readonly Sender[], links: ReadonlySet<string>, faults: string[]): void {
  for (const [index, { number, link, account, environment }] of senders.entries()) {
    if (!links.has(link)) faults.push(`sender ${number}: there is no link ${link}`);
    const before = senders.slice(0, index).filter((other) => other.number === number);
    if (before.some((other) => other.link === link)) faults.push(`sender ${number}: is defined twice on link ${link}`);
    if (before.some((other) => other.account !== account || other.environment !== environment))
      faults.push(`sender ${number}: must belong to one account and environment only`);
  }
}
