/** The table of all commands. The code of a command is loaded only when it runs: loading the whole service to create a key would take
 *  longer than creating it. */
import type { CommandEntry } from "./command.ts";

const row = (group: CommandEntry["group"], summary: string, load: CommandEntry["load"]): CommandEntry => ({ group, summary, load });

export const COMMANDS: Readonly<Record<string, CommandEntry>> = {
  serve: row("service", "run the service", async () => (await import("./serve.ts")).serve),
  init: row("service", "write a configuration file", async () => (await import("./init.ts")).init),
  config: row("service", "check the configuration file", async () => (await import("./config.ts")).config),
  send: row("client", "send a message, or one to each row of a file", async () => (await import("./send.ts")).send),
  media: row("client", "upload, list, download and delete files", async () => (await import("./media.ts")).media),
  listen: row("client", "print events, and forward them to a local URL", async () => (await import("./listen.ts")).listen),
  trigger: row("client", "cause an event in the test environment", async () => (await import("./trigger.ts")).trigger),
  api: row("client", "send any request to the API", async () => (await import("./api.ts")).api),
  requests: row("client", "print the request log", async () => (await import("./requests.ts")).requests),
  accounts: row("operator", "list and create accounts", async () => (await import("./accounts.ts")).accounts),
  environments: row(
    "operator",
    "list environments, set their tier, define tiers",
    async () => (await import("./environments.ts")).environments,
  ),
  keys: row("operator", "create, list, rotate and revoke API keys", async () => (await import("./keys.ts")).keys),
  "kannel-credentials": row(
    "operator",
    "create, list and revoke users of the Kannel API",
    async () => (await import("./compatible-credentials.ts")).kannelCredentials,
  ),
  "twilio-credentials": row(
    "operator",
    "create, list and revoke users of the Twilio API",
    async () => (await import("./compatible-credentials.ts")).twilioCredentials,
  ),
  "signing-keys": row("operator", "list and rotate the keys of access tokens", async () => (await import("./signing-keys.ts")).signingKeys),
  audit: row("operator", "list, verify and export the audit log", async () => (await import("./audit.ts")).audit),
  find: row("operator", "find messages of all accounts", async () => (await import("./find.ts")).find),
  links: row("operator", "show, add, test and pause links to carriers", async () => (await import("./links.ts")).links),
  carriers: row("operator", "list HTTP carriers, and try a definition", async () => (await import("./carriers.ts")).carriers),
  senders: row("operator", "list, add and remove senders", async () => (await import("./routing.ts")).senders),
  routes: row("operator", "list, add and remove routes", async () => (await import("./routing.ts")).routes),
  inbound: row("operator", "assign inbound messages without an owner", async () => (await import("./inbound.ts")).inbound),
  doctor: row("service", "check everything that the service depends on", async () => (await import("./doctor.ts")).doctor),
  backup: row("database", "create, verify and restore backups", async () => (await import("./backup.ts")).backup),
  hold: row("database", "accept messages, but submit none to carriers", async () => (await import("./resume.ts")).hold),
  resume: row("database", "end a hold", async () => (await import("./resume.ts")).resume),
  migrate: row("database", "update the schema", async () => (await import("./migrate.ts")).migrate),
  version: row("other", "print the version", async () => (await import("./help.ts")).version),
  help: row("other", "describe a command", async () => (await import("./help.ts")).help),
};
