/** `kill -9` of the service, of its embedded database and of both, under load: messages with a 202 are stored once, other requests can be
 *  repeated, and all messages are delivered. */
import assert from "node:assert/strict";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { within } from "../../src/lib/wait.ts";
import { socketDir } from "../../src/embedded/data-directory.ts";
import { Database } from "../../src/database/database.ts";
import { inspectionOf } from "../support/database.ts";
import { runGodwit, startGodwit, type Godwit } from "../support/harness.ts";
import { LIMIT_MS, until } from "../support/expect.ts";
import { seeded } from "../support/seed.ts";
import {
  assertEachOnce,
  assertKeysReplay,
  assertNothingDone,
  assertNothingHalfDone,
  retryUnanswered,
  sendUntil,
  type Sent,
} from "../support/sending.ts";
import { assertSubmittedOnce, tracesOf, tally } from "./accounted.ts";
import { inTraffic, loadWhile, SETTLE_MS, settledAfter, simulatorSpeed, withStatus } from "./crash-load.ts";

describe("a service with its embedded database", () => {
  let dataDir: string;
  let godwit: Godwit;
  let apiKey: string;
  let db: Database;
  const all: Sent[] = [];

  const start = async (roles = "api"): Promise<void> => {
    godwit = await startGodwit({ asProcess: true, roles, simulatorSpeed, env: { GODWIT_DATA_DIR: dataDir } });
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
  /** Checks all requests that were ever sent to this directory. */
  const assertKept = async (sent: readonly Sent[]): Promise<void> => {
    await assertEachOnce(db, withStatus(all, 202));
    all.push(...(await retryUnanswered(godwit, apiKey, sent)));
    await assertEachOnce(db, all);
    await assertNothingHalfDone(db);
  };

  before(async () => {
    dataDir = mkdtempSync(join(tmpdir(), "godwit-crash-"));
    // The user of the database needs access.
    chmodSync(dataDir, 0o755);
    await start();
    const url = `postgres://godwit@/postgres?host=${encodeURIComponent(socketDir(dataDir))}`;
    db = new Database(inspectionOf(url), "test", () => undefined);
    await run("environments", "set-tier", "test", "unlimited");
    const made = await run("keys", "create", "--environment", "test", "--scopes", "messages:send,messages:read", "--json");
    apiKey = (JSON.parse(made) as { key: string }).key;
  });
  after(async () => {
    await db.close();
    await godwit.stop();
    // Only a failed test leaves its database running.
    const pidFile = join(dataDir, "postgres", "postmaster.pid");
    if (existsSync(pidFile) && commandOf(postmaster()).includes(dataDir)) process.kill(postmaster(), "SIGQUIT");
    rmSync(dataDir, { recursive: true, force: true });
  });

  test("loses nothing when only the service is killed", async (context) => {
    const random = seeded(context);
    const sent = await loadWhile(godwit, apiKey, async () => {
      await sleep(random() * 400);
      await kill();
    });
    await start();
    await assertEachOnce(db, withStatus(sent, 202));
    await assertKept(sent);
  });

  test("loses nothing when both are killed", async (context) => {
    const random = seeded(context);
    const sent = await loadWhile(godwit, apiKey, async () => {
      await sleep(random() * 400);
      process.kill(postmaster(), "SIGKILL");
      await sleep(random() * 20);
      await kill();
    });
    await start();
    await assertEachOnce(db, withStatus(sent, 202));
    await assertKept(sent);
  });

  /** Sends load while the database is killed at that moment, until it is available again. */
  const loadThroughDatabaseLoss = async (moment: () => Promise<unknown>): Promise<Sent[]> => {
    const killed = postmaster();
    const stop = new AbortController();
    const connections = 16;
    let isKilled = false;
    let isUnderWay = false;
    let refused = 0;
    let taken = 0;
    // After a refusal each connection may still return an earlier success. One more success proves that the database is available. The
    // time limit only stops a broken recovery.
    const load = sendUntil(
      AbortSignal.any([stop.signal, AbortSignal.timeout(SETTLE_MS)]),
      { godwit, apiKey, connections },
      ({ status }) => {
        if (isKilled && status !== 202) refused += 1;
        isUnderWay ||= status === 202;
        taken = status === 202 ? taken + 1 : 0;
        if (refused > 0 && taken > connections) stop.abort();
      },
    );
    await until("messages to be accepted", () => isUnderWay || undefined);
    await moment();
    process.kill(killed, "SIGKILL");
    isKilled = true;
    const sent = await load;
    assert.ok(refused > 0 && stop.signal.aborted, "refused, and then recovered");
    assert.notEqual(postmaster(), killed);
    return sent;
  };

  test("responds with 503 or 500 while its database is killed, restarts it, and loses nothing", async (context) => {
    const random = seeded(context);
    const sent = await loadThroughDatabaseLoss(() => sleep(random() * 400));
    for (const { status } of sent) assert.ok([202, 500, 503].includes(status ?? 0), `answered ${status}`);
    await assertNothingDone(db, withStatus(sent, 503));
    await assertEachOnce(db, withStatus(sent, 202));
    await assertKept(sent);
    context.diagnostic(
      `${sent.length} requests, ${withStatus(sent, 503).length} answered 503, ${withStatus(sent, 500).length} answered 500`,
    );
  });

  test("delivers all messages, also when its database is killed meanwhile", async (context) => {
    const random = seeded(context);
    assert.equal(await within(godwit.stop(), LIMIT_MS), 0, godwit.output.join("\n"));
    await start("api,dispatch");
    const sent = await loadThroughDatabaseLoss(() => inTraffic(db, random));
    all.push(...(await retryUnanswered(godwit, apiKey, sent)));
    // No carrier died, so every receipt arrives.
    await settledAfter(db, 0);
    const messages = await tracesOf({ db });
    assertSubmittedOnce(messages, all);
    await assertKeysReplay(godwit, apiKey, all);
    context.diagnostic(`${messages.length} messages; ${tally(messages)}`);
  });

  test("stops gracefully after these crashes", async () => {
    assert.equal(await within(godwit.stop(), LIMIT_MS), 0, godwit.output.join("\n"));
  });
});
