/** Backups of the embedded database: created under load, verified, and restored. A restored service begins with a hold. */
import assert from "node:assert/strict";
import { chmodSync, cpSync, existsSync, lstatSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { connectAsAdmin } from "../../src/embedded/embedded-roles.ts";
import { socketDir } from "../../src/embedded/data-directory.ts";
import { until } from "../support/expect.ts";
import { runGodwit, startGodwit, type Godwit } from "../support/harness.ts";
import { sendUntil, type Sent } from "../support/sending.ts";

const SCOPES = "messages:send,messages:read,events:read,links:read";

let folder: string;
let key: string;
/** The messages with a 202 from before the backup began. */
let before202: Sent[];
/** Scheduled messages: the time of the first one comes before the restoration, that of the second one does not. */
let scheduled: { isDue: string; isLater: string };
const DUE_AFTER_MS = 1_500;

const dataDirOf = (name: string): string => join(folder, name);
const envOf = (name: string): Record<string, string> => ({ GODWIT_DATA_DIR: dataDirOf(name), GODWIT_SIMULATOR_SPEED: "1000" });

/** Restores the backup into a new data directory, with the secret key of the first one. */
async function restore(name: string): Promise<void> {
  const { code, stderr } = await runGodwit(["backup", "restore", join(folder, "backup")], envOf(name));
  assert.equal(code, 0, stderr);
  assert.ok(lstatSync(join(dataDirOf(name), "postgres")).isDirectory(), "the database is in the data directory");
  cpSync(join(dataDirOf("data"), "secret.key"), join(dataDirOf(name), "secret.key"));
}

const statusesOf = async (godwit: Godwit, sent: readonly Pick<Sent, "id">[]): Promise<Record<string, number>> => {
  const counts: Record<string, number> = {};
  for (const { id } of sent) {
    const { status, json } = await godwit.request("GET", `/v1/messages/${id}`, { key });
    const name = status === 200 ? String(json["status"]) : String(status);
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
};

async function schedule(godwit: Godwit, inMs: number): Promise<string> {
  const { status, json, text } = await godwit.send(key, { send_at: new Date(Date.now() + inMs).toISOString() });
  assert.equal(status, 202, text);
  return String(json["id"]);
}

/** A backup is refused while another one has the server's replication slot. */
async function assertOneAtATime(): Promise<void> {
  const other = await connectAsAdmin(socketDir(dataDirOf("data")));
  try {
    await other.query("select pg_create_physical_replication_slot('godwit_backup', true, true)");
    const { code, stderr } = await runGodwit(["backup", "create", join(folder, "second")], envOf("data"));
    assert.equal(code, 1);
    assert.match(stderr, /another backup of this database is running/);
  } finally {
    await other.end();
  }
}

before(async () => {
  folder = mkdtempSync(join(tmpdir(), "godwit-backup-"));
  chmodSync(folder, 0o755);
  // Only the API: every message waits in the queue.
  await using godwit = await startGodwit({ asProcess: true, env: envOf("data") });
  const created = await runGodwit(["keys", "create", "--environment", "test", "--scopes", SCOPES, "--json"], envOf("data"));
  key = (JSON.parse(created.stdout) as { key: string }).key;
  await runGodwit(["environments", "set-tier", "test", "unlimited"], envOf("data"));
  scheduled = { isDue: await schedule(godwit, DUE_AFTER_MS), isLater: await schedule(godwit, 86_400_000) };
  const dueAt = performance.now() + DUE_AFTER_MS;
  const stop = new AbortController();
  const all: Sent[] = [];
  const load = sendUntil(stop.signal, { godwit, apiKey: key, connections: 8 }, (sent) => void all.push(sent));
  await until("messages to be accepted", () => all.length >= 100 || undefined);
  before202 = all.filter(({ status }) => status === 202);
  await assertOneAtATime();
  const { code, stdout, stderr } = await runGodwit(["backup", "create", join(folder, "backup"), "--json"], envOf("data"));
  assert.equal(code, 0, stderr);
  assert.match(stderr, /^saved 100 % of \d+ MB$/m);
  assert.match(stderr, /^the secret key is not part of the backup/m);
  assert.ok((JSON.parse(stdout) as { files: number }).files > 500);
  stop.abort();
  await load;
  await until("the scheduled time", () => performance.now() > dueAt || undefined);
});
after(() => rmSync(folder, { recursive: true, force: true }));

describe("a backup", () => {
  test("is verified, file by file and by a recovery that reads every row", async () => {
    const { code, stdout, stderr } = await runGodwit(["backup", "verify", join(folder, "backup"), "--recover", "--json"], envOf("data"));
    assert.equal(code, 0, stderr);
    const { faults, rows } = JSON.parse(stdout) as { faults: unknown; rows: number };
    assert.equal(faults, null);
    assert.ok(rows > before202.length * 4, `${rows} rows`);
    assert.deepEqual(
      readdirSync(folder).filter((name) => name.includes("verify")),
      [],
      "nothing is left of the recovery",
    );
  });

  test("with a changed, a missing and another file is found damaged, and is not restored", async () => {
    const copy = join(folder, "damaged");
    cpSync(join(folder, "backup"), copy, { recursive: true });
    const path = join(copy, "postgres", "global", "pg_control");
    const bytes = readFileSync(path);
    bytes[40] = (bytes[40] ?? 0) ^ 1;
    writeFileSync(path, bytes);
    rmSync(join(copy, "postgres", "PG_VERSION"));
    writeFileSync(join(copy, "postgres", "other"), "");
    const { code, stdout } = await runGodwit(["backup", "verify", copy, "--json"], envOf("data"));
    assert.equal(code, 1);
    const { faults } = JSON.parse(stdout) as { faults: string[] };
    assert.equal(faults.length, 3, faults.join("\n"));
    const restored = await runGodwit(["backup", "restore", copy], envOf("from-damaged"));
    assert.equal(restored.code, 1);
    assert.match(restored.stderr, /the backup is damaged|cannot be read|ENOENT/);
    const again = await runGodwit(["backup", "restore", join(folder, "backup")], envOf("from-damaged"));
    assert.equal(again.code, 0, again.stderr);
  });

  for (const [what, args, name, message] of [
    ["into a folder with files", ["create", "."], "data", /is not empty: name a new folder/],
    ["inside the database", ["create", "data/postgres/inside"], "data", /inside the database: name another folder/],
    ["over a database", ["restore", "backup"], "data", /has a database: name another --data-dir|is in use by another godwit/],
    ["from a folder without one", ["restore", "data"], "nothing", /is not a complete backup: it has no godwit-backup\.json/],
  ] as const)
    test(`is refused ${what}`, async () => {
      const [verb, dir] = args;
      const { code, stderr } = await runGodwit(["backup", verb, join(folder, dir)], envOf(name));
      assert.equal(code, 1, stderr);
      assert.match(stderr, message);
    });

  test("of a data directory without a database is refused, and creates none", async () => {
    for (const args of [
      ["backup", "create", join(folder, "of-nothing")],
      ["migrate", "--plan"],
    ]) {
      const { code, stderr } = await runGodwit(args, envOf("absent"));
      assert.equal(code, 1);
      assert.match(stderr, /has no database: name the --data-dir of the service/);
      assert.equal(existsSync(dataDirOf("absent")), false);
    }
  });

  test("of a database of DATABASE_URL is refused, with the way to do it", async () => {
    const { code, stderr } = await runGodwit(["backup", "create", "x"], { DATABASE_URL: "postgres://godwit@127.0.0.1/godwit" });
    assert.equal(code, 2);
    assert.match(stderr, /use pgBackRest, pg_basebackup or pg_dump, and godwit hold/);
  });
});

describe("a restored service", () => {
  for (const [flag, ends] of [
    ["--send", { delivered: 1 }],
    ["--end", { failed: 1 }],
  ] as const)
    test(`accepts, and hands over nothing, until godwit resume ${flag}`, async () => {
      const name = `restored${flag}`;
      await restore(name);
      await using godwit = await startGodwit({ asProcess: true, roles: "api,dispatch", env: envOf(name) });
      await until("the log to say so", () => godwit.logs.some(({ event }) => event === "delivery.on_hold"));
      const accepted = await godwit.send(key, { client_reference: "during the hold" });
      assert.equal(accepted.status, 202);
      await until("the state of the link", async () => {
        const { json } = await godwit.request("GET", "/v1/links", { key });
        return (json["data"] as { state: string }[])[0]?.state === "paused" || undefined;
      });
      assert.deepEqual(await statusesOf(godwit, before202), { queued: before202.length });
      const { stdout: doctor } = await runGodwit(["doctor", "--json"], envOf(name));
      assert.match(doctor, /on hold since/);

      const asked = await runGodwit(["resume"], envOf(name));
      assert.equal(asked.code, 2);
      assert.match(asked.stderr, /with --send: .*\n.*with --end: /);

      // The hold survives a restart.
      await godwit.stop("SIGKILL");
      await using again = await startGodwit({ asProcess: true, roles: "api,dispatch", env: envOf(name) });
      assert.deepEqual(await statusesOf(again, before202), { queued: before202.length });

      const resumed = await runGodwit(["resume", flag, "--json"], envOf(name));
      assert.equal(resumed.code, 0, resumed.stderr);
      assert.match(resumed.stderr, /^from before: [\d,]+ queued, 0 being sent, 1 scheduled for later$/m);
      const [status] = Object.keys(ends);
      await until("the messages from before", async () => {
        const counts = await statusesOf(again, before202);
        return counts[status ?? ""] === before202.length || undefined;
      });
      const id = String(accepted.json["id"]);
      await until("the message of the hold to be delivered", async () => {
        const { json } = await again.request("GET", `/v1/messages/${id}`, { key });
        return json["status"] === "delivered" || undefined;
      });
      if (flag === "--end") {
        const { json } = await again.request("GET", `/v1/messages/${before202[0]?.id}`, { key });
        assert.equal((json["error"] as { code: string }).code, "outcome_unknown");
      }
      assert.deepEqual(await statusesOf(again, [{ id: scheduled.isLater }]), { scheduled: 1 });
      await until("the scheduled message whose time had come", async () => {
        const counts = await statusesOf(again, [{ id: scheduled.isDue }]);
        return counts[status ?? ""] === 1 || undefined;
      });
      assert.match((await runGodwit(["resume"], envOf(name))).stderr, /there is no hold/);
    });
});
