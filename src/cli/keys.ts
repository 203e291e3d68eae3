/** godwit keys: creates, lists, rotates and revokes API keys. The secret of a key is shown only when the key is created. */
import { createFirstAccount } from "../access/accounts.ts";
import { createKey, revokeKeyIn, rotateKeyIn, type CreatedKey } from "../access/api-key.ts";
import { keyRecord, MAX_ALLOWED_IPS, type KeyRecord } from "../access/key-record.ts";
import { findKey, listKeys, type KeyRow } from "../access/queries.ts";
import { parseScopes, SCOPE_PRESETS, SCOPES, type Scope } from "../access/scope.ts";
import { Problem } from "../http/problem.ts";
import { parseCidr } from "../lib/addresses.ts";
import { didYouMean } from "../lib/nearest.ts";
import { decodeId } from "../model/id.ts";
import { cliOrigin } from "../model/origin.ts";
import type { Database } from "../database/database.ts";
import { isEnvironment } from "../model/owner.ts";
import { seedTemplates } from "../templates/seed.ts";
import { ACCOUNT_FLAG, neededFlag, readDuration, textFlag, UsageError, type Command, type Input } from "./command.ts";
import { print, say } from "./output.ts";
import { chooseAccount, withDatabase, withNewDatabase } from "./with-database.ts";

const PRESETS = Object.entries(SCOPE_PRESETS);

