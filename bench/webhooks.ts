/** bench/webhooks: the rate and the delay of webhook deliveries, beside a bare loop of posts, and the effect of dead endpoints.
 *
 *  In one run, interleaved over several rounds: a bare undici loop that posts to a local receiver, and the service that works
 *  off a queue of signed deliveries to the same receiver and stores each result: to one endpoint, and to 200 of which 10 never
 *  respond. Then, with a steady stream of events, the delay until healthy endpoints receive them, with and without dead endpoints.
 *
 *  With --against REF, only the queue to one endpoint, of this checkout and of the commit REF.
 *
 *  npm run bench -- webhooks [--rounds 3] [--deliveries 20000] [--endpoints 200] [--dead 10] [--seconds 20] [--rate 4]
 *                            [--against REF [--within 0.05]] */
import { spawn, type ChildProcess } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { AGAINST_OPTIONS, runOrCompare, type Contender } from "./against.ts";
import type { Checkout } from "./checkout.ts";
import { rssMb, treeCpuUs } from "./cpu.ts";
import { machine, median, openBenchDatabase, out, say, show, startGodwit, type GodwitPeer } from "./godwit.ts";
import { quantile } from "./load.ts";
import { createEndpoint } from "./load-peer.ts";
import { children } from "./run.ts";

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "3" },
    deliveries: { type: "string", default: "20000" },
    endpoints: { type: "string", default: "200" },
    dead: { type: "string", default: "10" },
    seconds: { type: "string", default: "20" },
    rate: { type: "string", default: "4" },
    ...AGAINST_OPTIONS,
  },
});
const rounds = Number(values.rounds);
const deliveries = Number(values.deliveries);
const endpointCount = Number(values.endpoints);
const deadCount = Number(values.dead);
const seconds = Number(values.seconds);
const rate = Number(values.rate);

const CONNECTIONS = "64";
const LOOP_SECONDS = "6";
const DRAIN_MS = 180_000;

function startPeer(file: string, args: readonly string[]): ChildProcess {
  const child = spawn(process.execPath, [join(import.meta.dirname, "peers", file), ...args], { stdio: ["ignore", "pipe", "inherit"] });
  children.push(child);
  return child;
}

async function firstLine(child: ChildProcess): Promise<string> {
  for await (const line of createInterface({ input: child.stdout as NodeJS.ReadableStream })) return line;
  throw new Error("a peer ended without a word");
}

type Stats = { count: number; firstAt: number; lastAt: number; latencies: number[] };

class Receiver {
  readonly url: string;

  constructor(url: string) {
    this.url = url;
  }

  async stats(): Promise<Stats> {
    return (await (await fetch(`${this.url}/stats`)).json()) as Stats;
  }

  async reset(): Promise<void> {
    await fetch(`${this.url}/reset`);
  }
}

/** Inserts events, each with one delivery to the endpoints in turn, as the accept statement would store them. */
async function fillQueue(peer: GodwitPeer, urlPattern: string, count: number): Promise<void> {
  const db = openBenchDatabase(peer);
  await db.session(5 * 60_000, async (run) => {
    await run(`begin;
create temp table filling on commit drop as
select n, encode(decode('${peer.account}', 'hex'), 'hex')::uuid as account_id,
       (regexp_replace(lpad(to_hex((extract(epoch from clock_timestamp()) * 1000)::bigint), 12, '0'),
                       '(.{8})(.{4})', '\\1-\\2')
         || '-7' || substr(md5(random()::text || n), 1, 3)
         || '-8' || substr(md5(random()::text || n || 'x'), 1, 3)
         || '-' || substr(md5(random()::text || n || 'y'), 1, 12))::uuid as id
  from generate_series(1, ${count}) n;
insert into events (account_id, environment, id, type, message_id, sequence, record)
select account_id, 'test', id, 'message.queued', id, 1, '{"object":"message","padding":"' || repeat('x', 750) || '"}'
  from filling;
insert into webhook_queue (id, account_id, environment, endpoint_id, event_id, due_at)
select (left(filling.id::text, 18) || right(gen_random_uuid()::text, 18))::uuid, filling.account_id, 'test',
       target.id, filling.id, now()
  from filling
  join (select id, row_number() over (order by id) - 1 as position, count(*) over () as total
          from webhook_endpoints
         where url like '${urlPattern}') target
    on filling.n % target.total = target.position;
notify godwit_work, 'bench @webhooks';
commit`);
  });
  await db.close();
}

