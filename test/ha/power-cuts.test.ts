/** A service with its embedded database on a disk whose power is cut, again and again: messages with a 202 are stored once, other requests
 *  can be repeated, and no message is stored in part. GODWIT_TEST_POWER_CUTS is the number of cuts. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { asEmbeddedAdmin, unlimitedKey, withEmbedded } from "./embedded-database.ts";
import { until } from "../support/expect.ts";
import { spawnGodwit, startGodwit, type Godwit } from "../support/harness.ts";
import { missingPowerCutDisk, PowerCutDisk, type Remains } from "./power-cut-disk.ts";
import { seeded } from "../support/seed.ts";
import { assertEachOnce, assertKeysReplay, assertNothingHalfDone, retryUnanswered, sendUntil, type Sent } from "../support/sending.ts";

const CUTS = Number(process.env["GODWIT_TEST_POWER_CUTS"] ?? 3);
// A hundred cuts fill some 100 MB. The rest is for the write-ahead log.
const DISK_MB = 2_048;
const CONNECTIONS = 16;
// Long enough for several hundred messages.
const LONGEST_LOAD_MS = 1_000;
// A checkpoint of this much takes about as long, so that some cuts are in its middle.
const LONGEST_CHECKPOINT_MS = 200;
// The service takes about as long to recover and to listen.
const LONGEST_START_MS = 2_500;
// The creation of the database is most of it.
const LONGEST_FIRST_START_MS = 5_000;
const FIRST_STARTS = Math.min(CUTS, 20);

/** The random decisions about a cut. */
type Plan = {
  loadMs: number;
  /** The cut comes so long after the start of a checkpoint. Without a checkpoint, tables are hardly ever written. */
  checkpointMs: number | undefined;
  /** The power is cut again so long after the start of the recovery. */
  startMs: number | undefined;
  survival: number;
};

function drawPlan(random: () => number): Plan {
  const [load, checkpoint, start] = [random(), random(), random()];
  const [hasCheckpoint, hasSecondCut, isHarsh] = [random() < 0.5, random() < 0.25, random() < 0.5];
  return {
    loadMs: load * LONGEST_LOAD_MS,
    checkpointMs: hasCheckpoint ? checkpoint * LONGEST_CHECKPOINT_MS : undefined,
    startMs: hasSecondCut ? start * LONGEST_START_MS : undefined,
    survival: isHarsh ? 0 : 0.5,
  };
}

/** A service on the disk, which the test starts again and again. */
type Running = { godwit: Godwit; apiKey: string; dataDir: string };

let missing: string | undefined;
before(() => {
  missing = missingPowerCutDisk();
});

const startOn = (dataDir: string): Promise<Godwit> => startGodwit({ asProcess: true, env: { GODWIT_DATA_DIR: dataDir } });

const accepted = (sent: readonly Sent[]): Sent[] => sent.filter(({ status }) => status === 202);

/** Sends load until the power is cut. Returns all requests. */
async function loadUntilCut(disk: PowerCutDisk, { godwit, apiKey, dataDir }: Running, plan: Plan): Promise<Sent[]> {
  let isUnderWay = false;
  const stop = new AbortController();
  const load = sendUntil(stop.signal, { godwit, apiKey, connections: CONNECTIONS }, ({ status }) => (isUnderWay ||= status === 202));
  try {
    await until("messages to be accepted", () => isUnderWay);
    await sleep(plan.loadMs);
    if (plan.checkpointMs !== undefined) {
      // The cut ends it.
      void asEmbeddedAdmin(dataDir, (admin) => admin.query("checkpoint")).catch(() => undefined);
      await sleep(plan.checkpointMs);
    }
    if (plan.survival > 0) await disk.untilUnflushed();
    await disk.cut();
    await godwit.stop("SIGKILL");
  } finally {
    stop.abort();
  }
  return load;
}

/** Starts the service, and cuts the power before or after it listens. */
async function cutDuringStart(disk: PowerCutDisk, dataDir: string, startMs: number): Promise<void> {
  const { child, exit } = spawnGodwit(["serve"], { GODWIT_DATA_DIR: dataDir, GODWIT_PORT: "0", GODWIT_LOG: "json", GODWIT_ROLES: "api" });
  try {
    await sleep(startMs);
    await disk.cut();
  } finally {
    child.kill("SIGKILL");
    await exit;
  }
}

/** Restores the disk. Cuts the power again during the next start where this is planned. */
async function restore(
  disk: PowerCutDisk,
  dataDir: string,
  { startMs, ...fate }: Pick<Plan, "startMs" | "survival"> & { random: () => number },
): Promise<Remains[]> {
  const remains = [await disk.restore(fate)];
  if (startMs === undefined) return remains;
  await cutDuringStart(disk, dataDir, startMs);
  return [...remains, await disk.restore(fate)];
}

/** Asserts that the rows of the accepted requests are there, and repeats the others. Returns all requests with their 202. */
const settle = ({ godwit, apiKey, dataDir }: Running, sent: readonly Sent[]): Promise<Sent[]> =>
  withEmbedded(dataDir, async (db) => {
    await assertEachOnce(db, accepted(sent));
    await assertNothingHalfDone(db);
    await assertKeysReplay(godwit, apiKey, accepted(sent));
    const settled = await retryUnanswered(godwit, apiKey, sent);
    await assertEachOnce(db, settled);
    await assertNothingHalfDone(db);
    return settled;
  });

