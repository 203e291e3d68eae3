/** A disk whose flushes take seconds: every response waits for its commit, the service is not ready, nothing is lost, and it recovers by itself. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { unlimitedKey } from "./embedded-database.ts";
import { until } from "../support/expect.ts";
import { startGodwit } from "../support/harness.ts";
import { missingPowerCutDisk, PowerCutDisk } from "./power-cut-disk.ts";
import { assertKeysReplay, sendUntil, type Sent } from "../support/sending.ts";

const DISK_MB = 600;
const SLOW_SECONDS = 3;

test("while each flush takes three seconds, messages wait and are accepted, and the service is not ready", async (context) => {
  const missing = missingPowerCutDisk();
  if (missing !== undefined) return context.skip(missing);
  await using disk = await PowerCutDisk.create(DISK_MB);
  const dataDir = join(disk.mountPath, "data");
  await using godwit = await startGodwit({ asProcess: true, env: { GODWIT_DATA_DIR: dataDir } });
  const key = await unlimitedKey(dataDir);
  const readiness = (status: number): Promise<true> =>
    until(`readiness to be ${status}`, async () => (await godwit.request("GET", "/readyz")).status === status || undefined);
  const stop = new AbortController();
  const all: Sent[] = [];
  const load = sendUntil(stop.signal, { godwit, apiKey: key }, (sent) => void all.push(sent));
  const accepted = (): number => all.filter(({ status }) => status === 202).length;
  await until("messages to be accepted", () => accepted() >= 100 || undefined);
  disk.setFlushSeconds(SLOW_SECONDS);
  await readiness(503);
  const before = accepted();
  await until("messages to be accepted, slowly", () => accepted() >= before + 30 || undefined);
  disk.setFlushSeconds(undefined);
  await readiness(200);
  const after = accepted();
  await until("messages to be accepted as before", () => accepted() >= after + 100 || undefined);
  stop.abort();
  await load;
  for (const { status } of all) assert.ok([202, 500, 503].includes(status ?? 0), `responded with ${status}`);
  await assertKeysReplay(godwit, key, all, Infinity);
  context.diagnostic(`${accepted()} times 202 of ${all.length}`);
});
