/** bench/fairness: the time of one account's sends while another account does its worst.
 *
 *  One service with --preload messages of the greedy account. In each round the modest account sends --rate messages a second for
 *  --seconds on an idle service, and then beside each load of bench/peers/greedy.ts in turn. Both accounts have a practically unlimited
 *  quota. The load `scheduled` is measured on a service of its own, which delivers (bench/scheduled.ts). Each figure is the median of the rounds: a single checkpoint, or a pause of the machine, would determine a p99 of all rounds together.
 *
 *  npm run bench -- fairness [--rounds 5] [--seconds 5] [--rate 50] [--preload 200000] [--only "messages;streams"] */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { godwit, machine, makeBody, out, say, show, startGodwit, type GodwitPeer } from "./godwit.ts";
import { quantile, runLoad } from "./load.ts";
import { preload } from "./preload.ts";
import { children, runBenchmark } from "./run.ts";
import { delayScheduled } from "./scheduled.ts";

const LOADS = [
  "messages",
  "batches",
  "refused batches",
  "imports",
  "validate",
  "messages, no match",
  "messages, full pages",
  "events, no match",
  "events, full pages",
  "suppressions",
  "usage",
  "queue",
  "reads of nothing",
  "streams",
  "scheduled",
];

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "5" },
    seconds: { type: "string", default: "5" },
    rate: { type: "string", default: "50" },
    preload: { type: "string", default: "200000" },
    only: { type: "string" },
  },
});
const rounds = Number(values.rounds);
const seconds = Number(values.seconds);
const rate = Number(values.rate);
const chosen = values.only?.split(";") ?? LOADS;
const loads = chosen.filter((load) => load !== "scheduled");

const SCOPES = ["messages:send", "messages:read", "events:read", "suppressions:read", "suppressions:write", "usage:read"];
const WARM_UP_SECONDS = 5;
const SETTLE_MS = 2_000;
const CONNECTIONS = 4;
const MAX_RATIO = 3;

const GREEDY = join(import.meta.dirname, "peers", "greedy.ts");

/** The sorted times of each round, and the responses of the load by status. */
type Run = { roundsMs: Float64Array[]; statuses: Map<string, number> };

/** The requests of the modest account, at a steady rate. */
async function sendSteadily(peer: GodwitPeer, key: string, forSeconds: number): Promise<number[]> {
  const { latenciesMs, statuses } = await runLoad({
    ...peer,
    headers: { ...peer.headers, Authorization: `Bearer ${key}` },
    connections: CONNECTIONS,
    seconds: forSeconds,
    pauseMs: (1_000 * CONNECTIONS) / rate,
    makeBody,
  });
  const refused = [...statuses].filter(([status]) => status !== 202);
  if (refused.length > 0) say(`the modest account got ${refused.map(([status, count]) => `${count} × ${status}`).join(", ")}`);
  return [...latenciesMs];
}

/** Runs the work beside a load, and returns the responses of the load by status. */
async function beside(peer: GodwitPeer, load: string, work: () => Promise<void>): Promise<Record<string, number>> {
  const key = (peer.headers["Authorization"] ?? "").replace("Bearer ", "");
  const child = spawn(process.execPath, [GREEDY, peer.url, key, load], { stdio: ["ignore", "pipe", "inherit"] });
  children.push(child);
  let text = "";
  child.stdout.on("data", (chunk: Buffer) => (text += chunk.toString()));
  await sleep(SETTLE_MS);
  await work();
  child.kill("SIGTERM");
  await once(child, "close");
  return JSON.parse(text) as Record<string, number>;
}

const keep = (runs: Map<string, Run>, name: string, latencies: readonly number[], statuses: Record<string, number> = {}): void => {
  const run: Run = runs.get(name) ?? { roundsMs: [], statuses: new Map() };
  run.roundsMs.push(Float64Array.from(latencies).toSorted());
  for (const [status, count] of Object.entries(statuses)) run.statuses.set(status, (run.statuses.get(status) ?? 0) + count);
  runs.set(name, run);
};

