/** bench/soak: an hour at half of the maximum rate, with delivery to the simulator and webhooks to one endpoint. Once a minute: the memory of the
 *  node, the time of the 202, the length of the queues and the sizes of the tables. Prints the slopes, without the first minutes.
 *
 *  With --against REF: the cost of a message with its four webhook deliveries at one rate, of this checkout and of the commit REF. Choose half
 *  of the maximum rate of REF.
 *
 *  npm run bench -- soak [--minutes 60] [--share 0.5 | --rate 450]
 *  npm run bench -- soak --against REF [--rate 450] [--rounds 5] [--seconds 20] [--within 0.05] */
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import type { Database } from "../src/database/database.ts";
import { AGAINST_OPTIONS, runOrCompare, type Contender } from "./against.ts";
import type { Checkout } from "./checkout.ts";
import { rssMb, treeCpuUs } from "./cpu.ts";
import { machine, makeBody, median, openBenchDatabase, out, say, show, startGodwit, type GodwitPeer, type Peer } from "./godwit.ts";
import { quantile, runLoad, type LoadResult } from "./load.ts";
import { createEndpoint, deliveredCount, startPeer, untilDelivered } from "./load-peer.ts";

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "60" },
    share: { type: "string", default: "0.5" },
    rate: { type: "string" },
    rounds: { type: "string", default: "5" },
    seconds: { type: "string", default: "20" },
    ...AGAINST_OPTIONS,
  },
});
const contendersRate = Number(values.rate ?? "450");
const [minutes, share] = [Number(values.minutes), Number(values.share)];
const CONNECTIONS = 64;
const MAXIMUM_SECONDS = 20;
const WARM_UP_SECONDS = 10;
// queued, sending, sent, delivered.
const EVENTS = 4;
// Code is compiled, pools are filled and the heap has its size by then.
const SKIPPED_MINUTES = Math.min(30, Math.floor(minutes / 4));

/** The tables whose rows come and go. The others grow with the messages. */
const PASSING = ["delivery_queue", "webhook_queue", "usage_changes", "provider_references"];
const GROWING = ["messages", "events", "idempotency_keys", "webhook_deliveries"];

type Minute = { accepted: number; memory: number; p50: number; p99: number; cpuUs: number; queued: number } & Record<string, number>;

/** The sizes of tables with their indexes in MB, and the rows that wait in the queues. */
async function readSizes(db: Database): Promise<Record<string, number>> {
  const rows = await db.rows<{ table: string; mb: number }>({
    name: "sizes",
    text: `select parent.relname as table, sum(pg_total_relation_size(coalesce(part.inhrelid, parent.oid)))::float8 / 1048576 as mb
             from pg_class parent
             left join pg_inherits part on part.inhparent = parent.oid
            where parent.relname = any($1) and parent.relkind in ('r', 'p') and parent.relnamespace = 'public'::regnamespace
            group by parent.relname`,
    values: [[...PASSING, ...GROWING]],
  });
  const [waiting] = await db.rows<{ queued: number }>({
    name: "waiting",
    text: "select ((select count(*) from delivery_queue) + (select count(*) from webhook_queue))::float8 as queued",
    values: [],
  });
  return { ...Object.fromEntries(rows.map(({ table, mb }) => [table, mb])), queued: waiting?.queued ?? Number.NaN };
}

async function loadAt(rate: number, peer: GodwitPeer, seconds: number): Promise<LoadResult> {
  const pauseMs = (CONNECTIONS / rate) * 1_000;
  const result = await runLoad({ ...peer, connections: CONNECTIONS, seconds, makeBody, pauseMs });
  if ([...result.statuses.keys()].some((status) => status !== 202)) throw new Error(`responses: ${[...result.statuses].join("; ")}`);
  return result;
}

async function runMinute(peer: GodwitPeer, db: Database, rate: number): Promise<Minute> {
  const before = treeCpuUs(peer.child.pid ?? 0);
  const { requests, latenciesMs } = await loadAt(rate, peer, 60);
  return {
    accepted: requests,
    memory: rssMb(peer.child.pid ?? 0),
    p50: quantile(latenciesMs, 0.5),
    p99: quantile(latenciesMs, 0.99),
    cpuUs: (treeCpuUs(peer.child.pid ?? 0) - before) / requests,
    ...((await readSizes(db)) as { queued: number }),
  };
}

/** The slope of a line through the points, for each step. */
function slope(points: readonly number[]): number {
  const middle = (points.length - 1) / 2;
  const mean = points.reduce((sum, value) => sum + value, 0) / points.length;
  const [above, below] = points.reduce(([a, b], value, x) => [a + (x - middle) * (value - mean), b + (x - middle) ** 2], [0, 0]);
  return above / below;
}

