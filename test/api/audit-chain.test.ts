/** The key of the audit chains: forgeries by somebody who can write to the database, chains of 0.2, a new secret key, and the export. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, test } from "node:test";
import { Registry } from "prom-client";
import { checkSecretKey } from "../../src/access/secret-key.ts";
import { nextChainLink, resealChainKey, CHAIN_START, type ChainKey } from "../../src/audit/chain.ts";
import { listChainLinks, storeLink } from "../../src/audit/queries.ts";
import { recordInstallationChange } from "../../src/audit/record-change.ts";
import { deleteOldEntries, sealingJob } from "../../src/audit/seal.ts";
import { inSnapshot, verifyChain, type ChainReport, type VerifyOptions } from "../../src/audit/verify.ts";
import type { AuditRow } from "../../src/audit/audit-event.ts";
import { SecretBox } from "../../src/lib/secret-box.ts";
import { Database } from "../../src/database/database.ts";
import { prepare } from "../../src/database/sql.ts";
import { NO_ID, type AccountId } from "../../src/model/id.ts";
import { SYSTEM_ORIGIN } from "../../src/model/origin.ts";
import { chainKeyOf } from "../support/audit.ts";
import { createDatabase, inspectionOf } from "../support/database.ts";
import { DatabaseWire } from "../support/database-wire.ts";
import { until } from "../support/expect.ts";
import { runGodwit, SECRET_KEY, spawnGodwit } from "../support/harness.ts";
import { programPath } from "../support/programs.ts";

const DAY_MS = 86_400_000;
const KEPT_MS = 400 * DAY_MS;
const LOG = NO_ID as AccountId;

let url: string;
let db: Database;
beforeEach(async () => {
  url = await createDatabase();
  db = new Database(inspectionOf(url), "audit chain");
});
afterEach(() => db.close());

const run = <T extends object>(text: string): Promise<T[]> => db.rows<T>({ ...prepare(text), values: [] });

/** Writes entries, each of a time, or of now. */
async function write(count: number, atMs = Date.now()): Promise<void> {
  for (let each = 0; each < count; each += 1)
    await db.transaction((tx) =>
      recordInstallationChange(tx, atMs + each, SYSTEM_ORIGIN, { action: "tier.changed", target: { type: "tier", id: `t${each}` } }),
    );
}

async function seal(): Promise<void> {
  const parts = { db, clock: Date, chainKey: await chainKeyOf(db), publish: async () => undefined, wakeWebhooks: () => undefined };
  const errors: unknown[] = [];
  const job = sealingJob({ ...parts, registry: new Registry() }, (error) => errors.push(error));
  job.start();
  await until("all entries are sealed", async () => (await run("select from audit_events where is_unsealed")).length === 0);
  await job.stop();
  assert.deepEqual(errors, []);
}

/** Seals as 0.2 did. */
async function sealUnkeyed(): Promise<void> {
  const entries = await run<AuditRow>("select * from audit_events where is_unsealed order by id");
  let head = CHAIN_START;
  await db.transaction(async (tx) => {
    for (const entry of entries) await storeLink(tx, LOG, entry.id, (head = nextChainLink(head, entry, undefined)));
  });
}

/** Runs statements as somebody with all rights on the database. */
const tamper = (...statements: string[]): Promise<void> =>
  db.script(`begin; set local session_replication_role = replica; ${statements.join("; ")}; commit`);

/** Computes the links again from the present entries, as far as that is possible with a key or without one. */
async function rehash(by?: ChainKey): Promise<void> {
  let head = CHAIN_START;
  for (const row of await listChainLinks(db, LOG, 0, 1_000)) {
    head = nextChainLink(head, row as AuditRow, by);
    await tamper(`update audit_links set hash = '\\x${head.hash.toString("hex")}' where sequence = ${head.sequence}`);
  }
}

const verify = async (options: Partial<VerifyOptions> = {}): Promise<ChainReport> =>
  verifyChain(db, LOG, { key: await chainKeyOf(db), age: { nowMs: Date.now(), keptMs: KEPT_MS }, ...options });

const cli = (args: readonly string[], env: Record<string, string> = {}): ReturnType<typeof runGodwit> =>
  runGodwit(["audit", ...args], { DATABASE_URL: url, ...env });

type Verified = { account: string; entries: number; keyed_from: number | null; proof: string | null; fault: string | null };
const verifiedBy = async (env: Record<string, string>): Promise<[Verified | undefined, stderr: string]> => {
  const { stdout, stderr } = await cli(["verify", "--account", "installation", "--json"], env);
  return [(JSON.parse(stdout) as Verified[])[0], stderr];
};

