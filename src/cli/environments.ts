/** godwit environments: lists environments, and sets and defines their tiers. */
import { recordChange, recordInstallationChange } from "../audit/record-change.ts";
import { cliOrigin } from "../model/origin.ts";
import { listEnvironments, listTiers, setTier, upsertTier, type EnvironmentRow } from "../access/queries.ts";
import { encodeId } from "../model/id.ts";
import { isEnvironment } from "../model/owner.ts";
import { ACCOUNT_FLAG, neededFlag, textFlag, UsageError, type Command, type Input } from "./command.ts";
import { print } from "./output.ts";
import { chooseAccount, withDatabase } from "./with-database.ts";

const record = (row: EnvironmentRow) => ({ ...row, account_id: encodeId("acct", row.account_id) });

function toRow(row: ReturnType<typeof record>): object {
  const { account_id: _, ...shown } = row;
  return shown;
}

export const environments: Command = {
  name: "environments",
  about: [
    "Every account has two environments, test and live. The tier of an environment is its quota: the requests per second, and the size of a burst. A change takes effect within about a second.",
  ],
  usage: [
    "environments list",
    "environments set-tier test|live TIER [--account NAME|ID]",
    "environments tiers",
    "environments define-tier NAME --rate NUMBER --burst NUMBER",
  ],
  flags: {
    account: ACCOUNT_FLAG,
    rate: { value: "NUMBER", help: "requests per second" },
    burst: { value: "NUMBER", help: "requests at once" },
  },
  settings: "database",
  hasTables: true,
  examples: [
    ["Define a tier:", "godwit environments define-tier partner --rate 500 --burst 1000"],
    ["Use it for live:", "godwit environments set-tier live partner"],
  ],
  async run(input) {
    const [verb] = input.words;
    if (verb === "list")
      return withDatabase(input, "environments", async ({ db }) => print(input.flags, (await listEnvironments(db)).map(record), toRow));
    if (verb === "tiers") return withDatabase(input, "environments", async ({ db }) => print(input.flags, await listTiers(db)));
    if (verb === "set-tier") return changeTier(input);
    return defineTier(input);
  },
};

async function changeTier(input: Input): Promise<void> {
  const [, environment, tier] = input.words;
  if (!isEnvironment(environment) || tier === undefined) throw new UsageError("name the environment, test or live, and the tier");
  await withDatabase(input, "environments", async ({ db, clock }) => {
    const tiers = await listTiers(db);
    if (!tiers.some(({ name }) => name === tier))
      throw new UsageError(`no tier ${tier}; there are: ${tiers.map(({ name }) => name).join(", ")}`);
    const account = await chooseAccount(db, textFlag(input.flags, "account"));
    await db.transaction(async (tx) => {
      await setTier(tx, account.id, environment, tier);
      const owner = { accountId: account.id, environment, origin: cliOrigin() };
      const target = { type: "environment", id: environment } as const;
      await recordChange(tx, clock.now(), owner, { action: "environment.tier_changed", target, changes: { tier } });
    });
    print(input.flags, { account: account.name, environment, tier });
  });
}

async function defineTier(input: Input): Promise<void> {
  const [, name] = input.words;
  if (name === undefined || !/^[a-z0-9_-]{1,32}$/.test(name))
    throw new UsageError("name the tier in up to 32 lower-case letters, digits, dashes or underscores");
  const tier = { name, requests_per_second: positive(input, "rate", 1_000_000), burst: positive(input, "burst", 10_000_000) };
  if (tier.burst < tier.requests_per_second / 2)
    throw new UsageError("--burst must be at least half of --rate: nodes share it in leases of a fraction of a second");
  await withDatabase(input, "environments", async ({ db, clock }) => {
    await db.transaction(async (tx) => {
      await upsertTier(tx, tier);
      const { name: id, ...changes } = tier;
      await recordInstallationChange(tx, clock.now(), cliOrigin(), { action: "tier.changed", target: { type: "tier", id }, changes });
    });
    print(input.flags, tier);
  });
}

function positive({ flags }: Input, name: string, most: number): number {
  const value = Number(neededFlag(flags, name));
  if (!Number.isInteger(value) || value < 1 || value > most) throw new UsageError(`--${name} must be a whole number from 1 to ${most}`);
  return value;
}
