/** godwit audit: lists the audit log, and verifies its hash chains. */
import { auditEventRecord } from "../audit/audit-event.ts";
import type { ChainLink } from "../audit/chain.ts";
import { listAuditEvents, listChains } from "../audit/queries.ts";
import { verifyChain } from "../audit/verify.ts";
import { encodeId, NO_ID, toId, type AccountId } from "../model/id.ts";
import { MAX_UUID, NIL_UUID } from "../lib/uuid.ts";
import type { Database } from "../database/database.ts";
import { EXIT, textFlag, UsageError, type Command, type Input } from "./command.ts";
import { print, say } from "./output.ts";
import { chooseAccount, withDatabase } from "./with-database.ts";

const INSTALLATION = "installation";

export const audit: Command = {
  name: "audit",
  about: [
    "The audit log has every change of keys, endpoints, templates, suppressions, consent settings, links, senders, routes, accounts and tiers, and every export and erasure of a recipient: the actor, the address, and the change itself. Each entry is written in the transaction of its change.",
    "verify recomputes the hash chain of each account, or of one. Keep the heads that it prints in another place: with --head it then also notices entries that were removed from the end. Changes of the whole installation have their own log: --account installation.",
  ],
  usage: [
    "audit list [--account NAME|ID] [--actor ID] [--action ACTION] [--target ID] [--limit NUMBER] [--json]",
    "audit verify [--account NAME|ID] [--head SEQUENCE:HASH] [--json]",
  ],
  flags: {
    account: { type: "string", value: "NAME|ID", help: "the account, by name or id; list needs it when there are several" },
    actor: { type: "string", value: "ID", help: "only changes by this key, or by this type of actor" },
    action: { type: "string", value: "ACTION", help: "only this action, or key.* for all of a kind" },
    target: { type: "string", value: "ID", help: "only changes of this record, or of this type of target" },
    limit: { type: "string", value: "NUMBER", fallback: "100", help: "how many entries, the newest first; 1000 at most" },
    head: { type: "string", value: "SEQUENCE:HASH", help: "a head that verify printed before, which must still be part of the chain" },
  },
  settings: "database",
  hasTables: true,
  examples: [
    ["The newest entries:", "godwit audit list"],
    ["Which keys were created, and by whom:", "godwit audit list --action key.created --json"],
    ["Whether anything was changed afterwards:", "godwit audit verify"],
  ],
  exitCodes: { [EXIT.failed]: "a chain is broken" },
  async run(input) {
    return input.words[0] === "list" ? list(input) : verify(input);
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
  return withDatabase(input, "audit", async ({ db }) => {
    const accounts = wanted === undefined ? (await listChains(db)).map(({ account_id: id }) => id) : [await chooseLog(db, wanted)];
    const results: object[] = [];
    let isWhole = true;
    for (const accountId of accounts) {
      const account = accountId.equals(NO_ID) ? INSTALLATION : encodeId("acct", accountId);
      const { links, head, fault } = await verifyChain(db, accountId, expected, (done) => done > 0 && say(`${account}: ${done} entries`));
      results.push({ account, entries: links, head: `${head.sequence}:${head.hash.toString("hex")}`, fault });
      isWhole &&= fault === null;
    }
    print(input.flags, results);
    return isWhole ? EXIT.done : EXIT.failed;
  });
}

function readHead(text: string | undefined): ChainLink | undefined {
  if (text === undefined) return undefined;
  const match = /^(\d{1,15}):([0-9a-f]{64})$/.exec(text);
  if (match === null) throw new UsageError("--head must be a sequence number, a colon and 64 hexadecimal digits, as verify prints it");
  return { sequence: Number(match[1]), hash: Buffer.from(match[2] ?? "", "hex") };
}

const chooseLog = async (db: Database, wanted: string | undefined): Promise<AccountId> =>
  wanted === INSTALLATION ? toId("acct", NIL_UUID) : (await chooseAccount(db, wanted)).id;