describe("somebody who can write to the database", () => {
  beforeEach(async () => {
    await write(6);
    await seal();
  });

  test("cannot delete entries behind a made-up checkpoint, also of one that a noted head follows", async () => {
    const { head, fault } = await verify();
    assert.equal(fault, null);
    const forgeries = ["event_id = null", "checkpoint_mac = hash", "event_id = null, checkpoint_mac = hash"];
    for (const forgery of [...forgeries, "event_id = '00000000-0000-7000-8000-000000000000', checkpoint_mac = hash"]) {
      const copy = "create table copy_links as table audit_links; create table copy_events as table audit_events";
      await tamper(
        copy,
        "delete from audit_events where id in (select event_id from audit_links where sequence <= 3)",
        "delete from audit_links where sequence < 3",
        `update audit_links set ${forgery} where sequence = 3`,
      );
      assert.match((await verify({ expected: head })).fault ?? "", /deleted, but not by retention/, forgery);
      await tamper(
        "delete from audit_links; delete from audit_events",
        "insert into audit_links table copy_links; insert into audit_events table copy_events; drop table copy_links, copy_events",
      );
    }
    assert.equal((await verify({ expected: head })).fault, null);
  });

  test("cannot change an entry and compute the hashes again, not even all of them", async () => {
    await tamper("update audit_events set actor_name = 'x' where target_id = 't2'");
    await rehash();
    assert.match((await verify()).fault ?? "", /of link 1 does not fit its hash/);
    await rehash({ bytes: Buffer.alloc(32), unkeyedUntilMs: -1 });
    assert.match((await verify()).fault ?? "", /of link 1 does not fit its hash/);
  });

  test("cannot put an entry in the place of the checkpoint's", async () => {
    const [first] = await run<{ id: string }>("select event_id::text as id from audit_links where sequence = 6");
    const nowMs = Date.now() + KEPT_MS + DAY_MS;
    await deleteOldEntries(db, { nowMs, keptMs: KEPT_MS, chainKey: await chainKeyOf(db) });
    assert.equal((await verify({ age: { nowMs, keptMs: KEPT_MS } })).fault, null);
    await tamper(`insert into audit_events (account_id, id, actor_type, action, target_type, changes)
                  values ('00000000-0000-0000-0000-000000000000', '${first?.id}', 'system', 'tier.changed', 'tier', '{}')`);
    assert.match((await verify({ age: { nowMs, keptMs: KEPT_MS } })).fault ?? "", /is part of no chain/);
  });
});

test("a checkpoint that is younger than the retention is refused", async () => {
  await write(2, Date.now() - 50 * DAY_MS);
  await seal();
  await deleteOldEntries(db, { nowMs: Date.now(), keptMs: 40 * DAY_MS, chainKey: await chainKeyOf(db) });
  assert.match((await verify()).fault ?? "", /deleted before the end of their retention/);
  assert.equal((await verify({ age: { nowMs: Date.now(), keptMs: 40 * DAY_MS } })).fault, null);
});

test("a chain of 0.2 stays valid, is said to be unkeyed, and is protected by the first keyed link", async () => {
  await write(4, Date.now() - DAY_MS);
  await sealUnkeyed();
  // The checkpoint that 0.2 has left.
  await tamper(
    "delete from audit_events where id = (select event_id from audit_links where sequence = 1)",
    "update audit_links set event_id = null where sequence = 1",
  );
  const beforeUpgrade = await verifyChain(db, LOG, { key: "none", age: { nowMs: Date.now(), keptMs: KEPT_MS } });
  assert.deepEqual(beforeUpgrade, await verify());
  const { fault, links, keyedFrom } = await verify();
  assert.deepEqual([fault, links, keyedFrom], [null, 3, null]);
  assert.equal((await verifiedBy({ GODWIT_SECRET_KEY: SECRET_KEY }))[0]?.proof, "unkeyed");

  await write(2);
  await seal();
  const keyed = await verify();
  assert.deepEqual([keyed.fault, keyed.links, keyed.keyedFrom], [null, 5, 5]);
  await tamper("update audit_links set hash = sha256(hash) where sequence = 4");
  assert.match((await verify()).fault ?? "", /of link 4 does not fit its hash/);
});

test("the command says what it has proved, with the secret key and without it", async () => {
  await write(3);
  await seal();
  const [withKey, said] = await verifiedBy({ GODWIT_SECRET_KEY: SECRET_KEY });
  assert.deepEqual([withKey?.proof, withKey?.keyed_from, withKey?.fault], ["keyed", 1, null]);
  assert.match(said, /^keyed: without the secret key, nobody has changed/m);
  assert.match(said, /^Without --head, entries may have been removed/m);
  const [without, warned] = await verifiedBy({});
  assert.deepEqual([without?.proof, without?.keyed_from, without?.fault], ["order", 1, null]);
  assert.match(warned, /^order: .*The keyed hashes were not verified/m);
  const wrong = await cli(["verify"], { GODWIT_SECRET_KEY: Buffer.alloc(32, 8).toString("base64") });
  assert.equal(wrong.code, 2);
  assert.match(wrong.stderr, /GODWIT_SECRET_KEY must be that of the service/);
});