async function waiting(peer: GodwitPeer, urlPattern: string): Promise<number> {
  const db = openBenchDatabase(peer);
  const [row] = await db.rows<{ rows: number }>({
    name: "waiting",
    text: "select count(*)::integer as rows from webhook_queue q where endpoint_id in (select id from webhook_endpoints where url like $1)",
    values: [urlPattern],
  });
  await db.close();
  return row?.rows ?? 0;
}

type Cost = { rate: number; cpuUs: number };

/** Fills the queue for some endpoints and waits until it is empty. The CPU time is that of the service and its database. */
async function drain(peer: GodwitPeer, receiver: Receiver, urlPattern: string, count: number): Promise<Cost> {
  await receiver.reset();
  const before = treeCpuUs(peer.child.pid ?? 0);
  await fillQueue(peer, urlPattern, count);
  const filled = treeCpuUs(peer.child.pid ?? 0) - before;
  const deadline = performance.now() + DRAIN_MS;
  while ((await receiver.stats()).count < count) {
    if (performance.now() > deadline) throw new Error("not everything was delivered");
    await sleep(50);
  }
  const { firstAt, lastAt } = await receiver.stats();
  // The receiver has everything, but the last results are still being stored.
  while ((await waiting(peer, urlPattern)) > 0) await sleep(20);
  return { rate: count / ((lastAt - firstAt) / 1_000), cpuUs: (treeCpuUs(peer.child.pid ?? 0) - before - filled) / count };
}

async function bareLoop(receiver: Receiver): Promise<Cost> {
  return JSON.parse(await firstLine(startPeer("undici-loop.ts", [`${receiver.url}/one`, LOOP_SECONDS, CONNECTIONS]))) as Cost;
}

const setStatus = async (peer: GodwitPeer, urlPattern: string, status: "enabled" | "disabled"): Promise<void> => {
  const db = openBenchDatabase(peer);
  await db.rows({
    name: "set_status",
    text: "update webhook_endpoints set status = $2, failing_since = null where url like $1",
    values: [urlPattern, status],
  });
  await db.close();
};

/** Sends messages at a steady rate; each is an event for every enabled endpoint. Returns the delays at the healthy endpoints. */
async function latencies(peer: GodwitPeer, receiver: Receiver, forSeconds: number): Promise<number[]> {
  await receiver.reset();
  const body = JSON.stringify({ recipient: "+14155550123", channel: "sms", body: "Your code is 123456" });
  const startedAt = performance.now();
  for (let sent = 0; sent < forSeconds * rate; sent += 1) {
    await sleep(Math.max(0, startedAt + (sent * 1_000) / rate - performance.now()));
    const response = await fetch(`${peer.url}/v1/messages`, { method: "POST", headers: peer.headers, body });
    if (response.status !== 202) throw new Error(`the service answered ${response.status}`);
  }
  await sleep(2_000);
  return (await receiver.stats()).latencies;
}

const p = (times: readonly number[], share: number): number => quantile(Float64Array.from(times).toSorted(), share);

const startService = (name: string, checkout?: string): Promise<GodwitPeer> =>
  startGodwit(name, {
    ...(checkout === undefined ? {} : { checkout }),
    args: ["--roles", "api,webhooks", "--webhook-allow", "127.0.0.0/8"],
    scopes: ["webhooks:write", "webhooks:read"],
  });

/** A load is the same number of deliveries, however long it takes. */
async function startContender({ name, folder }: Checkout): Promise<Contender> {
  const receiver = new Receiver(await firstLine(startPeer("receiver.ts", [])));
  const peer = await startService(name, folder);
  await createEndpoint(peer, `${receiver.url}/one`);
  return {
    cpuUs: () => treeCpuUs(peer.child.pid ?? 0),
    load: async () => {
      const { rate: perSecond } = await drain(peer, receiver, "%/one", deliveries);
      return { messages: deliveries, rate: perSecond, p50: Number.NaN, p99: Number.NaN };
    },
  };
}

