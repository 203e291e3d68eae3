/** `kill -9` of the service, of its embedded database and of both, and a graceful stop, all of them under load: what was
 *  answered with 202 is there, once, and what was not can be repeated. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { within } from "../src/lib/wait.ts";
import { socketDir } from "../src/storage/data-directory.ts";
import { Database } from "../src/storage/database.ts";
import { embeddedTarget } from "../src/storage/embedded-postgres.ts";
import { createDatabase, runGodwit, startGodwit, type Godwit } from "./harness.ts";
import { Hold, HELD_BODY } from "./hold.ts";
import { assertFirst, effectCount, NEVER, unique } from "./replay.ts";
import { seeded } from "./seed.ts";
import { assertEachOnce, assertNothingDone, assertNothingHalfDone, postBytes, retryUnanswered, sendUntil, type Sent } from "./sending.ts";

const STOP_LIMIT_MS = 30_000;

const withStatus = (sent: readonly Sent[], status: number | undefined): Sent[] => sent.filter((one) => one.status === status);

/** Load until `strike` has struck; everything that was sent. */
async function loadWhile(godwit: Godwit, apiKey: string, strike: () => Promise<void>): Promise<Sent[]> {
  const stop = new AbortController();
  const load = sendUntil(stop.signal, { godwit, apiKey });
  try {
    await strike();
  } finally {
    stop.abort();
  }
  return load;
}

describe("a service that is killed under load", () => {
  test("loses nothing that it answered, and leaves nothing half done", async (context) => {
    const random = seeded(context);
    const databaseUrl = await createDatabase();
    const all: Sent[] = [];
    for (let round = 0; round < 4; round += 1) {
      const godwit = await startGodwit({ databaseUrl });
      await godwit.unlimited();
      const apiKey = await godwit.key();
      const sent = await loadWhile(godwit, apiKey, async () => {
        await sleep(300 + random() * 1_200);
        godwit.child.kill("SIGKILL");
      });
      await godwit.stop();
      all.push(...sent);
      assert.ok(withStatus(sent, 202).length > 0, "there was load");
      assert.deepEqual(new Set(sent.map(({ status }) => status)), new Set([202, undefined]));
    }
    await using godwit = await startGodwit({ databaseUrl });
    assert.ok(godwit.db !== undefined);
    await assertEachOnce(godwit.db, withStatus(all, 202));
    const settled = await retryUnanswered(godwit, await godwit.key(), all);
    await assertEachOnce(godwit.db, settled);
    await assertNothingHalfDone(godwit.db);
    context.diagnostic(`${all.length} requests, ${withStatus(all, undefined).length} cut off`);
  });
});

