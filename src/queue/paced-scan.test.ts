import assert from "node:assert/strict";
import { test } from "node:test";
import { within } from "../lib/wait.ts";
import { PacedScan } from "./paced-scan.ts";

test("a scan that was held up once does not delay the next one", async (context) => {
  let nowMs = 0;
  context.mock.method(performance, "now", () => nowMs);
  const stopping = new AbortController();
  context.after(() => stopping.abort());
  // The first and the third scan waited for a lock, or their process was frozen.
  const tookMs = [30_000, 1, 30_000];
  const scan = new PacedScan(async () => void (nowMs += tookMs.shift() ?? 1), 1);
  for (let turn = 1; turn <= 3; turn += 1)
    assert.equal(await within(scan.turn(stopping.signal), 10_000), 0, `the pause after scan ${turn} is over`);
});

test("the pauses grow with scans that take long every time", async (context) => {
  let nowMs = 0;
  context.mock.method(performance, "now", () => nowMs);
  const stopping = new AbortController();
  context.after(() => stopping.abort());
  const scan = new PacedScan(async () => void (nowMs += 30_000), 1);
  await scan.turn(stopping.signal);
  assert.equal(await within(scan.turn(stopping.signal), 50), undefined, "the pause goes on");
});
