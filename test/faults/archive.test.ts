/** The archive of the embedded database: a restore to a time, damaged and missing files, and an archive that cannot be written. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  appendFileSync,
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { listBases, listWal, pruneArchive, removeOldCopies } from "../../src/embedded/archive.ts";
import { takeLock } from "../../src/embedded/directory-lock.ts";
import { chooseUser } from "../../src/embedded/run-as.ts";
import { asEmbeddedAdmin } from "../ha/embedded-database.ts";
import { until } from "../support/expect.ts";
import { runGodwit, spawnGodwit, startGodwit, type Godwit } from "../support/harness.ts";

const isRoot = process.getuid?.() === 0;
const SCOPES = "messages:send,messages:read,events:read,links:read";

let folder: string;
let archive: string;
let key: string;
/** Messages from before and after the time of the restorations. */
let first: string;
let second: string;
let between: string;

const envOf = (name: string, hasArchive = true): Record<string, string> => ({
  GODWIT_DATA_DIR: join(folder, name),
  ...(hasArchive ? { GODWIT_ARCHIVE: archive } : {}),
});
const seriesOf = (): string[] =>
  readdirSync(archive)
    .filter((name) => /^\d{8}T/.test(name))
    .map((name) => join(archive, name));
const walOf = (series: string): string[] => readdirSync(join(series, "wal")).toSorted();

async function send(godwit: Godwit): Promise<string> {
  const { status, json, text } = await godwit.send(key);
  assert.equal(status, 202, text);
  return String(json["id"]);
}

const statusOf = async (godwit: Godwit, id: string): Promise<unknown> => {
  const { status, json } = await godwit.request("GET", `/v1/messages/${id}`, { key });
  return status === 200 ? json["status"] : status;
};

/** Completes the current WAL file, and waits until it is in the archive. */
async function switchWal(name: string): Promise<void> {
  const file = await asEmbeddedAdmin(join(folder, name), async (admin) => {
    const { rows } = await admin.query<{ file: string }>("select pg_walfile_name(pg_switch_wal()) as file");
    return rows[0]?.file;
  });
  await until("the WAL file in the archive", () => seriesOf().some((series) => walOf(series).includes(`${file}.gz`)) || undefined);
}

const untilBases = (count: number): Promise<unknown> =>
  until(`${count} base backups`, () => listBases(archive).length >= count || undefined);

async function restore(name: string, to: string): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const result = await runGodwit(["backup", "restore", archive, "--to", to, "--json"], envOf(name, false));
  if (result.code === 0) cpSync(join(folder, "data", "secret.key"), join(folder, name, "secret.key"));
  return result;
}

/** Does the work while a file of the archive is another one, or is away. */
async function withFile(path: string, contents: Buffer | undefined, work: () => Promise<void>): Promise<void> {
  renameSync(path, `${path}.kept`);
  try {
    if (contents !== undefined) writeFileSync(path, contents, { mode: 0o644 });
    await work();
  } finally {
    renameSync(`${path}.kept`, path);
  }
}

/** Mounts a disk in memory with room for a WAL file or two, for the user of the server. */
function mountSmall(path: string): boolean {
  mkdirSync(path);
  const { uid = 0, gid = 0 } = chooseUser("") ?? {};
  return spawnSync("mount", ["-t", "tmpfs", "-o", `size=300k,mode=700,uid=${uid},gid=${gid}`, "none", path]).status === 0;
}

const metric = (text: string, name: string): number =>
  Number(new RegExp(`^${name.replaceAll(/[{}]/g, "\\$&")} (\\S+)$`, "m").exec(text)?.[1]);

/** Whether a process of this program waits in the open of a pipe. */
const isOpening = (program: string): boolean =>
  readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .some((pid) => {
      try {
        const isOurs = readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(program);
        return isOurs && /wait_for_partner/.test(readFileSync(`/proc/${pid}/wchan`, "utf8"));
      } catch {
        return false;
      }
    });

/** Creates the folder of an archive for the user of the server. */
function makeArchive(path: string): void {
  mkdirSync(path, { mode: 0o700 });
  const runAs = chooseUser("");
  if (runAs !== undefined) chownSync(path, runAs.uid, runAs.gid);
}

