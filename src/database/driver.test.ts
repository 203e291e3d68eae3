/** The parts of the driver that `driver.ts` depends on, exercised on the installed version with servers that only pretend to be PostgreSQL.
 *  `test/tools/batch.test.ts` sends columns to a real one. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { TLSSocket } from "node:tls";
import pg from "pg";
import { selfSigned } from "../../test/support/certificate.ts";
import { ArrayParameter } from "./batch.ts";
import { DriverClient, isLossByDriver, parseUrl, type PoolOptions, type TimedQuery } from "./driver.ts";

/** A message of the protocol: its letter, its length, and its body. */
function message(kind: string, body: Buffer | string = ""): Buffer {
  const bytes = Buffer.from(body as string, "latin1");
  const head = Buffer.from(`${kind}\0\0\0\0`, "latin1");
  head.writeUInt32BE(bytes.length + 4, 1);
  return Buffer.concat([head, bytes]);
}

const SSL_REQUEST = 80_877_103;
const authentication = (method: number): Buffer => message("R", Buffer.of(0, 0, 0, method));
const READY = Buffer.concat([authentication(0), message("Z", "I")]);
const CLEAR_TEXT = authentication(3);
const REFUSED = message("E", "SFATAL\0C28000\0Mno such role\0\0");

type Respond = (bytes: Buffer, socket: Socket) => void;
type FakeServer = { port: number; received: () => Buffer; [Symbol.asyncDispose](): Promise<void> };

