/** godwit accounts: lists and creates accounts. */
import { createAccount, limitKeyLife } from "../access/accounts.ts";
import { listAccounts, type AccountRow } from "../access/queries.ts";
import { encodeId } from "../model/id.ts";
import { cliOrigin } from "../model/origin.ts";
import { seedTemplates } from "../templates/seed.ts";
import { neededFlag, readDuration, UsageError, type Command, type Input } from "./command.ts";
import { print } from "./output.ts";
import { chooseAccount, withDatabase, withNewDatabase } from "./with-database.ts";

const record = ({ id, name, created_at, max_key_life_seconds }: AccountRow) => ({
  id: encodeId("acct", id),
  name,
  created_at: created_at.toISOString(),
  max_key_life_seconds,
});

export const accounts: Command = {
  name: "accounts",
  about: [
    "An account is a customer of the installation. It cannot see the data of other accounts. The first start creates the account default.",
  ],
  usage: ["accounts list", "accounts create NAME", "accounts set-key-life NAME --max 90d|none"],
  flags: { max: { value: "TIME", help: "longest lifetime of new keys, such as 90d, or none" } },
  settings: "database",
  hasTables: true,
  examples: [["A new account:", 'godwit accounts create "second house"']],
  async run(input) {
    const [verb, name] = input.words;
    if (verb === "list") return withDatabase(input, "accounts", async ({ db }) => print(input.flags, (await listAccounts(db)).map(record)));
    if (verb === "set-key-life") return setKeyLife(input);
    if (name === undefined || !/^[\w .-]{1,64}$/.test(name))
      throw new UsageError("name the account with up to 64 letters, digits, spaces, dots, dashes or underscores");
    return withNewDatabase(input, "accounts", async ({ db, clock }) => {
      const account = await createAccount(db, clock, { name, origin: cliOrigin() }, (tx, owner) => seedTemplates(tx, clock, owner));
      if (account === undefined) throw new UsageError(`there is already an account ${name}`);
      print(input.flags, record(account));
    });
  },
};

async function setKeyLife(input: Input): Promise<void> {
  const seconds = neededFlag(input.flags, "max") === "none" ? null : (readDuration(input, "max") ?? null);
  if (seconds === 0) throw new UsageError("--max must be longer than 0");
  await withDatabase(input, "accounts", async ({ db, clock }) => {
    const account = await chooseAccount(db, input.words[1]);
    await limitKeyLife(db, clock, account, { seconds, origin: cliOrigin() });
    print(input.flags, record({ ...account, max_key_life_seconds: seconds }));
  });
}
