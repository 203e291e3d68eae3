/** godwit senders: lists, adds and removes the senders on the links of an account. */
import { compile } from "../http/validate.ts";
import { NewSenderBody, SENDERS } from "../links/sender-setup.ts";
import { neededFlag, textFlag, UsageError, type Command, type Input } from "./command.ts";
import { recordIn, withSetup, type OpenedSetup } from "./open-setup.ts";
import { print } from "./output.ts";

export const senders: Command = {
  name: "senders",
  about: [
    "A sender is a number, a short code or a name from which an account sends on one of its links, in live. Senders of the configuration file are listed as well; change them in the file.",
    "Use the same --config and GODWIT_SECRET_KEY as the service.",
  ],
  usage: [
    "senders list [--account NAME|ID] [--json]",
    "senders add NUMBER --link LINK [flags] [--json]",
    "senders remove SENDER_ID [--account NAME|ID] [--json]",
  ],
  flags: {
    account: { type: "string", value: "NAME|ID", help: "the account, by name or id; needed when there are several" },
    link: { type: "string", value: "LINK", help: "the id of the link of the sender" },
    countries: { type: "string", value: "COUNTRIES", help: "the countries that it is used for, as two letters each, separated by commas" },
    pool: { type: "string", value: "NAME", help: "the pool of senders that share the messages" },
    preference: { type: "string", value: "NUMBER", help: "higher first" },
    rate: { type: "string", value: "NUMBER", help: "messages per second" },
  },
  settings: "database",
  hasTables: true,
  examples: [
    ["All senders:", "godwit senders list"],
    ["A new sender:", "godwit senders add +14155550100 --link lnk_01k9zs3v8mf4tb2xg1qj6n0d5c"],
  ],
  run: (input) => withSetup(input, "senders", (opened) => act(input, opened)),
};

async function act({ flags, words }: Input, { setup, call }: OpenedSetup): Promise<void> {
  const [verb, word = ""] = words;
  if (verb === "list") return print(flags, await SENDERS.list(setup, call.credential));
  if (word === "") throw new UsageError(verb === "add" ? "name the number" : "name the sender by its id, snd_…");
  if (verb === "remove") {
    await SENDERS.delete(setup, call, word);
    return print(flags, { id: word, deleted: true });
  }
  const [preference, rate] = [numberFlag(flags, "preference"), numberFlag(flags, "rate")];
  const pool = textFlag(flags, "pool");
  const request = {
    number: word,
    link_id: neededFlag(flags, "link"),
    ...(textFlag(flags, "countries") === undefined ? {} : { countries: listFlag(flags, "countries") }),
    ...(pool === undefined ? {} : { pool }),
    ...(preference === undefined ? {} : { preference }),
    ...(rate === undefined ? {} : { rate }),
  };
  const [fault] = compile(NewSenderBody, "body")(request);
  if (fault !== undefined) throw new UsageError(`${"pointer" in fault ? fault.pointer.slice(1) : ""}: ${fault.detail}`);
  print(flags, recordIn(await SENDERS.create(setup, call, request)));
}

/** The words of a flag, separated by commas. */
export const listFlag = (flags: Input["flags"], name: string): string[] =>
  (textFlag(flags, name) ?? "").split(",").flatMap((word) => (word.trim() === "" ? [] : [word.trim()]));

export function numberFlag(flags: Input["flags"], name: string): number | undefined {
  const text = textFlag(flags, name);
  if (text === undefined) return undefined;
  const value = Number(text);
  if (text.trim() === "" || !Number.isFinite(value)) throw new UsageError(`--${name} must be a number`);
  return value;
}
