/** bench/overload: ten times the connections that saturate the service, for a minute, with delivery to the simulator. Most send messages of normal priority,
 *  others bulk messages, and others requests with made-up keys. Prints the work done per second of processor time, beside that at saturation,
 *  what was refused, the memory, and how soon one client is served as before.
 *
 *  npm run bench -- overload [--connections 64] [--times 10] [--seconds 60] */
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { rssMb, treeCpuUs } from "./cpu.ts";
import { machine, makeBody, median, out, say, show, startGodwit, type GodwitPeer } from "./godwit.ts";
import { quantile, runLoad, type LoadResult } from "./load.ts";
import { deliveredCount, untilDelivered } from "./load-peer.ts";
import { runBenchmark } from "./run.ts";

const { values } = parseArgs({
  options: {
    connections: { type: "string", default: "64" },
    times: { type: "string", default: "10" },
    seconds: { type: "string", default: "60" },
  },
});
const [connections, times, seconds] = [values.connections, values.times, values.seconds].map(Number) as [number, number, number];
const WARM_UP_SECONDS = 8;
const SATURATION_SECONDS = 20;
const RECOVERY_MS = 30_000;

/** The shares of the connections. */
const CLASSES = { normal: 0.7, bulk: 0.2, "made-up keys": 0.1 } as const;
type ClassName = keyof typeof CLASSES;

/** The service limits the connections of one address. */
const ADDRESSES = Array.from({ length: 8 }, (_, index) => `127.0.0.${index + 2}`);

const makeBulk = (): string => `${makeBody().slice(0, -1)},"priority":"bulk"}`;

const acceptedOf = ({ statuses }: LoadResult): number => statuses.get(202) ?? 0;
const cpuSeconds = (peer: GodwitPeer): number => treeCpuUs(peer.child.pid ?? 0) / 1e6;

/** The accepted messages for each second of processor time, up to their delivery. */
async function goodput(
  peer: GodwitPeer,
  load: () => Promise<readonly LoadResult[]>,
): Promise<{ perCpu: number; drainMs: number; results: readonly LoadResult[] }> {
  const [before, already] = [cpuSeconds(peer), await deliveredCount(peer)];
  const results = await load();
  const accepted = results.reduce((sum, result) => sum + acceptedOf(result), 0);
  const endedAt = performance.now();
  await untilDelivered(peer, already + accepted);
  return { perCpu: accepted / (cpuSeconds(peer) - before), drainMs: performance.now() - endedAt, results };
}

const oneClient = async (peer: GodwitPeer, forSeconds: number): Promise<number> =>
  quantile((await runLoad({ ...peer, connections: 1, seconds: forSeconds, makeBody })).latenciesMs, 0.5);

async function overload(peer: GodwitPeer): Promise<Record<ClassName, LoadResult>> {
  const strangers = { ...peer, headers: { ...peer.headers, Authorization: `Bearer gw_test_${"0".repeat(43)}` } };
  const bodies: Record<ClassName, () => string> = { normal: makeBody, bulk: makeBulk, "made-up keys": makeBody };
  const entries = await Promise.all(
    (Object.keys(CLASSES) as ClassName[]).map(async (name): Promise<[ClassName, LoadResult]> => {
      const target = name === "made-up keys" ? strangers : peer;
      const count = Math.round(connections * times * CLASSES[name]);
      return [name, await runLoad({ ...target, connections: count, seconds, makeBody: bodies[name], addresses: ADDRESSES })];
    }),
  );
  return Object.fromEntries(entries) as Record<ClassName, LoadResult>;
}

/** Samples the memory until the work ends. */
async function withMemory<T>(peer: GodwitPeer, work: Promise<T>): Promise<{ result: T; memory: number[] }> {
  const memory: number[] = [];
  const sampling = setInterval(() => memory.push(rssMb(peer.child.pid ?? 0)), 1_000);
  const result = await work.finally(() => clearInterval(sampling));
  return { result, memory };
}

/** How long one client waits, after the load, until its median time is at most twice that of before. */
async function recover(peer: GodwitPeer, before: number): Promise<number> {
  const startedAt = performance.now();
  while (performance.now() - startedAt < RECOVERY_MS) if ((await oneClient(peer, 0.5)) <= before * 2) return performance.now() - startedAt;
  return Number.NaN;
}

async function main(): Promise<void> {
  const peer = await startGodwit("overload", { args: ["--simulator-speed", "50"] });
  await runLoad({ ...peer, connections, seconds: WARM_UP_SECONDS, makeBody });
  await sleep(3_000);
  const alone = await oneClient(peer, 4);
  const saturate = async () => [await runLoad({ ...peer, connections, seconds: SATURATION_SECONDS, makeBody })];
  const first = await goodput(peer, saturate);
  say(`saturated: ${show(first.perCpu)} messages per second of processor time`);
  let classes: Record<ClassName, LoadResult> | undefined;
  const over = withMemory(
    peer,
    goodput(peer, async () => Object.values((classes = await overload(peer)))),
  );
  const { result: loaded, memory } = await over;
  const recoveredMs = await recover(peer, alone);
  await sleep(3_000);
  const second = await goodput(peer, saturate);
  report(classes as unknown as Record<ClassName, LoadResult>, { first, second, loaded, memory, recoveredMs });
}

type Measured = { perCpu: number; drainMs: number };
type Figures = { first: Measured; second: Measured; loaded: Measured; memory: number[]; recoveredMs: number };

function report(classes: Record<ClassName, LoadResult>, { first, second, loaded, memory, recoveredMs }: Figures): void {
  out(`\n${machine()}; ${show(connections)} connections at saturation, ${show(connections * times)} for ${show(seconds)} s\n`);
  out("| requests | connections | 202 a second | p50 of all ms | p99 of all ms | other responses |\n|---|---|---|---|---|---|");
  for (const name of Object.keys(CLASSES) as ClassName[]) {
    const { statuses, latenciesMs, seconds: took } = classes[name];
    const others = [...statuses].filter(([status]) => status !== 202).map(([status, count]) => `${show(count)} × ${status}`);
    const figures = [show(acceptedOf(classes[name]) / took), show(quantile(latenciesMs, 0.5)), show(quantile(latenciesMs, 0.99))];
    out(`| ${name} | ${show(connections * times * CLASSES[name])} | ${figures.join(" | ")} | ${others.join(", ") || "none"} |`);
  }
  const saturated = (first.perCpu + second.perCpu) / 2;
  const [early, late] = [median(memory.slice(5, 15)), median(memory.slice(-10))];
  out("\n| figure | measured | must reach |\n|---|---|---|");
  out(
    `| messages per second of processor time / at saturation (${show(saturated)}, before and after) | ${show(loaded.perCpu / saturated, 2)} | ≥ 0.9 |`,
  );
  out(`| node's memory, MB: seconds 5 to 15 → the last ten | ${show(early)} → ${show(late)} | flat |`);
  out(`| all delivered after the load, s | ${show(loaded.drainMs / 1_000, 2)} | < 1 |`);
  out(`| one client is served as before after, s | ${show(recoveredMs / 1_000, 1)} | ≤ 5 |`);
}

await runBenchmark(main);
