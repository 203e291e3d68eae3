/** godwit links: shows the state of every link, and sets up the links of accounts. */
import { environmentVariables } from "../config.ts";
import { secretReader } from "../lib/secret-files.ts";
import { createLog } from "../model/log.ts";
import { cliOrigin } from "../model/origin.ts";
import { CARRIERS } from "../links/carrier-files.ts";
import { listLinks, type LinkReport } from "../links/link-record.ts";
import { simulatorLink } from "../links/link.ts";
import { PROVIDERS } from "../providers/providers.ts";
import { NewLinkBody, settingFaults, type NewLink } from "../links/link-definition.ts";
import { LINKS } from "../links/link-setup.ts";
import { LinkTester } from "../links/link-test.ts";
import { readAllLinks } from "../links/stored-link.ts";
import { readPauses, setPaused, unusable } from "../links/pauses.ts";
import {
  ACCOUNT_FLAG,
  EXIT,
  neededFlag,
  numberFlag,
  pairFlags,
  present,
  textFlag,
  UsageError,
  type Command,
  type Input,
} from "./command.ts";
import { checkRequest, recordIn, warnOfOtherLinks, withSetup } from "./open-setup.ts";
import { print, say } from "./output.ts";
import { withDatabase, type OpenedDatabase } from "./with-database.ts";

export const links: Command = {
  name: "links",
  about: [
    "A link is a connection to a carrier, from the configuration file or created by an account. It is connected, connecting, throttled, paused, or down when no node has it open. A paused link still receives. Changes take effect within seconds.",
    "add creates a link of an account, in live. --set takes the names of settings in the configuration file.",
  ],
  usage: [
    "links",
    "links list",
    "links add --provider smpp|twilio|whatsapp|http --name TEXT [--account NAME|ID] [flags]",
    "links show|pause|resume LINK",
    "links test|remove LINK [--account NAME|ID]",
  ],
  flags: {
    account: ACCOUNT_FLAG,
    provider: { value: "PROVIDER", choices: ["smpp", "twilio", "whatsapp", "http"], help: "protocol" },
    carrier: { value: "CARRIER", choices: CARRIERS, help: "carrier of the provider http" },
    name: { help: "name for people" },
    sender: { value: "SENDER", help: "sender of messages without one" },
    country: { value: "COUNTRY", help: "country of national numbers, as two letters" },
    rate: { value: "NUMBER", help: "parts or messages per second" },
    price: { value: "PLACE=NUMBER", isRepeated: true, help: "price of a segment to a country, a prefix, or all others (*)" },
    set: { value: "NAME=VALUE", isRepeated: true, help: "setting of the provider" },
    value: { value: "NAME=TEXT", isRepeated: true, help: "value of an HTTP carrier" },
    secret: { value: "NAME=VARIABLE", isRepeated: true, help: "secret, and the environment variable that contains it" },
  },
  settings: "database",
  usesSecrets: true,
  hasTables: true,
  examples: [
    ["Links that are not connected:", `godwit links --config godwit.toml --json | jq '.[] | select(.state != "connected")'`],
    [
      "A new link:",
      "godwit links add --provider twilio --name Twilio --set account_sid=AC123 --set public_url=https://sms.example --secret auth_token=TOKEN",
    ],
  ],
  exitCodes: { [EXIT.failed]: "failed; test: the carrier could not be reached, or refused the credentials" },
  async run(input) {
    const [verb = "list"] = input.words;
    const run = VERBS[verb] ?? list;
    return run(input);
  },
};

type Verb = (input: Input) => Promise<number | void>;

/** The links of the file and of all accounts. */
async function everyLink({ db, config }: OpenedDatabase) {
  const { links: created, titles, faults } = await readAllLinks(db);
  return { all: [simulatorLink(config.simulatorSpeed), ...config.plan.links, ...created], titles, faults };
}

type Shown = LinkReport & { title: string | null };

async function reportAll(opened: OpenedDatabase): Promise<Shown[]> {
  const { db, clock } = opened;
  const { all, titles, faults } = await everyLink(opened);
  const unread = Array.from(faults, ([name, fault]) => [name, unusable(fault)] as const);
  const pauses = new Map([...(await readPauses(db, clock.now())), ...unread]);
  return (await listLinks(db, all, clock.now())).map((report) => {
    const pause = pauses.get(report.name);
    return {
      ...report,
      title: titles.get(report.name) ?? null,
      ...(pause === undefined ? {} : { state: "paused" as const, reason: pause.detail }),
    };
  });
}

const list: Verb = (input) =>
  withDatabase(input, "links", async (opened) => {
    print(input.flags, await reportAll(opened), ({ name, title, provider, state, reason, rate, in_flight, last_error }) => ({
      name,
      title,
      provider,
      state,
      reason,
      rate,
      in_flight,
      last_error,
    }));
    await warnOfOtherLinks(opened);
  });

