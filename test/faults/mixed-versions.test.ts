/** Nodes of the previous release and of this one on one database, under load, while nodes of both are killed and started again: every request ends in
 *  one effect. GODWIT_TEST_MIXED_SECONDS is the time under load. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { excludeEarlierReleases } from "../../src/database/earlier-releases.ts";
import { createDatabase } from "../support/database.ts";
import { until } from "../support/expect.ts";
import { startGodwit, type Godwit } from "../support/harness.ts";
import { seeded } from "../support/seed.ts";
import { assertSubmittedOnce, tracesOf, tally } from "./accounted.ts";
import type { Sent } from "../support/sending.ts";
import { atEnd } from "../support/at-end.ts";

const ROOT = join(import.meta.dirname, "..", "..");

/** Version 0.2.0. The next release has a tag. */
const PREVIOUS_RELEASE = "7df3bd946d77e06c88d53ec0c53447cdd58d5097";

const git = (...args: string[]): boolean => spawnSync("git", args, { cwd: ROOT, stdio: "ignore" }).status === 0;

/** Why the previous release cannot be checked out; undefined where it can. */
const missingPrevious = (): string | undefined =>
  git("cat-file", "-e", `${PREVIOUS_RELEASE}^{commit}`) ? undefined : "the history of this checkout does not contain the previous release";

/** Checks it out into a temporary folder, and returns the path of its `src/main.ts`. Node does not load TypeScript from the cache in
 *  `node_modules`. */
function checkOutPrevious(): string {
  const folder = mkdtempSync(join(tmpdir(), "godwit-previous-"));
  atEnd(async () => rmSync(folder, { recursive: true, force: true }));
  const isDone =
    git("clone", "--quiet", "--shared", "--no-checkout", ROOT, folder) &&
    git("-C", folder, "checkout", "--quiet", "--detach", PREVIOUS_RELEASE);
  if (!isDone) throw new Error(`the commit ${PREVIOUS_RELEASE} cannot be checked out`);
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
  return join(folder, "src", "main.ts");
}

const SECONDS = Number(process.env["GODWIT_TEST_MIXED_SECONDS"] ?? "12");
const CLIENTS = 12;
// Simulated carriers respond and report at once.
const SPEED = 1_000;

type Release = "previous" | "this";

/** Two nodes of each release, of which any can be killed and started again. */
class MixedNodes {
  readonly #databaseUrl: string;
  readonly #main: string;
  readonly #nodes = new Map<string, Godwit>();

  constructor(databaseUrl: string, main: string) {
    this.#databaseUrl = databaseUrl;
    this.#main = main;
  }

  async start(release: Release, number: number): Promise<void> {
    const options = { databaseUrl: this.#databaseUrl, roles: "api,dispatch", simulatorSpeed: SPEED, asProcess: true };
    this.#nodes.set(`${release} ${number}`, await startGodwit(release === "this" ? options : { ...options, main: this.#main }));
  }

  get names(): string[] {
    return [...this.#nodes.keys()];
  }

  node(name: string): Godwit {
    return this.#nodes.get(name) ?? assert.fail(name);
  }

  async killAndStart(name: string): Promise<void> {
    const [release = "", number] = name.split(" ");
    await this.node(name).stop("SIGKILL");
    await this.start(release as Release, Number(number));
  }

  async stopAll(release: Release): Promise<void> {
    const names = this.names.filter((name) => name.startsWith(release));
    await Promise.all(names.map((name) => this.node(name).stop()));
    for (const name of names) this.#nodes.delete(name);
  }

  async stop(): Promise<void> {
    await Promise.all(this.names.map((name) => this.node(name).stop()));
  }
}

type Response = { status: number | undefined; id: string | undefined; text: string };

async function sendOnce(node: Godwit, apiKey: string, key: string): Promise<Response> {
  try {
    const { status, json, text } = await node.send(apiKey, { client_reference: key }, { idempotencyKey: key, isDeclared: false });
    return { status, id: status === 202 ? String(json["id"]) : undefined, text };
  } catch {
    return { status: undefined, id: undefined, text: "the connection broke" };
  }
}

describe("the previous release and this one", () => {
  test("share a database under load, with kills: every key ends in one message", async (context) => {
    const missing = missingPrevious();
    if (missing !== undefined) return context.skip(missing);
    const random = seeded(context);
    const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)] as T;
    const nodes = new MixedNodes(await createDatabase(), checkOutPrevious());
    await nodes.start("previous", 1);
    await Promise.all([nodes.start("this", 1), nodes.start("previous", 2)]);
    const first = nodes.node("previous 1");
    await first.unlimited();
    const apiKey = await first.key();
    const stop = new AbortController();
    const sent: Sent[] = [];
    const counts = new Map<string, number>();
    const client = async (): Promise<void> => {
      while (!stop.signal.aborted) {
        const key = randomUUID();
        // A client repeats a request, with the same key and on any node, until it knows the outcome.
        for (;;) {
          const { status, id, text } = await sendOnce(nodes.node(pick(nodes.names)), apiKey, key);
          counts.set(String(status), (counts.get(String(status)) ?? 0) + 1);
          assert.ok(status === undefined || [202, 409, 429, 500, 503].includes(status), text);
          if (status === 202) {
            sent.push({ key, status, id, isReplay: false, text });
            break;
          }
          await sleep(50);
        }
      }
    };
    const clients = Promise.all(Array.from({ length: CLIENTS }, client));
    const deadline = performance.now() + SECONDS * 1_000;
    let kills = 0;
    while (performance.now() < deadline) {
      await sleep(300 + random() * 1_200);
      await nodes.killAndStart(pick(nodes.names));
      kills += 1;
    }
    stop.abort();
    await clients;
    const reader = nodes.node(nodes.names[0] ?? "");
    const { db } = reader;
    assert.ok(db !== undefined);
    await until("every message to reach its last status", async () => {
      const [row] = await reader.rows<{ open: number }>("select count(*)::integer as open from delivery_queue");
      return row?.open === 0 || undefined;
    });
    const messages = await tracesOf({ db });
    context.diagnostic(
      `${kills} kills; responses ${[...counts].map(([status, count]) => `${status}: ${count}`).join(", ")}; ${tally(messages)}`,
    );
    assertSubmittedOnce(messages, sent);
    // Until the last node of the previous release has gone, every event can be read by it. Then none of them starts again.
    const [compact] = await reader.rows<{ count: number }>("select count(*)::integer as count from events where record like '[%'");
    assert.equal(compact?.count, 0);
    assert.equal(await excludeEarlierReleases(db), false);
    await nodes.stopAll("previous");
    const own = nodes.node("this 1");
    assert.ok(own.db !== undefined);
    const ownDb = own.db;
    await until("the previous release to be excluded", async () => ((await excludeEarlierReleases(ownDb)) ? true : undefined));
    await assert.rejects(nodes.start("previous", 1), /newer than/);
    await nodes.stop();
  });
});
