/** The runner of the tests: its tiers, its closing line, and the end of everything that a run started. */
import assert from "node:assert/strict";
import { spawn, type ChildProcess } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { after, describe, test } from "node:test";
import { pathToFileURL } from "node:url";
import { judge } from "../../scripts/test/budget.ts";
import { processesOfTier, unknownNames } from "../../scripts/test/tiers.ts";
import { until } from "../support/expect.ts";

const ROOT = join(import.meta.dirname, "..", "..");
const HARNESS = pathToFileURL(join(ROOT, "test", "support", "harness.ts")).href;

const folder = mkdtempSync(join(tmpdir(), "godwit-runner-"));
after(() => rmSync(folder, { recursive: true, force: true }));

/** Runs test files that have these texts. The run has its own database server: it would replace the template of the shared one. */
function run(sources: readonly string[], variables: Record<string, string> = {}): ChildProcess {
  const paths = sources.map((source, index) => {
    const path = join(mkdtempSync(join(folder, "run-")), `${index}.test.mjs`);
    writeFileSync(path, `import test from "node:test";\n${source}`);
    return path;
  });
  const { TEST_DATABASE_URL: _, CI: __, ...env } = process.env;
  return spawn(process.execPath, [join(ROOT, "scripts", "test.ts"), ...paths], {
    env: { ...env, ...variables },
    stdio: ["ignore", "pipe", "ignore"],
  });
}

const exitOf = (child: ChildProcess): Promise<number | null> => new Promise((resolve) => child.once("exit", resolve));

describe("the tiers", () => {
  const files = (tier: "first" | "rest" | "full"): string[] => processesOfTier(tier).flat().toSorted();

  test("divide all test files, and name only files that exist", () => {
    assert.deepEqual([...files("first"), ...files("rest")].toSorted(), files("full"));
    assert.deepEqual(unknownNames(), []);
  });
});

describe("the budget", () => {
  const budget = { budgetMs: 400_000, referenceMs: 300 };

  test("permits a quarter more on a machine of the recorded speed", () => {
    assert.deepEqual(judge(budget, 500_000, [300, 300]), { scale: 1, isWithin: true });
    assert.deepEqual(judge(budget, 500_001, [300, 300]), { scale: 1, isWithin: false });
  });

  test("grows with the mean time of the fixed program", () => {
    assert.deepEqual(judge(budget, 800_000, [300, 660]), { scale: 1.6, isWithin: true });
    assert.deepEqual(judge(budget, 800_001, [300, 660]), { scale: 1.6, isWithin: false });
  });

  test("does not shrink on a faster machine, or without a measurement", () => {
    assert.deepEqual(judge(budget, 500_000, [150]), { scale: 1, isWithin: true });
    assert.deepEqual(judge(budget, 500_000, []), { scale: 1, isWithin: true });
  });
});

describe("a run", () => {
  for (const [what, sources, closing, code] of [
    ["is green", [`test("a", () => {}); test("b", { skip: "no reason" }, () => {});`], "1 passed, 0 failed, 1 skipped", 0],
    [
      "has a failed test, a file that throws and a file that ends early is red",
      [`test("a", () => {}); test("b", () => { throw new Error("b"); });`, `throw new Error("c");`, `test("d", () => process.exit(3));`],
      "1 passed, 3 failed, 0 skipped",
      1,
    ],
    ["has a file without tests is red", ["void test;"], "0 passed, 1 failed, 0 skipped", 1],
    [
      "has a rejection that nothing handles is red",
      [`test("a", async () => { await new Promise((go) => setTimeout(go, 50)); void Promise.reject(new Error("b")); });`],
      "1 passed, 1 failed, 0 skipped",
      1,
    ],
  ] as const)
    test(`that ${what}`, async () => {
      const child = run(sources);
      const [output, exit] = await Promise.all([text(child.stdout as NodeJS.ReadableStream), exitOf(child)]);
      assert.equal(output.trimEnd().split("\n").at(-1), closing);
      assert.equal(exit, code);
    });

  describe("on a machine for CI", () => {
    const runInCi = async (...sources: string[]): Promise<{ output: string; closing: string | undefined; exit: number | null }> => {
      const child = run(sources, { CI: "true" });
      const [output, exit] = await Promise.all([text(child.stdout as NodeJS.ReadableStream), exitOf(child)]);
      return { output, closing: output.trimEnd().split("\n").at(-1), exit };
    };
    const passing = `test("passes", () => {});`;
    const failing = `test("fails", () => { throw new Error("always"); });`;

    test("repeats a file that failed, and reports its first failure", async () => {
      const mark = join(folder, "ran-before");
      const once = `import { existsSync, writeFileSync } from "node:fs";
        test("fails once", () => {
          if (existsSync(${JSON.stringify(mark)})) return;
          writeFileSync(${JSON.stringify(mark)}, "");
          throw new Error("at first");
        });`;
      const { output, closing, exit } = await runInCi(passing, once);
      assert.deepEqual([closing, exit], ["2 passed, 0 failed, 0 skipped", 0]);
      assert.match(output, /Failed first and passed alone[^]*fails once[^]*at first/);
    });

    test("is red if the file fails again", async () => {
      const { output, closing, exit } = await runInCi(passing, failing);
      assert.deepEqual([closing, exit], ["1 passed, 1 failed, 0 skipped", 1]);
      assert.doesNotMatch(output, /passed alone/);
    });

    test("repeats nothing if more than three files failed", async () => {
      const { output, closing, exit } = await runInCi(failing, failing, failing, failing);
      assert.deepEqual([closing, exit], ["0 passed, 4 failed, 0 skipped", 1]);
      assert.doesNotMatch(output, /runs again/);
    });
  });

  test("that is interrupted leaves no process behind, also not those in groups of their own", async () => {
    const pids = join(folder, "pids");
    const child = run([
      `import { readFileSync, renameSync, writeFileSync } from "node:fs";
       import { startGodwit } from ${JSON.stringify(HARNESS)};
       test("hangs", async () => {
         const godwit = await startGodwit({ env: { GODWIT_DATA_DIR: ${JSON.stringify(join(folder, "data"))} } });
         const server = readFileSync(${JSON.stringify(join(folder, "data", "postgres", "postmaster.pid"))}, "utf8").split("\\n")[0];
         writeFileSync(${JSON.stringify(`${pids}.new`)}, [process.pid, godwit.child.pid, server].join(" "));
         renameSync(${JSON.stringify(`${pids}.new`)}, ${JSON.stringify(pids)});
         await new Promise((resolve) => setTimeout(resolve, 3_600_000));
       });`,
    ]);
    child.stdout?.resume();
    const started = await until("the service to start", async () => (existsSync(pids) ? readFileSync(pids, "utf8") : undefined));
    const processes = started.split(" ").map(Number);
    assert.equal(processes.filter(isRunning).length, 3, started);
    const exit = exitOf(child);
    child.kill("SIGTERM");
    assert.equal(await exit, 1);
    assert.deepEqual(processes.filter(isRunning), []);
  });
});

/** Whether a process exists and has not ended. */
function isRunning(pid: number): boolean {
  const path = `/proc/${pid}/stat`;
  try {
    return !/\) [ZX] /.test(readFileSync(path, "latin1"));
  } catch {
    return false;
  }
}
