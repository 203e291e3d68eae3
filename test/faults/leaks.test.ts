/** Connections leave nothing behind: no listener of a signal or an emitter that outlives them, no timer, and no socket that one of these would keep. */
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { EventEmitter, getEventListeners, once } from "node:events";
import { connect } from "node:net";
import { test } from "node:test";
import { queryObjects } from "node:v8";
import { until } from "../support/expect.ts";
import { startGodwit } from "../support/harness.ts";
import { onRequest, Receiver, Sender, type Certificate } from "../support/http-receiver.ts";

const CONNECTIONS = 10_000;
// These cost more: a handshake, and a request to the service.
const TLS_CONNECTIONS = 1_000;
const REQUESTS = 4_000;
const AT_ONCE = 16;

// The objects of the test runner, of the service and of its connections to the database.
const FEW = 500;
const END_MS = 20_000;
const CLASSES = { EventEmitter, EventTarget, Timeout: setTimeout(() => undefined, 0).constructor };

/** Calls `work` `count` times, and asserts that few sockets, signals and timers are left. */
async function assertKeepsNothing(count: number, work: (index: number) => Promise<void>): Promise<void> {
  const listeners = listenersOfProcess();
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
  for (const [name, each] of Object.entries(CLASSES)) {
    // Counts after a collection of garbage.
    let left = 0;
    const isFew = (): boolean => (left = queryObjects(each) as number) < FEW;
    // The last connections may take a moment to end.
    await until(() => `${left} objects of the class ${name} are left`, isFew, END_MS);
  }
  assert.deepEqual(listenersOfProcess(), listeners);
}

const listenersOfProcess = (): Record<string, number> =>
  Object.fromEntries(process.eventNames().map((name) => [String(name), process.listenerCount(name)]));

/** Makes `count` calls, each with a connection of its own. */
async function callEachOnce(count: number, sender: Sender, url: string, certificate?: Certificate): Promise<void> {
  const close = onRequest((socket) => socket.end("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"));
  await using receiver = await Receiver.listen(close, certificate && { certificate });
  const { signal } = new AbortController();
  await assertKeepsNothing(count, async () => {
    const outcome = await sender.post(`${url}:${receiver.port}`, signal);
    assert.equal(outcome.kind, "response", JSON.stringify(outcome));
    receiver.received = "";
  });
  assert.equal(receiver.connections, count);
  assert.deepEqual(getEventListeners(signal, "abort"), []);
}

test(`${CONNECTIONS} connections of a client`, async () => {
  await using sender = new Sender();
  await callEachOnce(CONNECTIONS, sender, "http://127.0.0.1");
});

const skip = spawnSync("openssl", ["version"]).status === 0 ? false : "openssl, which makes the certificate, is not installed";
test(`${TLS_CONNECTIONS} connections of a client over TLS`, { skip }, async () => {
  const name = ["-subj", "/CN=hooks.example.test", "-addext", "subjectAltName=DNS:hooks.example.test"];
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", "-"];
  const pem = execFileSync("openssl", ["req", "-x509", ...key, "-out", "-", "-days", "2", ...name], { stdio: "pipe" }).toString();
  await using sender = new Sender({ ca: pem, resolve: async () => ["127.0.0.1"] });
  await callEachOnce(TLS_CONNECTIONS, sender, "https://hooks.example.test", { cert: pem, key: pem });
});

test(`${REQUESTS} connections to the service: requests, failures, streams, and clients that leave`, async () => {
  await using godwit = await startGodwit({ isOneProcess: true });
  await godwit.unlimited();
  const key = await godwit.key();
  const { port } = new URL(godwit.url);
  const requests = [
    // An account has at most twenty streams, and one that its client has left may take a moment to end.
    ["GET /v1/events/stream", `authorization: Bearer ${key}\r\n`, "(200|429)"],
    ["GET /v1/messages", "", "401"],
    ["GET /livez", "connection: close\r\n", "200"],
    // Its body never arrives.
    ["POST /v1/messages", "content-length: 100\r\n", undefined],
  ] as const;
  await assertKeepsNothing(REQUESTS, async (index) => {
    const [line, headers, status] = requests[index % requests.length] as (typeof requests)[number];
    const socket = connect(Number(port), "127.0.0.1");
    await once(socket, "connect");
    socket.write(`${line} HTTP/1.1\r\nhost: x\r\n${headers}\r\n`);
    if (status !== undefined) assert.match(String((await once(socket, "data"))[0]), new RegExp(`^HTTP/1.1 ${status} `));
    socket.destroy();
    await once(socket, "close");
  });
});