export const keys: Command = {
  name: "keys",
  about: [
    "An API key belongs to one environment of one account, and is shown only when it is created. A revoked key is refused within about a second.",
    `--scopes takes scopes, presets, or both: ${PRESETS.map(([name, { help }]) => `${name} (${help})`).join(", ")}.`,
  ],
  usage: [
    "keys create --environment test|live --scopes SCOPES [--account NAME|ID] [flags]",
    "keys list [--account NAME|ID]",
    "keys rotate KEY_ID [--overlap 24h]",
    "keys revoke KEY_ID",
  ],
  flags: {
    account: ACCOUNT_FLAG,
    environment: { value: "ENVIRONMENT", choices: ["test", "live"], help: "environment of the key" },
    scopes: {
      value: "SCOPES",
      choices: [...Object.keys(SCOPE_PRESETS), ...SCOPES],
      isList: true,
      help: "permissions",
    },
    name: { help: "name for people" },
    "expires-in": { value: "TIME", help: "lifetime, such as 90d; without it, until revoked" },
    "allowed-ips": { value: "BLOCKS", help: "CIDR blocks that may use the key, separated by commas" },
    overlap: { value: "TIME", fallback: "24h", help: "how long the old key works after a rotation, such as 1h or 0s" },
  },
  settings: "database",
  hasTables: true,
  examples: [
    ["The new key, in a script:", "godwit keys create --environment test --scopes send --json | jq -r .key"],
    ["A live key for ninety days:", "godwit keys create --environment live --scopes send,webhooks:write --name checkout --expires-in 90d"],
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
  const scopes = readScopes(textFlag(input.flags, "scopes"));
  const name = textFlag(input.flags, "name") ?? null;
  if (name !== null && name.length > 64) throw new UsageError("--name may have up to 64 characters");
  const lifeSeconds = readDuration(input, "expires-in");
  const allowedIps = readAllowedIps(textFlag(input.flags, "allowed-ips"));
  if (lifeSeconds === 0) throw new UsageError("--expires-in must be longer than 0");
  await withNewDatabase(input, "keys", async ({ db, clock }) => {
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
    print(input.flags, (await listKeys(db, account.id)).map(keyRecord), toRow);
  });
}

async function rotate(input: Input): Promise<void> {
  const overlapSeconds = readDuration(input, "overlap") ?? 24 * 3_600;
  await withDatabase(input, "keys", async ({ db, clock }) => {
    const old = await chooseKey(db, input);
    const hasExpired = old.expires_at !== null && old.expires_at.getTime() <= clock.now();
    if (old.revoked_at !== null || hasExpired) throw new UsageError("this key is revoked or expired; create a new one");
    const rotation = { overlapSeconds, expiresAt: old.expires_at, origin: cliOrigin() };
    const next = await db.transaction((tx) => rotateKeyIn(tx, clock, old, rotation)).catch(explainProblem);
    show(input, next);
    const [ending] = await findKey(db, old.id);
    if (ending !== undefined) say(`the old key works until ${timeText(ending.expires_at)}`);
    if (next.key.expires_at !== null)
      say(`the new key works until ${timeText(next.key.expires_at)}, the end that the old key had: keys create makes one with a later end`);
  });
}

async function revoke(input: Input): Promise<void> {
  await withDatabase(input, "keys", async ({ db, clock }) => {
    const key = await chooseKey(db, input);
    print(input.flags, keyRecord(await db.transaction((tx) => revokeKeyIn(tx, clock, key, cliOrigin()))));
  });
}

function show({ flags }: Input, { secret, key }: CreatedKey): void {
  print(flags, { key: secret, ...keyRecord(key) });
  if (flags["json"] !== true) say("copy the key now: it is shown only once");
}

const timeText = (time: Date | null | undefined): string => time?.toISOString() ?? "it is revoked";

const toRow = ({ id, name, hint, environment, scopes, revoked_at, expires_at, last_used_at }: KeyRecord): object => ({
  id,
  name,
  hint,
  environment,
  scopes: describeScopes(scopes),
  status: revoked_at === null ? (expires_at !== null && Date.parse(expires_at) <= Date.now() ? "expired" : "active") : "revoked",
  expires_at: toMinute(expires_at),
  last_used_at: toMinute(last_used_at),
});

/** Both times have to fit into a table. */
const toMinute = (time: string | null): string | null => time && `${time.slice(0, "2026-11-19T22:04".length)}Z`;

// More do not fit into a table.
const MAX_LISTED_SCOPES = 2;

/** The name of a preset, a few scopes, or their number. */
function describeScopes(scopes: readonly string[]): string {
  const isSame = (preset: readonly string[]): boolean => preset.length === scopes.length && preset.every((scope) => scopes.includes(scope));
  const preset = PRESETS.find(([, { scopes: each }]) => isSame(each))?.[0];
  return preset ?? (scopes.length <= MAX_LISTED_SCOPES ? scopes.join(",") : `${scopes.length} scopes`);
}

function readAllowedIps(text: string | undefined): string[] | null {
  if (text === undefined) return null;
  const blocks = text.split(",").map((block) => block.trim());
  const unknown = blocks.filter((block) => parseCidr(block) === undefined);
  if (unknown.length > 0)
    throw new UsageError(`--allowed-ips must be addresses or CIDR blocks such as 192.0.2.0/24, not ${unknown.join(", ")}`);
  if (blocks.length > MAX_ALLOWED_IPS) throw new UsageError(`--allowed-ips may have up to ${MAX_ALLOWED_IPS} blocks`);
  return blocks;
}

function explainProblem(error: unknown): never {
  throw error instanceof Problem ? new UsageError(error.detail) : error;
}

function readScopes(text: string | undefined): Scope[] {
  if (text === undefined)
    throw new UsageError(
      `--scopes is required. Name scopes, or a preset:\n${PRESETS.map(([name, { help }]) => `  --scopes ${name.padEnd(6)}${help}`).join("\n")}`,
    );
  const parsed = parseScopes(text);
  if ("unknown" in parsed)
    throw new UsageError(
      `unknown scope ${parsed.unknown.join(", ")}${didYouMean(parsed.unknown.join(", "), [...Object.keys(SCOPE_PRESETS), ...SCOPES])}; there are the presets ${Object.keys(SCOPE_PRESETS).join(", ")}, and ${SCOPES.join(", ")}`,
    );
  if (parsed.scopes.length === 0) throw new UsageError("--scopes needs at least one scope");
  return parsed.scopes;
}

async function chooseKey(db: Database, { words }: Input): Promise<KeyRow> {
  const [, wanted] = words;
  const id = wanted === undefined ? undefined : decodeId("key", wanted);
  if (id === undefined) throw new UsageError("name the key by its id, key_…; godwit keys list lists them");
  const [key] = await findKey(db, id);
  if (key === undefined) throw new UsageError(`there is no key ${wanted}`);
  return key;
}
