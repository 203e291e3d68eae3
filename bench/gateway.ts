/** bench/gateway: HTTP in, SMPP out, beside Kannel 1.4.5.
 *
 *  In one run, interleaved over several rounds, against the same carrier and with the same text: Kannel (Debian's package, spool store,
 *  a window of 500, 64 connections), Kannel with its spool on a file system that syncs every write (needs root), and us with one and
 *  with several workers (fsync on, an idempotency key for each message, events). Messages per second at the carrier, CPU
 *  of all processes of each, and the time from the request to the carrier. Then all processes of each are killed with `kill -9` under load
 *  and started again: a message with a 202 that never arrives is lost, one that arrives twice is doubled. At the end ours carries a million
 *  messages, and its memory is recorded.
 *
 *  With --against REF, only us, of this checkout and of the commit REF, with --workers (1). With --without-kannel, only us, with one and with
 *  several workers.
 *
 *  npm run bench -- gateway [--rounds 3] [--seconds 8] [--connections 64] [--window 500] [--kills 2] [--soak 1000000]
 *                           [--workers 2] [--without-kannel | --against REF [--within 0.05]]      needs: apt-get install kannel */
import { parseArgs } from "node:util";
import { AGAINST_OPTIONS, runOrCompare, type Contender, type Load } from "./against.ts";
import type { Checkout } from "./checkout.ts";
import { startKannel, startOurs, type Gateway } from "./gateways.ts";
import { machine, median, out, say, show } from "./godwit.ts";
import { runConnection, type Exchange } from "./load.ts";

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "3" },
    seconds: { type: "string", default: "8" },
    connections: { type: "string", default: "64" },
    window: { type: "string", default: "500" },
    kills: { type: "string", default: "2" },
    soak: { type: "string", default: "1000000" },
    workers: { type: "string" },
    "without-kannel": { type: "boolean", default: false },
    ...AGAINST_OPTIONS,
  },
});
const rounds = Number(values.rounds);
const seconds = Number(values.seconds);
const connections = Number(values.connections);
const window = Number(values.window);
const kills = Number(values.kills);
const soak = Number(values.soak);

const WARM_UP_SECONDS = 8;

let number = 0;

type AcceptedTimes = Map<number, number>;

/** Sends messages for the given time. Returns the accepted ones with the time of their requests. */
async function load(gateway: Gateway, forSeconds: number, isEnded: () => boolean = () => false): Promise<AcceptedTimes> {
  const accepted: AcceptedTimes = new Map();
  const deadline = performance.now() + forSeconds * 1_000;
  const next = (): Exchange | undefined => {
    if (performance.now() >= deadline || isEnded()) return undefined;
    number += 1;
    const mine = number;
    const requestedAt = Date.now();
    const text = `Your code is 123456. It is valid for ten minutes. #${mine}`;
    return {
      request: gateway.request(text, `+1415555${String(mine % 10_000).padStart(4, "0")}`),
      onResponse: (status) => {
        if (status === 202) accepted.set(mine, requestedAt);
      },
    };
  };
  // A killed gateway drops its connections.
  await Promise.all(Array.from({ length: connections }, () => runConnection(gateway.url(), next).catch(() => undefined)));
  return accepted;
}

type Measure = { rate: number; cpuUs: number; p50: number; p99: number };

/** Sends messages for the given time, and waits until the carrier has received all of them. */
async function carry(gateway: Gateway, forSeconds: number): Promise<Load> {
  await gateway.carrier.forget();
  const startedAt = Date.now();
  const sent = await load(gateway, forSeconds);
  await gateway.carrier.received(sent.size);
  const arrivals = await gateway.carrier.arrivals();
  const lastAt = [...arrivals.values()].reduce((latest, [at = 0]) => Math.max(latest, at), 0);
  const took = (lastAt - startedAt) / 1_000;
  const delays = [...sent].flatMap(([id, requestedAt]) => {
    const at = arrivals.get(id)?.[0];
    return at === undefined ? [] : [at - requestedAt];
  });
  const sorted = delays.toSorted((a, b) => a - b);
  const at = (q: number): number => sorted[Math.floor(sorted.length * q)] ?? Number.NaN;
  return { messages: arrivals.size, rate: arrivals.size / took, p50: at(0.5), p99: at(0.99) };
}

