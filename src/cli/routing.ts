/** godwit senders and godwit routes: list, add and remove the senders and the routes on the links of an account. */
import type { Flags } from "../config.ts";
import { NewRouteBody, ROUTES } from "../links/route-setup.ts";
import { NewSenderBody, SENDERS } from "../links/sender-setup.ts";
import { STRATEGIES } from "../links/strategy.ts";
import { ACCOUNT_FLAG, listFlag, neededFlag, numberFlag, present, textFlag, UsageError, type Command, type Input } from "./command.ts";
import { checkRequest, recordIn, warnOfOtherLinks, withSetup } from "./open-setup.ts";
import { print } from "./output.ts";

export const senders: Command = {
  name: "senders",
  about: [
    "A sender is a number, a short code or a name from which an account sends on a link, in live. Change senders of the configuration file in the file.",
  ],
  usage: [
    "senders list [--account NAME|ID]",
    "senders add NUMBER --link LINK [--account NAME|ID] [flags]",
    "senders remove SENDER_ID [--account NAME|ID]",
  ],
  flags: {
    account: ACCOUNT_FLAG,
    link: { value: "LINK", help: "id of its link" },
    countries: { value: "COUNTRIES", help: "countries of recipients, two letters each, separated by commas" },
    pool: { value: "NAME", help: "pool of senders that share the messages" },
    preference: { value: "NUMBER", help: "higher first" },
    rate: { value: "NUMBER", help: "messages per second" },
  },
  examples: [["A new sender:", "godwit senders add +14155550100 --link lnk_01k9zs3v8mf4tb2xg1qj6n0d5c"]],
  settings: "database",
  usesSecrets: true,
  hasTables: true,
  run: (input) => act(input, SENDERS),
};

export const routes: Command = {
  name: "routes",
  about: [
    "A route selects the links of an account for the messages of a channel, by country or prefix, in live. Without routes, all links are used, oldest first. Change routes of the configuration file in the file.",
  ],
  usage: [
    "routes list [--account NAME|ID]",
    "routes add --channel sms|whatsapp --links LINKS [--account NAME|ID] [flags]",
    "routes remove ROUTE_ID [--account NAME|ID]",
  ],
  flags: {
    account: ACCOUNT_FLAG,
    channel: { value: "CHANNEL", choices: ["sms", "whatsapp"], help: "channel of the messages" },
    links: { value: "LINKS", help: "ids of the links in their order, separated by commas" },
    countries: { value: "COUNTRIES", help: "countries of recipients, two letters each, separated by commas" },
    prefixes: { value: "PREFIXES", help: "prefixes of numbers, separated by commas" },
    priority: { value: "NUMBER", help: "higher first" },
    weights: { value: "NUMBERS", help: "weight of each link to be chosen first, separated by commas" },
    strategy: { value: "STRATEGY", choices: STRATEGIES, help: "first the links that deliver best, or the cheapest that deliver well" },
  },
  examples: [
    ["The cheaper of two carriers that deliver well:", "godwit routes add --channel sms --links lnk_A,lnk_B --strategy price"],
    ["Another carrier for Germany:", "godwit routes add --channel sms --countries DE --links lnk_01k9zs3v8mf4tb2xg1qj6n0d5c"],
  ],
  settings: "database",
  usesSecrets: true,
  hasTables: true,
  run: (input) => act(input, ROUTES),
};

const act = (input: Input, resource: typeof SENDERS | typeof ROUTES): Promise<void> =>
  withSetup(input, `${resource.noun}s`, async (opened) => {
    const { setup, call } = opened;
    const { flags, words } = input;
    const [verb, word = ""] = words;
    if (verb === "list") {
      print<object>(flags, await resource.list(setup, call.credential));
      return warnOfOtherLinks(opened);
    }
    if (verb === "remove") {
      await resource.delete(setup, call, needed(word, `name the ${resource.noun} by its id`));
      return print(flags, { id: word, deleted: true });
    }
    const request = present(resource === SENDERS ? newSender(flags, word) : newRoute(flags));
    checkRequest(resource === SENDERS ? NewSenderBody : NewRouteBody, request);
    print(flags, recordIn(await resource.create(setup, call, request as never)));
  });

const newSender = (flags: Flags, number: string): object => ({
  number: needed(number, "name the number"),
  link_id: neededFlag(flags, "link"),
  countries: listFlag(flags, "countries"),
  pool: textFlag(flags, "pool"),
  preference: numberFlag(flags, "preference"),
  rate: numberFlag(flags, "rate"),
});

const newRoute = (flags: Flags): object => ({
  channel: neededFlag(flags, "channel"),
  links: neededFlag(flags, "links") && listFlag(flags, "links"),
  countries: listFlag(flags, "countries"),
  prefixes: listFlag(flags, "prefixes"),
  priority: numberFlag(flags, "priority"),
  weights: listFlag(flags, "weights")?.map(Number),
  strategy: textFlag(flags, "strategy"),
});

function needed(word: string, advice: string): string {
  if (word === "") throw new UsageError(advice);
  return word;
}
