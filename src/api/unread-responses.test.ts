import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { connect, type AddressInfo, type Socket } from "node:net";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Credential } from "../access/authenticate.ts";
import { Exchange, trustProxies } from "./exchange.ts";
import type { RejectionReason } from "./intake.ts";
import { UnreadResponses } from "./unread-responses.ts";

// More than the buffers of the operating system take.
const BODY = Buffer.alloc(16 * 1_048_576, "a");
const NEVER_MS = 60_000;
type Limits = { tenants?: number; peers?: number; stallMs?: number };

/** Serves the body to everybody. The path is the account of a credential. The limits count bodies. */
async function serve({ tenants = 100, peers = 100, stallMs = NEVER_MS }: Limits) {
  const rejected: RejectionReason[] = [];
  const limits = { tenantBytes: tenants * BODY.length, anonymousBytes: peers * BODY.length };
  const unread = new UnreadResponses(limits, stallMs, (reason) => rejected.push(reason));
  const server = createServer((request, response) => {
    const exchange = new Exchange(request, response, { proxies: trustProxies([]), isTls: false, onUnread: unread.add });
    const account = exchange.url.slice(1);
    if (account !== "") exchange.credential = { accountId: Buffer.alloc(16, account) } as unknown as Credential;
    exchange.send(200, "text/plain", BODY);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const sockets: Socket[] = [];
  const connections: Socket[] = [];
  server.on("connection", (connection: Socket) => connections.push(connection));
  /** Requests the body, and reads none of it. */
  const ask = async (account = "", localAddress = "127.0.0.1"): Promise<Socket> => {
    const socket = connect({ port: (server.address() as AddressInfo).port, host: "127.0.0.1", localAddress });
    sockets.push(socket.on("error", () => undefined));
    await once(socket, "connect");
    const requested = once(server, "request");
    socket.write(`GET /${account} HTTP/1.1\r\nhost: x\r\n\r\n`);
    await requested;
    return socket;
  };
  const stop = async (): Promise<void> => {
    for (const socket of sockets) socket.destroy();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return { ask, rejected, connections, [Symbol.asyncDispose]: stop };
}

test("the unread responses of an account have a share, and a total", async () => {
  await using server = await serve({ tenants: 4 });
  for (const account of ["a", "a", "b", "c", "d", "e"]) await server.ask(account);
  assert.deepEqual(server.rejected, ["responses_of_account", "responses"]);
});

test("the unread responses of a peer have a share, and a total", async () => {
  await using server = await serve({ peers: 3 });
  for (const peer of [1, 1, 2, 3, 4]) await server.ask("", `127.0.0.${peer}`);
  assert.deepEqual(server.rejected, ["responses_of_peer", "responses"]);
});

test("a response that has been read, or whose client has disconnected, does not count", async () => {
  await using server = await serve({ peers: 3 });
  const reader = await server.ask();
  for (let left = BODY.length; left > 0;) left -= ((await once(reader, "data")) as [Buffer])[0].length;
  const gone = await server.ask();
  const closed = new Promise((resolve) => server.connections.at(-1)?.once("close", resolve));
  gone.destroy();
  await closed;
  await server.ask();
  assert.deepEqual(server.rejected, []);
});

test("a connection that takes no byte for a while is closed, and one that reads slowly is not", async () => {
  await using server = await serve({ stallMs: 500 });
  const [stalled, slow] = [await server.ask(), await server.ask()];
  while (server.rejected.length === 0) {
    slow.read(1_048_576);
    // Bytes of the client make no difference.
    stalled.write("\r\n");
    await sleep(20);
  }
  assert.deepEqual(server.rejected, ["responses_unread"]);
  assert.deepEqual(
    server.connections.map((connection) => connection.destroyed),
    [true, false],
  );
});
