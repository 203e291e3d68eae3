/** godwit accounts: lists and creates accounts. */
import { createAccount } from "../access/accounts.ts";
import { listAccounts, type AccountRow } from "../access/queries.ts";
import { encodeId } from "../lib/id.ts";
import { seedTemplates } from "../templates/seed.ts";
import { UsageError, type Command } from "./command.ts";
import { print } from "./output.ts";
import { withDatabase } from "./with-database.ts";

const record = ({ id, name, created_at }: AccountRow) => ({ id: encodeId("acct", id), name, created_at: created_at.toISOString() });

export const accounts: Command = {
  name: "accounts",
  about: [
    "An account is a customer of the service: it has a test and a live environment, and sees nothing of the others. The first start makes one, called default.",
    "Works beside a running server, on the data directory of a stopped one, and on DATABASE_URL.",
  ],
  usage: ["accounts list [--json]", "accounts create NAME [--json]"],
  flags: {},
  settings: "database",
  examples: [
    ["Who is there?", "godwit accounts list"],
    ["One more:", 'godwit accounts create "second house"'],
  ],
  async run(input) {
    const [verb, name] = input.words;
    if (verb === "list") return withDatabase(input, "accounts", async ({ db }) => print(input.flags, (await listAccounts(db)).map(record)));
    if (name === undefined || !/^[\w .-]{1,64}$/.test(name))
      throw new UsageError("give the account a name of up to 64 letters, digits, spaces, dots, dashes or underscores");
    return withDatabase(input, "accounts", async ({ db, clock }) => {
      const account = await createAccount(db, clock, name, (tx, owner) => seedTemplates(tx, clock, owner));
      if (account === undefined) throw new UsageError(`there is an account ${name} already`);
      print(input.flags, record(account));
    });
  },
};
