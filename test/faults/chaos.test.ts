/** A short run of the chaos program with a fixed seed: two nodes under load and faults of many kinds break no promise. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import type { Report } from "../../chaos/report.ts";
import { atEnd } from "../support/at-end.ts";

const MAIN = join(import.meta.dirname, "..", "..", "chaos", "main.ts");
// More faults in a minute than usual. The seed is one that draws many kinds.
const ARGS = ["--seconds", "20", "--faults-per-minute", "30", "--rate", "4", "--seed", "467", "--json"];

test("a short run with faults of many kinds breaks no promise", async (context) => {
  const child = spawn(process.execPath, [MAIN, ...ARGS], { stdio: ["ignore", "pipe", "pipe"] });
  const exit = new Promise<number | null>((resolve) => child.once("close", resolve));
  atEnd(async () => {
    child.kill("SIGTERM");
    await exit;
  });
  const [output, progress, code] = await Promise.all([text(child.stdout), text(child.stderr), exit]);
  context.diagnostic(progress);
  assert.ok(output !== "", progress);
  const { promises, faults } = JSON.parse(output) as Report;
  const broken = promises.filter(({ violations }) => violations > 0);
  assert.deepEqual(broken, [], progress);
  assert.equal(code, 0);
  for (const kind of ["kill_node", "freeze_node", "restart_database fast", "terminate_backends", "disable_endpoint", "drop_carrier"])
    assert.ok((faults[kind] ?? 0) > 0, `no ${kind} in ${JSON.stringify(faults)}`);
});
