/** godwit keys: API keys, whose secret is shown when they are made and never again. */
import { createFirstAccount } from "../access/accounts.ts";
import { isEnvironment } from "../access/environment.ts";
import { createKey, keyRecord, rotateKey, type CreatedKey } from "../access/keys.ts";
import { findKey, listKeys, revokeKey, type KeyRow } from "../access/queries.ts";
import { parseScopes, SCOPES, type Scope } from "../access/scope.ts";
import { decodeId } from "../lib/id.ts";
import type { Database } from "../storage/database.ts";
import { seedTemplates } from "../templates/seed.ts";
import { chooseAccount, neededFlag, print, textFlag, UsageError, withDatabase, type Command, type Input } from "./command.ts";

export const keys: Command = {
  name: "keys",
  usage: [
    "keys create --environment test|live --scopes a,b [--account NAME|ID] [--name TEXT] [--expires-in 90d] [--json]",
    "keys list [--account NAME|ID] [--json]",
    "keys rotate KEY_ID [--overlap 24h] [--json]",
    "keys revoke KEY_ID [--json]",
  ],
  flags: {
    account: { type: "string", help: "the account, by name or id; needed when there are several" },
    environment: { type: "string", help: "test or live" },
    scopes: { type: "string", help: `what the key may do, separated by commas: ${SCOPES.join(", ")}` },
    name: { type: "string", help: "a name for people" },
    "expires-in": { type: "string", help: "how long the key lives, such as 90d; without it, until revoked" },
    overlap: { type: "string", help: "how long a rotated key goes on working, such as 24h (the default) or 0s" },
  },
  async run(input) {
    const [verb] = input.words;
    if (verb === "create") return create(input);
    if (verb === "list") return listAll(input);
    if (verb === "rotate") return rotate(input);
    if (verb === "revoke") return revoke(input);
    throw new UsageError("say what to do with keys");
  },
};

async function create(input: Input): Promise<void> {
  const environment = neededFlag(input.flags, "environment");
  if (!isEnvironment(environment)) throw new UsageError(`--environment must be test or live, not ${environment}`);
  const scopes = readScopes(neededFlag(input.flags, "scopes"));
  const name = textFlag(input.flags, "name") ?? null;
  if (name !== null && name.length > 64) throw new UsageError("--name may have 64 characters");
  const lifeSeconds = readDuration(input, "expires-in");
  if (lifeSeconds === 0) throw new UsageError("--expires-in must be longer than nothing");
  await withDatabase(input, "keys", async ({ db, clock }) => {
    // On a database that has not served yet there is nothing to choose from.
    await createFirstAccount(db, clock, (tx, owner) => seedTemplates(tx, clock, owner));
    const account = await chooseAccount(db, textFlag(input.flags, "account"));
    const expiresAt = lifeSeconds === undefined ? null : new Date(clock.now() + lifeSeconds * 1_000);
    show(input, await createKey(db, clock, { accountId: account.id, environment, scopes, name, expiresAt }));
  });
}

async function listAll(input: Input): Promise<void> {
  await withDatabase(input, "keys", async ({ db }) => {
    const account = await chooseAccount(db, textFlag(input.flags, "account"));
    print(input.flags, (await listKeys(db, account.id)).map(keyRecord));
  });
}

async function rotate(input: Input): Promise<void> {
  const overlapSeconds = readDuration(input, "overlap") ?? 24 * 3_600;
  await withDatabase(input, "keys", async ({ db, clock }) => {
    const old = await chooseKey(db, input);
    if (old.revoked_at !== null) throw new UsageError("this key is revoked; create a new one");
    show(input, await rotateKey(db, clock, old, overlapSeconds));
  });
}

async function revoke(input: Input): Promise<void> {
  await withDatabase(input, "keys", async ({ db }) => {
    const key = await chooseKey(db, input);
    const [revoked] = await revokeKey(db, key.account_id, key.id);
    print(input.flags, keyRecord(revoked ?? key));
  });
}

const show = ({ flags }: Input, { secret, key }: CreatedKey): void => print(flags, { key: secret, ...keyRecord(key) });

function readScopes(text: string): Scope[] {
  const parsed = parseScopes(text);
  if ("unknown" in parsed) throw new UsageError(`unknown scope ${parsed.unknown.join(", ")}; there are: ${SCOPES.join(", ")}`);
  if (parsed.scopes.length === 0) throw new UsageError("--scopes needs at least one scope");
  return parsed.scopes;
}

const UNIT_SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 };

function readDuration({ flags }: Input, name: string): number | undefined {
  const text = textFlag(flags, name);
  if (text === undefined) return undefined;
  const match = /^(\d{1,6})([smhd])$/.exec(text);
  if (match === null) throw new UsageError(`--${name} must be a number and a unit, such as 30m, 24h or 90d`);
  return Number(match[1]) * (UNIT_SECONDS[match[2] ?? "s"] ?? 1);
}

async function chooseKey(db: Database, { words }: Input): Promise<KeyRow> {
  const [, wanted] = words;
  const id = wanted === undefined ? undefined : decodeId("key", wanted);
  if (id === undefined) throw new UsageError("give the key's id, key_…; godwit keys list shows them");
  const [key] = await findKey(db, id);
  if (key === undefined) throw new UsageError(`no key ${wanted}`);
  return key;
}
