/** Writes docs/cli-NAME.md for each command, and the list of commands in docs/cli.md below its marker. A test fails when a page is out of date. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ACCOUNT_FLAG, COMMAND_GROUPS, formWords, type Command, type FlagRow } from "../src/cli/command.ts";
import { COMMANDS } from "../src/cli/commands.ts";
import { flagNotes, flagText, groupFlags } from "../src/cli/help.ts";
import { COMMAND_PAGES } from "../site/contents.ts";

type Page = { path: string; is: string; shouldBe: string };

const DOCS = join(import.meta.dirname, "..", "docs");
/** The text above it in docs/cli.md is written by hand. */
const LIST_MARK = "<!-- From here on: npm run cli-page -->";
/** The text below it on the page of a command is written by hand. */
const OWN_MARK = "<!-- From here on: by hand -->";

/** A longer list of permitted values has a page of its own. */
const MOST_CHOICES = 8;
const LISTS: Readonly<Record<string, string>> = {
  type: "[event types](webhooks.md#event-types)",
  scopes: "[scopes](access.md#scopes)",
  carrier: "[carriers](carriers.md#included-carriers)",
  status: "[statuses](states.md)",
};

const SETTINGS: Readonly<Record<Command["settings"], readonly string[]>> = {
  service: ["Accepts all [settings](settings.md)."],
  database: ["Needs the [database](cli.md#database)."],
  client: ["Needs the [URL and API key](cli.md#url-and-api-key)."],
  none: [],
};

/** Returns each generated page with its current text, and the text that it should have. */
export async function readPages(): Promise<Page[]> {
  const commands = await Promise.all(COMMAND_PAGES.map(async ({ command }) => (await COMMANDS[command]?.load()) ?? fail(command)));
  return [listPage(), ...commands.map(commandPage)];
}

const fail = (name: string): never => {
  throw new Error(`there is no command ${name}`);
};

const read = (name: string): string => (existsSync(join(DOCS, name)) ? readFileSync(join(DOCS, name), "utf8") : "");

function listPage(): Page {
  const path = "cli.md";
  const is = read(path);
  const groups = Object.entries(COMMAND_GROUPS).map(([group, title]) => {
    const rows = Object.entries(COMMANDS)
      .filter(([, entry]) => entry.group === group)
      .map(([name, { summary }]) => [linkTo(name), summary] as const);
    return `\n**${title}**\n\n${list(rows)}`;
  });
  return { path, is, shouldBe: `${is.slice(0, is.indexOf(LIST_MARK))}${LIST_MARK}\n${groups.join("\n")}\n` };
}

const linkTo = (name: string): string =>
  COMMAND_PAGES.some(({ command }) => command === name) ? `[\`${name}\`](cli-${name}.md)` : `\`${name}\``;

function commandPage(command: Command): Page {
  const path = `cli-${command.name}.md`;
  const is = read(path);
  const own = is.includes(OWN_MARK) ? is.slice(is.indexOf(OWN_MARK)) : "";
  return { path, is, shouldBe: `${sections(command).join("\n\n")}\n${own === "" ? "" : `\n${own}`}` };
}

function sections({ name, about, usage, flags, settings, examples, exitCodes = {} }: Command): string[] {
  // docs/cli.md describes it once for all commands.
  const own = Object.fromEntries(Object.entries(flags).filter(([, row]) => row !== ACCOUNT_FLAG));
  const verbs = usage.flatMap((form) => formWords(form)[0]?.split("|") ?? []);
  return [
    `# godwit ${name}`,
    ...about.map((text) => marked(text, verbs)),
    `\`\`\`\n${usage.map((form) => `godwit ${form}\n`).join("")}\`\`\``,
    ...groupFlags(own).flatMap(([title, rows]) => [
      `${marked(title)}:`,
      list(rows.map(([flag, row]) => [`\`${flagText(flag, row)}\``, flagLine(flag, row)])),
    ]),
    ...SETTINGS[settings],
    // Not `sh`, which test/tools/docs-samples.test.ts would run.
    `\`\`\`shell\n${examples.map(([does, line]) => `# ${does}\n${line}\n`).join("\n")}\`\`\``,
    ...exitText(Object.entries(exitCodes)),
  ];
}

const list = (rows: readonly (readonly [string, string])[]): string => rows.map(([name, text]) => `- ${name}: ${text}`).join("\n");

function exitText(codes: readonly (readonly [string, string])[]): string[] {
  const [code, ...others] = codes;
  if (code === undefined) return [];
  return others.length === 0
    ? [`Exit code ${code[0]}: ${marked(code[1])}.`]
    : ["Exit codes:", list(codes.map(([each, text]) => [each, marked(text)]))];
}

function flagLine(flag: string, row: FlagRow): string {
  const place = (row.choices?.length ?? 0) > MOST_CHOICES ? LISTS[flag] : undefined;
  return marked([row.help, ...flagNotes(row, place)].join("; "));
}

/** Marks the flags, variables, scopes and pages in a text of the help, and a verb at its start. */
const marked = (text: string, verbs: readonly string[] = []): string =>
  text
    .replace(/^[a-z-]+(?= )/, (word) => (verbs.includes(word) ? `\`${word}\`` : word))
    .replaceAll(
      /(?<![\w`/.-])(?:--[a-z][a-z-]*|[A-Z]+_[A-Z_]+|[a-z]+:[a-z]+|- (?=reads|is))/g,
      (word) => `\`${word.trim()}\`${word.endsWith(" ") ? " " : ""}`,
    )
    .replaceAll(/docs\/([a-z-]+)\.md(#[a-z0-9-]+)?/g, "[$1]($1.md$2)");

if (import.meta.main) for (const { path, shouldBe } of await readPages()) writeFileSync(join(DOCS, path), shouldBe);
