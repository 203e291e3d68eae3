/** npm run chaos: runs two nodes under load and faults, and verifies every promise of the service at the end. */
import { randomInt } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { Clients } from "./clients.ts";
import { Ends, startCluster } from "./cluster.ts";
import { collectEvidence } from "./evidence.ts";
import { FaultRunner } from "./faults.ts";
import { drawFaults } from "./plan.ts";
import { randomFrom } from "./random.ts";
import { countFaults, formatReport, hasViolation, measureLoad, toRows, type Report } from "./report.ts";
import { settle } from "./settle.ts";
import { verify } from "./verify.ts";

const HELP = `Usage: npm run chaos -- [flags]

Starts a PostgreSQL server, two Godwit nodes, carriers with HTTP and SMPP, webhook receivers and event-stream readers, all on this machine.
Sends messages while it kills and freezes nodes, restarts the database, shifts and slews its clock, holds locks, and lets the carriers and the
receivers fail. Then it waits until all work is done, and verifies every promise of the service.

  --minutes N            how long faults are made; default 1
  --seconds N            the same in seconds
  --seed N               the same seed draws the same list of faults; default random
  --faults-per-minute N  default 13
  --workers N            worker processes of each node; default 1
  --rate N               actions of clients per second, each with one or several requests; default 15
  --without KINDS        leaves out faults of these kinds, with commas between them; the others keep their times
  --only KINDS           leaves out all other kinds
  --settle N             seconds to wait for each kind of work to end; default 120
  --json                 prints the report as JSON
  --keep                 keeps the folder with the logs and the database
  --help                 prints this text

Exit codes: 0 no violation, 1 violations or a failure, 2 wrong use.
`;

type Options = {
  runMs: number;
  settleMs: number;
  seed: number;
  faultsPerMinute: number;
  /** Whether faults of this kind are made. */
  isDrawn: (kind: string) => boolean;
  rate: number;
  workers: number;
  isJson: boolean;
  isKept: boolean;
};

function readOptions(): Options | "help" {
  const { values } = parseArgs({
    options: {
      minutes: { type: "string" },
      seconds: { type: "string" },
      seed: { type: "string" },
      "faults-per-minute": { type: "string", default: "13" },
      rate: { type: "string", default: "15" },
      workers: { type: "string", default: "1" },
      without: { type: "string", default: "" },
      only: { type: "string" },
      settle: { type: "string", default: "120" },
      json: { type: "boolean", default: false },
      keep: { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  if (values.help) return "help";
  const number = (name: string, text: string): number => {
    const value = Number(text);
    if (!(value > 0) || value > 2 ** 31) throw new Error(`--${name} needs a positive number`);
    return value;
  };
  const without = values.without.split(",");
  const only = values.only?.split(",");
  const minutes = values.minutes === undefined ? 1 : number("minutes", values.minutes);
  return {
    runMs: 1_000 * (values.seconds === undefined ? 60 * minutes : number("seconds", values.seconds)),
    settleMs: 1_000 * number("settle", values.settle),
    seed: values.seed === undefined ? randomInt(1, 2 ** 31) : Math.trunc(number("seed", values.seed)),
    faultsPerMinute: number("faults-per-minute", values["faults-per-minute"]),
    isDrawn: (kind) => !without.includes(kind) && (only === undefined || only.includes(kind)),
    rate: number("rate", values.rate),
    workers: Math.trunc(number("workers", values.workers)),
    isJson: values.json,
    isKept: values.keep,
  };
}

type Run = Options & { signal: AbortSignal; ends: Ends; say: (line: string) => void };

async function runChaos({
  runMs,
  settleMs,
  seed,
  faultsPerMinute,
  isDrawn,
  rate,
  workers,
  isKept,
  signal,
  ends,
  say,
}: Run): Promise<Report> {
  const startedAt = performance.now();
  const cluster = await startCluster({ random: randomFrom(seed + 1), workers, signal, ends, isKept });
  const drawn = drawFaults(randomFrom(seed), { runMs, faultsPerMinute, nodes: cluster.nodes.length });
  const plan = drawn.filter(({ kind }) => isDrawn(kind) && (kind !== "hang_worker" || workers > 1));
  say(`seed ${seed}: ${plan.length} faults in ${runMs / 1_000} s; files in ${cluster.folder}`);

  const clients = new Clients(cluster.api, randomFrom(seed + 2), signal);
  const loading = new AbortController();
  const load = clients.run(rate, AbortSignal.any([loading.signal, signal]));
  const faults = new FaultRunner(cluster, { signal, onFault: say });
  // The recovery of an endpoint ends when nothing waits for it, which may never happen under load on a slow machine.
  await Promise.all([faults.run(plan), sleep(runMs, undefined, { signal }).then(() => loading.abort())]);
  await load;

  await settle(cluster, clients, { limitMs: settleMs, signal, say });
  say("reading all messages and events");
  const evidence = await collectEvidence(cluster);
  const { verdicts, figures } = await verify(cluster, clients, { evidence, locks: faults.locks });
  return {
    seed,
    seconds: (performance.now() - startedAt) / 1_000,
    promises: toRows(verdicts),
    faults: countFaults(faults.counts, clients),
    load: { ...measureLoad(cluster, clients, evidence), ...figures },
    folder: isKept ? cluster.folder : null,
  };
}

async function main(options: Options): Promise<void> {
  const startedAt = performance.now();
  // The progress goes beside the report.
  const say = (line: string): void =>
    void process.stderr.write(`${((performance.now() - startedAt) / 1_000).toFixed(1).padStart(7)} s  ${line}\n`);
  const stopping = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
    process.on(signal, () => stopping.abort(new Error(`stopped by ${signal}`)));
  const ends = new Ends();
  try {
    const report = await runChaos({ ...options, signal: stopping.signal, ends, say });
    process.stdout.write(options.isJson ? `${JSON.stringify(report, null, 2)}\n` : `\n${formatReport(report)}`);
    if (hasViolation(report)) process.exitCode = 1;
  } catch (error) {
    process.stderr.write(
      `seed ${options.seed}: ${stopping.signal.aborted ? String(stopping.signal.reason) : String((error as Error).stack)}\n`,
    );
    process.exitCode = 1;
  } finally {
    stopping.abort();
    await ends.run();
  }
}

try {
  const options = readOptions();
  if (options === "help") process.stdout.write(HELP);
  else await main(options);
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n\n${HELP}`);
  process.exitCode = 2;
}
