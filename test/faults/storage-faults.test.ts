/** Faults of the storage under load: a full disk, a file system that becomes read-only, no free connections, no memory in a backend. The service
 *  responds with 503 and Retry-After, is not ready, loses nothing, and recovers without a restart. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test, type TestContext } from "node:test";
import { until } from "../support/expect.ts";
import { runGodwit, startGodwit, type Godwit, type Reply } from "../support/harness.ts";
import { asAdmin } from "../support/database.ts";
import { assertKeysReplay, sendUntil, type Sent } from "../support/sending.ts";

const rootOnly = process.getuid?.() === 0 ? false : "only root can mount a file system";

const run = (program: string, ...args: string[]): boolean => spawnSync(program, args, { stdio: "ignore" }).status === 0;

function assertUnavailable(reply: Reply): void {
  assert.equal(reply.status, 503, reply.text);
  assert.match(reply.headers.get("retry-after") ?? "", /^[1-9]\d*$/);
}

const readiness = (godwit: Godwit, status: number): Promise<true> =>
  until(`readiness to be ${status}`, async () => (await godwit.request("GET", "/readyz")).status === status || undefined);

/** Sends under load, causes the fault, waits until the service is not ready, ends the fault, and asserts that nothing is lost. */
async function endure(
  context: TestContext,
  godwit: Godwit,
  key: string,
  { cause, end }: { cause: () => unknown; end: () => unknown },
): Promise<void> {
  const stop = new AbortController();
  const all: Sent[] = [];
  const load = sendUntil(stop.signal, { godwit, apiKey: key, connections: 8 }, (sent) => void all.push(sent));
  const countOf = (status: number): number => all.filter((sent) => sent.status === status).length;
  await until("messages to be accepted", () => countOf(202) >= 50 || undefined);
  await cause();
  await readiness(godwit, 503);
  assertUnavailable(
    await until("a refused message", async () => {
      const reply = await godwit.send(key);
      return reply.status === 503 ? reply : undefined;
    }),
  );
  await end();
  await readiness(godwit, 200);
  const before = countOf(202);
  await until("messages to be accepted again", () => countOf(202) >= before + 50 || undefined);
  stop.abort();
  await load;
  context.diagnostic(`${countOf(202)} times 202, ${countOf(503)} times 503, ${countOf(500)} times 500`);
  for (const { status } of all) assert.ok([202, 500, 503].includes(status ?? 0), `responded with ${status}`);
  await assertKeysReplay(godwit, key, all, Infinity);
}

/** A service with its embedded database on a file system of its own. */
async function startOn(mount: string): Promise<{ godwit: Godwit; key: string; env: Record<string, string> }> {
  chmodSync(mount, 0o755);
  const env = { GODWIT_DATA_DIR: join(mount, "data") };
  const godwit = await startGodwit({ asProcess: true, env });
  const created = await runGodwit(["keys", "create", "--environment", "test", "--scopes", "messages:send,messages:read", "--json"], env);
  await runGodwit(["environments", "set-tier", "test", "unlimited"], env);
  return { godwit, key: (JSON.parse(created.stdout) as { key: string }).key, env };
}

function newMount(context: TestContext): { mount: string; folder: string } {
  const folder = mkdtempSync(join(tmpdir(), "godwit-storage-"));
  chmodSync(folder, 0o755);
  const mount = join(folder, "mount");
  mkdirSync(mount);
  context.after(() => {
    run("umount", "-l", mount);
    rmSync(folder, { recursive: true, force: true });
  });
  return { mount, folder };
}

