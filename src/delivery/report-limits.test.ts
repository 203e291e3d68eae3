import assert from "node:assert/strict";
import { test } from "node:test";
import { pino } from "pino";
import { ReportsThrottled } from "../providers/provider.ts";
import { silentWatch } from "../../test/support/engine.ts";
import { ReportLimits } from "./report-limits.ts";

test("a link may bring a burst of messages, then a rate, and does not use up that of another link", () => {
  const lines: string[] = [];
  const log = pino({}, { write: (line: string) => void lines.push(line) });
  const limits = new ReportLimits({ log, watch: silentWatch });
  for (let count = 0; count < 2; count += 1) limits.admitMessages("lnk_a", 10_000 * count + 1_000);
  for (let count = 0; count < 3; count += 1) assert.throws(() => limits.admitMessages("lnk_a", 1), ReportsThrottled);
  limits.admitMessages("lnk_b", 1);
  assert.equal(lines.length, 1, "one line a minute");
});