async function main(): Promise<void> {
  const receiver = new Receiver(await firstLine(startPeer("receiver.ts", [])));
  const peer = await startService("webhooks");
  const healthy = endpointCount - deadCount;
  await createEndpoint(peer, `${receiver.url}/one`);
  for (let index = 0; index < healthy; index += 1) await createEndpoint(peer, `${receiver.url}/timed/${index}`);
  for (let index = 0; index < deadCount; index += 1) await createEndpoint(peer, `${receiver.url}/dead/${index}`);

  out(`\n${machine()}; ${rounds} rounds of ${show(deliveries)} deliveries, ${endpointCount} endpoints, ${deadCount} of them dead\n`);
  // Warms up until the heap has reached its final size.
  await drain(peer, receiver, "%/one", deliveries);
  await drain(peer, receiver, "%/timed/%", deliveries);
  const memory = [rssMb(peer.child.pid ?? 0)];
  const results: { bare: Cost; one: Cost; many: Cost }[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    const bare = await bareLoop(receiver);
    const one = await drain(peer, receiver, "%/one", deliveries);
    await fillQueue(peer, "%/dead/%", 2_000);
    const many = await drain(peer, receiver, "%/timed/%", deliveries);
    memory.push(rssMb(peer.child.pid ?? 0));
    results.push({ bare, one, many });
    say(
      `round ${round} of ${rounds}: bare loop ${show(bare.rate)}/s ${show(bare.cpuUs)} µs; one endpoint ${show(one.rate)}/s ${show(one.cpuUs)} µs; ${endpointCount} endpoints ${show(many.rate)}/s ${show(many.cpuUs)} µs; ${show(memory.at(-1) ?? 0)} MB`,
    );
  }
  out("| median of the rounds | per second | CPU µs per delivery |\n|---|---|---|");
  const names = {
    bare: "bare undici loop (only its CPU)",
    one: "one endpoint",
    many: `${endpointCount} endpoints, ${deadCount} of them dead`,
  } as const;
  for (const name of ["bare", "one", "many"] as const) {
    out(
      `| ${names[name]} | ${show(median(results.map((each) => each[name].rate)))} | ${show(median(results.map((each) => each[name].cpuUs)))} |`,
    );
  }

  // The delays of all rounds together: within one round a single checkpoint would determine the p99.
  const without: number[] = [];
  const beside: number[] = [];
  await setStatus(peer, "%/one", "disabled");
  for (let round = 1; round <= rounds; round += 1) {
    await setStatus(peer, "%/dead/%", "disabled");
    // The waiting deliveries of the dead endpoints are dropped first.
    while ((await waiting(peer, "%")) > 0) await sleep(100);
    without.push(...(await latencies(peer, receiver, seconds)));
    await setStatus(peer, "%/dead/%", "enabled");
    beside.push(...(await latencies(peer, receiver, seconds)));
    memory.push(rssMb(peer.child.pid ?? 0));
    say(`round ${round} of ${rounds}: p99 so far ${show(p(without, 0.99))} ms without, ${show(p(beside, 0.99))} ms beside the dead`);
  }
  out(`\n| event to receiver, ms (${show(rate * healthy)} deliveries a second) | p50 | p99 |\n|---|---|---|`);
  out(`| ${healthy} healthy endpoints | ${show(p(without, 0.5))} | ${show(p(without, 0.99))} |`);
  out(`| the same beside ${deadCount} dead ones | ${show(p(beside, 0.5))} | ${show(p(beside, 0.99))} |`);

  out("\n| figure | measured | must reach |\n|---|---|---|");
  out(`| rate to one endpoint / bare loop | ${show(median(results.map(({ one, bare }) => one.rate / bare.rate)), 2)} | ≥ 0.4 |`);
  out(
    `| rate to ${endpointCount} endpoints, ${deadCount} dead / bare loop | ${show(median(results.map(({ many, bare }) => many.rate / bare.rate)), 2)} | ≥ 0.4 |`,
  );
  out(`| p99 of the healthy beside the dead / without them | ${show(p(beside, 0.99) / p(without, 0.99), 2)} | ≤ 1.5 |`);
  out(
    `| node's memory, MB: after the warm-up → highest later → at the end | ${show(memory[0] ?? 0)} → ${show(Math.max(...memory))} → ${show(memory.at(-1) ?? 0)} | flat |`,
  );
}

await runOrCompare(values, main, {
  rounds,
  seconds,
  about: `webhooks, ${show(deliveries)} deliveries to one endpoint`,
  titles: { rate: "deliveries per second", cpuUs: "CPU µs per delivery, with the filling of the queue" },
  start: startContender,
});
