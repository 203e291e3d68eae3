/** What a command is, and what all commands share: words, flags, output. */
import { parseArgs, type ParseArgsOptionsConfig } from "node:util";
import { SETTINGS, type Flags, type Setting } from "../config.ts";
import { nearest } from "../lib/nearest.ts";
import { CLIENT_SETTINGS } from "./client-config.ts";

export type Input = { flags: Flags; words: readonly string[] };

export type FlagRow = {
  type: "string" | "boolean";
  help: string;
  /** What stands for its value in the help. */
  value?: string;
  fallback?: string;
  /** The values it takes; several, with commas between them, where it is a list. */
  choices?: readonly string[];
  isList?: true;
  /** It may be given again and again. */
  isRepeated?: true;
};

export type Command = {
  name: string;
  /** What it does, in sentences: a paragraph each. */
  about: readonly string[];
  /** The forms it takes, a line each, without the program's name. Words in small letters are meant as they stand; the help, the
   *  completion and the check of what was typed all read them here. */
  usage: readonly string[];
  /** Flags of its own, besides the settings and --json, --help. */
  flags: Readonly<Record<string, FlagRow>>;
  /** What it is told of its surroundings: all of a service's settings, where the database is, where a running service is. */
  settings: "service" | "database" | "client" | "none";
  /** What it prints is no data. */
  hasNoJson?: true;
  examples: readonly (readonly [does: string, line: string])[];
  /** Where they say more than done, failed, wrong use. */
  exitCodes?: Readonly<Record<number, string>>;
  /** The exit code; zero when it returns nothing. */
  run: (input: Input, program: Program) => Promise<number | void>;
};

/** A command's code is loaded when it is asked for. */
export type CommandEntry = { summary: string; load: () => Promise<Command> };
export type Program = { commands: Readonly<Record<string, CommandEntry>> };

export const EXIT = { done: 0, failed: 1, usage: 2, unknown: 3 } as const;

export const EXIT_CODES: Readonly<Record<number, string>> = {
  [EXIT.done]: "done",
  [EXIT.failed]: "failed",
  [EXIT.usage]: "wrong use, or a fault in the configuration; nothing was done",
};

/** The person at the terminal asked for something that is not there: shown with the command's usage, exit code 2. */
export class UsageError extends Error {
  override name = "UsageError";
}

/** Where an operator's command finds the database; it takes the other settings too, and does not need them. */
const DATABASE_FLAGS: ReadonlySet<string> = new Set(["data-dir", "database-url", "config"]);

const settingRows = ({ settings }: Command): readonly Setting[] =>
  settings === "none" ? [] : Object.values<Setting>(settings === "client" ? CLIENT_SETTINGS : SETTINGS);

const settingFlag = ({ help, value, choices, isList }: Setting): FlagRow => ({
  type: "string",
  help,
  value: value ?? "VALUE",
  ...(choices === undefined ? {} : { choices }),
  ...(isList === undefined ? {} : { isList }),
});

/** The settings that matter to a command, for those who read about it. */
export const shownSettings = (command: Command): Setting[] =>
  settingRows(command).filter(({ flag }) => flag !== "" && (command.settings !== "database" || DATABASE_FLAGS.has(flag)));

const JSON_FLAG: FlagRow = { type: "boolean", help: "JSON on the output, for programs" };
const HELP_FLAG: FlagRow = { type: "boolean", help: "this text" };

/** Flags of its own, and those of all. */
export const ownFlags = ({ flags, hasNoJson }: Command): Record<string, FlagRow> => ({
  ...flags,
  ...(hasNoJson === true ? {} : { json: JSON_FLAG }),
  help: HELP_FLAG,
});

/** Every flag that someone may look for. */
export const shownFlags = (command: Command): Record<string, FlagRow> => ({
  ...ownFlags(command),
  ...Object.fromEntries(shownSettings(command).map((setting) => [setting.flag, settingFlag(setting)])),
});

/** The words of a form, after the command's name and without its flags: `create`, `test|live`, `NAME`. */
export const formWords = (form: string): string[] =>
  Array.from(form.matchAll(/\[--[^\]]*\]|\[(?:flags|settings)\]|--[a-z-]+ \S+|(\S+)/g), ([, word]) => word ?? [])
    .flat()
    .slice(1)
    .map((word) => word.replaceAll(/[[\]]/g, ""));