async function measure(gateway: Gateway, forSeconds: number): Promise<Measure> {
  const before = gateway.cpuUs();
  const { messages, ...figures } = await carry(gateway, forSeconds);
  return { ...figures, cpuUs: (gateway.cpuUs() - before) / messages };
}

type KillResult = { acknowledged: number; lost: number; doubled: number };

/** Kills the gateway under load and starts it again. Messages that it still has then reach the carrier. */
async function killInMidRun(gateway: Gateway): Promise<KillResult> {
  await gateway.carrier.forget();
  let isKilled = false;
  const loading = load(gateway, 20, () => isKilled);
  setTimeout(() => {
    isKilled = true;
    void gateway.kill();
  }, 3_000);
  const sent = await loading;
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  await gateway.restart();
  // The outcome of messages that were being submitted is unknown until their lease and their hold have ended.
  await gateway.carrier.quiet(30_000);
  const arrivals = await gateway.carrier.arrivals();
  return {
    acknowledged: sent.size,
    lost: [...sent.keys()].filter((id) => !arrivals.has(id)).length,
    doubled: [...arrivals.values()].filter(({ length }) => length > 1).length,
  };
}

type SoakStep = { messages: number; memoryMb: number };

// After this many messages the code is compiled and the pools are full.
const SOAK_STEP = 50_000;

/** Carries the messages of --soak in steps, and records the memory after each step. */
async function soakOne(gateway: Gateway): Promise<SoakStep[]> {
  const steps: SoakStep[] = [];
  for (let done = 0; done < soak;) {
    await gateway.carrier.forget();
    let requested = 0;
    const sent = await load(gateway, 600, () => (requested += 1) > SOAK_STEP);
    await gateway.carrier.quiet(500);
    const arrived = await gateway.carrier.count();
    if (arrived < sent.size) throw new Error(`${sent.size} were accepted, and ${arrived} came`);
    done += arrived;
    steps.push({ messages: done, memoryMb: gateway.memoryMb() });
    say(`soak: ${show(done)} of ${show(soak)} messages, ${show(gateway.memoryMb())} MB`);
  }
  return steps;
}

async function main(): Promise<void> {
  const gateways = await startAll();
  for (const gateway of gateways) await carry(gateway, WARM_UP_SECONDS);
  const results = new Map<string, Measure[]>();
  for (let round = 1; round <= rounds; round += 1)
    for (const gateway of gateways) {
      const measured = await measure(gateway, seconds);
      results.set(gateway.name, [...(results.get(gateway.name) ?? []), measured]);
      say(`round ${round} of ${rounds}: ${gateway.name} ${show(measured.rate)}/s ${show(measured.cpuUs)} µs, p99 ${show(measured.p99)} ms`);
    }
  const survivors = new Map<string, KillResult[]>();
  for (let kill = 1; kill <= kills; kill += 1)
    for (const gateway of gateways) {
      const survived = await killInMidRun(gateway);
      survivors.set(gateway.name, [...(survivors.get(gateway.name) ?? []), survived]);
      say(`kill ${kill} of ${kills}: ${gateway.name} ${JSON.stringify(survived)}`);
    }
  report(results, survivors, await soakOne(gateways[0]));
}

/** Ours is the first one. */
async function startAll(): Promise<[Gateway, ...Gateway[]]> {
  const ours = await startOurs(window);
  const others = values["without-kannel"] ? [] : await startKannels();
  const workers = Number(values.workers ?? 2);
  if (workers > 1) others.push(await startOurs(window, { workers }));
  return [ours, ...others];
}

async function startKannels(): Promise<Gateway[]> {
  const plain = await startKannel(window, { isSynced: false });
  try {
    return [plain, await startKannel(window, { isSynced: true })];
  } catch (error) {
    say(`without Kannel at equal durability: ${String(error)}`);
    return [plain];
  }
}

const KANNEL = "Kannel 1.4.5";
const KANNEL_SYNCED = "Kannel 1.4.5, synced";
const isOurs = (name: string): boolean => name.startsWith("Godwit");

