/** Servers that are none: the process must survive them. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { test } from "node:test";
import { Connections } from "./connections.ts";

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
