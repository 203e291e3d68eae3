/** Servers that are none: the process must survive them. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { poll } from "../lib/wait.ts";
import { Connections, type DatabaseSession } from "./connections.ts";

/** An authentication request: `R`, its length, and the kind. */
function authentication(kind: number): Buffer {
  const message = Buffer.alloc(9);
  message.write("R");
  message.writeUInt32BE(8, 1);
  message.writeUInt32BE(kind, 5);
  return message;
}

for (const [what, bytes] of [
  ["an authentication that the driver does not know", authentication(7)],
  ["a message that the driver does not know", Buffer.from([0x21, 0, 0, 0, 4])],
] as const)
  test(`${what} loses the connection, and not the process`, async () => {
    const sockets: Socket[] = [];
    const server = createServer((socket) => {
      sockets.push(socket);
      socket.on("error", () => undefined).once("data", () => socket.write(bytes));
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const target = { url: `postgres://godwit@127.0.0.1:${port}/godwit`, connectTimeoutMs: 2_000 };
    const connections = new Connections(target, "test", () => undefined);
    await assert.rejects(connections.take());
    await connections.pool.end();
    for (const socket of sockets) socket.destroy();
    server.close();
  });

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
