/** Writes the tables and lists of settings into the pages of the documentation, below their markers, and the texts for the console's
 *  forms. The schemas and the table of settings have the texts. A test fails when one of the files is out of date. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { plain } from "../src/cli/help.ts";
import { COMMON, settingTexts, type SettingText } from "../src/links/link-kind.ts";
import type { Schema } from "../src/http/schema.ts";
import { LINK_KINDS } from "../src/links/link-settings.ts";
import { RouteTable, SenderTable } from "../src/links/plan.ts";
import { SETTINGS, type Setting } from "../src/settings.ts";

type Page = { path: string; is: string; shouldBe: string };

const ROOT = join(import.meta.dirname, "..");

/** A marker, and the table or the list below it: `<!-- settings of smpp; npm run setting-texts -->`, or with the names of
 *  variables, such as `DATABASE_URL` or `GODWIT_LOG*`. */
const TABLE = /(<!-- settings (of )?([^;]+); npm run setting-texts -->\n\n)(?:(?:\||- ).*\n)*/g;

/** Settings that the pages only name. `godwit init` explains them. */
const RARE: ReadonlySet<string> = new Set(
  [
    "tls_cert tls_key_env system_type enquire_seconds source_ton source_npi destination_ton destination_npi service_type validity",
    "priority_flag interface_version address_range bind_ton bind_npi registered_delivery dlt_entity_id dlt_template_id",
  ].flatMap((names) => names.split(" ")),
);

/** Returns each generated file with its current text, and the text that it should have. */
export const readPages = (): Page[] => [
  ...["settings", "links", "routing", "smpp", "whatsapp", "carriers"].map((name) => {
    const path = `docs/${name}.md`;
    const is = readFileSync(join(ROOT, path), "utf8");
    const shouldBe = is.replaceAll(TABLE, (_, marker: string, isLink: string | undefined, names: string) =>
      [marker, isLink === undefined ? serviceTable(names.split(" ")) : linkSettings(names), "\n"].join(""),
    );
    return { path, is, shouldBe };
  }),
  consoleTexts(),
];

const cell = (text: string): string => text.replaceAll("|", "\\|");
const code = (text: string): string => (text === "" ? "" : `\`${text}\``);
const lines = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => "---"), ...rows]
    .map((row) => `| ${row.join(" | ")} |`.replaceAll(/ {2,}/g, " ").replaceAll("| --- ", "|---"))
    .join("\n");

function serviceTable(names: readonly string[]): string {
  const rows = names.flatMap(settingsNamed).map((setting) => {
    const { env, fallback = "", help } = setting;
    return [code(env), code(fallback), cell(help + flagNote(setting))];
  });
  return lines(["variable", "default", "description"], rows);
}

function settingsNamed(name: string): Setting[] {
  const settings = Object.values<Setting>(SETTINGS);
  const found = name.endsWith("*")
    ? settings.filter(({ env }) => env.startsWith(name.slice(0, -1)))
    : settings.filter(({ env }) => env === name);
  return found.length > 0 ? found : fail(name);
}

/** The page has a rule for the names of flags. Its tables name only the other flags. */
function flagNote({ flag, env }: Setting): string {
  if (flag === "") return " (only as a variable)";
  const usual = env
    .replace(/^GODWIT_/, "")
    .toLowerCase()
    .replaceAll("_", "-");
  return flag === usual ? "" : ` (\`--${flag}\`)`;
}

const fail = (name: string): never => {
  throw new Error(`there is no setting ${name}`);
};

const TABLES: Readonly<Record<string, Schema>> = { senders: SenderTable, routes: RouteTable };

/** The settings of a link, a sender or a route as a list, since most have no default. */
function linkSettings(name: string): string {
  const kind = name as keyof typeof LINK_KINDS;
  const table = TABLES[name];
  if (table !== undefined) return list(settingTexts(table), () => "");
  if (name === "all links") return list(settingTexts(LINK_KINDS.http.schema).filter(isCommon), commonDefault);
  const texts = ownTexts(kind).filter((text) => !RARE.has(text.name));
  return list(texts, (text) => defaultOf(kind, text.name));
}

const list = (texts: readonly SettingText[], findDefault: (text: SettingText) => string): string =>
  texts
    .map((text) => {
      const value = text.isRequired ? "" : findDefault(text);
      return `- ${code(text.name)}${text.isRequired ? " (required)" : ""}: ${explanation(text)}${value === "" ? "" : ` Default: ${value}.`}`;
    })
    .join("\n");

/** Lists and tables have an example. */
const explanation = ({ description, example }: SettingText): string =>
  /^[[{]/.test(example) ? `${description} Example: ${code(example)}.` : description;

const isCommon = ({ name }: SettingText): boolean => name in COMMON || name === "allow_plaintext";

/** The settings that only this provider has. */
function ownTexts(provider: keyof typeof LINK_KINDS): SettingText[] {
  const { schema, required } = LINK_KINDS[provider];
  const needed = required?.({}) ?? [];
  return settingTexts(schema)
    .filter((text) => !isCommon(text))
    .map((text) => (needed.includes(text.name) ? { ...text, isRequired: true } : text));
}

function defaultOf(provider: keyof typeof LINK_KINDS, name: string): string {
  const { defaults, rateName } = LINK_KINDS[provider];
  const value = defaults[name === "rate" ? rateName : name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())];
  if (value === undefined || value === null || value === "" || (typeof value === "object" && Object.keys(value).length === 0)) return "";
  // Versions of SMPP are written in hexadecimal.
  return code(name === "interface_version" ? `0x${Number(value).toString(16)}` : JSON.stringify(value).replaceAll('"', ""));
}

/** The default of each provider, or the one that all share, which the example shows. */
function commonDefault({ name, example }: SettingText): string {
  const providers = (["smpp", "twilio", "http", "whatsapp"] as const).map((provider) => [provider, defaultOf(provider, name)] as const);
  if (providers.some(([, value]) => value !== ""))
    return providers.map(([provider, value]) => `${value || "none"} for ${code(provider)}`).join(", ");
  return name === "on_unknown" || name === "hold_seconds" ? code(example.replaceAll('"', "")) : "";
}

/** The forms of the console explain a setting as the schema does. A secret is entered there, and is not the name of a variable. */
function consoleTexts(): Page {
  const path = "console/src/carriers/setting-texts.json";
  const texts = (["smpp", "twilio", "whatsapp"] as const).map((provider) => [
    provider,
    Object.fromEntries(
      ownTexts(provider).map(({ name, description }) => [
        name.replace(/_env$/, ""),
        capital(plain(description).replace("Environment variable with the ", "")),
      ]),
    ),
  ]);
  return { path, is: readFileSync(join(ROOT, path), "utf8"), shouldBe: `${JSON.stringify(Object.fromEntries(texts), undefined, 2)}\n` };
}

const capital = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}`;

if (import.meta.main) for (const { path, shouldBe } of readPages()) writeFileSync(join(ROOT, path), shouldBe);
