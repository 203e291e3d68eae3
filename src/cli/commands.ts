/** The table of all commands. The code of a command is loaded only when it runs: loading the whole service to create a key would take
 *  longer than creating it. */
import type { CommandEntry } from "./command.ts";

export const COMMANDS: Readonly<Record<string, CommandEntry>> = {
  serve: { group: "service", summary: "run the service", load: async () => (await import("./serve.ts")).serve },
  init: {
    group: "service",
    summary: "write a configuration file that explains every setting",
    load: async () => (await import("./init.ts")).init,
  },
  config: { group: "service", summary: "check the configuration file", load: async () => (await import("./config.ts")).config },
  send: { group: "client", summary: "send a message through a running service", load: async () => (await import("./send.ts")).send },
  listen: {
    group: "client",
    summary: "print events as they happen, and forward them to a local URL",
    load: async () => (await import("./listen.ts")).listen,
  },
  trigger: { group: "client", summary: "cause an event in the test environment", load: async () => (await import("./trigger.ts")).trigger },
  api: { group: "client", summary: "send any request to the API", load: async () => (await import("./api.ts")).api },
  accounts: { group: "operator", summary: "list and create accounts", load: async () => (await import("./accounts.ts")).accounts },
  environments: {
    group: "operator",
    summary: "list environments, set their tier, define tiers",
    load: async () => (await import("./environments.ts")).environments,
  },
  keys: { group: "operator", summary: "create, list, rotate and revoke API keys", load: async () => (await import("./keys.ts")).keys },
  "signing-keys": {
    group: "operator",
    summary: "list and rotate the keys that access tokens are signed with",
    load: async () => (await import("./signing-keys.ts")).signingKeys,
  },
  audit: {
    group: "operator",
    summary: "list the audit log, and verify that it was not changed",
    load: async () => (await import("./audit.ts")).audit,
  },
  links: {
    group: "operator",
    summary: "show, add, test and pause the links to carriers",
    load: async () => (await import("./links.ts")).links,
  },
  senders: { group: "operator", summary: "list, add and remove senders", load: async () => (await import("./senders.ts")).senders },
  routes: { group: "operator", summary: "list, add and remove routes", load: async () => (await import("./routes.ts")).routes },
  inbound: {
    group: "operator",
    summary: "list inbound messages without an owner, and assign them to an account",
    load: async () => (await import("./inbound.ts")).inbound,
  },
  doctor: {
    group: "service",
    summary: "check everything that the service depends on",
    load: async () => (await import("./doctor.ts")).doctor,
  },
  backup: {
    group: "database",
    summary: "create, verify and restore backups of the embedded database",
    load: async () => (await import("./backup.ts")).backup,
  },
  hold: {
    group: "database",
    summary: "accept messages without submitting them to carriers",
    load: async () => (await import("./resume.ts")).hold,
  },
  resume: {
    group: "database",
    summary: "submit messages to carriers again, after a hold",
    load: async () => (await import("./resume.ts")).resume,
  },
  migrate: { group: "database", summary: "update the schema of the database", load: async () => (await import("./migrate.ts")).migrate },
  version: { group: "other", summary: "print the version", load: async () => (await import("./version.ts")).version },
  help: { group: "other", summary: "describe a command", load: async () => (await import("./help.ts")).help },
};
