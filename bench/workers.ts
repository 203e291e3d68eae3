/** bench/workers: the accept with one and with several workers, in one run, interleaved over several rounds. The load generator runs on the same
 *  processors.
 *
 *  npm run bench -- workers [--workers 1,2] [--rounds 8] [--seconds 5] [--connections 64] [--roles api] */
import { parseArgs } from "node:util";
import { childrenOf, rssMb, treeCpuUs } from "./cpu.ts";
import { machine, makeBody, median, out, say, show, startGodwit, type GodwitPeer } from "./godwit.ts";
import { quantile, runLoad } from "./load.ts";

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

type Round = { rate: number; cpuUs: number; postgresUs: number; p50: number; p99: number; rss: number };

async function load(peer: GodwitPeer, forSeconds: number): Promise<Omit<Round, "cpuUs" | "postgresUs" | "rss"> & { messages: number }> {
  const { requests, seconds: took, latenciesMs, statuses } = await runLoad({ ...peer, connections, seconds: forSeconds, makeBody });
  const odd = [...statuses].filter(([status]) => status !== 202);
  if (odd.length > 0) throw new Error(`${peer.name} answered ${odd.map(([status, count]) => `${status} (${count}×)`).join(", ")}`);
  return { messages: requests, rate: requests / took, p50: quantile(latenciesMs, 0.5), p99: quantile(latenciesMs, 0.99) };
}

/** The memory of the largest worker. A service with one worker has no other process of Node. */
function largestMb(peer: GodwitPeer, workers: number): number {
  const pid = peer.child.pid ?? 0;
  return workers === 1 ? rssMb(pid) : Math.max(...childrenOf(pid, "node").map(rssMb));
}

const cpuOf = ({ child: { pid = 0 } }: GodwitPeer): { all: number; postgres: number } => ({
  all: treeCpuUs(pid),
  postgres: treeCpuUs(pid, "postgres"),
});

const counts = values.workers.split(",").map(Number);
const peers: { workers: number; peer: GodwitPeer; rounds: Round[] }[] = [];
for (const workers of counts) {
  const peer = await startGodwit(`workers-${workers}`, { args: ["--roles", values.roles, "--workers", String(workers)] });
  peers.push({ workers, peer, rounds: [] });
  await load(peer, WARM_UP_SECONDS);
}
for (let round = 0; round < rounds; round += 1) {
  // Each is first in turn.
  const order = round % 2 === 0 ? peers : peers.toReversed();
  const cpuBefore = new Map(order.map(({ workers, peer }) => [workers, cpuOf(peer)]));
  const loads: { workers: number; result: Awaited<ReturnType<typeof load>>; rss: number }[] = [];
  for (const { workers, peer } of order) {
    const result = await load(peer, seconds);
    loads.push({ workers, result, rss: largestMb(peer, workers) });
  }
  for (const { workers, result, rss } of loads) {
    const { peer, rounds: kept } = peers.find((each) => each.workers === workers) as (typeof peers)[number];
    const [before, after] = [cpuBefore.get(workers) ?? { all: 0, postgres: 0 }, cpuOf(peer)];
    const cpuUs = (after.all - before.all) / result.messages;
    const postgresUs = (after.postgres - before.postgres) / result.messages;
    kept.push({ ...result, cpuUs, postgresUs, rss });
    say(`round ${round + 1}: ${workers} workers ${show(result.rate)}/s ${show(cpuUs)} µs, ${show(postgresUs)} µs of it in PostgreSQL`);
  }
}

const [first] = peers;
out(`\n${machine()}; roles ${values.roles}, ${connections} connections, ${rounds} rounds of ${seconds} s\n`);
out(
  "| workers | per second | p50 ms | p99 ms | CPU µs per message | of it PostgreSQL | largest worker, MB | rate / first | CPU / first |\n|---|---|---|---|---|---|---|---|---|",
);
for (const { workers, rounds: kept } of peers) {
  const of = (pick: (round: Round) => number): number => median(kept.map(pick));
  const ratio = (pick: (round: Round) => number): number =>
    median(kept.map((round, index) => pick(round) / pick(first?.rounds[index] as Round)));
  out(
    `| ${workers} | ${show(of(({ rate }) => rate))} | ${show(
      of(({ p50 }) => p50),
      1,
    )} | ${show(
      of(({ p99 }) => p99),
      1,
    )} | ${show(of(({ cpuUs }) => cpuUs))} | ${show(of(({ postgresUs }) => postgresUs))} | ${show(of(({ rss }) => rss))} | ${show(
      ratio(({ rate }) => rate),
      2,
    )} | ${show(
      ratio(({ cpuUs }) => cpuUs),
      2,
    )} |`,
  );
}
process.exit(0);
