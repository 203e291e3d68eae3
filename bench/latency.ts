/** bench/latency: how long one client waits for a 202, beside the smallest service that keeps a message: one durable insert of one row over
 *  HTTP. One connection, which sends its next request after the response. Both run on a database of their own, interleaved.
 *
 *  npm run bench -- latency [--rounds 10] [--seconds 4] */
import { parseArgs } from "node:util";
import { machine, median, out, say, show, startGodwit, type Peer } from "./godwit.ts";
import { loadPeer, startPeer } from "./load-peer.ts";
import { runBenchmark } from "./run.ts";

const { values } = parseArgs({ options: { rounds: { type: "string", default: "10" }, seconds: { type: "string", default: "4" } } });
const [rounds, seconds] = [Number(values.rounds), Number(values.seconds)];
const WARM_UP = { connections: 16, seconds: 6 };

await runBenchmark(async () => {
  const accept = await startGodwit("accept", { args: ["--roles", "api"] });
  const database = await startGodwit("database", { args: ["--roles", "api"] });
  const insert = await startPeer("durable insert", "durable-insert.ts", database.socketDir);
  for (const peer of [accept, insert]) await loadPeer(peer, WARM_UP);
  const results: Record<"accept" | "insert", { p50: number; p99: number }[]> = { accept: [], insert: [] };
  const measure = async (name: keyof typeof results, peer: Peer): Promise<void> => {
    const { p50, p99 } = await loadPeer(peer, { connections: 1, seconds });
    results[name].push({ p50, p99 });
    say(`${name}: p50 ${show(p50, 2)} ms, p99 ${show(p99, 2)} ms`);
  };
  for (let round = 0; round < rounds; round += 1)
    for (const name of round % 2 === 0 ? (["accept", "insert"] as const) : (["insert", "accept"] as const))
      await measure(name, name === "accept" ? accept : insert);
  out(`\n${machine()}; 1 connection, ${rounds} rounds of ${seconds} s\n`);
  out("| median of the rounds | p50 ms | p99 ms |\n|---|---|---|");
  for (const [title, name] of [
    ["accept", "accept"],
    ["one durable insert over HTTP", "insert"],
  ] as const)
    out(`| ${title} | ${show(median(results[name].map(({ p50 }) => p50)), 2)} | ${show(median(results[name].map(({ p99 }) => p99)), 2)} |`);
  const ratio = median(results.accept.map(({ p50 }, index) => p50 / (results.insert[index]?.p50 ?? Number.NaN)));
  out(`\n| figure | measured | must reach |\n|---|---|---|\n| p50 of the 202 / that of the insert | ${show(ratio, 2)} | ≤ 1.5 |`);
});
