/** argv → command. */
import { accounts } from "./cli/accounts.ts";
import { parseInput, settingFlags, UsageError, type Command } from "./cli/command.ts";
import { doctor } from "./cli/doctor.ts";
import { environments } from "./cli/environments.ts";
import { keys } from "./cli/keys.ts";
import { migrate } from "./cli/migrate.ts";
import { serve } from "./cli/serve.ts";
import { version } from "./cli/version.ts";
import { ConfigError } from "./config.ts";
import { StartupError } from "./storage/startup-error.ts";

const COMMANDS: readonly Command[] = [serve, migrate, accounts, environments, keys, doctor, version];

const EXIT = { failure: 1, usage: 2 } as const;

async function main(argv: readonly string[]): Promise<number> {
  const [name, ...rest] = argv;
  if (name === undefined || name === "help" || name === "--help" || name === "-h") {
    process.stdout.write(overview());
    return 0;
  }
  const command = COMMANDS.find((each) => each.name === (name === "--version" ? "version" : name));
  if (command === undefined) {
    process.stderr.write(`godwit: unknown command ${name}\n\n${overview()}`);
    return EXIT.usage;
  }
  try {
    const input = parseInput(command, rest);
    if (input.flags["help"] === true) {
      process.stdout.write(help(command));
      return 0;
    }
    return (await command.run(input)) ?? 0;
  } catch (error) {
    if (error instanceof UsageError) {
      process.stderr.write(`godwit: ${error.message}\n\n${usage(command)}`);
      return EXIT.usage;
    }
    if (error instanceof ConfigError || error instanceof StartupError) {
      process.stderr.write(`godwit: ${error.message}\n`);
      return error instanceof ConfigError ? EXIT.usage : EXIT.failure;
    }
    throw error;
  }
}

const lines = (rows: readonly (readonly [string, string])[]): string => {
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}\n`).join("");
};

const overview = (): string =>
  `godwit: a self-hosted messaging service\n\nCommands:\n${lines(COMMANDS.map(({ name, summary }) => [name, summary]))}\n` +
  "godwit COMMAND --help tells more. Exit codes: 0 done, 1 failed, 2 wrong use or configuration.\n";

const usage = ({ usage: forms }: Command): string => `Usage:\n${forms.map((form) => `  godwit ${form}\n`).join("")}`;

const help = (command: Command): string => {
  const own = Object.entries(command.flags).map(([flag, { help: text }]) => [`--${flag}`, text] as const);
  const settings = Object.entries(settingFlags()).map(([flag, { help: text }]) => [`--${flag}`, text] as const);
  return `godwit ${command.name}: ${command.summary}\n\n${usage(command)}${own.length === 0 ? "" : `\nFlags:\n${lines(own)}`}\nSettings (environment variable in brackets):\n${lines(settings)}`;
};

process.exitCode = await main(process.argv.slice(2));
