/** godwit routes: lists, adds and removes the routes among the links of an account. */
import { compile } from "../http/validate.ts";
import { NewRouteBody, ROUTES } from "../links/route-setup.ts";
import { neededFlag, textFlag, UsageError, type Command, type Input } from "./command.ts";
import { recordIn, withSetup, type OpenedSetup } from "./open-setup.ts";
import { print } from "./output.ts";
import { listFlag, numberFlag } from "./senders.ts";

export const routes: Command = {
  name: "routes",
  about: [
    "A route selects the links of an account for the messages of a channel, by the country or the prefix of the recipient, in live. Without routes, all links of the account are used, in the order of their creation. Routes of the configuration file are listed as well; change them in the file.",
    "Use the same --config and GODWIT_SECRET_KEY as the service.",
  ],
  usage: [
    "routes list [--account NAME|ID] [--json]",
    "routes add --channel sms|whatsapp --links LINKS [flags] [--json]",
    "routes remove ROUTE_ID [--account NAME|ID] [--json]",
  ],
  flags: {
    account: { type: "string", value: "NAME|ID", help: "the account, by name or id; needed when there are several" },
    channel: { type: "string", value: "CHANNEL", choices: ["sms", "whatsapp"], help: "the channel of the messages" },
    links: { type: "string", value: "LINKS", help: "the ids of the links in their order, separated by commas" },
    countries: {
      type: "string",
      value: "COUNTRIES",
      help: "only for recipients in these countries, as two letters each, separated by commas",
    },
    prefixes: { type: "string", value: "PREFIXES", help: "only for numbers with these prefixes, separated by commas" },
    priority: { type: "string", value: "NUMBER", help: "higher first" },
    weights: {
      type: "string",
      value: "NUMBERS",
      help: "one for each link, separated by commas: the first link is chosen at random by weight",
    },
  },
  settings: "database",
  hasTables: true,
  examples: [
    ["All routes:", "godwit routes list"],
    ["Another carrier for Germany:", "godwit routes add --channel sms --countries DE --links lnk_01k9zs3v8mf4tb2xg1qj6n0d5c"],
  ],
  run: (input) => withSetup(input, "routes", (opened) => act(input, opened)),
};

async function act({ flags, words }: Input, { setup, call }: OpenedSetup): Promise<void> {
  const [verb, word = ""] = words;
  if (verb === "list") return print(flags, await ROUTES.list(setup, call.credential));
  if (verb === "remove") {
    if (word === "") throw new UsageError("name the route by its id, rte_…");
    await ROUTES.delete(setup, call, word);
    return print(flags, { id: word, deleted: true });
  }
  const priority = numberFlag(flags, "priority");
  const channel = neededFlag(flags, "channel");
  neededFlag(flags, "links");
  const lists = ["countries", "prefixes"].filter((name) => textFlag(flags, name) !== undefined);
  const request = {
    channel: channel as "sms" | "whatsapp",
    links: listFlag(flags, "links"),
    ...Object.fromEntries(lists.map((name) => [name, listFlag(flags, name)])),
    ...(priority === undefined ? {} : { priority }),
    ...(textFlag(flags, "weights") === undefined ? {} : { weights: listFlag(flags, "weights").map(Number) }),
  };
  const [fault] = compile(NewRouteBody, "body")(request);
  if (fault !== undefined) throw new UsageError(`${"pointer" in fault ? fault.pointer.slice(1) : ""}: ${fault.detail}`);
  print(flags, recordIn(await ROUTES.create(setup, call, request)));
}