/** The words that may stand at a place, after those before it; empty where anything may. */
export function nextWords({ usage }: Command, before: readonly string[]): string[] {
  const forms = usage.map(formWords).filter((words) => before.every((word, index) => wordChoices(words[index]).includes(word)));
  return [...new Set(forms.flatMap((words) => wordChoices(words[before.length])))];
}

/** A word in small letters, or several to choose from; empty for what stands for something else, such as NAME. */
const wordChoices = (word: string | undefined): string[] =>
  word !== undefined && /^[a-z-]+(\|[a-z-]+)*$/.test(word) ? word.split("|") : [];

export function parseInput(command: Command, argv: readonly string[]): Input {
  const settings = Object.fromEntries(settingRows(command).map((setting) => [setting.flag, settingFlag(setting)]));
  const rows: Record<string, FlagRow> = { ...settings, ...ownFlags(command) };
  delete rows[""];
  const options: ParseArgsOptionsConfig = {};
  for (const [name, { type, isRepeated }] of Object.entries(rows)) options[name] = { type, ...(isRepeated ? { multiple: true } : {}) };
  options["help"] = { type: "boolean", short: "h" };
  try {
    const { values, positionals } = parseArgs({ args: [...argv], options, allowPositionals: true, strict: true });
    const input = { flags: values as Flags, words: positionals };
    if (input.flags["help"] !== true) checkWords(command, positionals);
    return input;
  } catch (error) {
    throw error instanceof UsageError ? error : new UsageError(explainFlagError(error as NodeJS.ErrnoException, Object.keys(rows)));
  }
}

/** What the parser found wrong, in our words. */
function explainFlagError({ code, message }: NodeJS.ErrnoException, known: readonly string[]): string {
  const [, flag = ""] = /'(-[^'\s]*)/.exec(message) ?? [];
  if (code === "ERR_PARSE_ARGS_UNKNOWN_OPTION") return `there is no flag ${flag}${didYouMean(flag.replace(/^-+/, ""), known, "--")}`;
  if (/argument missing/.test(message)) return `${flag} needs a value`;
  if (/ambiguous/.test(message)) return `${flag} needs a value; one that begins with a dash is written ${flag}=-…`;
  return /does not take an argument/.test(message) ? `${flag} takes no value` : (message.split("\n")[0] ?? message);
}

function checkWords(command: Command, words: readonly string[]): void {
  const { name, usage } = command;
  const first = nextWords(command, []);
  const [word] = words;
  if (first.length > 0 && word === undefined) throw new UsageError(`say what to do with ${name}: ${first.join(", ")}`);
  if (first.length > 0 && word !== undefined && !first.includes(word))
    throw new UsageError(`${name} knows no ${word}${didYouMean(word, first, `godwit ${name} `)}`);
  const forms = usage.map(formWords).filter((form) => first.length === 0 || wordChoices(form[0]).includes(word ?? ""));
  const extra = words[Math.max(...forms.map((form) => form.length))];
  if (extra !== undefined) throw new UsageError(`one word too many: ${extra}; what has spaces in it goes between quotes`);
}

export function didYouMean(word: string, known: readonly string[], before = ""): string {
  const meant = nearest(word, known);
  return meant === undefined ? "" : `; did you mean ${before}${meant}?`;
}

export const textFlag = (flags: Flags, name: string): string | undefined => (typeof flags[name] === "string" ? flags[name] : undefined);

/** What was given again and again. */
export const textFlags = (flags: Flags, name: string): readonly string[] => {
  const value = flags[name];
  return typeof value === "object" ? value : [];
};

export function neededFlag(flags: Flags, name: string): string {
  const value = textFlag(flags, name);
  if (value === undefined || value === "") throw new UsageError(`--${name} is required`);
  return value;
}

const UNIT_SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 };

/** In seconds; undefined when the flag was not given. */
export function readDuration({ flags }: Input, name: string): number | undefined {
  const text = textFlag(flags, name);
  if (text === undefined) return undefined;
  const match = /^(\d{1,6})([smhd])$/.exec(text);
  if (match === null) throw new UsageError(`--${name} must be a number and a unit, such as 30m, 24h or 90d`);
  return Number(match[1]) * (UNIT_SECONDS[match[2] ?? "s"] ?? 1);
}
