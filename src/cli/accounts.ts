/** godwit accounts: lists and creates accounts. */
import { createAccount, limitKeyLife } from "../access/accounts.ts";
import { listAccounts, type AccountRow } from "../access/queries.ts";
import { encodeId } from "../lib/id.ts";
import { cliOrigin } from "../lib/origin.ts";
import { seedTemplates } from "../templates/seed.ts";
import { neededFlag, readDuration, UsageError, type Command, type Input } from "./command.ts";
import { print } from "./output.ts";
import { chooseAccount, withDatabase } from "./with-database.ts";

const record = ({ id, name, created_at, max_key_life_seconds }: AccountRow) => ({
  id: encodeId("acct", id),
  name,
  created_at: created_at.toISOString(),
  max_key_life_seconds,
});

export const accounts: Command = {
  name: "accounts",
  about: [
    "An account is a customer of the service: it has a test and a live environment, and sees nothing of the others. The first start makes one, called default.",
    "Works beside a running server, on the data directory of a stopped one, and on DATABASE_URL.",
  ],
  usage: ["accounts list [--json]", "accounts create NAME [--json]", "accounts set-key-life NAME --max 90d|none [--json]"],
  flags: { max: { type: "string", value: "TIME", help: "how long new keys of the account live at most, such as 90d, or none" } },
  settings: "database",
  examples: [
    ["Who is there?", "godwit accounts list"],
    ["One more:", 'godwit accounts create "second house"'],
    ["New keys live for at most ninety days:", "godwit accounts set-key-life default --max 90d"],
  ],
  async run(input) {
    const [verb, name] = input.words;
    if (verb === "list") return withDatabase(input, "accounts", async ({ db }) => print(input.flags, (await listAccounts(db)).map(record)));
    if (verb === "set-key-life") return setKeyLife(input);
    if (name === undefined || !/^[\w .-]{1,64}$/.test(name))
      throw new UsageError("give the account a name of up to 64 letters, digits, spaces, dots, dashes or underscores");
    return withDatabase(input, "accounts", async ({ db, clock }) => {
      const account = await createAccount(db, clock, { name, origin: cliOrigin() }, (tx, owner) => seedTemplates(tx, clock, owner));
      if (account === undefined) throw new UsageError(`there is an account ${name} already`);
      print(input.flags, record(account));
    });
  },
};

async function setKeyLife(input: Input): Promise<void> {
  const seconds = neededFlag(input.flags, "max") === "none" ? null : (readDuration(input, "max") ?? null);
  if (seconds === 0) throw new UsageError("--max must be longer than nothing");
  await withDatabase(input, "accounts", async ({ db, clock }) => {
    const account = await chooseAccount(db, input.words[1]);
    await limitKeyLife(db, clock, account, { seconds, origin: cliOrigin() });
    print(input.flags, record({ ...account, max_key_life_seconds: seconds }));
  });
}
