/** The table of all commands. The code of a command is loaded only when it runs: loading the whole service to create a key would take
 *  longer than creating it. */
import type { CommandEntry } from "./command.ts";

export const COMMANDS: Readonly<Record<string, CommandEntry>> = {
  serve: { summary: "run the service", load: async () => (await import("./serve.ts")).serve },
  init: { summary: "write a configuration file that explains every setting", load: async () => (await import("./init.ts")).init },
  config: { summary: "check the configuration file", load: async () => (await import("./config.ts")).config },
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
  links: { summary: "show, add, test and pause the links to carriers", load: async () => (await import("./links.ts")).links },
  senders: { summary: "list, add and remove senders", load: async () => (await import("./senders.ts")).senders },
  routes: { summary: "list, add and remove routes", load: async () => (await import("./routes.ts")).routes },
  inbound: {
    summary: "list inbound messages without an owner, and assign them to an account",
    load: async () => (await import("./inbound.ts")).inbound,
  },
  doctor: { summary: "check everything the service stands on", load: async () => (await import("./doctor.ts")).doctor },
  backup: {
    summary: "create, verify and restore backups of the embedded database",
    load: async () => (await import("./backup.ts")).backup,
  },
  database: {
    summary: "move the embedded database to a newer PostgreSQL",
    load: async () => (await import("./database.ts")).database,
  },
  hold: { summary: "accept messages, and hand none over", load: async () => (await import("./resume.ts")).hold },
  resume: { summary: "hand messages over again, after a hold", load: async () => (await import("./resume.ts")).resume },
  migrate: { summary: "bring the database's schema up to date", load: async () => (await import("./migrate.ts")).migrate },
  completion: {
    summary: "print a script that completes commands in your shell",
    load: async () => (await import("./completion.ts")).completion,
  },
  version: { summary: "tell the version", load: async () => (await import("./version.ts")).version },
  help: { summary: "tell more about a command", load: async () => (await import("./help.ts")).help },
};