/** The median of the rounds' quantiles. */
const p = ({ roundsMs }: Run, q: number): number => quantile(Float64Array.from(roundsMs, (times) => quantile(times, q)).toSorted(), 0.5);

function modestKey(peer: GodwitPeer): string {
  godwit(peer, "accounts", "create", "modest");
  godwit(peer, "environments", "set-tier", "test", "bench", "--account", "modest");
  const scopes = ["--scopes", "messages:send,messages:read"];
  return String(godwit(peer, "keys", "create", "--environment", "test", ...scopes, "--account", "modest")["key"]);
}

async function main(): Promise<void> {
  if (loads.length > 0) await measureRequests();
  if (chosen.includes("scheduled")) await measureScheduled();
}

async function measureScheduled(): Promise<void> {
  const peer = await startGodwit("scheduled", { args: ["--roles", "api,dispatch", "--simulator-speed", "50"] });
  const key = modestKey(peer);
  const runs = new Map<string, Run>();
  for (let round = 1; round <= rounds; round += 1)
    for (const load of ["idle", "1,000 due together"]) {
      keep(runs, load, await delayScheduled(peer, key, load !== "idle"));
      say(`round ${round} of ${rounds}, scheduled, ${load}: p99 so far ${show(p(runs.get(load) as Run, 0.99))} ms`);
      await sleep(SETTLE_MS);
    }
  out("\n| delay of single scheduled messages | p50 ms | p99 ms |\n|---|---|---|");
  for (const [name, run] of runs) out(`| ${name} | ${show(p(run, 0.5))} | ${show(p(run, 0.99))} |`);
  const [idle, loaded] = [...runs.values()] as [Run, Run];
  const ratio = p(loaded, 0.99) / p(idle, 0.99);
  out(`\n| figure | measured | must reach |\n|---|---|---|\n| p99 of scheduled messages / idle | ${show(ratio, 2)} | ≤ ${MAX_RATIO} |`);
}

async function measureRequests(): Promise<void> {
  const peer = await startGodwit("fairness", { args: ["--roles", "api"], scopes: SCOPES });
  const key = modestKey(peer);
  await preload(peer, { account: peer.account, total: Number(values.preload), priority: "bulk" }, say);
  const runs = new Map<string, Run>();
  await sendSteadily(peer, key, WARM_UP_SECONDS);
  for (let round = 1; round <= rounds; round += 1) {
    for (const load of ["idle", ...loads]) {
      let latencies: number[] = [];
      const work = async (): Promise<void> => void (latencies = await sendSteadily(peer, key, seconds));
      const statuses = load === "idle" ? (await work(), {}) : await beside(peer, load, work);
      keep(runs, load, latencies, statuses);
      await sleep(SETTLE_MS);
      say(`round ${round} of ${rounds}, ${load}: p99 so far ${show(p(runs.get(load) as Run, 0.99), 1)} ms`);
    }
  }
  report(runs);
}

function report(runs: ReadonlyMap<string, Run>): void {
  const idle = runs.get("idle") as Run;
  out(`${machine()}; ${rounds} rounds of ${seconds} s for each load, ${rate} sends a second of the modest account\n`);
  out("| beside the greedy account's | p50 ms | p99 ms | p99 / idle | its responses a second |\n|---|---|---|---|---|");
  for (const [name, run] of runs) {
    const responses = [...run.statuses].map(([status, count]) => `${show(count / rounds / (seconds + SETTLE_MS / 1_000))} × ${status}`);
    out(
      `| ${name} | ${show(p(run, 0.5), 1)} | ${show(p(run, 0.99), 1)} | ${show(p(run, 0.99) / p(idle, 0.99), 2)} | ${responses.join(", ")} |`,
    );
  }
  const worst = Math.max(...Array.from(runs.values(), (run) => p(run, 0.99) / p(idle, 0.99)));
  out(`\n| figure | measured | must reach |\n|---|---|---|\n| highest p99 / idle | ${show(worst, 2)} | ≤ ${MAX_RATIO} |`);
}

await runBenchmark(main);
