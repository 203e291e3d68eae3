/** The rows of links, senders and routes for `godwit init`. The explanations and examples are those of the schemas in `links/`. */
import { readFileSync } from "node:fs";
import { parse as parseToml } from "smol-toml";
import type { Schema } from "../http/schema.ts";
import { carrierPath, CARRIERS } from "../links/carrier-files.ts";
import type { Channel } from "../links/channel.ts";
import { settingTexts } from "../links/link-kind.ts";
import { LINK_KINDS } from "../links/link-settings.ts";
import { RouteTable, SenderTable } from "../links/plan.ts";

/** The name of a setting, its value in TOML, and its explanation. */
export type Row = readonly [name: string, value: string, help: string];
/** `set` is written as it is, and `optional` with a # in front. */
export type Rows = { set: readonly Row[]; optional: readonly Row[] };

export type Starter = Rows & {
  title: string;
  /** Further lines of explanation. */
  notes: readonly string[];
  channel: Channel;
  /** The environment variables with the secrets. */
  variables: readonly string[];
};

/** The providers, with the settings that are written as they are beside the required ones. */
const PROVIDERS = {
  smpp: {
    title: "SMPP",
    notes: ["The carrier gives you the host, the port, the system id and the password, and often asks for the IP address of this machine."],
    chosen: ["host", "port", "tls", "country"],
  },
  twilio: {
    title: "Twilio",
    notes: [
      "Godwit sends its callback URL with each message. For inbound messages, enter it at the number: public_url/providers/twilio/twilio.",
    ],
    chosen: [],
  },
  whatsapp: {
    title: "WhatsApp Cloud API",
    notes: ["Enter https://YOUR-HOST/providers/whatsapp/whatsapp as the callback URL of the app at Meta."],
    chosen: [],
  },
} as const;

/** Divides the settings of a table into those to write and the optional ones. `values` replace the examples. */
function rowsOf(schema: Schema, values: Readonly<Record<string, string>>, chosen: readonly string[] = []): Rows {
  const texts = settingTexts(schema);
  const rows = (isSet: boolean): Row[] =>
    texts
      .filter(({ name, isRequired }) => (isRequired || chosen.includes(name)) === isSet)
      .map(({ name, example, description }) => [name, values[name] ?? example, description]);
  return { set: rows(true), optional: rows(false) };
}

function providerStarter(provider: keyof typeof PROVIDERS): Starter {
  const { title, notes, chosen } = PROVIDERS[provider];
  const { schema, channels } = LINK_KINDS[provider];
  const rows = rowsOf(schema, { name: `"${provider}"`, provider: `"${provider}"` }, chosen);
  const variables = rows.set.flatMap(([name, value]) => (name.endsWith("_env") ? [JSON.parse(value) as string] : []));
  return { title, notes, channel: channels[0] ?? "sms", ...rows, variables };
}

/** The names of the carriers that `godwit init` can write. */
export const STARTER_NAMES: readonly string[] = [...Object.keys(PROVIDERS), ...CARRIERS];

const placeholder = (name: string): string => `your-${name.replaceAll("_", "-")}`;

/** Valid values of settings, for examples only: ids, a URL and a number. */
const EXAMPLES: ReadonlySet<unknown> = new Set([
  "AC00000000000000000000000000000000",
  "000000000000000",
  "https://godwit.example.com",
  "+14155550100",
]);
const EXAMPLE_HOST = /\.carrier\.example(?::\d{1,5})?$/;

/** Whether a setting still has the value that the written file has in place of a real one. */
export const isPlaceholder = (name: string, value: unknown): value is string =>
  value === placeholder(name) || EXAMPLES.has(value) || (typeof value === "string" && EXAMPLE_HOST.test(value));

const isProvider = (carrier: string): carrier is keyof typeof PROVIDERS => Object.hasOwn(PROVIDERS, carrier);

export const starterOf = (carrier: string): Starter =>
  isProvider(carrier) ? providerStarter(carrier) : httpStarter(carrier, readFileSync(carrierPath(carrier), "utf8"));

/** The starter of a carrier file: its head is the explanation. Values that the file uses and does not define get placeholders. */
function httpStarter(carrier: string, text: string): Starter {
  const { secrets = {}, values = {} } = parseToml(text) as { secrets?: Record<string, string>; values?: Record<string, string> };
  const used = Array.from(text.matchAll(/\{\{value\.([a-z0-9_]+)\}\}/g), ([, name = ""]) => name);
  const missing = [...new Set(used)].filter((name) => !Object.hasOwn(values, name));
  const placeholders = Object.fromEntries(missing.map((name) => [name, placeholder(name)]));
  const valueRow: Row = ["values", inlineTable({ ...placeholders, ...values }), "Values for the carrier file."];
  const hasCallback = text.includes("{{callback_url}}");
  const { set, optional } = rowsOf(LINK_KINDS.http.schema, { name: `"${carrier}"`, provider: '"http"' }, hasCallback ? ["public_url"] : []);
  return {
    title: carrier,
    notes: headOf(text),
    channel: "sms",
    set: [
      ...set,
      ["carrier", `"${carrier}"`, "Carrier file of the package, or the path of your own."],
      ...(missing.length > 0 ? [valueRow] : []),
    ],
    optional: [
      ...(missing.length === 0 && Object.keys(values).length > 0 ? [valueRow] : []),
      ["secrets", inlineTable(secrets), "Environment variables with the secrets, if they have other names."],
      ...optional,
    ],
    variables: Object.values(secrets),
  };
}

/** The comment at the start of a carrier file. */
const headOf = (text: string): string[] =>
  (/^(?:#.*\n)+/.exec(text)?.[0] ?? "")
    .trimEnd()
    .split("\n")
    .map((line) => line.replace(/^# ?/, ""));

const inlineTable = (values: Readonly<Record<string, string>>): string =>
  `{ ${Object.entries(values)
    .map(([name, value]) => `${name} = ${JSON.stringify(value)}`)
    .join(", ")} }`;

export const senderRows = (link: string): Rows => rowsOf(SenderTable, { link: `"${link}"` });

export const routeRows = (channel: Channel, links: readonly string[]): Rows =>
  rowsOf(RouteTable, {
    channel: `"${channel}"`,
    links: `[${links.map((link) => `"${link}"`).join(", ")}]`,
    weights: `[${links.map(() => "1").join(", ")}]`,
  });