describe("a service with its embedded database", () => {
  let dataDir: string;
  let godwit: Godwit;
  let apiKey: string;
  let db: Database;
  const all: Sent[] = [];

  const start = async (): Promise<void> => {
    godwit = await startGodwit({ env: { GODWIT_DATA_DIR: dataDir } });
  };
  const postmaster = (): number => Number(readFileSync(join(dataDir, "postgres", "postmaster.pid"), "utf8").split("\n")[0]);
  const commandOf = (pid: number): string => (existsSync(`/proc/${pid}`) ? readFileSync(`/proc/${pid}/cmdline`, "utf8") : "");
  const run = async (...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await runGodwit(args, { GODWIT_DATA_DIR: dataDir });
    assert.equal(code, 0, stderr);
    return stdout;
  };
  const kill = async (): Promise<void> => {
    const gone = new Promise<void>((resolve) => godwit.child.once("exit", () => resolve()));
    godwit.child.kill("SIGKILL");
    await gone;
  };
  /** Of everything that was ever sent to this directory. */
  const assertKept = async (sent: readonly Sent[]): Promise<void> => {
    await assertEachOnce(db, withStatus(all, 202));
    all.push(...(await retryUnanswered(godwit, apiKey, sent)));
    await assertEachOnce(db, all);
    await assertNothingHalfDone(db);
  };

  before(async () => {
    dataDir = mkdtempSync(join(tmpdir(), "godwit-crash-"));
    // The database's user has to get in.
    chmodSync(dataDir, 0o755);
    await start();
    db = new Database(embeddedTarget(socketDir(dataDir)), "test", () => undefined);
    await run("environments", "set-tier", "test", "unlimited");
    const made = await run("keys", "create", "--environment", "test", "--scopes", "messages:send,messages:read", "--json");
    apiKey = (JSON.parse(made) as { key: string }).key;
  });
  after(async () => {
    await db.close();
    await godwit.stop();
    // Only a failed test leaves its database behind.
    const pidFile = join(dataDir, "postgres", "postmaster.pid");
    if (existsSync(pidFile) && commandOf(postmaster()).includes(dataDir)) process.kill(postmaster(), "SIGQUIT");
    rmSync(dataDir, { recursive: true, force: true });
  });

  test("loses nothing when the service is killed, and its database lives on without it", async (context) => {
    const random = seeded(context);
    const sent = await loadWhile(godwit, apiKey, async () => {
      await sleep(300 + random() * 700);
      await kill();
    });
    await start();
    await assertEachOnce(db, withStatus(sent, 202));
    await assertKept(sent);
  });

  test("loses nothing when both are killed", async (context) => {
    const random = seeded(context);
    const sent = await loadWhile(godwit, apiKey, async () => {
      await sleep(300 + random() * 700);
      process.kill(postmaster(), "SIGKILL");
      await sleep(random() * 20);
      await kill();
    });
    await start();
    await assertEachOnce(db, withStatus(sent, 202));
    await assertKept(sent);
  });

  test("answers 503 or 500 while its database is killed, brings it back by itself, and loses nothing", async (context) => {
    const random = seeded(context);
    const killed = postmaster();
    const stop = new AbortController();
    let isKilled = false;
    let refused = 0;
    // The load ends with the first success after a refusal; the time limit is that of a broken recovery.
    const load = sendUntil(AbortSignal.any([stop.signal, AbortSignal.timeout(25_000)]), { godwit, apiKey }, ({ status }) => {
      if (isKilled && status !== 202) refused += 1;
      if (refused > 0 && status === 202) stop.abort();
    });
    await sleep(300 + random() * 700);
    process.kill(killed, "SIGKILL");
    isKilled = true;
    const sent = await load;
    assert.ok(refused > 0 && stop.signal.aborted, "refused, and then recovered");
    assert.notEqual(postmaster(), killed);
    for (const { status } of sent) assert.ok([202, 500, 503].includes(status ?? 0), `answered ${status}`);
    await assertNothingDone(db, withStatus(sent, 503));
    await assertEachOnce(db, withStatus(sent, 202));
    await assertKept(sent);
    context.diagnostic(
      `${sent.length} requests, ${withStatus(sent, 503).length} answered 503, ${withStatus(sent, 500).length} answered 500`,
    );
  });

  test("stops gracefully after all that", async () => {
    assert.equal(await within(godwit.stop(), STOP_LIMIT_MS), 0, godwit.output.join("\n"));
  });
});

describe("a graceful stop", () => {
  test("under load: everything answered 202 is there, all else can be repeated elsewhere", async (context) => {
    const random = seeded(context);
    const godwit = await startGodwit();
    await using other = await startGodwit({ databaseUrl: godwit.databaseUrl });
    assert.ok(other.db !== undefined);
    await godwit.unlimited();
    const apiKey = await godwit.key();
    const sent = await loadWhile(godwit, apiKey, async () => {
      await sleep(300 + random() * 700);
      assert.equal(await within(godwit.stop(), STOP_LIMIT_MS), 0);
    });
    assert.ok(withStatus(sent, 202).length > 0);
    for (const { status } of sent) assert.ok([202, 503, undefined].includes(status), `answered ${status}`);
    await assertNothingDone(other.db, withStatus(sent, 503));
    await assertEachOnce(other.db, withStatus(sent, 202));
    await assertEachOnce(other.db, await retryUnanswered(other, apiKey, sent));
    await assertNothingHalfDone(other.db);
  });

  test("waits for a request under way, and answers it", async () => {
    const godwit = await startGodwit();
    const apiKey = await godwit.key();
    await using hold = await Hold.take(godwit.databaseUrl as string);
    const running = godwit.send(apiKey, { body: HELD_BODY });
    await hold.waiting();
    const stopped = godwit.stop();
    assert.equal(await within(stopped, 500), undefined, "it waits");
    await hold.release();
    assertFirst(await running);
    assert.equal(await within(stopped, STOP_LIMIT_MS), 0);
  });

  test("is not held up by clients that hung up earlier", async () => {
    const godwit = await startGodwit();
    const apiKey = await godwit.key();
    const { hostname, port } = new URL(godwit.url);
    const whole = postBytes(apiKey, randomUUID());
    const body = unique();
    const part = postBytes(apiKey, randomUUID(), body).slice(0, -10);
    for (const bytes of [whole, part, part.slice(0, part.indexOf("\r\n\r\n"))]) {
      await new Promise<void>((resolve, reject) => {
        const socket = connect(Number(port), hostname, () => socket.write(bytes, () => socket.destroy()));
        socket.on("error", reject);
        socket.on("close", () => resolve());
      });
    }
    assertFirst(await godwit.send(apiKey));
    assert.deepEqual(await effectCount(godwit, body), NEVER);
    // Nothing runs any more, so there is nothing to wait for.
    assert.equal(await within(godwit.stop(), 5_000), 0);
  });
});