/** Responds to the first bytes with `greeting`, and to all others by `respond`. With a certificate, it asks for TLS first. */
async function fakeServer(greeting: Buffer, respond: Respond = () => undefined, tls?: { cert: string; key: string }): Promise<FakeServer> {
  const received: Buffer[] = [];
  const sockets: Socket[] = [];
  const serve = (socket: Socket): void => {
    socket.on("error", () => undefined);
    socket.once("data", (start: Buffer) => {
      received.push(start);
      socket.on("data", (bytes: Buffer) => {
        received.push(bytes);
        respond(bytes, socket);
      });
      socket.write(greeting);
    });
  };
  // The server does not close a connection because its client does.
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.push(socket);
    if (tls === undefined) return serve(socket);
    socket.on("error", () => undefined);
    socket.once("data", (request: Buffer) => {
      assert.equal(request.readInt32BE(4), SSL_REQUEST);
      socket.write("S");
      serve(new TLSSocket(socket, { isServer: true, ...tls }));
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    received: () => Buffer.concat(received),
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}

const PASSWORD = "a-password";

function clientOf({ port }: FakeServer, config: pg.ClientConfig = {}): DriverClient {
  const client = new DriverClient({
    host: "127.0.0.1",
    port,
    user: "godwit",
    password: PASSWORD,
    connectionTimeoutMillis: 20_000,
    ...config,
  });
  client.on("error", () => undefined);
  return client;
}

const tls = selfSigned();
/** The certificate names another host. */
const verified = { ca: tls.cert, rejectUnauthorized: true, checkServerIdentity: () => undefined };

describe("a server that is none loses the connection, and not the process:", () => {
  const cases = [
    ["an unknown authentication", authentication(7)],
    ["an unknown message", message("!")],
    ["a message that ends within a number", message("R", "\0")],
    ["a message that is shorter than its length", Buffer.from("Z\0\0\0\x03I", "latin1")],
    ["an error without its end", message("E", "SFATAL")],
    ["an error without the end of its fields", message("E", "SFATAL\0")],
    ["an error without a body", message("E")],
    ["an error without a field", message("E", "\0")],
    ["a notice without its end", message("N", "SNOTICE\0Mx")],
  ] as const;
  for (const [what, bytes] of cases)
    for (const isTls of [false, true])
      test(`${what}${isTls ? ", over TLS" : ""}`, async () => {
        await using server = await fakeServer(bytes, undefined, isTls ? tls : undefined);
        await assert.rejects(clientOf(server, { ssl: isTls && verified }).connect());
      });

  test("an error without its end, in the middle of a statement", async () => {
    await using server = await fakeServer(READY, (_, socket) => socket.write(message("E", "SERROR\0Mx")));
    const client = clientOf(server);
    await client.connect();
    await assert.rejects(client.query("select 1"), (error: Error) => isLossByDriver(error) && /error without its end/.test(error.message));
  });
});

test("messages that arrive byte by byte are read", async () => {
  const bytes = Buffer.concat([message("N", "SNOTICE\0Mone\0\0"), message("N", "\0\0"), message("S", "a\0b\0"), REFUSED]);
  await using server = await fakeServer(bytes.subarray(0, 1), () => undefined);
  const client = clientOf(server);
  const notices: (string | undefined)[] = [];
  client.on("notice", (notice) => notices.push(notice.message));
  const connecting = client.connect();
  await once(client.connection.stream, "data");
  for (const byte of bytes.subarray(1)) client.connection.stream.emit("data", Buffer.of(byte));
  await assert.rejects(connecting, { name: "error", code: "28000", message: "no such role" });
  assert.deepEqual(notices, ["one", undefined]);
  await client.end();
});

describe("a password in clear text", () => {
  const cases = [
    ["without TLS is refused", undefined, false],
    ["without a verified certificate is refused", { rejectUnauthorized: false }, false],
    ["over TLS with a verified certificate is sent", verified, true],
  ] as const;
  for (const [what, ssl, isSent] of cases)
    test(what, async () => {
      const respond: Respond = (_, socket) => socket.write(READY);
      await using server = await fakeServer(CLEAR_TEXT, respond, ssl && tls);
      const client = clientOf(server, { ssl });
      if (isSent) await client.connect();
      else await assert.rejects(client.connect(), /the server asks for the password in clear text/);
      assert.equal(server.received().includes(PASSWORD), isSent);
    });
});

test("the options of a client take precedence over those of its URL, and have the form that the driver expects", async () => {
  await using server = await fakeServer(READY);
  const url = `postgres://godwit:secret@127.0.0.1:${server.port}/base?application_name=other&options=-c%20x=1&lock_timeout=7&connection=x&pipeline=1`;
  const client = clientOf(server, { ...parseUrl(url), application_name: "godwit one 1" });
  await client.connect();
  const sent = server.received().toString("latin1");
  for (const pair of ["user\0godwit", "database\0base", "application_name\0godwit one 1", "options\0-c x=1", "lock_timeout\x007"])
    assert.ok(sent.includes(`\0${pair}\0`), pair);
  assert.ok(!sent.includes("other"));
  client.giveUp(new Error("the test has ended"));
});

describe("the Bind message", () => {
  const column = (...values: (number | null)[]): ArrayParameter<number | null> =>
    new ArrayParameter({ name: "value", type: "smallint", pick: (value) => value }, values, true);
  const sendBind = async (values: unknown[]): Promise<Buffer> => {
    await using server = await fakeServer(READY, (_, socket) => socket.write(REFUSED));
    const client = clientOf(server);
    await client.connect();
    await assert.rejects(client.query({ name: "statement", text: "select 1", values }), { code: "28000" });
    client.giveUp(new Error("the test has ended"));
    const sent = server.received();
    const at = sent.indexOf(Buffer.from("\0statement\0", "latin1"), sent.indexOf("select 1")) - 5;
    return sent.subarray(at, at + 1 + sent.readUInt32BE(at + 1));
  };
  const array = (...words: number[]): Buffer => Buffer.from(words.flatMap((word) => [0, 0, 0, word]));
  const first = Buffer.concat([array(1, 1, 21, 2, 1), array(2), Buffer.of(0, 5), Buffer.alloc(4, 0xff)]);
  const second = array(1, 1, 21, 0, 1);

  test("of columns is written once, with one format for all of them", async () => {
    const parameters = [Buffer.of(0, 1, 0, 1, 0, 2), array(first.length), first, array(second.length), second, Buffer.of(0, 1, 0, 0)];
    const expected = message("B", Buffer.concat([Buffer.from("\0statement\0"), ...parameters]));
    assert.deepEqual(await sendBind([column(5, null), column()]), expected);
  });

  test("of columns and other parameters is refused, because the driver would write it slowly", async () => {
    await using server = await fakeServer(READY);
    const client = clientOf(server);
    await client.connect();
    await assert.rejects(client.query({ name: "statement", text: "select 1", values: [column(5), "x"] }), /only columns/);
    client.giveUp(new Error("the test has ended"));
  });
});

describe("the loss of a connection is recognized", () => {
  const isLoss = (error: Error): boolean => isLossByDriver(error);
  const query: TimedQuery = { text: "select 1", query_timeout: 100 };
  const cases: readonly (readonly [what: string, lose: (client: DriverClient, socket: Socket) => void])[] = [
    ["after it was given up", (client) => client.giveUp(new Error("for a reason"))],
    ["after the server closed it", (_, socket) => socket.end()],
    ["after the time limit of a statement", () => undefined],
  ];
  for (const [what, lose] of cases)
    test(what, async () => {
      await using server = await fakeServer(READY, (_, socket) => lose(client, socket));
      const client = clientOf(server);
      await client.connect();
      await assert.rejects(client.query(query), isLoss);
      if (!what.startsWith("after the time")) await assert.rejects(client.query("select 2"), isLoss);
      client.giveUp(new Error("the test has ended"));
    });
});

test("a client ends although its server has vanished", async () => {
  await using server = await fakeServer(READY);
  const client = clientOf(server);
  await client.connect();
  await client.end();
  assert.ok(server.received().includes(message("X")));
});

test("the pool waits for what happens after a connection", async () => {
  await using server = await fakeServer(READY);
  let hasBegun = false;
  const onConnect = async (): Promise<void> => {
    await sleep(20);
    hasBegun = true;
  };
  class Client extends DriverClient {
    constructor() {
      super({ host: "127.0.0.1", port: server.port, user: "godwit" });
    }
  }
  const options: PoolOptions = { Client, onConnect };
  const pool = new pg.Pool(options);
  const client = await pool.connect();
  assert.ok(client instanceof DriverClient && hasBegun);
  client.release(true);
  await pool.end();
});
