/** Writes the tables of settings into the pages of the documentation, below their markers, and the texts for the console's
 *  forms. The schemas and the table of settings have the texts. A test fails when one of the files is out of date. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { plain } from "../src/cli/help.ts";
import { COMMON, settingTexts, type SettingText } from "../src/links/link-kind.ts";
import { LINK_KINDS } from "../src/links/link-settings.ts";
import { RouteTable, SenderTable } from "../src/links/plan.ts";
import { SETTINGS, type Setting } from "../src/settings.ts";

type Page = { path: string; is: string; shouldBe: string };

const ROOT = join(import.meta.dirname, "..");

/** A marker, and the table below it: `<!-- settings of smpp; npm run setting-texts -->`, or with the names of variables. */
const TABLE = /(<!-- settings (of )?([^;]+); npm run setting-texts -->\n\n)(?:\|.*\n)*/g;

/** Returns each generated file with its current text, and the text that it should have. */
export const readPages = (): Page[] => [
  ...["settings", "links", "routing", "smpp", "whatsapp", "twilio"].map((name) => {
    const path = `docs/${name}.md`;
    const is = readFileSync(join(ROOT, path), "utf8");
    const shouldBe = is.replaceAll(TABLE, (_, marker: string, isLink: string | undefined, names: string) =>
      [marker, isLink === undefined ? serviceTable(names.split(" ")) : linkTable(names), "\n"].join(""),
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

function serviceTable(variables: readonly string[]): string {
  const settings = Object.values<Setting>(SETTINGS);
  const rows = variables.map((variable) => {
    const { env, flag, fallback = "", help } = settings.find((each) => each.env === variable) ?? fail(variable);
    return [code(env), code(flag === "" ? "" : `--${flag}`), code(fallback), cell(help)];
  });
  return lines(["variable", "flag", "default", "description"], rows);
}

const fail = (name: string): never => {
  throw new Error(`there is no setting ${name}`);
};

const TABLES: Readonly<Record<string, object>> = { senders: SenderTable, routes: RouteTable };

function linkTable(name: string): string {
  if (TABLES[name] !== undefined) {
    const texts = settingTexts(TABLES[name] as typeof SenderTable);
    return lines(
      ["setting", "description"],
      texts.map((text) => [code(text.name), explanation(text)]),
    );
  }
  const texts = name === "all links" ? settingTexts(LINK_KINDS.http.schema).filter(isCommon) : ownTexts(name as keyof typeof LINK_KINDS);
  const rows = joinRows(texts).map(({ names, ...text }) => [
    names.map(code).join(", "),
    text.isRequired ? "required" : name === "all links" ? commonDefault(text) : defaultOf(name as keyof typeof LINK_KINDS, text.name),
    explanation(text),
  ]);
  return lines(["setting", "default", "description"], rows);
}

/** Lists and tables have an example. */
const explanation = ({ description, example }: SettingText): string =>
  cell(/^[[{]/.test(example) ? `${description} Example: ${code(example)}.` : description);

/** Settings with the same text, such as `source_ton` and `source_npi`, share a row. */
function joinRows(texts: readonly SettingText[]): (SettingText & { names: string[] })[] {
  const rows: (SettingText & { names: string[] })[] = [];
  for (const text of texts) {
    const last = rows.at(-1);
    if (last?.description === text.description) last.names.push(text.name);
    else rows.push({ ...text, names: [text.name] });
  }
  return rows;
}

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
  if (value === undefined || value === null || value === "" || (Array.isArray(value) && value.length === 0)) return "";
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
