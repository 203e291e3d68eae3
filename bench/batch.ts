/** bench/batch: the cost of a message in a batch, beside that of a single send.
 *
 *  In one run, interleaved over several rounds, on two services of their own: single sends with an idempotency key each, and
 *  batches of --items messages with one key. Messages stay in the queue in both. Only medians of ratios within a round are
 *  meaningful.
 *
 *  npm run bench -- batch [--rounds 5] [--seconds 8] [--items 1000] [--connections 64] [--batch-connections 4] */
import { parseArgs } from "node:util";
import { treeCpuUs } from "./cpu.ts";
import { machine, makeBody, median, out, say, show, startGodwit, type Peer } from "./godwit.ts";
import { quantile, runLoad } from "./load.ts";
import { runBenchmark } from "./run.ts";

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "5" },
    seconds: { type: "string", default: "8" },
    items: { type: "string", default: "1000" },
    connections: { type: "string", default: "64" },
    "batch-connections": { type: "string", default: "4" },
  },
});
const rounds = Number(values.rounds);
const seconds = Number(values.seconds);
const items = Number(values.items);

const WARM_UP_SECONDS = 8;
// Messages stay in the queue: bench/deliver measures the cost of their delivery.
const ACCEPT_ONLY = { args: ["--roles", "api"] };

/** The same text as in a single message, once for all recipients. */
const batchBody = JSON.stringify({
  defaults: { channel: "sms", body: "Your verification code is 123456. It is valid for ten minutes." },
  items: Array.from({ length: items }, (_, index) => ({ recipient: `+1415555${String(index % 10_000).padStart(4, "0")}` })),
});

type Kind = { peer: Peer; connections: number; messages: number; makeBody: () => string };
type Measure = { rate: number; cpuUs: number; p50: number; p99: number };

/** Returns a function that computes the figures at the end of the round: vacuum and checkpoints after the load are part of the cost. */
async function measure({ peer, connections, messages, makeBody: make }: Kind, forSeconds: number): Promise<() => Measure> {
  const before = treeCpuUs(peer.child.pid ?? 0);
  const { requests, seconds: took, latenciesMs, statuses } = await runLoad({ ...peer, connections, seconds: forSeconds, makeBody: make });
  const odd = [...statuses].filter(([status]) => status !== 202);
  if (odd.length > 0) throw new Error(`${peer.path} answered ${odd.map(([status, count]) => `${status} (${count}×)`).join(", ")}`);
  const sent = requests * messages;
  return () => ({
    rate: sent / took,
    cpuUs: (treeCpuUs(peer.child.pid ?? 0) - before) / sent,
    p50: quantile(latenciesMs, 0.5),
    p99: quantile(latenciesMs, 0.99),
  });
}

async function main(): Promise<void> {
  const single: Kind = {
    peer: await startGodwit("single", ACCEPT_ONLY),
    connections: Number(values.connections),
    messages: 1,
    makeBody,
  };
  const batch: Kind = {
    peer: { ...(await startGodwit("batch", ACCEPT_ONLY)), path: "/v1/batches" },
    connections: Number(values["batch-connections"]),
    messages: items,
    makeBody: () => batchBody,
  };
  for (const kind of [single, batch]) await measure(kind, WARM_UP_SECONDS);
  const results: { single: Measure; batch: Measure }[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    const singleCost = await measure(single, seconds);
    const batchCost = await measure(batch, seconds);
    const result = { single: singleCost(), batch: batchCost() };
    results.push(result);
    say(`round ${round} of ${rounds}: single ${show(result.single.cpuUs)} µs, batch ${show(result.batch.cpuUs)} µs per message`);
  }
  out(`\n${machine()}; ${rounds} rounds of ${seconds} s\n`);
  out("| median of the rounds | messages per second | p50 of a request, ms | p99, ms | CPU µs per message |\n|---|---|---|---|---|");
  for (const [name, kind] of [
    [`single, ${single.connections} connections`, "single"],
    [`batches of ${items}, ${batch.connections} connections`, "batch"],
  ] as const) {
    const of = (pick: (measured: Measure) => number): number => median(results.map((result) => pick(result[kind])));
    out(
      `| ${name} | ${show(of(({ rate }) => rate))} | ${show(
        of(({ p50 }) => p50),
        1,
      )} | ${show(
        of(({ p99 }) => p99),
        1,
      )} | ${show(of(({ cpuUs }) => cpuUs))} |`,
    );
  }
  out("\n| figure | measured | must reach |\n|---|---|---|");
  out(
    `| CPU per message of a batch / of single sends | ${show(median(results.map(({ single: a, batch: b }) => b.cpuUs / a.cpuUs)), 2)} | ≤ 0.33 |`,
  );
}

await runBenchmark(main);
