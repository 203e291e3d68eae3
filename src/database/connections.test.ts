import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { poll } from "../lib/wait.ts";
import { Connections, type DatabaseSession } from "./connections.ts";

test("the search for another primary ends with the slow work, although the session goes on with other work", async () => {
  let count = 0;
  const server = createServer((socket) => {
    count += 1;
    socket.on("error", () => undefined).destroy();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const connections = new Connections({ url: `postgres://godwit@${host},${host}/godwit` }, "test", () => undefined);
  const session = { timeline: 0 } as DatabaseSession;
  const slowWork = connections.watch(session);
  assert.ok(await poll(() => Promise.resolve(count > 0 || undefined), { timeoutMs: 60_000, everyMs: 20 }), "the search has begun");
  slowWork();
  let afterwards = 0;
  for (let works = 0; works < 20; works += 1) {
    const shortWork = connections.watch(session);
    await sleep(100);
    shortWork();
    // A search that was running may have opened its last connections.
    if (works === 9) afterwards = count;
  }
  assert.equal(count, afterwards);
  await connections.pool.end();
  server.close();
});