describe("a service whose", { concurrency: 2 }, () => {
  test("disk becomes full refuses, says so, and recovers when there is room", { skip: rootOnly }, async (context) => {
    const { mount } = newMount(context);
    if (!run("mount", "-t", "tmpfs", "-o", "size=300m", "tmpfs", mount)) return context.skip("no file system can be mounted here");
    const { godwit, key, env } = await startOn(mount);
    const filler = join(mount, "filler");
    await endure(context, godwit, key, {
      cause: async () => {
        run("dd", "if=/dev/zero", `of=${filler}`, "bs=1M");
        await until("the log to say so", () => godwit.logs.some(({ event }) => event === "storage.disk_full") || undefined);
        assert.match((await runGodwit(["doctor"], env)).stdout, /^ +→ free disk space now/m);
      },
      end: () => rmSync(filler),
    });
    assert.equal(await godwit.stop(), 0);
  });

  test("file system becomes read-only refuses, and recovers when it is mounted again", { skip: rootOnly }, async (context) => {
    const { mount, folder } = newMount(context);
    const image = join(folder, "image");
    const mounted = (): boolean => run("mount", "-o", "loop", image, mount);
    if (!run("truncate", "-s", "400M", image) || !run("mkfs.ext4", "-q", image) || !mounted())
      return context.skip("no ext4 file system can be mounted here");
    const { godwit, key } = await startOn(mount);
    await endure(context, godwit, key, {
      // ext4 does this by itself after an error of the disk.
      cause: () => assert.ok(run("mount", "-o", "remount,abort", mount)),
      end: async () => {
        await until("the server to end", () => run("umount", mount) || undefined);
        run("e2fsck", "-fy", image);
        // The kernel can keep the loop device of the earlier mount for a moment.
        await until("the file system to be mounted", () => mounted());
      },
    });
    assert.equal(await godwit.stop(), 0);
  });

  test("database has no free connections refuses, and recovers when there are some", async (context) => {
    await using godwit = await startGodwit();
    await godwit.unlimited();
    const name = String((await godwit.rows<{ name: string }>("select current_database() as name"))[0]?.name);
    await endure(context, godwit, await godwit.key(), {
      cause: () =>
        asAdmin(async (admin) => {
          await admin.query(`alter database ${name} connection limit 0`);
          // The administrator is not limited by it, and the service connects as the administrator in tests.
          await admin.query(`alter database ${name} with allow_connections false`);
          await admin.query("select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = $1", [name]);
        }),
      end: () => asAdmin((admin) => admin.query(`alter database ${name} with allow_connections true connection limit -1`)),
    });
  });

  test("database lacks memory or disk for a statement refuses that request with 503, and accepts the next one", async () => {
    await using godwit = await startGodwit();
    const key = await godwit.key();
    for (const code of ["53100", "53200", "53300", "58030"]) {
      await godwit.rows(`create or replace function fail_for_test() returns trigger language plpgsql
                         as $$ begin raise exception 'out of it' using errcode = '${code}'; end $$`);
      await godwit.rows("create or replace trigger fail_for_test before insert on delivery_queue execute function fail_for_test()");
      assertUnavailable(await godwit.send(key));
      await godwit.rows("drop trigger fail_for_test on delivery_queue");
      assert.equal((await godwit.send(key)).status, 202);
    }
  });

  test("backend is killed, as the kernel does for lack of memory, accepts again after the recovery of the server", async (context) => {
    const folder = mkdtempSync(join(tmpdir(), "godwit-killed-"));
    context.after(() => rmSync(folder, { recursive: true, force: true }));
    const { godwit, key } = await startOn(folder);
    const stop = new AbortController();
    const all: Sent[] = [];
    const load = sendUntil(stop.signal, { godwit, apiKey: key, connections: 8 }, (sent) => void all.push(sent));
    const accepted = (): number => all.filter(({ status }) => status === 202).length;
    await until("messages to be accepted", () => accepted() >= 50 || undefined);
    // A message that the service had not yet sent to the database is accepted over another connection, so one kill may refuse none.
    for (let kills = 0; kills < 10 && !all.some(({ status }) => status === 503); kills += 1) {
      const before = accepted();
      process.kill(backendOf(join(folder, "data", "postgres")), "SIGKILL");
      await until("a response", () => all.some(({ status }) => status === 503) || accepted() >= before + 50 || undefined);
    }
    assert.ok(
      all.some(({ status }) => status === 503),
      "no message was refused",
    );
    const before = accepted();
    await until("messages to be accepted again", () => accepted() >= before + 50 || undefined);
    stop.abort();
    await load;
    await assertKeysReplay(godwit, key, all, Infinity);
    assert.equal(await godwit.stop(), 0);
  });
});

/** A process of a session of the server whose cluster is this folder. */
function backendOf(cluster: string): number {
  const found = readdirSync("/proc").find((pid) => {
    try {
      const isThere = /^\d+$/.test(pid) && realpathSync(`/proc/${pid}/cwd`) === realpathSync(cluster);
      return isThere && readFileSync(`/proc/${pid}/cmdline`, "utf8").startsWith("postgres: godwit postgres [local]");
    } catch {
      return false;
    }
  });
  return Number(found ?? assert.fail("the server has no session"));
}
