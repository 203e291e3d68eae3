/** godwit audit: lists and exports the audit log, and verifies its hash chains. */
import { existsSync } from "node:fs";
import { auditEventRecord } from "../audit/audit-event.ts";
import { readChainKey } from "../audit/chain.ts";
import { listAuditEvents, listChains, readSealedChainKey, type ChainLink } from "../audit/queries.ts";
import { inSnapshot, verifyChain, type ChainReport, type VerifyingKey } from "../audit/verify.ts";
import type { Config } from "../config.ts";
import { MAX_UUID, NIL_UUID } from "../lib/uuid.ts";
import { SecretBox } from "../lib/secret-box.ts";
import type { Database, Queryable } from "../database/database.ts";
import { readSecretKey, secretKeyPath } from "../embedded/data-directory.ts";
import { encodeId, NO_ID, toId, type AccountId } from "../model/id.ts";
import { EXIT, textFlag, UsageError, type Command, type Input } from "./command.ts";
import { exportEntries } from "./export-audit.ts";
import { print, say } from "./output.ts";
import { chooseAccount, withDatabase } from "./with-database.ts";

const INSTALLATION = "installation";
const DAY_MS = 86_400_000;

export const audit: Command = {
  name: "audit",
  about: [
    "The audit log has every change, export and erasure, with its actor. Changes of the whole installation are in --account installation.",
    "verify recomputes the hash chain. Without the secret key of the service it verifies only the order of the entries. Keep the heads that it prints in another place: with --head, verify also finds entries removed from the end.",
    "export prints the entries of one account with their hashes, oldest first, as one JSON object on each line.",
  ],
  usage: [
    "audit list [--account NAME|ID] [--actor ID] [--action ACTION] [--target ID] [--limit NUMBER]",
    "audit verify [--account NAME|ID] [--head SEQUENCE:HASH]",
    "audit export [--account NAME|ID] [--after SEQUENCE] [--follow]",
  ],
  flags: {
    account: { value: "NAME|ID", help: "account; list and export need it when there are several" },
    actor: { value: "ID", help: "only changes by this key or type of actor" },
    action: { value: "ACTION", help: "only this action, such as key.created, or key.*" },
    target: { value: "ID", help: "only changes of this record or type of record" },
    limit: { value: "NUMBER", fallback: "100", help: "how many, newest first; at most 1000" },
    head: { value: "SEQUENCE:HASH", help: "head printed earlier, which must still be in the chain" },
    after: { value: "SEQUENCE", fallback: "0", help: "only entries after this one: continues a copy" },
    follow: { isSwitch: true, help: "continue with new entries until interrupted" },
  },
  settings: "database",
  hasTables: true,
  examples: [
    ["Created keys, and who created them:", "godwit audit list --action key.created --json"],
    ["A copy on another machine:", "godwit audit export --follow | ssh logs 'cat >> godwit-audit.jsonl'"],
  ],
  exitCodes: { [EXIT.failed]: "a chain is broken" },
  async run(input) {
    const [verb] = input.words;
    if (verb === "list") return list(input);
    return verb === "verify" ? verify(input) : exportEntries(input, chooseLog);
  },
};

async function list(input: Input): Promise<void> {
  const { flags } = input;
  const limit = Number(textFlag(flags, "limit") ?? 100);
  if (!Number.isInteger(limit) || limit < 1 || limit > 1_000) throw new UsageError("--limit must be a whole number from 1 to 1000");
  await withDatabase(input, "audit", async ({ db }) => {
    const owner = { accountId: await chooseLog(db, textFlag(flags, "account")), environment: null };
    const [actor = null, action = null, target = null] = ["actor", "action", "target"].map((name) => textFlag(flags, name));
    const { items } = await listAuditEvents(db, owner, { from: NIL_UUID, before: MAX_UUID, actor, action, target }, limit);
    const records = items.map((row) => auditEventRecord(row, row.hash));
    print(flags, records, toLine);
  });
}

/** A record as a row of a table. */
const toLine = ({ created_at, actor, action, target, peer }: ReturnType<typeof auditEventRecord>) => ({
  created_at,
  actor: actor.id ?? [actor.type, actor.name].filter((part) => part !== null).join(":"),
  action,
  target: target.id,
  peer,
});

