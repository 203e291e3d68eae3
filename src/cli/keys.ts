/** godwit keys: creates, lists, rotates and revokes API keys. The secret of a key is shown only when the key is created. */
import { createFirstAccount } from "../access/accounts.ts";
import { createKey, revokeKeyIn, rotateKey, type CreatedKey } from "../access/api-key.ts";
import { keyRecord, MAX_ALLOWED_IPS } from "../access/key-record.ts";
import { findKey, listKeys, type KeyRow } from "../access/queries.ts";
import { parseScopes, SCOPES, type Scope } from "../access/scope.ts";
import { Problem } from "../http/problem.ts";
import { parseCidr } from "../lib/addresses.ts";
import { decodeId } from "../lib/id.ts";
import { cliOrigin } from "../lib/origin.ts";
import type { Database } from "../storage/database.ts";
import { isEnvironment } from "../storage/owner.ts";
import { seedTemplates } from "../templates/seed.ts";
import { neededFlag, readDuration, textFlag, UsageError, type Command, type Input } from "./command.ts";
import { print } from "./output.ts";
import { chooseAccount, withDatabase } from "./with-database.ts";

export const keys: Command = {
  name: "keys",
  about: [
    "An API key belongs to one environment of one account, and may do what its scopes say. It is shown once, when it is made: only a hash is kept.",
    "A rotated key goes on working for the overlap; a revoked one is refused within about a second on every node. Works beside a running server, on the data directory of a stopped one, and on DATABASE_URL.",
  ],
  usage: [
    "keys create --environment test|live --scopes a,b [--account NAME|ID] [--name TEXT] [--expires-in 90d] [--allowed-ips IPS] [--json]",
    "keys list [--account NAME|ID] [--json]",
    "keys rotate KEY_ID [--overlap 24h] [--json]",
    "keys revoke KEY_ID [--json]",
  ],
  flags: {
    account: { type: "string", value: "NAME|ID", help: "the account, by name or id; needed when there are several" },
    environment: { type: "string", value: "ENVIRONMENT", choices: ["test", "live"], help: "the environment the key belongs to" },
    scopes: { type: "string", value: "SCOPES", choices: ["all", ...SCOPES], isList: true, help: "what the key may do, or all" },
    name: { type: "string", help: "a name for people" },
    "expires-in": { type: "string", value: "TIME", help: "how long the key lives, such as 90d; without it, until revoked" },
    "allowed-ips": {
      type: "string",
      value: "BLOCKS",
      help: "the addresses from which the key can be used, as CIDR blocks separated by commas",
    },
    overlap: { type: "string", value: "TIME", fallback: "24h", help: "how long a rotated key goes on working, such as 24h or 0s" },
  },
  settings: "database",
  examples: [
    [
      "A key that sends and reads, as JSON with the member `key`:",
      "godwit keys create --environment test --scopes messages:send,messages:read --json",
    ],
    ["One for ninety days:", "godwit keys create --environment live --scopes messages:send --name checkout --expires-in 90d"],
    ["A new secret, the old one for one more hour:", "godwit keys rotate key_01k9zs3v8mf4tb2xg1qj6n0d5c --overlap 1h"],
  ],
  async run(input) {
    const [verb] = input.words;
    if (verb === "create") return create(input);
    if (verb === "list") return listAll(input);
    if (verb === "rotate") return rotate(input);
    return revoke(input);
  },
};

async function create(input: Input): Promise<void> {
  const environment = neededFlag(input.flags, "environment");
  if (!isEnvironment(environment)) throw new UsageError(`--environment must be test or live, not ${environment}`);
  const scopes = readScopes(neededFlag(input.flags, "scopes"));
  const name = textFlag(input.flags, "name") ?? null;
  if (name !== null && name.length > 64) throw new UsageError("--name may have 64 characters");
  const lifeSeconds = readDuration(input, "expires-in");
  const allowedIps = readAllowedIps(textFlag(input.flags, "allowed-ips"));
  if (lifeSeconds === 0) throw new UsageError("--expires-in must be longer than nothing");
  await withDatabase(input, "keys", async ({ db, clock }) => {
    // Before the first start of the service the database has no account.
    await createFirstAccount(db, clock, (tx, owner) => seedTemplates(tx, clock, owner));
    const account = await chooseAccount(db, textFlag(input.flags, "account"));
    const expiresAt = lifeSeconds === undefined ? null : new Date(clock.now() + lifeSeconds * 1_000);
    const request = { accountId: account.id, environment, scopes, name, expiresAt, allowedIps, origin: cliOrigin() };
    show(input, await createKey(db, clock, request).catch(explainProblem));
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
    show(input, await rotateKey(db, clock, old, { overlapSeconds, expiresAt: null, origin: cliOrigin() }));
  });
}

async function revoke(input: Input): Promise<void> {
  await withDatabase(input, "keys", async ({ db, clock }) => {
    const key = await chooseKey(db, input);
    print(input.flags, keyRecord(await db.transaction((tx) => revokeKeyIn(tx, clock, key, cliOrigin()))));
  });
}

const show = ({ flags }: Input, { secret, key }: CreatedKey): void => print(flags, { key: secret, ...keyRecord(key) });

function readAllowedIps(text: string | undefined): string[] | null {
  if (text === undefined) return null;
  const blocks = text.split(",").map((block) => block.trim());
  const unknown = blocks.filter((block) => parseCidr(block) === undefined);
  if (unknown.length > 0)
    throw new UsageError(`--allowed-ips must be addresses or CIDR blocks such as 192.0.2.0/24, not ${unknown.join(", ")}`);
  if (blocks.length > MAX_ALLOWED_IPS) throw new UsageError(`--allowed-ips may have ${MAX_ALLOWED_IPS} blocks`);
  return blocks;
}

function explainProblem(error: unknown): never {
  throw error instanceof Problem ? new UsageError(error.detail) : error;
}

/** Stands for every scope. */
const ALL = "all";

function readScopes(text: string): Scope[] {
  if (text === ALL) return [...SCOPES];
  const parsed = parseScopes(text);
  if ("unknown" in parsed) throw new UsageError(`unknown scope ${parsed.unknown.join(", ")}; there are: all, ${SCOPES.join(", ")}`);
  if (parsed.scopes.length === 0) throw new UsageError("--scopes needs at least one scope");
  return parsed.scopes;
}

async function chooseKey(db: Database, { words }: Input): Promise<KeyRow> {
  const [, wanted] = words;
  const id = wanted === undefined ? undefined : decodeId("key", wanted);
  if (id === undefined) throw new UsageError("give the key's id, key_…; godwit keys list shows them");
  const [key] = await findKey(db, id);
  if (key === undefined) throw new UsageError(`no key ${wanted}`);
  return key;
}
