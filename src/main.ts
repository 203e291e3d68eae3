/** argv → command. A command's code is loaded when it is asked for, and compiled once: most uses of the command line are
 *  short, and loading a server to create a key would take longer than creating it. */
import { enableCompileCache } from "node:module";
import type { Command } from "./cli/command.ts";

enableCompileCache();

type Entry = { summary: string; load: () => Promise<Command> };

const COMMANDS: Readonly<Record<string, Entry>> = {
  serve: { summary: "run the service", load: async () => (await import("./cli/serve.ts")).serve },
  migrate: { summary: "bring the database's schema up to date", load: async () => (await import("./cli/migrate.ts")).migrate },
  accounts: { summary: "list and create accounts", load: async () => (await import("./cli/accounts.ts")).accounts },
  environments: {
    summary: "list environments, set their tier, define tiers",
    load: async () => (await import("./cli/environments.ts")).environments,
  },
  keys: { summary: "create, list, rotate and revoke API keys", load: async () => (await import("./cli/keys.ts")).keys },
  "signing-keys": {
    summary: "list and rotate the keys that access tokens are signed with",
    load: async () => (await import("./cli/signing-keys.ts")).signingKeys,
  },
  links: { summary: "show how the links to carriers are doing", load: async () => (await import("./cli/links.ts")).links },
  listen: { summary: "show events as they happen", load: async () => (await import("./cli/listen.ts")).listen },
  doctor: { summary: "check everything the service stands on", load: async () => (await import("./cli/doctor.ts")).doctor },
  version: { summary: "tell the version", load: async () => (await import("./cli/version.ts")).version },
};

const EXIT = { failure: 1, usage: 2 } as const;

async function main(argv: readonly string[]): Promise<number> {
  const [name, ...rest] = argv;
  if (name === undefined || name === "help" || name === "--help" || name === "-h") {
    process.stdout.write(overview());
    return 0;
  }
  const entry = COMMANDS[name === "--version" ? "version" : name];
  if (entry === undefined) {
    process.stderr.write(`godwit: unknown command ${name}\n\n${overview()}`);
    return EXIT.usage;
  }
  const command = await entry.load();
  const { parseInput } = await import("./cli/command.ts");
  try {
    const input = parseInput(command, rest);
    if (input.flags["help"] === true) {
      process.stdout.write(await help(command));
      return 0;
    }
    return (await command.run(input)) ?? 0;
  } catch (error) {
    return explain(error, command);
  }
}

/** What the person at the terminal can mend is a sentence; the rest is a fault of ours, and keeps its stack. */
function explain(error: unknown, command: Command): number {
  if (!(error instanceof Error) || !["UsageError", "ConfigError", "StartupError"].includes(error.name)) throw error;
  process.stderr.write(`godwit: ${error.message}\n${error.name === "UsageError" ? `\n${usage(command)}` : ""}`);
  return error.name === "StartupError" ? EXIT.failure : EXIT.usage;
}

const lines = (rows: readonly (readonly [string, string])[]): string => {
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}\n`).join("");
};

const overview = (): string =>
  `godwit: a self-hosted messaging service\n\nCommands:\n${lines(Object.entries(COMMANDS).map(([name, { summary }]) => [name, summary]))}\n` +
  "godwit COMMAND --help tells more. Exit codes: 0 done, 1 failed, 2 wrong use or configuration.\n";

const usage = ({ usage: forms }: Command): string => `Usage:\n${forms.map((form) => `  godwit ${form}\n`).join("")}`;

async function help(command: Command): Promise<string> {
  const { settingFlags } = await import("./cli/command.ts");
  const own = Object.entries(command.flags).map(([flag, { help: text }]) => [`--${flag}`, text] as const);
  const settings = Object.entries(settingFlags(command)).map(([flag, { help: text }]) => [`--${flag}`, text] as const);
  const summary = COMMANDS[command.name]?.summary ?? "";
  return `godwit ${command.name}: ${summary}\n\n${usage(command)}${own.length === 0 ? "" : `\nFlags:\n${lines(own)}`}\nSettings (environment variable in brackets):\n${lines(settings)}`;
}

const code = await main(process.argv.slice(2));
// A start that was given up may still be at work; what it holds, the next start takes over.
if (code === 0) process.exitCode = 0;
else process.exit(code);
