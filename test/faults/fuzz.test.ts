/** A short run of the fuzzer with a fixed seed: random requests fail, stall or crash nothing. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Fuzzer } from "../../fuzz/run.ts";
import { MeasuredService } from "../../fuzz/service.ts";
import { atEnd } from "../support/at-end.ts";
import { createDatabase } from "../support/database.ts";

const RUN = { seed: 17, runMs: 5_000 };

test("random requests cause no error of the service, no long turn and no undeclared status", async (context) => {
  const service = await MeasuredService.start({ roles: "api,dispatch", databaseUrl: await createDatabase() });
  atEnd(() => service.stop());
  const report = await Fuzzer.run(service, RUN);
  context.diagnostic(JSON.stringify(report));
  assert.deepEqual(report.violations, []);
  assert.deepEqual(service.errors, []);
});