before(async () => {
  folder = mkdtempSync(join(tmpdir(), "godwit-archive-"));
  chmodSync(folder, 0o755);
  // A quotation mark, a space and a percent sign must not break the commands of the server.
  archive = join(folder, "it's 100%full");
  makeArchive(archive);
  await using godwit = await startGodwit({ asProcess: true, env: envOf("data") });
  const created = await runGodwit(["keys", "create", "--environment", "test", "--scopes", SCOPES, "--json"], envOf("data"));
  key = (JSON.parse(created.stdout) as { key: string }).key;
  await untilBases(1);
  first = await send(godwit);
  between = await asEmbeddedAdmin(join(folder, "data"), async (admin) => {
    const { rows } = await admin.query<{ time: Date }>("select clock_timestamp() as time");
    return new Date((rows[0]?.time ?? new Date()).getTime() + 1).toISOString();
  });
  await until("the next millisecond", () => Date.now() > Date.parse(between) + 1 || undefined);
  second = await send(godwit);
  await switchWal("data");
  const { text } = await godwit.request("GET", "/metrics");
  assert.ok(metric(text, "godwit_archive_base_age_seconds") < 600, text);
  assert.ok(metric(text, 'godwit_archive_wal_age_seconds{server="embedded"}') < 600, text);
  assert.equal(metric(text, 'godwit_archive_failures_total{part="wal"}'), 0);
});
after(() => rmSync(folder, { recursive: true, force: true }));

