/** The table of all commands. The code of a command is loaded only when it runs: loading the whole service to create a key would take
 *  longer than creating it. */
import type { CommandEntry } from "./command.ts";

export const COMMANDS: Readonly<Record<string, CommandEntry>> = {
  serve: { summary: "run the service", load: async () => (await import("./serve.ts")).serve },
  send: { summary: "send a message through a running service", load: async () => (await import("./send.ts")).send },
  listen: { summary: "show events as they happen", load: async () => (await import("./listen.ts")).listen },
  accounts: { summary: "list and create accounts", load: async () => (await import("./accounts.ts")).accounts },
  environments: {
    summary: "list environments, set their tier, define tiers",
    load: async () => (await import("./environments.ts")).environments,
  },
  keys: { summary: "create, list, rotate and revoke API keys", load: async () => (await import("./keys.ts")).keys },
  "signing-keys": {
    summary: "list and rotate the keys that access tokens are signed with",
    load: async () => (await import("./signing-keys.ts")).signingKeys,
  },
  audit: { summary: "list the audit log, and verify that it was not changed", load: async () => (await import("./audit.ts")).audit },
  links: { summary: "show how the links to carriers are doing", load: async () => (await import("./links.ts")).links },
  doctor: { summary: "check everything the service stands on", load: async () => (await import("./doctor.ts")).doctor },
  migrate: { summary: "bring the database's schema up to date", load: async () => (await import("./migrate.ts")).migrate },
  completion: {
    summary: "print a script that completes commands in your shell",
    load: async () => (await import("./completion.ts")).completion,
  },
  version: { summary: "tell the version", load: async () => (await import("./version.ts")).version },
  help: { summary: "tell more about a command", load: async () => (await import("./help.ts")).help },
};
