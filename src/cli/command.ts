/** The description of a command, and the parsing of its words and flags. */
import { parseArgs, type ParseArgsOptionsConfig } from "node:util";
import { type Flags } from "../config.ts";
import { SETTINGS, type Setting } from "../settings.ts";
import { didYouMean } from "../lib/nearest.ts";
import { CLIENT_SETTINGS } from "./client-config.ts";

export type Input = { flags: Flags; words: readonly string[] };

export type FlagRow = {
  help: string;
  /** The flag has no value. */
  isSwitch?: true;
  /** The placeholder for the value in the help, such as `NAME`. */
  value?: string;
  fallback?: string;
  /** The permitted values. A list flag takes several, separated by commas. */
  choices?: readonly string[];
  isList?: true;
  /** The flag may be given several times. */
  isRepeated?: true;
  /** The flag has an effect only there, such as `with --csv`. The help lists such flags below their own heading. */
  group?: string;
};

export type Command = {
  name: string;
  /** Describes the command. Each string is one paragraph. */
  about: readonly string[];
  /** The forms of the command, one for each line, without the program's name. Words in lower case are typed literally. The help and
   *  the check of the typed words use these forms. */
  usage: readonly string[];
  /** The command's own flags, without the settings, --wide, --json and --help. */
  flags: Readonly<Record<string, FlagRow>>;
  /** The settings that the command takes: all settings of the service, the location of the database, or the URL and key of a client. */
  settings: "service" | "database" | "client" | "none";
  /** The command reads the links of the configuration file, or secrets of the database. */
  usesSecrets?: true;
  /** The output is not data, so there is no --json. */
  hasNoJson?: true;
  /** The command prints tables with a selection of columns, so there is --wide. */
  hasTables?: true;
  examples: readonly (readonly [does: string, line: string])[];
  /** Exit codes with a more specific meaning than `EXIT_CODES`. */
  exitCodes?: Readonly<Record<number, string>>;
  /** Returns the exit code. Undefined stands for 0. */
  run: (input: Input, program: Program) => Promise<number | void>;
};

/** A row of the table of commands. `load` imports the code only when the command runs. */
export type CommandEntry = { group: CommandGroup; summary: string; load: () => Promise<Command> };
/** The groups of the overview, with their titles. */
export const COMMAND_GROUPS = {
  service: "Run the service",
  client: "Use a running service through its API",
  operator: "Manage accounts, keys and carriers",
  database: "Manage the database and its backups",
  other: "Other",
} as const;
type CommandGroup = keyof typeof COMMAND_GROUPS;
export type Program = { commands: Readonly<Record<string, CommandEntry>> };

export const EXIT = { done: 0, failed: 1, usage: 2, unknown: 3 } as const;

export const EXIT_CODES: Readonly<Record<number, string>> = {
  [EXIT.done]: "done",
  [EXIT.failed]: "failed",
  [EXIT.usage]: "wrong use, or a fault in the configuration; nothing was done",
};

/** Wrong use of a command. The message is shown with the command's usage, and the exit code is 2. */
export class UsageError extends Error {
  override name = "UsageError";
}

/** The settings that locate the database. The operator's commands accept the other settings too, but do not need them. */
const DATABASE_FLAGS: ReadonlySet<string> = new Set(["data-dir", "database-url", "database-plaintext", "config"]);

const settingRows = ({ settings }: Command): readonly Setting[] =>
  settings === "none" ? [] : Object.values<Setting>(settings === "client" ? CLIENT_SETTINGS : SETTINGS);

/** Returns the settings that the command's help shows. */
export const shownSettings = (command: Command): Setting[] =>
  settingRows(command).filter(({ flag }) => flag !== "" && (command.settings !== "database" || DATABASE_FLAGS.has(flag)));

export const ACCOUNT_FLAG: FlagRow = { value: "NAME|ID", help: "account; needed when there are several" };

