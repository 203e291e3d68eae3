/** Writes docs/cli-NAME.md for each command, and the list of commands in docs/cli.md below its marker. A test fails when a page is out of date. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { COMMAND_GROUPS, type Command, type FlagRow } from "../src/cli/command.ts";
import { COMMANDS } from "../src/cli/commands.ts";
import { flagText } from "../src/cli/help.ts";
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
};

const SETTINGS: Readonly<Record<Command["settings"], readonly string[]>> = {
  service: ["It takes all [settings](settings.md)."],
  database: ["It takes the [settings of the database](cli.md#database)."],
  client: ["It takes `--url` and `--key` ([URL and API key](cli.md#url-and-api-key))."],
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
      .map(([name, { summary }]) => `| ${linkTo(name)} | ${summary} |`);
    return ["", `**${title}**`, "", "| command | |", "|---|---|", ...rows].join("\n");
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

// docs/cli.md says it once for all commands that use the database.
const WITH_DATABASE = /\s*Works beside a running service, on the data directory of a stopped one, and with DATABASE_URL\./;

function sections({ name, about, usage, flags, settings, examples, exitCodes = {} }: Command): string[] {
  const flagRows = Object.entries(flags).map(([flag, row]) => [flagText(flag, row), described(flag, row)] as const);
  return [
    `# godwit ${name}`,
    ...about.map((text) => text.replace(WITH_DATABASE, "")).filter((text) => text !== ""),
    `\`\`\`\n${usage.map((form) => `godwit ${form}\n`).join("")}\`\`\``,
    ...(flagRows.length === 0 ? [] : [table("flag", flagRows)]),
    ...SETTINGS[settings],
    // Not `sh`, which test/tools/docs-samples.test.ts would run.
    `\`\`\`shell\n${examples.map(([does, line]) => `# ${does}\n${line}\n`).join("\n")}\`\`\``,
    ...(Object.keys(exitCodes).length === 0 ? [] : [table("[exit code](cli.md#exit-codes)", Object.entries(exitCodes))]),
  ];
}

function described(flag: string, { help, choices, isList, isRepeated, fallback }: FlagRow): string {
  const notes = [
    ...(choices === undefined ? [] : [`${isList ? "one or more, separated by commas, of" : "one of"} ${choiceText(flag, choices)}`]),
    ...(isRepeated ? ["may be given several times"] : []),
    ...(fallback === undefined ? [] : [`default ${fallback}`]),
  ];
  return notes.length === 0 ? help : `${help}; ${notes.join("; ")}`;
}

const choiceText = (flag: string, choices: readonly string[]): string => {
  const list = choices.length > MOST_CHOICES ? LISTS[flag] : undefined;
  return list === undefined ? choices.map((choice) => `\`${choice}\``).join(", ") : `the ${list}`;
};

const table = (head: string, rows: readonly (readonly [string, string])[]): string =>
  [
    `| ${head} | |`,
    "|---|---|",
    ...rows.map(([name, text]) => `| \`${name.replaceAll("|", "\\|")}\` | ${text.replaceAll("|", "\\|")} |`),
  ].join("\n");

if (import.meta.main) for (const { path, shouldBe } of await readPages()) writeFileSync(join(DOCS, path), shouldBe);