/** Reads every page of every table and every B-tree index, and compares the indexes with their tables. */
const assertIntact = (dataDir: string, godwit: Godwit): Promise<void> =>
  asEmbeddedAdmin(dataDir, async (admin) => {
    await admin.query("create schema if not exists inspection");
    await admin.query("create extension if not exists amcheck schema inspection");
    const { rows: faults } = await admin.query(
      `select c.oid::regclass::text as name, fault.*
         from pg_class c
        cross join lateral inspection.verify_heapam(c.oid) fault
        where c.relkind in ('r', 't', 'm') and c.relpersistence = 'p'`,
    );
    assert.deepEqual(faults, []);
    await admin.query(
      `select inspection.bt_index_check(c.oid, true)
         from pg_class c
         join pg_index i on i.indexrelid = c.oid and i.indisvalid
         join pg_am a on a.oid = c.relam and a.amname = 'btree'
        where c.relkind = 'i' and c.relpersistence = 'p'`,
    );
    const { rows } = await admin.query<{ checksums: string; failures: number }>(
      `select current_setting('data_checksums') as checksums, sum(checksum_failures)::integer as failures
         from pg_stat_database`,
    );
    assert.equal(rows[0]?.checksums, "on");
    await assertOnlyFreeSpaceMaps(godwit, rows[0].failures);
  });

/** Asserts that each checksum failure is a page of a free space map. PostgreSQL does not log changes of these maps, so that a power cut can
 *  leave half of a page; it empties the page and fills it again. A failure on any other page is a fault. */
async function assertOnlyFreeSpaceMaps(godwit: Godwit, failures: number): Promise<void> {
  const invalidPages = (): string[] => godwit.logs.map(({ postgres }) => String(postgres)).filter((line) => line.includes("invalid page"));
  await until("the log to name each invalid page", () => invalidPages().length >= failures);
  assert.deepEqual(
    invalidPages().filter((line) => !line.endsWith('_fsm"; zeroing out page')),
    [],
  );
}

/** Asserts everything about all messages of the test on a server that has read nothing yet. */
async function assertAllKept(dataDir: string, apiKey: string, sent: readonly Sent[]): Promise<void> {
  await using godwit = await startOn(dataDir);
  await withEmbedded(dataDir, async (db) => {
    await assertEachOnce(db, sent);
    await assertNothingHalfDone(db);
  });
  await assertKeysReplay(godwit, apiKey, sent);
  await assertIntact(dataDir, godwit);
}

test("a service whose power is cut under load loses no message with a 202, and leaves no partial message", async (context) => {
  if (missing !== undefined) return context.skip(missing);
  const random = seeded(context);
  await using disk = await PowerCutDisk.create(DISK_MB);
  const dataDir = join(disk.mountPath, "data");
  let godwit = await startOn(dataDir);
  const apiKey = await unlimitedKey(dataDir);
  const all: Sent[] = [];
  let acceptedCount = 0;
  // All plans are drawn before the unflushed blocks, whose number varies, so that a seed always means the same cuts.
  const plans = Array.from({ length: CUTS }, () => drawPlan(random));
  for (const [index, plan] of plans.entries()) {
    const sent = await loadUntilCut(disk, { godwit, apiKey, dataDir }, plan);
    const remains = await restore(disk, dataDir, { ...plan, random });
    const startedAt = performance.now();
    godwit = await startOn(dataDir);
    const startMs = Math.round(performance.now() - startedAt);
    all.push(...(await settle({ godwit, apiKey, dataDir }, sent)));
    await assertIntact(dataDir, godwit);
    acceptedCount += accepted(sent).length;
    const blocks = remains.map(({ unflushed, written }) => `${written} of ${unflushed}`).join(", then ");
    context.diagnostic(
      `cut ${index + 1}${plan.checkpointMs === undefined ? "" : " in a checkpoint"}: 202 for ${accepted(sent).length} of ${sent.length} requests; ` +
        `the disk had written ${blocks} unflushed blocks; the service started in ${startMs} ms`,
    );
  }
  assert.equal(await godwit.stop(), 0, godwit.output.join("\n"));
  await assertAllKept(dataDir, apiKey, all);
  context.diagnostic(
    `${CUTS} cuts: ${acceptedCount} messages with a 202 and ${all.length - acceptedCount} repeated ones, each stored once`,
  );
});

test("a message with a 202 survives a power cut right after the first start", async (context) => {
  if (missing !== undefined) return context.skip(missing);
  await using disk = await PowerCutDisk.create(DISK_MB);
  const dataDir = join(disk.mountPath, "data");
  const first = await startOn(dataDir);
  const key = /gw_test_\w+/.exec(first.output.join("\n"))?.[0] ?? "";
  const sent = await first.send(key);
  assert.equal(sent.status, 202, sent.text);
  await disk.cut();
  await first.stop("SIGKILL");
  await disk.restore({ survival: 0, random: seeded(context) });
  await using second = await startOn(dataDir);
  const read = await second.request("GET", `/v1/messages/${String(sent.json["id"])}`, { key });
  assert.deepEqual([read.status, read.json["id"]], [200, sent.json["id"]]);
});

test("a power cut during the first start does not prevent the next one", async (context) => {
  if (missing !== undefined) return context.skip(missing);
  const random = seeded(context);
  for (let cut = 1; cut <= FIRST_STARTS; cut += 1) {
    await using disk = await PowerCutDisk.create(DISK_MB);
    const dataDir = join(disk.mountPath, "data");
    const startMs = random() * LONGEST_FIRST_START_MS;
    await cutDuringStart(disk, dataDir, startMs);
    const left = await disk.restore({ survival: random() < 0.5 ? 0 : 0.5, random });
    await using godwit = await startOn(dataDir);
    assert.equal((await godwit.send(await unlimitedKey(dataDir))).status, 202);
    await assertIntact(dataDir, godwit);
    context.diagnostic(
      `cut ${cut} after ${Math.round(startMs)} ms: the disk had written ${left.written} of ${left.unflushed} unflushed blocks`,
    );
  }
});
