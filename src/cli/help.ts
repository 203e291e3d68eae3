/** godwit help and --help: describe a command, its forms, flags, examples and exit codes. The texts come from the command's row. */
import {
  didYouMean,
  EXIT_CODES,
  ownFlags,
  shownSettings,
  UsageError,
  type Command,
  type CommandEntry,
  type FlagRow,
  type Program,
} from "./command.ts";

export const help: Command = {
  name: "help",
  about: ["Tells what a command does, the forms it takes, its flags, examples and exit codes. Without a command it lists them all."],
  usage: ["help [COMMAND]"],
  flags: {},
  settings: "none",
  hasNoJson: true,
  examples: [["How messages are sent from a terminal:", "godwit help send"]],
  async run({ words: [name] }, { commands }) {
    process.stdout.write(name === undefined ? overview({ commands }) : await helpOn(name, commands));
  },
};

async function helpOn(name: string, commands: Program["commands"]): Promise<string> {
  const entry = commands[name];
  if (entry === undefined) throw new UsageError(`there is no command ${name}${didYouMean(name, Object.keys(commands), "godwit help ")}`);
  return helpText(await entry.load(), entry);
}

export const overview = ({ commands }: Program): string =>
  `godwit: a self-hosted messaging service\n\nCommands:\n${rows(Object.entries(commands).map(([name, { summary }]) => [name, summary]))}\n` +
  "godwit help COMMAND tells more. Exit codes: 0 done, 1 failed, 2 wrong use or configuration.\n";

export const usageText = ({ usage }: Command): string => `Usage:\n${usage.map((form) => `  godwit ${form}\n`).join("")}`;

export function helpText(command: Command, { summary }: Pick<CommandEntry, "summary">): string {
  const { name, about, examples } = command;
  const settings = shownSettings(command).map(({ flag, value = "VALUE", help: text, env, fallback }): [string, string] => [
    `--${flag} ${value}`,
    `${text} (${env}${fallback === undefined ? "" : `; default ${fallback}`})`,
  ]);
  const parts = [
    `godwit ${name}: ${summary}\n`,
    ...about.map((paragraph) => wrap(paragraph, 0)),
    usageText(command),
    `Flags:\n${rows(Object.entries(ownFlags(command)).map(([flag, row]) => [flagText(flag, row), flagHelp(row)]))}`,
    settings.length === 0 ? "" : `Settings (environment variable in brackets):\n${rows(settings)}`,
    `Examples:\n${examples.map(([does, line]) => `  # ${does}\n${line.replaceAll(/^/gm, "  ")}\n`).join("")}`,
    `Exit codes:\n${rows(Object.entries(exitCodes(command)))}`,
  ];
  return parts.filter((part) => part !== "").join("\n");
}

export const exitCodes = (command: Command): Readonly<Record<number, string>> => ({ ...EXIT_CODES, ...command.exitCodes });

export const flagText = (flag: string, { type, value = "TEXT" }: FlagRow): string =>
  type === "boolean" ? `--${flag}` : `--${flag} ${value}`;

export const flagHelp = ({ help: text, choices, isList, isRepeated, fallback }: FlagRow): string => {
  const notes = [
    ...(choices === undefined ? [] : [`${isList ? "with commas between them, some of" : "one of"} ${choices.join(", ")}`]),
    ...(isRepeated ? ["may be given several times"] : []),
    ...(fallback === undefined ? [] : [`default ${fallback}`]),
  ];
  return notes.length === 0 ? text : `${text} (${notes.join("; ")})`;
};

const WIDTH = 100;
const MAX_LEFT = 30;

/** Formats two columns. A left text that is wider than its column gets a line of its own. */
function rows(pairs: readonly (readonly [string, string])[]): string {
  const width = Math.min(MAX_LEFT, Math.max(...pairs.map(([left]) => left.length)));
  return pairs
    .map(([left, right]) => {
      const text = wrap(right, width + 4);
      return left.length > width ? `  ${left}\n${text}` : `  ${left.padEnd(width)}  ${text.trimStart()}`;
    })
    .join("");
}

/** Wraps the text at 100 characters and indents each line. Never breaks a word. */
function wrap(text: string, indent: number): string {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    if (line !== "" && indent + line.length + 1 + word.length > WIDTH) {
      lines.push(line);
      line = word;
    } else line = line === "" ? word : `${line} ${word}`;
  }
  return [...lines, line].map((each) => `${" ".repeat(indent)}${each}\n`).join("");
}