const JSON_FLAG: FlagRow = { isSwitch: true, help: "print JSON, for programs" };
const WIDE_FLAG: FlagRow = { isSwitch: true, help: "print all fields" };
const HELP_FLAG: FlagRow = { isSwitch: true, help: "print this text" };

export const ownFlags = ({ flags, hasNoJson, hasTables }: Command): Record<string, FlagRow> => ({
  ...flags,
  ...(hasTables === true ? { wide: WIDE_FLAG } : {}),
  ...(hasNoJson === true ? {} : { json: JSON_FLAG }),
  help: HELP_FLAG,
});

/** Returns the words of a form after the command's name, without its flags: `create`, `test|live`, `NAME`. */
export const formWords = (form: string): string[] =>
  Array.from(form.matchAll(/\[--[^\]]*\]|\[(?:flags|settings)\]|--[a-z-]{1,40} \S+|(\S+)/g), ([, word]) => word ?? [])
    .flat()
    .slice(1)
    .map((word) => word.replaceAll(/[[\]]/g, ""));

/** Splits `test|live` into its words. Empty for a placeholder such as NAME, which stands for any text. */
const wordChoices = (word: string | undefined): readonly string[] =>
  word !== undefined && /^[a-z-]+(\|[a-z-]+)*$/.test(word) ? word.split("|") : [];

export function parseInput(command: Command, argv: readonly string[]): Input {
  const options: ParseArgsOptionsConfig = {};
  for (const { flag } of settingRows(command)) if (flag !== "") options[flag] = { type: "string" };
  for (const [name, { isSwitch, isRepeated }] of Object.entries(ownFlags(command)))
    options[name] = { type: isSwitch === true ? "boolean" : "string", multiple: isRepeated === true };
  options["help"] = { type: "boolean", short: "h" };
  try {
    const { values, positionals } = parseArgs({ args: [...argv], options, allowPositionals: true, strict: true });
    const input = { flags: values as Flags, words: positionals };
    if (input.flags["help"] === true) return input;
    const forms = checkWords(command, positionals);
    checkFlags(command, input, forms);
    return input;
  } catch (error) {
    throw error instanceof UsageError ? error : new UsageError(explainFlagError(error as NodeJS.ErrnoException, Object.keys(options)));
  }
}

/** Rewrites an error of Node's parser as a sentence of ours. */
function explainFlagError({ code, message }: NodeJS.ErrnoException, known: readonly string[]): string {
  const [, flag = ""] = /'(-[^'\s]*)/.exec(message) ?? [];
  if (code === "ERR_PARSE_ARGS_UNKNOWN_OPTION") return `there is no flag ${flag}${didYouMean(flag.replace(/^-+/, ""), known, "--")}`;
  if (/argument missing/.test(message)) return `${flag} needs a value`;
  if (/ambiguous/.test(message)) return `${flag} needs a value; write a value that begins with a dash as ${flag}=-…`;
  return /does not take an argument/.test(message) ? `${flag} takes no value` : (message.split("\n")[0] ?? message);
}

/** Returns the forms that fit the words. */
function checkWords({ name, usage }: Command, words: readonly string[]): readonly string[] {
  const first = [...new Set(usage.flatMap((form) => wordChoices(formWords(form)[0])))];
  const [word] = words;
  const mayBeBare = usage.some((form) => formWords(form).length === 0);
  if (first.length > 0 && word === undefined && !mayBeBare) throw new UsageError(`${name} needs one of: ${first.join(", ")}`);
  if (first.length > 0 && word !== undefined && !first.includes(word))
    throw new UsageError(`${name} does not know ${word}${didYouMean(word, first, `godwit ${name} `)}`);
  const fitting = usage.filter((form) => first.length === 0 || isForm(form, word));
  const extra = words[Math.max(...fitting.map((form) => formWords(form).length))];
  if (extra !== undefined) throw new UsageError(`one word too many: ${extra}; put a text with spaces between quotes`);
  return fitting;
}

