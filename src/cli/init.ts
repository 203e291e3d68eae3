/** godwit init: writes a configuration file that explains every setting. */
import { constants, writeFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { programName } from "../config.ts";
import { textFlags, UsageError, type Command } from "./command.ts";
import { readTomlFile } from "../lib/toml-file.ts";
import { say } from "./output.ts";
import { starterFile } from "./starter-file.ts";
import { STARTER_NAMES } from "./starter-links.ts";

const DEFAULT_FILE = "godwit.toml";

export const init: Command = {
  name: "init",
  about: [
    "Writes a configuration file (godwit.toml) with every setting, its default and its explanation. It never overwrites a file.",
    "With --carrier the file has a link, a sender and a route: replace the placeholders, and set the environment variables that it names.",
  ],
  usage: ["init [FILE] [--carrier NAME] [--append] [--stdout]"],
  flags: {
    carrier: { value: "NAME", choices: STARTER_NAMES, isRepeated: true, help: "add the section of this carrier" },
    append: { isSwitch: true, help: "add only the sections of the carriers, to the end of an existing file" },
    stdout: { isSwitch: true, help: "print the text instead of writing a file" },
  },
  settings: "none",
  hasNoJson: true,
  examples: [
    ["Two carriers:", "godwit init --carrier smpp --carrier twilio"],
    ["One more, in an existing file:", "godwit init godwit.toml --append --carrier telnyx"],
  ],
  async run({ flags, words: [file = DEFAULT_FILE] }) {
    const carriers = [...new Set(textFlags(flags, "carrier"))];
    const unknown = carriers.find((name) => !STARTER_NAMES.includes(name));
    if (unknown !== undefined) throw new UsageError(`there is no carrier ${unknown}; the carriers are ${STARTER_NAMES.join(", ")}`);
    const isAppended = flags["append"] === true;
    if (isAppended && carriers.length === 0) throw new UsageError("--append needs --carrier");
    if (isAppended) refuseTwice(file, carriers);
    const { text, sections, variables } = starterFile(file, carriers);
    const output = isAppended ? `\n${sections}` : text;
    if (flags["stdout"] === true) process.stdout.write(output);
    else {
      write(file, output, isAppended ? APPEND : "wx");
      say(nextSteps(file, variables));
    }
  },
};

function readFile(file: string): Record<string, unknown> {
  try {
    return readTomlFile(file);
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

/** The sections name their links after the carriers. */
function refuseTwice(file: string, carriers: readonly string[]): void {
  const { link = [] } = readFile(file) as { link?: { name?: unknown }[] };
  const taken = carriers.find((carrier) => link.some(({ name }) => name === carrier));
  if (taken !== undefined) throw new UsageError(`${file} already has a link with the name ${taken}; rename it first`);
}

const WRITE_ERRORS: Readonly<Record<string, (file: string) => string>> = {
  EEXIST: (file) => `${file} exists; name another file, or use --append or --stdout`,
  ENOENT: (file) => `there is no folder ${dirname(resolve(file))}`,
  EACCES: (file) => `this user may not write ${file}`,
};

/** Does not create a file. */
const APPEND = constants.O_WRONLY | constants.O_APPEND;

function write(file: string, text: string, flag: string | number): void {
  try {
    // The type of Node knows only the names of flags.
    writeFileSync(file, text, { flag: flag as string });
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new UsageError(WRITE_ERRORS[code ?? ""]?.(file) ?? message);
  }
}

const nextSteps = (file: string, variables: readonly string[]): string =>
  [
    `wrote ${file}`,
    ...(variables.length === 0 ? [] : [`Replace the placeholders in it, and set: ${variables.join(", ")}`]),
    `Check it:  ${programName()} config check ${file}`,
    `Start it:  ${programName()} serve --config ${file}`,
  ].join("\n");