describe("an archive", () => {
  test("restores a time between two messages: the first is there, the second is not, and a hold begins", async () => {
    const { code, stdout, stderr } = await restore("at-time", between);
    assert.equal(code, 0, stderr);
    const { last_commit: lastCommit } = JSON.parse(stdout) as { last_commit: string };
    assert.ok(Date.parse(lastCommit) <= Date.parse(between), `${lastCommit} is not after ${between}`);
    await using godwit = await startGodwit({ asProcess: true, roles: "api,dispatch", env: envOf("at-time") });
    await until("the log to say so", () => godwit.logs.some(({ event }) => event === "delivery.on_hold"));
    assert.deepEqual([await statusOf(godwit, first), await statusOf(godwit, second)], ["queued", 404]);
    const third = await send(godwit);
    // The restored database has a series of its own, from which it can be restored as well.
    await untilBases(2);
    assert.equal(seriesOf().length, 2);
    const fourth = await send(godwit);
    await switchWal("at-time");
    await godwit.stop();
    const again = await restore("again", "latest");
    assert.equal(again.code, 0, again.stderr);
    await using restored = await startGodwit({ asProcess: true, env: envOf("again", false) });
    const found = await Promise.all([first, third, fourth].map((id) => statusOf(restored, id)));
    assert.deepEqual(found, ["queued", "queued", "queued"]);
    // The time of the series that was left is still available.
    const earlier = await restore("earlier", between);
    assert.equal(earlier.code, 0, earlier.stderr);
  });

  test("refuses times outside of it, and times without an offset", async () => {
    for (const [to, message] of [
      ["2020-01-01T00:00:00Z", /begins later: its oldest base backup is from/],
      ["2099-01-01T00:00:00Z", /the archive ends before the time: restore it with --to latest/],
      ["2026-11-17T14:05:00", /must be a time of RFC 3339 with its offset/],
      ["2026-11-31T14:05:00Z", /must be a time of RFC 3339 with its offset/],
    ] as const) {
      const { code, stderr } = await restore("outside", to);
      assert.notEqual(code, 0);
      assert.match(stderr, message);
      assert.equal(existsSync(join(folder, "outside", "postgres")), false, "no database is left");
    }
  });

  test("is verified, and a damaged or missing file is found", async () => {
    const verify = (...flags: string[]) => runGodwit(["backup", "verify", archive, "--json", ...flags], envOf("unused", false));
    const good = await verify("--recover");
    assert.equal(good.code, 0, good.stderr);
    const found = JSON.parse(good.stdout) as { rows: number; last_archived: string };
    assert.ok(found.rows > 0);
    assert.match(found.last_archived, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    assert.deepEqual(
      readdirSync(archive).filter((name) => name.startsWith(".")),
      [],
    );
    const newest = listBases(archive).at(-1);
    assert.ok(newest !== undefined);
    const [path = ""] = listWal(newest);
    const bytes = readFileSync(path);
    bytes[bytes.length - 5] = (bytes[bytes.length - 5] ?? 0) ^ 1;
    for (const [contents, message] of [
      [bytes, /\.gz cannot be read/],
      [undefined, /\.gz is missing/],
    ] as const)
      await withFile(path, contents, async () => {
        const { code, stdout } = await verify();
        assert.equal(code, 1);
        assert.match(stdout, message);
        const { code: failed, stderr } = await restore("damaged", "latest");
        assert.equal(failed, 1);
        assert.match(stderr, /the archive is damaged: .*(cannot be read|is missing)/);
        assert.equal(existsSync(join(folder, "damaged", "postgres")), false);
      });
    await withFile(join(newest.path, "postgres", "PG_VERSION"), Buffer.from("19\n"), async () => {
      const { code, stdout } = await verify();
      assert.equal(code, 1);
      assert.match(stdout, /PG_VERSION has other contents|has 3 bytes/);
    });
  });

  test("is restored again after an interrupted restore", async () => {
    const base = listBases(archive).at(-1);
    assert.ok(base !== undefined);
    const cut = await runGodwit(["backup", "restore", base.path], envOf("cut", false));
    assert.equal(cut.code, 0, cut.stderr);
    const cluster = join(folder, "cut", "postgres");
    // The server deletes this file when it has reached the time.
    writeFileSync(join(cluster, "recovery.signal"), "", { mode: 0o644 });
    for (const command of [
      ["serve", "--port", "0"],
      ["backup", "restore", archive, "--to", "latest"],
    ]) {
      const { code, stderr } = await runGodwit(command, envOf("cut", false));
      assert.equal(code, 1, stderr);
      assert.match(stderr, /is from an interrupted restore: delete the folder and repeat the restore/);
    }
    assert.ok(existsSync(cluster));
  });

  test("leaves nothing of a verification that a signal ends", async () => {
    const { child, exit } = spawnGodwit(["backup", "verify", archive, "--recover"], envOf("unused", false));
    const copy = await until("the server of the copy", () =>
      readdirSync(archive).find((name) => name.startsWith(".verify-") && existsSync(join(archive, name, "postgres", "postmaster.pid"))),
    );
    const pid = Number.parseInt(readFileSync(join(archive, copy, "postgres", "postmaster.pid"), "utf8"), 10);
    child.kill("SIGTERM");
    assert.equal(await exit, 1);
    assert.equal(existsSync(join(archive, copy)), false);
    assert.equal(existsSync(`/proc/${pid}`), false, "its server has ended");
  });

  test("with a WAL file that the user of the server cannot read is not restored to an earlier end", { skip: !isRoot }, async () => {
    const newest = listBases(archive).at(-1);
    assert.ok(newest !== undefined);
    const [path = "", ...later] = listWal(newest);
    assert.ok(later.length > 0, "the file is not the last one");
    await withFile(path, readFileSync(path), async () => {
      chmodSync(path, 0o600);
      const { code, stdout } = await runGodwit(["backup", "verify", archive, "--json"], envOf("unused", false));
      assert.equal(code, 1);
      assert.match(stdout, /cannot be read: EACCES/);
      for (const to of ["latest", new Date().toISOString()]) {
        const restored = await restore("unreadable", to);
        assert.equal(restored.code, 1);
        assert.match(restored.stderr, /the archive is damaged: .*cannot be read: EACCES/);
        assert.equal(existsSync(join(folder, "unreadable", "postgres")), false);
      }
    });
  });

  test("with a link in place of a file of root shows nothing of it", { skip: !isRoot }, async () => {
    const newest = listBases(archive).at(-1);
    assert.ok(newest !== undefined);
    const secret = join(folder, "secret");
    writeFileSync(secret, "of root", { mode: 0o600 });
    for (const path of [join(newest.path, "godwit-backup.json"), join(newest.path, "postgres", "PG_VERSION")])
      await withFile(path, undefined, async () => {
        symlinkSync(secret, path);
        const { code, stdout, stderr } = await runGodwit(["backup", "verify", newest.path, "--json"], envOf("unused", false));
        rmSync(path);
        assert.equal(code, 1);
        assert.match(stdout + stderr, /EACCES/);
      });
  });

  describe("of another service", () => {
    let other: string;
    const env = (): Record<string, string> => ({ GODWIT_DATA_DIR: join(folder, "other"), GODWIT_ARCHIVE: other });
    const basesOf = (): string[] => readdirSync(other).map((series) => join(other, series, "base"));
    const failure = (godwit: Godwit): Promise<Record<string, unknown>> =>
      until("the failure in the log", () => godwit.logs.find(({ event }) => event === "storage.archive_failed"));

    before(() => {
      other = join(folder, "other-archive");
    });

    test("that appears after the start gets a series and a base backup", async () => {
      await using godwit = await startGodwit({ asProcess: true, env: env() });
      await failure(godwit);
      assert.equal(existsSync(other), false, "nothing is written into the place of a disk that is away");
      makeArchive(other);
      await until("the base backup", () => listBases(other).length > 0 || undefined);
    });

    test("is written without the rights of root, also with several workers", { skip: !isRoot }, async () => {
      const [bases = ""] = basesOf();
      const ofRoot = join(folder, "of-root");
      mkdirSync(ofRoot, { mode: 0o700 });
      renameSync(bases, `${bases}.kept`);
      symlinkSync(ofRoot, bases);
      try {
        await using godwit = await startGodwit({ asProcess: true, env: { ...env(), GODWIT_WORKERS: "2" } });
        assert.match(JSON.stringify(await failure(godwit)), /EACCES|permission denied/i);
        assert.deepEqual(readdirSync(ofRoot), []);
      } finally {
        rmSync(bases);
        renameSync(`${bases}.kept`, bases);
      }
    });

    test("is refused by another installation", async () => {
      const series = readdirSync(other);
      await using godwit = await startGodwit({ asProcess: true, env: { ...env(), GODWIT_DATA_DIR: join(folder, "stranger") } });
      assert.match(JSON.stringify(await failure(godwit)), /the archive of another installation/);
      assert.deepEqual(readdirSync(other), series);
    });

    test("that does not respond holds up neither the service nor its stop", async () => {
      const [base] = listBases(other);
      assert.ok(base !== undefined);
      await withFile(join(base.path, "postgres", "backup_label"), undefined, async () => {
        // The read of a pipe without a writer does not end, as that of a disk that is away.
        const pipe = join(base.path, "postgres", "backup_label");
        assert.equal(spawnSync("mkfifo", ["-m", "644", pipe]).status, 0);
        const godwit = await startGodwit({ asProcess: true, env: env() });
        try {
          await until("the process that waits for the pipe", () => isOpening("archive-process") || undefined);
          assert.equal((await godwit.request("GET", "/livez")).status, 200);
        } finally {
          await godwit.stop();
          rmSync(pipe);
        }
      });
    });
  });

  test("that cannot be written is reported, and the service goes on", async () => {
    const kept = `${archive}.away`;
    await using godwit = await startGodwit({ asProcess: true, env: envOf("data") });
    const file = await asEmbeddedAdmin(join(folder, "data"), async (admin) => {
      renameSync(archive, kept);
      const { rows } = await admin.query<{ file: string }>("select pg_walfile_name(pg_switch_wal()) as file");
      return rows[0]?.file;
    });
    assert.equal((await godwit.send(key)).status, 202);
    await until("the failure in the log", () => godwit.logs.some(({ event }) => event === "storage.archive_failed") || undefined);
    await until("the failure in the metrics", async () => {
      const { text } = await godwit.request("GET", "/metrics");
      return metric(text, 'godwit_archive_failures_total{part="wal"}') > 0 || undefined;
    });
    assert.equal(existsSync(archive), false, "nothing is written into the place of a disk that is away");
    renameSync(kept, archive);
    assert.equal((await godwit.send(key)).status, 202);
    // The archiver tries again after a minute.
    await until("the file in the archive", () => seriesOf().some((series) => walOf(series).includes(`${file}.gz`)) || undefined);
  });

  test("with another file of the same name is not overwritten", async () => {
    await using godwit = await startGodwit({ asProcess: true, env: envOf("data") });
    const file = await asEmbeddedAdmin(join(folder, "data"), async (admin) => {
      const { rows } = await admin.query<{ file: string }>("select pg_walfile_name(pg_current_wal_lsn()) as file");
      return `${rows[0]?.file}.gz`;
    });
    const series = readFileSync(join(folder, "data", "postgres", "godwit.archive"), "utf8").trim();
    writeFileSync(join(series, "wal", file), "other", { mode: 0o644 });
    await asEmbeddedAdmin(join(folder, "data"), (admin) => admin.query("select pg_switch_wal()"));
    const reason = await until(
      "the failure in the log",
      () => godwit.logs.find(({ event }) => event === "storage.archive_failed")?.["reason"],
    );
    assert.match(String(reason), /exists with other contents/);
    assert.equal(readFileSync(join(series, "wal", file), "utf8"), "other");
  });

  const small = join(tmpdir(), `godwit-small-${process.pid}`);
  const canMount = isRoot && mountSmall(small);
  after(() => {
    if (canMount) spawnSync("umount", [small]);
    rmSync(small, { recursive: true, force: true });
  });
  test("that is full is reported, and the service goes on", { skip: !canMount && "only root can mount a small disk" }, async () => {
    await using godwit = await startGodwit({ asProcess: true, env: { ...envOf("of-full"), GODWIT_ARCHIVE: small } });
    const failures = (part: string): Promise<unknown> =>
      until(`a failure of ${part}`, async () => {
        const { text } = await godwit.request("GET", "/metrics");
        return metric(text, `godwit_archive_failures_total{part="${part}"}`) > 0 || undefined;
      });
    await failures("base");
    await asEmbeddedAdmin(join(folder, "of-full"), (admin) => admin.query("select pg_switch_wal()"));
    await failures("wal");
    const ownKey = /gw_test_\w+/.exec(godwit.output.join("\n"))?.[0] ?? "";
    assert.equal((await godwit.send(ownKey)).status, 202);
    const events = new Set(godwit.logs.map(({ event }) => event));
    assert.ok(events.has("storage.archive_failed"));
    assert.ok(!events.has("storage.disk_full"), "the disk of the database is not full");
  });

  test("whose audit log was changed is found by a recovery", async () => {
    await using godwit = await startGodwit({ asProcess: true, env: envOf("changed", false) });
    const dataDir = join(folder, "changed");
    const created = await runGodwit(["keys", "create", "--environment", "test", "--scopes", SCOPES], envOf("changed", false));
    assert.equal(created.code, 0, created.stderr);
    await asEmbeddedAdmin(dataDir, async (admin) => {
      await until("the sealed entries", async () => {
        const { rows } = await admin.query("select from audit_links offset 1 limit 1");
        return rows.length > 0 || undefined;
      });
      await admin.query("set session_replication_role = replica");
      await admin.query("update audit_events set action = 'key.revoked' where action = 'key.created'");
    });
    await godwit.stop();
    const backup = join(folder, "backup");
    assert.equal((await runGodwit(["backup", "create", backup], envOf("changed", false))).code, 0);
    const { code, stdout } = await runGodwit(["backup", "verify", backup, "--recover", "--json"], envOf("changed", false));
    assert.equal(code, 1);
    assert.match(stdout, /audit log of acct_/);
  });

  test("deletes the copies of verifications that were interrupted a day ago", async () => {
    const [old, running, young] = ["old", "running", "young"].map((name) => join(archive, `.verify-${name}`));
    assert.ok(old !== undefined && running !== undefined && young !== undefined);
    const now = Date.now();
    for (const copy of [old, running, young]) mkdirSync(join(copy, "postgres"), { recursive: true });
    const lock = await takeLock(running, "backup");
    assert.ok("release" in lock);
    for (const copy of [old, running]) utimesSync(copy, now / 1_000 - 60, now / 1_000 - 60);
    await removeOldCopies(archive, now - 30_000);
    assert.deepEqual([old, running, young].map(existsSync), [false, true, true]);
    lock.release();
    for (const copy of [running, young]) rmSync(copy, { recursive: true });
  });

  test("keeps what the days of the setting need, and deletes the rest", () => {
    const bases = listBases(archive);
    const [oldest] = bases;
    const newest = bases.at(-1);
    assert.ok(oldest !== undefined && newest !== undefined && oldest.series !== newest.series);
    pruneArchive(newest.series, newest.createdAtMs - 1);
    assert.deepEqual(listBases(archive), bases, "the base backup before the time is needed");
    appendFileSync(join(newest.series, "wal", "000000010000000000000000.gz"), "");
    mkdirSync(join(newest.series, "base", "interrupted"));
    pruneArchive(newest.series, newest.createdAtMs);
    assert.deepEqual(listBases(archive), [newest]);
    assert.equal(existsSync(oldest.series), false);
    assert.ok(!walOf(newest.series).includes("000000010000000000000000.gz"));
    assert.equal(existsSync(join(newest.series, "base", "interrupted")), false);
  });
});
