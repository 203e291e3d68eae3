/** bench/guard: compares ratios with those that bench/guard.json has, in about two minutes. A ratio that differs by more than 15 % in each of
 *  three runs is reported, and the exit code is 1. Ratios depend little on the machine; a large difference is a change of the code.
 *
 *  npm run bench -- guard [--write]    (--write stores the ratios of this run, after a change that is meant) */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { treeCpuUs } from "./cpu.ts";
import { machine, median, out, say, show, startGodwit, type GodwitPeer, type Peer } from "./godwit.ts";
import { deliveredCount, loadPeer, measurePeer, startPeer, untilDelivered, type LoadShape } from "./load-peer.ts";
import { runBenchmark } from "./run.ts";

const { values } = parseArgs({ options: { write: { type: "boolean", default: false } } });
const FILE = join(import.meta.dirname, "guard.json");
const MOST_DIFFERENCE = 0.15;
const RUNS = 3;
const ROUNDS = 3;
const LOAD = { connections: 64, seconds: 2 };
const ONE_CLIENT = { connections: 1, seconds: 1 };
const WARM_UP = { connections: 64, seconds: 5 };

type Ratios = Readonly<Record<string, number>>;
type Peers = { echo: Peer; insert: Peer; accept: GodwitPeer; deliver: Peer };

async function startAll(): Promise<Peers> {
  const accept = await startGodwit("accept", { args: ["--roles", "api"] });
  const deliver = await startGodwit("deliver", { args: ["--roles", "api,dispatch", "--simulator-speed", "50"] });
  const echo = await startPeer("bare node:http echo", "echo.ts");
  const insert = await startPeer("durable insert", "durable-insert.ts", accept.socketDir);
  for (const peer of [echo, insert, accept]) await loadPeer(peer, WARM_UP);
  await deliveredCpuUs(deliver, WARM_UP);
  return { echo, insert, accept, deliver };
}

/** The CPU of a message from the request to the receipt. */
async function deliveredCpuUs(peer: Peer, shape: LoadShape): Promise<number> {
  const [before, already] = [treeCpuUs(peer.child.pid ?? 0), await deliveredCount(peer)];
  const { messages } = await loadPeer(peer, shape);
  await untilDelivered(peer, already + messages);
  return (treeCpuUs(peer.child.pid ?? 0) - before) / messages;
}

async function measureOnce({ echo, insert, accept, deliver }: Peers): Promise<Ratios> {
  const rounds: Ratios[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const [ofEcho, ofAccept] = [(await measurePeer(echo, LOAD))(), (await measurePeer(accept, LOAD))()];
    const [oneAccept, oneInsert] = [await loadPeer(accept, ONE_CLIENT), await loadPeer(insert, ONE_CLIENT)];
    rounds.push({
      "accept's CPU / bare echo's": ofAccept.cpuUs / ofEcho.cpuUs,
      "accept's rate / bare echo's": ofAccept.rate / ofEcho.rate,
      "accept to delivered, CPU / accept's": (await deliveredCpuUs(deliver, LOAD)) / ofAccept.cpuUs,
      "one client's p50 / that of one insert": oneAccept.p50 / oneInsert.p50,
    });
  }
  return Object.fromEntries(Object.keys(rounds[0] ?? {}).map((name) => [name, median(rounds.map((each) => each[name] ?? Number.NaN))]));
}

/** The ratios that differ too much. One that is missing on either side differs. */
const differing = (measured: Ratios, known: Ratios): string[] =>
  Object.keys({ ...known, ...measured }).filter(
    (name) => !(Math.abs((measured[name] ?? Number.NaN) / (known[name] ?? Number.NaN) - 1) <= MOST_DIFFERENCE),
  );

await runBenchmark(async () => {
  const known = values.write ? {} : (JSON.parse(readFileSync(FILE, "utf8")) as Ratios);
  const peers = await startAll();
  let suspects: string[] | undefined;
  for (let run = 1; run <= RUNS; run += 1) {
    const measured = await measureOnce(peers);
    if (values.write) {
      const rounded = Object.fromEntries(Object.entries(measured).map(([name, ratio]) => [name, Number(ratio.toFixed(2))]));
      writeFileSync(FILE, `${JSON.stringify(rounded, undefined, 2)}\n`);
    }
    out(`\n${machine()}; run ${run}\n\n| ratio | measured | in guard.json |\n|---|---|---|`);
    for (const [name, ratio] of Object.entries(measured)) out(`| ${name} | ${show(ratio, 2)} | ${show(known[name] ?? Number.NaN, 2)} |`);
    if (values.write) return;
    const now = differing(measured, known);
    suspects = suspects === undefined ? now : suspects.filter((name) => now.includes(name));
    if (suspects.length === 0) return say("no ratio has changed by more than 15 %");
  }
  say(`changed by more than 15 % in ${RUNS} runs: ${suspects?.join("; ")}`);
  process.exitCode = 1;
});