const show: Verb = (input) =>
  withDatabase(input, "links", async (opened) => {
    const name = wordOf(input.words);
    const report = (await reportAll(opened)).find((each) => each.name === name);
    if (report === undefined) throw noSuchLink(name);
    print(input.flags, report);
  });

const add: Verb = (input) =>
  withSetup(input, "links", async ({ setup, call }) => {
    const request = readRequest(input.flags);
    checkRequest(NewLinkBody, request, settingFaults(request));
    print(input.flags, recordIn(await LINKS.create(setup, call, request as unknown as NewLink)));
  });

const test: Verb = async (input) => {
  let isOk = false;
  await withSetup(input, "links", async (opened) => {
    const { setup, call } = opened;
    await requireCreated(opened, input.words, "godwit links shows its state, and godwit doctor whether its carrier can be reached");
    const tester = new LinkTester({ setup, providers: PROVIDERS, log: createLog("silent").log });
    const result = await tester.test(call, wordOf(input.words));
    isOk = result.ok;
    print(input.flags, result);
  });
  return isOk ? EXIT.done : EXIT.failed;
};

const remove: Verb = (input) =>
  withSetup(input, "links", async (opened) => {
    const { setup, call } = opened;
    const id = wordOf(input.words);
    await requireCreated(opened, input.words, "remove it there, and send SIGHUP to the nodes");
    await LINKS.delete(setup, call, id);
    print(input.flags, { id, deleted: true });
  });

const setPausedTo =
  (isPaused: boolean): Verb =>
  (input) =>
    withDatabase(input, "links", async (opened) => {
      const name = wordOf(input.words);
      const { db, clock } = opened;
      const link = (await everyLink(opened)).all.find((each) => each.name === name);
      if (link === undefined) throw noSuchLink(name);
      const isChanged = await setPaused(db, clock, { link, isPaused, origin: cliOrigin() });
      if (!isChanged) say(`the link ${name} is ${isPaused ? "already paused" : "not paused"}`);
      print(input.flags, { link: name, paused: isPaused });
    });

const VERBS: Readonly<Record<string, Verb>> = { list, show, add, test, remove, pause: setPausedTo(true), resume: setPausedTo(false) };

const wordOf = (words: readonly string[]): string => {
  const [, id = ""] = words;
  if (id === "") throw new UsageError("name the link, as godwit links shows it");
  return id;
};

/** Throws unless an account has created the link. `advice`: what to do with a link of the configuration file. */
async function requireCreated(opened: OpenedDatabase, words: readonly string[], advice: string): Promise<void> {
  const name = wordOf(words);
  const link = (await everyLink(opened)).all.find((each) => each.name === name);
  if (link === undefined) throw noSuchLink(name);
  if (link.accountId === null) throw new UsageError(`the link ${name} is defined in the configuration file: ${advice}`);
}

const noSuchLink = (name: string): UsageError => new UsageError(`there is no link ${name}; godwit links lists them`);

/** The request that the flags stand for. */
function readRequest(flags: Input["flags"]): Record<string, unknown> {
  const provider = neededFlag(flags, "provider");
  const faults: string[] = [];
  const secretOf = secretReader(environmentVariables(), faults);
  const secrets = Object.fromEntries(
    pairFlags(flags, "secret").map(([name, variable]) => {
      const secret = secretOf(variable);
      if (faults[0] !== undefined) throw new UsageError(faults[0]);
      if (secret === undefined) throw new UsageError(`--secret ${name}: the variable ${variable} is not set`);
      return [name, secret];
    }),
  );
  const own = Object.fromEntries(pairFlags(flags, "set").map(([name, text]) => [name, typed(provider, name, text)]));
  const values = Object.fromEntries(pairFlags(flags, "value"));
  return present({
    name: neededFlag(flags, "name"),
    provider,
    carrier: textFlag(flags, "carrier"),
    sender: textFlag(flags, "sender"),
    country: textFlag(flags, "country"),
    rate: numberFlag(flags, "rate"),
    prices:
      flags["price"] === undefined
        ? undefined
        : Object.fromEntries(pairFlags(flags, "price").map(([place, price]) => [place, Number(price || Number.NaN)])),
    settings: provider === "http" ? { ...own, secrets, values } : { ...own, ...secrets },
  });
}

/** A setting that must not be a text is read as JSON: a number, true, or a list. */
function typed(provider: string, name: string, text: string): unknown {
  const isText = settingFaults({ provider, settings: { [name]: text } }).every(({ code }) => code !== "invalid_type");
  if (isText) return text;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}
