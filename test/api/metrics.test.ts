/** The metrics about the resources of a process: its database, its links and its disk. */
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { until } from "../support/expect.ts";
import { startGodwit } from "../support/harness.ts";
import { readMetrics, seriesOf } from "../support/metrics-text.ts";
import { withoutDatabase } from "../support/outage.ts";

test("metrics contain the pool and the links, and nothing about an absent certificate or embedded database", async () => {
  await using godwit = await startGodwit({ roles: "api,dispatch" });
  const connected = '{link="simulator",source="file",state="connected"}';
  const metrics = await until("the link is connected", async () => {
    const read = await readMetrics(godwit);
    return read.get(`godwit_link_state${connected}`) === 1 ? read : undefined;
  });
  assert.deepEqual(seriesOf(metrics, "godwit_link_state"), { [connected]: 1 }, "a link has one state");
  assert.equal(metrics.get('godwit_link_state{link="simulator",source="file",state="down"}'), 0);
  assert.equal(metrics.get("godwit_database_up"), 1);
  assert.equal(metrics.get("godwit_database_waiting"), 0);
  const [busy, idle] = ["busy", "idle"].map((state) => metrics.get(`godwit_database_connections{state="${state}"}`) ?? -1);
  assert.ok((busy ?? -1) >= 0 && (busy ?? 0) + (idle ?? 0) >= 1, `${busy} busy, ${idle} idle`);
  for (const name of metrics.keys()) assert.doesNotMatch(name, /^godwit_(tls|data_disk|embedded)/);
});

test("a link that no node has open is reported as down", async () => {
  await using godwit = await startGodwit({ roles: "api" });
  assert.deepEqual(seriesOf(await readMetrics(godwit), "godwit_link_state"), { '{link="simulator",source="file",state="down"}': 1 });
});

test("/metrics responds while the database is unavailable, and reports that", async () => {
  await using godwit = await startGodwit();
  assert.equal((await readMetrics(godwit)).get("godwit_database_up"), 1);
  await withoutDatabase(godwit, async () => {
    await until("the metrics report it", async () => (await readMetrics(godwit)).get("godwit_database_up") === 0 || undefined);
  });
});

test("metrics of an embedded database contain its disk and the number of restarts", async (context) => {
  const folder = mkdtempSync(join(tmpdir(), "godwit-metrics-"));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  const dataDir = join(folder, "data");
  await using godwit = await startGodwit({ env: { GODWIT_DATA_DIR: dataDir } });
  const before = await readMetrics(godwit);
  const [free, size] = ["free", "size"].map((what) => before.get(`godwit_data_disk_${what}_bytes`) ?? 0) as [number, number];
  assert.ok(free > 0 && free < size, `${free} of ${size}`);
  assert.equal(before.get("godwit_embedded_postgres_restarts_total"), 0);

  process.kill(Number(readFileSync(join(dataDir, "postgres", "postmaster.pid"), "utf8").split("\n")[0]), "SIGQUIT");
  await until("the restart is counted, and the database is available", async () => {
    const metrics = await readMetrics(godwit);
    return (metrics.get("godwit_embedded_postgres_restarts_total") === 1 && metrics.get("godwit_database_up") === 1) || undefined;
  });
});

test("the counters of alerts are 0 from the start, so that the first event is an increase", async () => {
  await using godwit = await startGodwit({ roles: "api,dispatch,webhooks" });
  const metrics = await until("the link to be open", async () => {
    const read = await readMetrics(godwit);
    return read.has('godwit_attempts_total{link="simulator",outcome="unknown"}') && read;
  });
  for (const series of [
    'godwit_audit_events_total{action="key.rotated"}',
    'godwit_audit_events_total{action="suppression.lifted"}',
    'godwit_webhook_endpoints_disabled_total{reason="gone"}',
    'godwit_webhook_endpoints_disabled_total{reason="failing"}',
    'godwit_authentication_failures_total{code="unauthorized_invalid_token"}',
    'godwit_attempts_total{link="simulator",outcome="unknown"}',
    'godwit_attempts_total{link="simulator",outcome="refused"}',
  ])
    assert.equal(metrics.get(series), 0, series);
});
