/** godwit config check: reads the configuration as `serve` does, and reports every fault and placeholder, or the links, senders and routes.
 *  Opens no database and no connection. */
import { inspectConfig } from "../config.ts";
import { callbackPath } from "../links/link-record.ts";
import type { Plan } from "../links/plan.ts";
import { asObject, isObject } from "../providers/carrier-fields.ts";
import { EXIT, UsageError, type Command } from "./command.ts";
import { print } from "./output.ts";
import { isPlaceholder } from "./starter-links.ts";

export const config: Command = {
  name: "config",
  about: [
    "Reads the configuration file and the settings as serve does, and prints every fault, or the links, senders and routes. It opens no connection: doctor does that.",
    "Run it with the environment of the service, because a missing secret is a fault. A placeholder that init wrote is a fault too. Without FILE it reads that of --config.",
  ],
  usage: ["config check [FILE] [settings]"],
  flags: {},
  settings: "service",
  hasTables: true,
  examples: [
    ["Check a file:", "godwit config check godwit.toml"],
    ["The faults, for a script:", "godwit config check godwit.toml --json | jq -r '.faults[]'"],
  ],
  exitCodes: { 0: "no fault", 1: "a fault or a placeholder", 2: "wrong use" },
  async run({ flags, words: [, named] }) {
    const inspected = inspectConfig(named === undefined ? flags : { ...flags, config: named }, "serve");
    const { config: read, file, tables } = inspected;
    if (file === undefined) throw new UsageError("name a file, or set GODWIT_CONFIG");
    const faults = [...inspected.faults, ...tablePlaceholders("link", tables.link), ...tablePlaceholders("sender", tables.sender)];
    const found = describePlan(read.plan);
    if (flags["json"] === true) print(flags, { file, faults, ...found });
    else if (faults.length > 0) process.stdout.write(faultsText(file, faults));
    else {
      process.stdout.write(`${file}: no fault\n`);
      for (const [name, rows] of Object.entries(found)) {
        process.stdout.write(`\n${name}\n`);
        print<object>(flags, rows);
      }
    }
    return faults.length > 0 ? EXIT.failed : EXIT.done;
  },
};

const faultsText = (file: string, faults: readonly string[]): string =>
  `${file}: ${faults.length} fault${faults.length === 1 ? "" : "s"}\n${faults.map((fault) => `  - ${fault}\n`).join("")}`;

/** The placeholders in the tables of one kind. They are valid values, so the service starts with them. */
const tablePlaceholders = (kind: string, tables: unknown): string[] =>
  (Array.isArray(tables) ? tables : []).flatMap((table: unknown, index) => {
    const fields = asObject(table);
    const { name } = fields;
    return findPlaceholders(`${kind} ${typeof name === "string" ? name : index + 1}`, fields);
  });

const findPlaceholders = (at: string, fields: Readonly<Record<string, unknown>>): string[] =>
  Object.entries(fields).flatMap(([name, value]) => {
    if (isObject(value)) return findPlaceholders(`${at}: ${name}`, value);
    const found = [value].flat().find((each) => isPlaceholder(name, each));
    return found === undefined ? [] : [`${at}: ${name}: is still the placeholder ${found}; replace it by your own value`];
  });

/** The settings of links are left out, because they contain secrets. */
const describePlan = ({ links, senders, routes }: Plan) => ({
  links: links.map(({ name, provider, channels, sender, country }) => {
    const path = callbackPath({ name, provider });
    return { name, provider, channels, sender, country, callback_path: path };
  }),
  senders: senders.map(({ number, link, account, environment, countries = null }) => ({ number, link, account, environment, countries })),
  routes: routes.map(({ channel, links: taken, account = null, countries = null, prefixes = null, priority = 0 }) => ({
    channel,
    links: taken,
    account,
    countries,
    prefixes,
    priority,
  })),
});