test("a new secret key keeps the key of the chain", async () => {
  await write(2);
  await seal();
  const [old, secretKey] = [Buffer.from(SECRET_KEY, "base64"), Buffer.alloc(32, 8)];
  await checkSecretKey(db, { secretKey: old, previousSecretKey: undefined }, async () => assert.fail());
  const box = new SecretBox(secretKey, old);
  await checkSecretKey(db, { secretKey, previousSecretKey: old }, (tx) => resealChainKey(tx, box));
  const [found] = await verifiedBy({ GODWIT_SECRET_KEY: secretKey.toString("base64") });
  assert.deepEqual([found?.proof, found?.entries], ["keyed", 2]);
});

test("a verification sees the chain of one moment", async () => {
  await write(2);
  await seal();
  const key = await chainKeyOf(db);
  const links = await inSnapshot(db, async (tx) => {
    await listChainLinks(tx, LOG, 0, 1);
    await write(1);
    await seal();
    return (await verifyChain(tx, LOG, { key, age: { nowMs: Date.now(), keptMs: KEPT_MS } })).links;
  });
  assert.deepEqual([links, (await verify()).links], [2, 3]);
});

describe("godwit audit export", () => {
  const ARGS = ["export", "--account", "installation"];
  type Line = { sequence: number; hash: string; account: string; target: { id: string } };
  const linesOf = (stdout: string): Line[] =>
    stdout
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line) as Line);

  test("prints entries with their links, continues after one, and reports entries that retention has deleted", async () => {
    await write(3, Date.now() - 500 * DAY_MS);
    await write(2);
    await seal();
    const links = await listChainLinks(db, LOG, 0, 10);
    const all = await cli(ARGS);
    assert.deepEqual(
      linesOf(all.stdout).map(({ sequence, hash }) => [sequence, hash]),
      links.map(({ sequence, hash }) => [sequence, hash.toString("hex")]),
    );
    assert.deepEqual([all.code, all.stderr], [0, ""]);
    const rest = await cli([...ARGS, "--after", "3"]);
    assert.deepEqual(
      linesOf(rest.stdout).map(({ sequence, target }) => [sequence, target.id]),
      [
        [4, "t0"],
        [5, "t1"],
      ],
    );
    await deleteOldEntries(db, { nowMs: Date.now(), keptMs: KEPT_MS, chainKey: await chainKeyOf(db) });
    const later = await cli([...ARGS, "--after", "1"]);
    assert.deepEqual(
      linesOf(later.stdout).map(({ sequence }) => sequence),
      [4, 5],
    );
    assert.match(later.stderr, /the next 2 entries after 1 are not in the database/);
    assert.equal((await cli([...ARGS, "--after", "x"])).code, 2);
  });

  test("ends with exit code 0 when its reader closes the pipe, also with --follow", async () => {
    // More than a pipe holds.
    await write(300);
    await seal();
    const env = { ...process.env, DATABASE_URL: url, GODWIT_SECRET_KEY: SECRET_KEY };
    const command = 'set -o pipefail; "$0" "$@" | head -1';
    for (const more of [[], ["--follow"]]) {
      const args = ["-c", command, process.execPath, programPath("godwit"), "audit", ...ARGS, ...more];
      const { stdout, stderr } = await promisify(execFile)("bash", args, { env, timeout: 60_000 });
      assert.deepEqual([linesOf(stdout).map(({ sequence }) => sequence), stderr], [[1], ""]);
    }
  });

  for (const signal of ["SIGINT", "SIGTERM"] as const)
    test(`--follow prints new entries, waits for the database, and ends with ${signal}`, async () => {
      await write(1);
      await seal();
      const wire = await DatabaseWire.to(url);
      const { child, logs, output, exit } = spawnGodwit(["audit", ...ARGS, "--follow"], { DATABASE_URL: wire.url });
      const sequences = (): unknown[] => logs.map((line) => line["sequence"]);
      await until("the first entry", () => sequences().length === 1);
      wire.cutNext("asked", "audit_links");
      // Only a new connection sends the text of the statement again.
      wire.cutAll();
      await until("the loss", () => output.some((line) => /trying again in \d+ s, after entry 1/.test(line)));
      await write(1);
      await seal();
      await until("the second entry", () => sequences().length === 2);
      child.kill(signal);
      assert.equal(await exit, 0);
      assert.deepEqual(sequences(), [1, 2]);
      await wire.close();
    });
});
