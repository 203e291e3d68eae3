/** The costs of a TLS connection after its handshake: bytes that bring no data, and turns of the thread. */
import assert from "node:assert/strict";
import { once } from "node:events";
import type { Socket } from "node:net";
import { PassThrough } from "node:stream";
import { after, test } from "node:test";
import { listenWithRecords, type TlsRecords } from "../../fuzz/tls-records.ts";
import { selfSigned } from "../../test/support/certificate.ts";
import { until } from "../../test/support/expect.ts";
import { Metered } from "./tls-meter.ts";
import { TlsThreads } from "./tls-threads.ts";

const signal = new AbortController().signal;
const HOST = "127.0.0.1";
const pair = selfSigned({ address: HOST });
const closing: (() => void)[] = [];
after(() => closing.forEach((close) => close()));

async function host(serve: (socket: Socket, records: TlsRecords) => void): Promise<{ port: number; connections: () => number }> {
  const listening = await listenWithRecords(pair, serve);
  closing.push(listening.close);
  return listening;
}

const open = (threads: TlsThreads, port: number): Promise<Socket> =>
  threads.open({ host: HOST, port, addresses: [HOST], ca: pair.cert }, signal);

function processorUs(): number {
  const { user, system } = process.threadCpuUsage();
  return user + system;
}

const times = (count: number, make: () => Buffer): Buffer => Buffer.concat(Array.from({ length: count }, make));

/** Resolves with the number of bytes when the socket has ended. */
async function readAll(socket: Socket): Promise<number> {
  let bytes = 0;
  socket.on("error", () => undefined).on("data", (chunk: Buffer) => (bytes += chunk.length));
  await once(socket, "close");
  return bytes;
}

test("a host that requires new keys again and again is disconnected", async () => {
  // It stays open afterwards.
  const flooding = await host((socket, records) => socket.write(times(6_000, () => records.keyUpdate())));
  assert.equal(await readAll(await open(new TlsThreads(), flooding.port)), 0);
});

test("a host that sends records of one byte is disconnected, and its network is not connected to again", async () => {
  const flooding = await host((socket, records) => socket.write(times(10_000, () => records.data(Buffer.from("x")))));
  const threads = new TlsThreads({ cheapMs: 1_000, budgetMs: 1 });
  // A known host has another thread, with budgets of its own.
  for (const _ of ["others", "known"]) assert.ok((await readAll(await open(threads, flooding.port))) < 10_000);
  await assert.rejects(open(threads, flooding.port), { code: "TLS_TOO_EXPENSIVE" });
  assert.equal(flooding.connections(), 2);
});

test("short records of data and new keys now and then pass", async () => {
  const record = (records: TlsRecords): Buffer => times(20, () => records.data(Buffer.alloc(16)));
  const usual = await host((socket, records) => {
    socket.end(times(100, () => Buffer.concat([record(records), records.keyUpdate()])));
  });
  assert.equal(await readAll(await open(new TlsThreads(), usual.port)), 32_000);
});

test("any number of hosts with expensive bytes delays another host by few of their pieces", async () => {
  let pieces = 0;
  const connectionOf = (payer: string): { socket: PassThrough; metered: Metered } => {
    const socket = new PassThrough({ highWaterMark: 65_536 });
    return { socket, metered: new Metered(socket as unknown as Socket, { payer, limits: { cheapMs: 1_000, budgetMs: 1_000 } }) };
  };
  const busy = Array.from({ length: 40 }, (_, at) => connectionOf(`network ${at % 20}`));
  for (const { socket, metered } of busy) {
    metered.on("data", () => {
      pieces += 1;
      const end = processorUs() + 6_000;
      while (processorUs() < end);
    });
    socket.write(Buffer.alloc(65_536));
  }
  // Each has shown what it costs.
  await until("the costs to be known", () => pieces >= 2 * busy.length);
  const modest = connectionOf("another network");
  const received = once(modest.metered, "data");
  const before = pieces;
  modest.socket.write("hello");
  await received;
  for (const { metered } of busy) metered.destroy();
  assert.ok(pieces - before <= 4, `${pieces - before} pieces came before`);
});
