/** bench/workers: the accept with one and with several workers, in one run, interleaved over several rounds. The load generator runs on the same
 *  processors.
 *
 *  npm run bench -- workers [--workers 1,2] [--rounds 8] [--seconds 5] [--connections 64] [--roles api] */
import { parseArgs } from "node:util";
import type { Load } from "./against.ts";
import { childrenOf, rssMb, treeCpuUs } from "./cpu.ts";
import { machine, median, out, say, show, startGodwit, type GodwitPeer } from "./godwit.ts";
import { loadPeer } from "./load-peer.ts";
import { runBenchmark } from "./run.ts";

const { values } = parseArgs({
  options: {
    workers: { type: "string", default: "1,2" },
    rounds: { type: "string", default: "8" },
    seconds: { type: "string", default: "5" },
    connections: { type: "string", default: "64" },
    roles: { type: "string", default: "api" },
  },
});
const [rounds, seconds, connections] = [values.rounds, values.seconds, values.connections].map(Number) as [number, number, number];
const WARM_UP_SECONDS = 8;

type Cpu = { all: number; postgres: number };
type Round = Load & { cpuUs: number; postgresUs: number; rss: number };
type Contender = { workers: number; peer: GodwitPeer; rounds: Round[] };

/** The memory of the largest worker. A service with one worker has no other process of Node. */
function largestMb({ child: { pid = 0 } }: GodwitPeer, workers: number): number {
  return workers === 1 ? rssMb(pid) : Math.max(...childrenOf(pid, "main.ts").map(rssMb));
}

const cpuOf = ({ child: { pid = 0 } }: GodwitPeer): Cpu => ({ all: treeCpuUs(pid), postgres: treeCpuUs(pid, "postgres") });

async function start(workers: number): Promise<Contender> {
  const peer = await startGodwit(`workers-${workers}`, { args: ["--roles", values.roles, "--workers", String(workers)] });
  await loadPeer(peer, { connections, seconds: WARM_UP_SECONDS });
  return { workers, peer, rounds: [] };
}

/** The CPU of all is read at the same two moments, so that the work after a load counts as well. */
async function runRound(contenders: readonly Contender[]): Promise<void> {
  const before = contenders.map(({ peer }) => cpuOf(peer));
  const loads: { load: Load; rss: number }[] = [];
  for (const { peer, workers } of contenders)
    loads.push({ load: await loadPeer(peer, { connections, seconds }), rss: largestMb(peer, workers) });
  contenders.forEach(({ peer, workers, rounds: kept }, index) => {
    const [cpu, { load, rss }] = [before[index] as Cpu, loads[index] as (typeof loads)[number]];
    const after = cpuOf(peer);
    const [cpuUs, postgresUs] = [(after.all - cpu.all) / load.messages, (after.postgres - cpu.postgres) / load.messages];
    kept.push({ ...load, cpuUs, postgresUs, rss });
    say(`${workers} workers: ${show(load.rate)}/s ${show(cpuUs)} µs, ${show(postgresUs)} µs of it in PostgreSQL`);
  });
}

await runBenchmark(async () => {
  const contenders: Contender[] = [];
  for (const count of values.workers.split(",")) contenders.push(await start(Number(count)));
  // Each is first in turn.
  for (let round = 0; round < rounds; round += 1) await runRound(round % 2 === 0 ? contenders : contenders.toReversed());
  out(`\n${machine()}; roles ${values.roles}, ${connections} connections, ${rounds} rounds of ${seconds} s\n`);
  out(
    "| workers | per second | p50 ms | p99 ms | CPU µs per message | of it PostgreSQL | largest worker, MB | rate / first | CPU / first |",
  );
  out("|---|---|---|---|---|---|---|---|---|");
  for (const { workers, rounds: kept } of contenders) {
    const of = (key: keyof Round, digits = 0): string => show(median(kept.map((round) => round[key] ?? Number.NaN)), digits);
    const ratio = (key: "rate" | "cpuUs"): string =>
      show(median(kept.map((round, index) => round[key] / (contenders[0]?.rounds[index]?.[key] ?? Number.NaN))), 2);
    const figures = [of("rate"), of("p50", 1), of("p99", 1), of("cpuUs"), of("postgresUs"), of("rss"), ratio("rate"), ratio("cpuUs")];
    out(`| ${workers} | ${figures.join(" | ")} |`);
  }
});
