/** Starts the peers of the benchmarks, and loads them. */
import { spawn, type ChildProcess } from "node:child_process";
import { createServer, type AddressInfo } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import type { Load } from "./against.ts";
import { treeCpuUs } from "./cpu.ts";
import { makeBody, type Peer } from "./godwit.ts";
import { quantile, runLoad } from "./load.ts";
import { children } from "./run.ts";

export type Measure = { rate: number; cpuUs: number; p50: number; p99: number };

async function firstUrl(child: ChildProcess): Promise<string> {
  for await (const line of createInterface({ input: child.stdout as NodeJS.ReadableStream })) {
    const match = /http:\/\/[\d.:]+/.exec(line);
    if (match !== null) return match[0];
  }
  throw new Error("the peer ended before it listened");
}

export const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });

/** Creates a webhook endpoint for all events. */
export async function createEndpoint({ url, headers }: Peer, target: string): Promise<string> {
  const response = await fetch(`${url}/v1/webhook_endpoints`, { method: "POST", headers, body: JSON.stringify({ url: target }) });
  const endpoint = (await response.json()) as { id?: string };
  if (endpoint.id === undefined) throw new Error(`no endpoint: ${JSON.stringify(endpoint)}`);
  return endpoint.id;
}

/** Starts a program of the folder `peers` that prints its URL. */
export async function startPeer(name: string, file: string, ...args: readonly string[]): Promise<Peer> {
  const child = spawn(process.execPath, [join(import.meta.dirname, "peers", file), ...args], { stdio: ["ignore", "pipe", "inherit"] });
  children.push(child);
  return { name, child, url: await firstUrl(child), path: "/v1/messages", headers: { "Content-Type": "application/json" }, hasKey: false };
}

export type LoadShape = { connections: number; seconds: number };

/** Sends messages to a peer. Throws where it refuses one. */
export async function loadPeer(peer: Peer, { connections, seconds }: LoadShape): Promise<Load> {
  const {
    requests,
    seconds: took,
    latenciesMs,
    statuses,
  } = await runLoad({ ...peer, connections, seconds, makeBody: peer.makeForm ?? makeBody });
  const odd = [...statuses].filter(([status]) => ![200, 201, 202].includes(status));
  if (odd.length > 0) throw new Error(`${peer.name} answered ${odd.map(([status, count]) => `${status} (${count}×)`).join(", ")}`);
  return { messages: requests, rate: requests / took, p50: quantile(latenciesMs, 0.5), p99: quantile(latenciesMs, 0.99) };
}

/** Loads a peer. Returns a function that computes the figures at the end of the round, because work after the load (vacuum, checkpoints)
 *  is part of the cost. */
export async function measurePeer(peer: Peer, shape: LoadShape): Promise<() => Measure> {
  const before = treeCpuUs(peer.child.pid ?? 0);
  const { messages, ...figures } = await loadPeer(peer, shape);
  return () => ({ ...figures, cpuUs: (treeCpuUs(peer.child.pid ?? 0) - before) / messages });
}

export async function metric({ url }: Peer, pattern: RegExp): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  return Number(pattern.exec(text)?.[1] ?? 0);
}

/** The number of messages that a service has delivered since its start. */
export const deliveredCount = (peer: Peer): Promise<number> => metric(peer, /^godwit_transitions_total\{status="delivered"\} (\S+)/m);

const DRAIN_MS = 120_000;

/** Waits until a service has delivered so many messages since its start. */
export async function untilDelivered(peer: Peer, count: number): Promise<void> {
  const deadline = performance.now() + DRAIN_MS;
  while ((await deliveredCount(peer)) < count) {
    if (performance.now() > deadline) throw new Error("not everything was delivered");
    await sleep(10);
  }
}
