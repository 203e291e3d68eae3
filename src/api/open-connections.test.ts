import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer as createHttpsServer } from "node:https";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { test, type TestContext } from "node:test";
import { connect as connectTls } from "node:tls";
import { selfSigned } from "../../test/support/certificate.ts";
import { OpenConnections } from "./open-connections.ts";

const LIMITS = { maxConnections: 100, maxConnectionsPerPeer: 50, maxStrangers: 6 };

type Opened = { client: Socket; server: Socket };

/** A server whose connections are counted. `open` connects from an address of this machine. */
async function start(context: TestContext, limits: Partial<typeof LIMITS> = {}) {
  const reasons: string[] = [];
  const connections = new OpenConnections({ ...LIMITS, ...limits }, [], (reason) => void reasons.push(reason));
  const accepted: Socket[] = [];
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    accepted.push(socket);
    connections.add(socket);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const clients: Socket[] = [];
  context.after(() => {
    for (const socket of [...clients, ...accepted]) socket.destroy();
    server.close();
  });
  const open = async (localAddress: string): Promise<Opened> => {
    const client = connect({ host: "127.0.0.1", port: (server.address() as AddressInfo).port, localAddress });
    client.on("error", () => undefined);
    clients.push(client);
    const isAccepted = once(server, "connection");
    await Promise.all([once(client, "connect"), isAccepted]);
    return { client, server: accepted.at(-1) as Socket };
  };
  return { connections, reasons, open };
}

const closed = async ({ client }: Opened): Promise<void> => {
  client.resume();
  if (!client.closed) await once(client, "close");
};

test("strangers beyond the limit lose the oldest connection of the peer with the most", async (context) => {
  const { open, reasons } = await start(context);
  const victim = await open("127.0.2.1");
  const others = [];
  for (let count = 0; count < 6; count += 1) others.push(await open("127.0.2.2"));
  await closed(others[0] as Opened);
  assert.deepEqual(reasons, ["connections_of_strangers"]);
  assert.deepEqual(
    [victim, ...others].map(({ client }) => client.closed),
    [false, true, false, false, false, false, false],
  );
});

test("a stranger that was used is closed after those that were not", async (context) => {
  const { connections, open } = await start(context);
  const peers = [];
  for (let count = 0; count < 6; count += 1) peers.push(await open("127.0.2.2"));
  connections.use((peers[0] as Opened).server);
  await open("127.0.2.2");
  await closed(peers[1] as Opened);
  assert.equal(peers[0]?.client.closed, false);
});

test("connections with a valid credential are not those of strangers", async (context) => {
  const { connections, open, reasons } = await start(context);
  for (let count = 0; count < 12; count += 1) connections.claim((await open("127.0.2.3")).server, "account/live");
  const strangers = [];
  for (let count = 0; count < 7; count += 1) strangers.push(await open("127.0.2.4"));
  await closed(strangers[0] as Opened);
  assert.deepEqual(reasons, ["connections_of_strangers"]);
});

test("an environment has at most half of all connections; its others are those of strangers", async (context) => {
  const { connections, open } = await start(context, { maxConnections: 8 });
  const mine = [];
  for (let count = 0; count < 11; count += 1) {
    mine.push(await open("127.0.2.5"));
    connections.claim((mine.at(-1) as Opened).server, "account/live");
  }
  await closed(mine[4] as Opened);
  assert.deepEqual(
    mine.map(({ client }) => client.closed),
    mine.map((_, index) => index === 4),
  );
});

test("the place of a closed connection is free again", async (context) => {
  const { connections, open, reasons } = await start(context, { maxConnectionsPerPeer: 2 });
  const first = await open("127.0.2.6");
  connections.claim(first.server, "account/live");
  await open("127.0.2.6");
  await closed(await open("127.0.2.6"));
  assert.deepEqual(reasons, ["connections_of_peer"]);
  first.client.destroy();
  if (!first.server.closed) await once(first.server, "close");
  const next = await open("127.0.2.6");
  next.server.write("x");
  await once(next.client, "data");
});

test("a request over TLS claims the connection below it", async (context) => {
  const connections = new OpenConnections({ ...LIMITS, maxStrangers: 1 }, [], () => assert.fail("no connection is closed"));
  const server = createHttpsServer(selfSigned(), (request, response) => {
    connections.claim(request.socket, "account/live");
    response.end("done");
  });
  server.on("connection", (socket: Socket) => connections.add(socket));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const clients: Socket[] = [];
  context.after(() => {
    for (const client of clients) client.destroy();
    server.close();
  });
  for (let count = 0; count < 4; count += 1) {
    const client = connectTls({ host: "127.0.0.1", port: (server.address() as AddressInfo).port, rejectUnauthorized: false });
    clients.push(client);
    client.write("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
    await once(client, "data");
  }
  const last = connect({ host: "127.0.0.1", port: (server.address() as AddressInfo).port });
  clients.push(last);
  // Longer than the connections above waited for the check.
  await new Promise((resolve) => setTimeout(resolve, 300));
  assert.ok(clients.every(({ closed: isClosed }) => !isClosed));
});