function report(results: ReadonlyMap<string, Measure[]>, survivors: ReadonlyMap<string, KillResult[]>, soaked: readonly SoakStep[]): void {
  const ratio = (list: readonly Measure[], other: string): number =>
    median(list.map(({ rate }, round) => rate / (results.get(other)?.[round]?.rate ?? Number.NaN)));
  const ratioTo = (list: readonly Measure[], other: string): string => show(ratio(list, other), 2);
  const best = (other: string): string =>
    show(Math.max(...[...results].filter(([name]) => isOurs(name)).map(([, list]) => ratio(list, other))), 2);
  out(`\n${machine()}; ${connections} connections, window ${window}, ${rounds} rounds of ${seconds} s\n`);
  out(
    "| median of the rounds | messages per second at the carrier | CPU µs per message | p50 to the carrier, ms | p99, ms |\n|---|---|---|---|---|",
  );
  for (const [name, list] of results) {
    const of = (pick: (measured: Measure) => number): string => show(median(list.map(pick)));
    out(`| ${name} | ${of(({ rate }) => rate)} | ${of(({ cpuUs }) => cpuUs)} | ${of(({ p50 }) => p50)} | ${of(({ p99 }) => p99)} |`);
  }
  out("\n| after `kill -9` of everything | answered with 202 | lost | doubled |\n|---|---|---|---|");
  for (const [name, list] of survivors) {
    const sum = (pick: (survived: KillResult) => number): string => show(list.reduce((total, each) => total + pick(each), 0));
    out(
      `| ${name}, ${list.length} times | ${sum(({ acknowledged }) => acknowledged)} | ${sum(({ lost }) => lost)} | ${sum(({ doubled }) => doubled)} |`,
    );
  }
  if (soaked.length > 0) {
    out("\n| messages carried | node's memory, MB |\n|---|---|");
    for (const { messages, memoryMb } of soaked.filter((_, step) => step % 4 === 1 || step === soaked.length - 1))
      out(`| ${show(messages)} | ${show(memoryMb)} |`);
  }
  out("\n| messages per second, median of the ratios within a round | as Debian ships Kannel | at equal durability |\n|---|---|---|");
  for (const [name, list] of results)
    if (isOurs(name)) out(`| ${name} / Kannel | ${ratioTo(list, KANNEL)} | ${ratioTo(list, KANNEL_SYNCED)} |`);
  out("\n| figure | measured | must reach | goal |\n|---|---|---|---|");
  const lost = [...survivors].filter(([name]) => isOurs(name)).flatMap(([, list]) => list);
  out(`| our messages per second / Kannel's | ${best(KANNEL)} | ≥ 1.2 | 2 |`);
  out(`| the same at equal durability | ${best(KANNEL_SYNCED)} | | 10 |`);
  out(`| our lost messages | ${lost.reduce((total, each) => total + each.lost, 0)} | 0 | |`);
  if (soaked.length > 2) out(`| memory of the last quarter / of the second | ${show(growth(soaked), 2)} | flat | |`);
}

/** Returns the median memory of the last quarter, relative to the second quarter. In the first quarter the process still warms up. */
function growth(soaked: readonly SoakStep[]): number {
  const quarter = Math.floor(soaked.length / 4);
  const of = (from: number): number => median(soaked.slice(from, from + quarter).map(({ memoryMb }) => memoryMb));
  return of(soaked.length - quarter) / of(quarter);
}

async function startContender({ name, folder }: Checkout): Promise<Contender> {
  const gateway = await startOurs(window, { name, checkout: folder, workers: Number(values.workers ?? 1) });
  return { cpuUs: gateway.cpuUs, load: (forSeconds) => carry(gateway, forSeconds) };
}

await runOrCompare(values, main, {
  rounds,
  seconds,
  about: `gateway, ${connections} connections, window ${window}`,
  titles: {
    rate: "messages per second at the carrier",
    cpuUs: "CPU µs per message",
    p50: "p50 to the carrier, ms",
    p99: "p99 to the carrier, ms",
  },
  start: startContender,
});
