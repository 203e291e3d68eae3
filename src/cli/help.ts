/** godwit help and --help: describe a command, its forms, flags, examples and exit codes. The texts come from the command's row. And godwit
 *  version. */
import {
  COMMAND_GROUPS,
  EXIT_CODES,
  ownFlags,
  shownSettings,
  UsageError,
  type Command,
  type CommandEntry,
  type FlagRow,
  type Program,
} from "./command.ts";
import { unknownCommandHint } from "./unknown-command.ts";
import { VERSION } from "../version.ts";
import { print } from "./output.ts";

export const help: Command = {
  name: "help",
  about: ["Prints the forms, flags, examples and exit codes of a command. Without a command it lists all commands."],
  usage: ["help [COMMAND]"],
  flags: {},
  settings: "none",
  hasNoJson: true,
  examples: [["Send messages from a terminal:", "godwit help send"]],
  async run({ words: [name] }, { commands }) {
    process.stdout.write(name === undefined ? overview({ commands }) : await helpOn(name, commands));
  },
};

async function helpOn(name: string, commands: Program["commands"]): Promise<string> {
  const entry = commands[name];
  if (entry === undefined) throw new UsageError(`there is no command ${name}${unknownCommandHint(name, commands, "godwit help ")}`);
  return helpText(await entry.load(), entry);
}

function overview({ commands }: Program): string {
  const groups = Object.entries(COMMAND_GROUPS).map(([group, title]) => {
    const entries = Object.entries(commands).filter(([, entry]) => entry.group === group);
    return `${title}:\n${rows(
      entries.map(([name, { summary }]) => [name, summary]),
      OVERVIEW_WIDTH,
    )}`;
  });
  return (
    `godwit: a self-hosted messaging service\n\n${groups.join("\n")}\n` +
    "godwit help COMMAND describes a command. Exit codes: 0 done, 1 failed, 2 wrong use or configuration.\n"
  );
}

const SAME_SETTINGS = "Use the same --config and GODWIT_SECRET_KEY as the service.";

/** Divides the flags into the general ones and those of each group. */
export const groupFlags = (flags: Readonly<Record<string, FlagRow>>): [title: string, flags: [flag: string, row: FlagRow][]][] =>
  Map.groupBy(Object.entries(flags), ([, { group }]) => (group === undefined ? "Flags" : `Flags ${group}`))
    .entries()
    .toArray();

export const usageText = ({ usage }: Command): string => `Usage:\n${usage.map((form) => `  godwit ${form}\n`).join("")}`;

export function helpText(command: Command, { summary }: Pick<CommandEntry, "summary">): string {
  const { name, about, examples, usesSecrets = false } = command;
  const settings = shownSettings(command).map(({ flag, value = "VALUE", help: text, env, fallback }): [string, string] => [
    `--${flag} ${value}`,
    `${text} (${env}${fallback === undefined ? "" : `; default ${fallback}`})`,
  ]);
  const parts = [
    `godwit ${name}: ${summary}\n`,
    ...[...about, ...(usesSecrets ? [SAME_SETTINGS] : [])].map((paragraph) => wrap(paragraph, 0)),
    usageText(command),
    ...groupFlags(ownFlags(command)).map(
      ([title, flags]) => `${title}:\n${rows(flags.map(([flag, row]) => [flagText(flag, row), flagHelp(row)]))}`,
    ),
    settings.length === 0 ? "" : `Settings (environment variable in brackets):\n${rows(settings)}`,
    `Examples:\n${examples.map(([does, line]) => `  # ${does}\n${line.replaceAll(/^/gm, "  ")}\n`).join("")}`,
    `Exit codes:\n${rows(Object.entries(exitCodes(command)))}`,
  ];
  return parts.filter((part) => part !== "").join("\n");
}

export const exitCodes = (command: Command): Readonly<Record<number, string>> => ({ ...EXIT_CODES, ...command.exitCodes });

export function flagText(flag: string, row: FlagRow): string {
  if (row.isSwitch) return `--${flag}`;
  return `--${flag} ${hasShortChoices(row) ? row.choices?.join("|") : (row.value ?? "TEXT")}`;
}

const MOST_SHORT_CHOICES = 3;

/** Few values fit into the place of the placeholder. */
const hasShortChoices = ({ choices, isList }: FlagRow): boolean =>
  choices !== undefined && choices.length <= MOST_SHORT_CHOICES && isList === undefined;

/** `place`: a link to the permitted values, in place of them. */
export function flagNotes(row: FlagRow, place?: string): string[] {
  const { choices, isList, isRepeated, fallback } = row;
  return [
    ...(isList ? ["separated by commas"] : []),
    ...(choices === undefined || hasShortChoices(row)
      ? []
      : [place === undefined ? `${isList ? "one or more" : "one"} of ${choices.join(", ")}` : `see ${place}`]),
    ...(isRepeated ? ["repeatable"] : []),
    ...(fallback === undefined ? [] : [`default ${fallback}`]),
  ];
}

function flagHelp(row: FlagRow): string {
  const notes = flagNotes(row);
  return notes.length === 0 ? row.help : `${row.help} (${notes.join("; ")})`;
}

const WIDTH = 100;
const MAX_LEFT = 30;
// The same for all groups of commands.
const OVERVIEW_WIDTH = 12;

/** Formats two columns. A left text that is wider than its column gets a line of its own. */
function rows(pairs: readonly (readonly [string, string])[], minWidth = 0): string {
  const width = Math.max(minWidth, Math.min(MAX_LEFT, Math.max(...pairs.map(([left]) => left.length))));
  return pairs
    .map(([left, right]) => {
      const text = wrap(right, width + 4);
      return left.length > width ? `  ${left}\n${text}` : `  ${left.padEnd(width)}  ${text.trimStart()}`;
    })
    .join("");
}

/** Wraps the text at 100 characters and indents each line. */
const wrap = (text: string, indent: number): string =>
  wrapLines(plain(text), WIDTH - indent)
    .map((line) => `${" ".repeat(indent)}${line}\n`)
    .join("");

/** The texts of settings are also those of pages, in Markdown. */
export const plain = (markdown: string): string => markdown.replaceAll("`", "");

/** Divides the text into lines of at most `width` characters. Never breaks a word. */
export function wrapLines(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    if (line !== "" && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else line = line === "" ? word : `${line} ${word}`;
  }
  return [...lines, line];
}

export const version: Command = {
  name: "version",
  about: ["Prints the versions of godwit and of Node."],
  usage: ["version"],
  flags: {},
  settings: "none",
  examples: [["For a bug report:", "godwit version --json"]],
  run: async ({ flags }) => {
    if (flags["json"] === true) print(flags, { godwit: VERSION, node: process.versions.node });
    else process.stdout.write(`godwit ${VERSION} (node ${process.versions.node})\n`);
  },
};
