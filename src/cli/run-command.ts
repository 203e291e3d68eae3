/** Finds the command in the arguments of the program and runs it. */
import type { Command } from "./command.ts";
import { COMMANDS } from "./commands.ts";
import { unknownCommandHint } from "./unknown-command.ts";

const EXIT = { failure: 1, usage: 2 } as const;
/** The SQLSTATE of a statement for which the role has no right. */
const PERMISSION_DENIED = "42501";
const ALIASES: Readonly<Record<string, string>> = { "--help": "help", "-h": "help", "--version": "version" };

/** Returns the exit code. */
export async function runCommand(argv: readonly string[]): Promise<number> {
  const [name = "help", ...rest] = argv;
  const entry = COMMANDS[ALIASES[name] ?? name];
  if (entry === undefined) return refuse(name);
  const command = await entry.load();
  const { parseInput } = await import("./command.ts");
  try {
    const input = parseInput(command, rest);
    if (input.flags["help"] === true) {
      const { helpText } = await import("./help.ts");
      process.stdout.write(helpText(command, entry));
      return 0;
    }
    return (await command.run(input, { commands: COMMANDS })) ?? 0;
  } catch (error) {
    return explain(error, command);
  }
}

function refuse(name: string): number {
  // The list of commands would move the error out of a small terminal.
  process.stderr.write(`godwit: unknown command ${name}${unknownCommandHint(name, COMMANDS)}\ngodwit help lists all commands.\n`);
  return EXIT.usage;
}

/** Prints an error that the user can fix as one sentence. Any other error is a bug of ours and is thrown again with its stack. */
async function explain(error: unknown, command: Command): Promise<number> {
  if (error instanceof Error && error.name === "DatabaseUnavailable") {
    process.stderr.write(`godwit: ${error.message}: ${error.cause instanceof Error ? error.cause.message : String(error.cause)}\n`);
    return EXIT.failure;
  }
  if (error instanceof Error && "code" in error && error.code === PERMISSION_DENIED) {
    process.stderr.write(
      `godwit: the database refuses its role: ${error.message}: make the role the owner of its database, or grant it the rights of a node (docs/production.md, PostgreSQL)\n`,
    );
    return EXIT.failure;
  }
  if (!(error instanceof Error) || !["UsageError", "ConfigError", "StartupError"].includes(error.name)) throw error;
  // A process that has given up root may be unable to load a module.
  const more =
    error.name === "UsageError"
      ? `\n${(await import("./help.ts")).usageText(command)}\ngodwit help ${command.name} describes the command.\n`
      : "";
  process.stderr.write(`godwit: ${error.message}\n${more}`);
  return error.name === "StartupError" ? EXIT.failure : EXIT.usage;
}
