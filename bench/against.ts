/** Compares two commits of this repository in one run: this checkout and another commit, each with its own service and database, under the
 *  same load in turn. */
import { checkOut, thisCheckout, type Checkout } from "./checkout.ts";
import { machine, median, out, say, show } from "./godwit.ts";
import { runBenchmark, UsageError } from "./run.ts";

export const AGAINST_OPTIONS = { against: { type: "string" }, within: { type: "string" } } as const;

const WARM_UP_SECONDS = 8;
const DEFAULT_WITHIN = 0.05;

/** The figures of one load. The quantiles are in milliseconds; `backlogMs` is the time from the end of the load to the last delivery. */
export type Load = { messages: number; rate: number; p50: number; p99: number; backlogMs?: number };

/** The service of one commit. */
export type Contender = { cpuUs: () => number; load: (seconds: number) => Promise<Load> };

type Measured = Omit<Load, "messages"> & { cpuUs: number };
type Side = "this" | "REF";
type Pair<T> = Record<Side, T>;

type Flags = { against?: string | undefined; within?: string | undefined };
type Comparison = {
  rounds: number;
  seconds: number;
  /** The load in words. */
  about: string;
  /** The figures to report, by their titles. */
  titles: Partial<Record<keyof Measured, string>>;
  start: (checkout: Checkout) => Promise<Contender>;
};

/** The order of the report. Throughput and CPU decide; latencies are too noisy to decide. */
const FIGURES: readonly Figure[] = [
  { key: "rate", digits: 0, better: "higher", isDecisive: true },
  { key: "cpuUs", digits: 0, better: "lower", isDecisive: true },
  { key: "p50", digits: 1, better: "lower", isDecisive: false },
  { key: "p99", digits: 1, better: "lower", isDecisive: false },
  { key: "backlogMs", digits: 0, better: "lower", isDecisive: false },
];
type Figure = { key: keyof Measured; digits: number; better: "higher" | "lower"; isDecisive: boolean };

/** Runs the benchmark itself or, with --against, the comparison. */
export const runOrCompare = ({ against, within }: Flags, main: () => Promise<void>, comparison: Comparison): Promise<void> =>
  runBenchmark(async () => {
    if (within !== undefined && against === undefined) throw new UsageError("--within needs --against.");
    if (against === undefined) return main();
    const limit = within === undefined ? DEFAULT_WITHIN : parseWithin(within);
    const worse = await compareCommits(against, comparison, limit);
    if (within === undefined || worse.length === 0) return;
    say(`worse by more than ${percent(limit)}, or not measured: ${worse.join(", ")}`);
    process.exitCode = 1;
  });

/** Returns the titles of the decisive figures that are worse than the limit allows. */
async function compareCommits(against: string, comparison: Comparison, limit: number): Promise<string[]> {
  const checkouts = { this: thisCheckout(), REF: await checkOut(against) };
  const contenders = { this: await comparison.start(checkouts.this), REF: await comparison.start(checkouts.REF) };
  for (const contender of [contenders.this, contenders.REF]) await contender.load(WARM_UP_SECONDS);
  const results: Pair<Measured>[] = [];
  for (let round = 1; round <= comparison.rounds; round += 1) {
    const order = round % 2 === 1 ? (["this", "REF"] as const) : (["REF", "this"] as const);
    const result = await runRound(contenders, order, comparison.seconds);
    results.push(result);
    const brief = order.map((name) => `${name} ${show(result[name].rate)}/s ${show(result[name].cpuUs)} µs`);
    say(`round ${round} of ${comparison.rounds}: ${brief.join("; ")}`);
  }
  const { about, rounds, seconds } = comparison;
  out(`\n${machine()}; ${about}, ${rounds} rounds of ${seconds} s, REF is ${against}\n`);
  const columns = `this (${checkouts.this.commit}) | REF (${checkouts.REF.commit}) | this / REF`;
  out(`| median of the rounds | ${columns} | lowest to highest round | verdict |\n|---|---|---|---|---|---|`);
  return report(results, comparison.titles, limit);
}

function parseWithin(text: string): number {
  const within = Number(text);
  if (within > 0 && within < 1) return within;
  throw new UsageError(`--within: "${text}" is not a share between 0 and 1, for example 0.05.`);
}

/** One load after the other. The CPU of both is read at the same two moments, so vacuum and checkpoints after a load count as well, and
 *  both are idle for the same part of the time. */
async function runRound(contenders: Pair<Contender>, order: readonly Side[], seconds: number): Promise<Pair<Measured>> {
  const cpuUs = (): Pair<number> => ({ this: contenders.this.cpuUs(), REF: contenders.REF.cpuUs() });
  const before = cpuUs();
  const loads = new Map<Side, Load>();
  for (const name of order) loads.set(name, await contenders[name].load(seconds));
  const after = cpuUs();
  const of = (name: Side): Measured => {
    const { messages, ...figures } = loads.get(name) as Load;
    return { ...figures, cpuUs: (after[name] - before[name]) / messages };
  };
  return { this: of("this"), REF: of("REF") };
}

/** Prints a row for each figure. Returns the titles of the decisive ones that are worse than the limit allows. */
function report(results: readonly Pair<Measured>[], titles: Comparison["titles"], limit: number): string[] {
  const worse: string[] = [];
  for (const figure of FIGURES) {
    const title = titles[figure.key];
    if (title === undefined) continue;
    const value = (measured: Measured): number => measured[figure.key] ?? Number.NaN;
    const of = (name: Side): string => show(median(results.map((result) => value(result[name]))), figure.digits);
    const ratios = results.map((result) => value(result.this) / value(result.REF));
    const { verdict, isWorse } = judge(median(ratios), figure.better, limit);
    const range = `${show(Math.min(...ratios), 2)} to ${show(Math.max(...ratios), 2)}`;
    out(`| ${title} | ${of("this")} | ${of("REF")} | ${show(median(ratios), 3)} | ${range} | ${verdict} |`);
    if (figure.isDecisive && isWorse) worse.push(title);
  }
  return worse;
}

const percent = (share: number): string => `${show(share * 100, 1).replace(/\.0$/, "")} %`;

/** A figure without a ratio counts as worse: a comparison that measured nothing must not pass. */
function judge(ratio: number, better: Figure["better"], limit: number): { verdict: string; isWorse: boolean } {
  if (!Number.isFinite(ratio)) return { verdict: "not measured", isWorse: true };
  const difference = Math.abs(ratio - 1);
  if (difference <= limit) return { verdict: `within ${percent(limit)}`, isWorse: false };
  const isWorse = ratio > 1 === (better === "lower");
  return { verdict: `${percent(difference)} ${isWorse ? "worse" : "better"}`, isWorse };
}