async function verify(input: Input): Promise<number> {
  const expected = readHead(textFlag(input.flags, "head"));
  const wanted = textFlag(input.flags, "account");
  if (expected !== undefined && wanted === undefined) throw new UsageError("--head needs --account: each account has its own chain");
  return withDatabase(input, "audit", async ({ db, clock, config }) => {
    const accounts = wanted === undefined ? (await listChains(db)).map(({ account_id: id }) => id) : [await chooseLog(db, wanted)];
    const age = { nowMs: clock.now(), keptMs: config.auditRetentionDays * DAY_MS };
    const results: ReturnType<typeof resultOf>[] = [];
    for (const accountId of accounts) {
      const account = nameOfLog(accountId);
      const onProgress = (done: number): unknown => done > 0 && say(`${account}: ${done} entries`);
      const result = await inSnapshot(db, async (tx) => {
        const key = await readVerifyingKey(tx, config);
        return resultOf(account, key, await verifyChain(tx, accountId, { key, age, expected, onProgress }));
      });
      results.push(result);
    }
    print(input.flags, results);
    for (const line of meaningOf(new Set(results.map(({ proof }) => proof)), expected !== undefined)) say(line);
    return results.every(({ fault }) => fault === null) ? EXIT.done : EXIT.failed;
  });
}

/** The account of a chain, or the installation. */
export const nameOfLog = (accountId: AccountId): string => (accountId.equals(NO_ID) ? INSTALLATION : encodeId("acct", accountId));

/** The strength of the proof that a chain without a fault is. Null if there is nothing to prove. */
type Proof = "keyed" | "unkeyed" | "order" | null;

const resultOf = (account: string, key: VerifyingKey, { links, keyedFrom, head, fault }: ChainReport) => ({
  account,
  entries: links,
  keyed_from: keyedFrom,
  proof: fault === null && links > 0 ? proofBy(key, keyedFrom) : null,
  head: `${head.sequence}:${head.hash.toString("hex")}`,
  fault,
});

function proofBy(key: VerifyingKey, keyedFrom: number | null): Proof {
  if (keyedFrom === null) return "unkeyed";
  return key === "withheld" ? "order" : "keyed";
}

const MEANINGS: Readonly<Record<NonNullable<Proof>, string>> = {
  keyed:
    "keyed: without the secret key, nobody has changed, inserted or removed an entry up to the head since it was sealed; retention has deleted only entries older than its setting. This does not hold against somebody with the secret key.",
  unkeyed:
    "unkeyed: the entries fit the hashes of 0.2, which anyone who can write to the database can compute. The next entry makes the chain keyed, and protects those before it.",
  order:
    "order: no link or entry is missing between the first and the head. The keyed hashes were not verified, so the contents can be forged: set GODWIT_SECRET_KEY.",
};

/** Sentences about what was proved, and what was not. */
function meaningOf(proofs: ReadonlySet<Proof>, isHeadGiven: boolean): string[] {
  const found = (["keyed", "unkeyed", "order"] as const).filter((proof) => proofs.has(proof)).map((proof) => MEANINGS[proof]);
  if (found.length === 0) return [];
  const end = isHeadGiven
    ? "--head: the chain still contains that head. Entries after it may have been removed from the end."
    : "Without --head, entries may have been removed from the end of a chain.";
  return [...found, end, "Entries that wait to be sealed, for about a second, are not covered."];
}

/** The key of the chains, with the secret key of the service if it is known here. */
export async function readVerifyingKey(
  db: Queryable,
  { secretKey, previousSecretKey, databaseUrl, dataDir }: Config,
): Promise<VerifyingKey> {
  if ((await readSealedChainKey(db)) === null) return "none";
  const path = secretKeyPath(dataDir);
  const fromFile = secretKey === undefined && databaseUrl === undefined && existsSync(path) ? readSecretKey(path) : undefined;
  const known = secretKey ?? fromFile;
  if (known === undefined) return "withheld";
  try {
    return (await readChainKey(db, new SecretBox(known, previousSecretKey))) ?? "none";
  } catch {
    throw new UsageError("the key of the audit log cannot be opened: GODWIT_SECRET_KEY must be that of the service");
  }
}

function readHead(text: string | undefined): ChainLink | undefined {
  if (text === undefined) return undefined;
  const match = /^(\d{1,15}):([0-9a-f]{64})$/.exec(text);
  if (match === null) throw new UsageError("--head must be a sequence number, a colon and 64 hexadecimal digits, as verify prints it");
  return { sequence: Number(match[1]), hash: Buffer.from(match[2] ?? "", "hex") };
}

const chooseLog = async (db: Database, wanted: string | undefined): Promise<AccountId> =>
  wanted === INSTALLATION ? toId("acct", NIL_UUID) : (await chooseAccount(db, wanted)).id;