/** A service that delivers to the simulator, and every event to one endpoint of the receiver. */
async function startService(name: string, receiver: Peer, checkout?: string): Promise<GodwitPeer> {
  const args = ["--workers", "1", "--simulator-speed", "50", "--webhook-allow", "127.0.0.0/8"];
  const peer = await startGodwit(name, { ...(checkout === undefined ? {} : { checkout }), args, scopes: ["webhooks:write"] });
  await createEndpoint(peer, `${receiver.url}/all`);
  return peer;
}

/** The messages that are delivered in a second at most. */
async function measureMaximum(peer: GodwitPeer): Promise<number> {
  await sleep(5_000);
  const startedAt = performance.now();
  const already = await deliveredCount(peer);
  const { requests } = await runLoad({ ...peer, connections: CONNECTIONS, seconds: MAXIMUM_SECONDS, makeBody });
  await untilDelivered(peer, already + requests);
  const maximum = requests / ((performance.now() - startedAt) / 1_000);
  await sleep(30_000);
  say(`${show(maximum)} messages a second were delivered at most`);
  return maximum;
}

async function main(): Promise<void> {
  const peer = await startService("soak", await startPeer("receiver", "receiver.ts"));
  const db = openBenchDatabase(peer);
  await runLoad({ ...peer, connections: CONNECTIONS, seconds: WARM_UP_SECONDS, makeBody });
  const rate = values.rate === undefined ? (await measureMaximum(peer)) * share : Number(values.rate);
  say(`the rate is ${show(rate)} messages a second`);
  const steps: Minute[] = [];
  for (let minute = 1; minute <= minutes; minute += 1) {
    const step = await runMinute(peer, db, rate);
    steps.push(step);
    say(
      `minute ${minute} of ${minutes}: ${Object.entries(step)
        .map(([name, value]) => `${name} ${show(value, 1)}`)
        .join(", ")}`,
    );
  }
  await db.close();
  report(
    steps.slice(SKIPPED_MINUTES),
    rate,
    steps.reduce((sum, { accepted }) => sum + accepted, 0),
  );
}

function report(steps: readonly Minute[], rate: number, messages: number): void {
  out(
    `\n${machine()}; ${minutes} minutes, ${show(rate)} messages a second, ${show(messages)} messages; without the first ${SKIPPED_MINUTES} minutes\n`,
  );
  out("| | first minute | median | last minute | slope an hour | of the median |\n|---|---|---|---|---|---|");
  const row = (title: string, name: string, digits: number): void => {
    const points = steps.map((step) => step[name] ?? Number.NaN);
    const [middle, hourly] = [median(points), slope(points) * 60];
    const figures = [points[0], middle, points.at(-1), hourly].map((value) => show(value ?? Number.NaN, digits));
    out(`| ${title} | ${figures.join(" | ")} | ${show((hourly / middle) * 100, 1)} % |`);
  };
  row("memory of the node, MB", "memory", 0);
  row("p50 of the 202, ms", "p50", 1);
  row("p99 of the 202, ms", "p99", 1);
  row("CPU µs per message", "cpuUs", 0);
  row("rows in the queues", "queued", 0);
  for (const table of PASSING) row(`\`${table}\`, MB`, table, 1);
  out("\n| table that grows | bytes for each message |\n|---|---|");
  const [first, last] = [steps[0], steps.at(-1)];
  const between = steps.slice(1).reduce((sum, step) => sum + step.accepted, 0);
  for (const table of GROWING)
    out(`| \`${table}\` | ${show((((last?.[table] ?? Number.NaN) - (first?.[table] ?? Number.NaN)) * 1_048_576) / between)} |`);
}

/** A load ends when all of its events have arrived. */
async function startContender({ name, folder }: Checkout): Promise<Contender> {
  const receiver = await startPeer("receiver", "receiver.ts");
  const peer = await startService(name, receiver, folder);
  const arrived = async (): Promise<number> => ((await (await fetch(`${receiver.url}/stats`)).json()) as { count: number }).count;
  return {
    cpuUs: () => treeCpuUs(peer.child.pid ?? 0),
    load: async (seconds) => {
      const before = await arrived();
      const { requests, seconds: took, latenciesMs } = await loadAt(contendersRate, peer, seconds);
      const endedAt = performance.now();
      while ((await arrived()) < before + requests * EVENTS) await sleep(20);
      const backlogMs = performance.now() - endedAt;
      return { messages: requests, rate: requests / took, p50: quantile(latenciesMs, 0.5), p99: quantile(latenciesMs, 0.99), backlogMs };
    },
  };
}

await runOrCompare(values, main, {
  rounds: Number(values.rounds),
  seconds: Number(values.seconds),
  about: `accept → delivered with ${EVENTS} webhook deliveries, at most ${contendersRate} messages a second`,
  titles: {
    rate: "messages per second",
    cpuUs: "CPU µs per message",
    p50: "p50 of the 202, ms",
    p99: "p99 of the 202, ms",
    backlogMs: "all events received after the load, ms",
  },
  start: startContender,
});