/** Whether the form begins with the word, or with no word. */
const isForm = (form: string, word: string | undefined): boolean => {
  const [first] = formWords(form);
  return first === undefined ? word === undefined : wordChoices(first).includes(word ?? "");
};

/** Refuses the flags of other forms: `[flags]` stands for those that no form names. */
function checkFlags(command: Command, { flags, words: [verb] }: Input, forms: readonly string[]): void {
  const named = (among: readonly string[]): Set<string> =>
    new Set(among.flatMap((form) => Array.from(form.matchAll(/--([a-z-]+)/g), ([, flag]) => flag ?? "")));
  const [ofThese, ofAny] = [named(forms), named(command.usage)];
  const takesOthers = forms.some((form) => form.includes("[flags]"));
  const isTaken = (flag: string): boolean => ofThese.has(flag) || (takesOthers && !ofAny.has(flag));
  const wrong = Object.keys(flags).find((flag) => flag in command.flags && !isTaken(flag));
  if (wrong !== undefined) throw new UsageError(`${[command.name, verb].join(" ").trimEnd()} has no flag --${wrong}`);
}

export const textFlag = (flags: Flags, name: string): string | undefined => (typeof flags[name] === "string" ? flags[name] : undefined);

/** Returns all values of a flag that may be given several times. */
export const textFlags = (flags: Flags, name: string): readonly string[] => {
  const value = flags[name];
  return typeof value === "object" ? value : [];
};

/** Returns the names and values of a flag such as --var NAME=TEXT. */
export const pairFlags = (flags: Flags, name: string): [string, string][] =>
  textFlags(flags, name).map((text) => {
    const at = text.indexOf("=");
    if (at < 1) throw new UsageError(`--${name} must be a name and a value, such as --${name} order=A-17`);
    return [text.slice(0, at), text.slice(at + 1)];
  });

export function neededFlag(flags: Flags, name: string): string {
  const value = textFlag(flags, name);
  if (value === undefined || value === "") throw new UsageError(`--${name} is required`);
  return value;
}

/** Returns the words of a flag, separated by commas. Undefined if the flag was not given. */
export const listFlag = (flags: Flags, name: string): string[] | undefined =>
  textFlag(flags, name)
    ?.split(",")
    .map((word) => word.trim())
    .filter((word) => word !== "");

export function numberFlag(flags: Flags, name: string): number | undefined {
  const text = textFlag(flags, name);
  const value = text === undefined ? undefined : Number(text);
  if (text?.trim() === "" || Number.isNaN(value)) throw new UsageError(`--${name} must be a number`);
  return value;
}

/** Leaves out the fields without a value, for the request that flags stand for. */
export const present = (fields: object): Record<string, unknown> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));

const UNIT_SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 };

/** Reads a duration such as 30s, 5m, 24h or 90d, in seconds. Undefined if the flag was not given. */
export function readDuration({ flags }: Input, name: string): number | undefined {
  const text = textFlag(flags, name);
  if (text === undefined) return undefined;
  const match = /^(\d{1,6})([smhd])$/.exec(text);
  if (match === null) throw new UsageError(`--${name} must be a number and a unit, such as 30m, 24h or 90d`);
  return Number(match[1]) * (UNIT_SECONDS[match[2] ?? "s"] ?? 1);
}

/** Aborts on Ctrl-C and SIGTERM. */
export function interruption(): AbortSignal {
  const stopping = new AbortController();
  for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => stopping.abort(name));
  return stopping.signal;
}

/** Reads the standard input, without the line break that most programs add at the end. */
export async function readInput(maxBytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of process.stdin) {
    chunks.push(chunk as Buffer);
    bytes += (chunk as Buffer).length;
    if (bytes > maxBytes) throw new UsageError(`the text on the standard input has more than ${maxBytes} bytes`);
  }
  return Buffer.concat(chunks)
    .toString("utf8")
    .replace(/\r?\n$/, "");
}
