/** bench/deliver: the cost of a message from its request to its delivery receipt.
 *
 *  In one run, interleaved over several rounds: accept only (a process that only accepts) and end to end (accept, claim,
 *  submission to the simulator, its response, its receipt), each on its own embedded database with fsync on. Then, end to
 *  end: the time from accept to submission when idle; the same beside a campaign of another account; and the time of a
 *  claim, the memory and the rate of the campaign with a long queue; and claims beside dead rows that a snapshot keeps.
 *
 *  With --against REF, only end to end, of this checkout and of the commit REF.
 *
 *  npm run bench -- deliver [--rounds 3] [--seconds 10] [--connections 64] [--backlog 1000000] [--campaign 100000]
 *                           [--only cost,latency,fairness,backlog,dead] [--against REF [--within 0.05]] */
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { claimDue, scanAccounts } from "../src/delivery/queue.ts";
import type { Priority } from "../src/messages/message.ts";
import { AGAINST_OPTIONS, runOrCompare, type Contender, type Load } from "./against.ts";
import type { Checkout } from "./checkout.ts";
import { rssMb, treeCpuUs } from "./cpu.ts";
import { measureDeadRows } from "./dead-rows.ts";
import { godwit, machine, makeBody, median, openBenchDatabase, out, say, show, startGodwit, type GodwitPeer } from "./godwit.ts";
import { quantile, runLoad } from "./load.ts";
import { deliveredCount, metric, untilDelivered } from "./load-peer.ts";
import { preload } from "./preload.ts";

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "3" },
    seconds: { type: "string", default: "10" },
    connections: { type: "string", default: "64" },
    backlog: { type: "string", default: "1000000" },
    campaign: { type: "string", default: "100000" },
    only: { type: "string", default: "cost,latency,fairness,backlog,dead" },
    ...AGAINST_OPTIONS,
  },
});
const rounds = Number(values.rounds);
const seconds = Number(values.seconds);
const connections = Number(values.connections);
const parts = new Set(values.only.split(","));

const WARM_UP_SECONDS = 8;
// The simulator responds in the next turn of the event loop and sends receipts some hundredths of a second later, so that it adds no
// noticeable time.
const DELIVERING = { args: ["--simulator-speed", "50"] };
const ACCEPT_ONLY = { args: ["--roles", "api"] };

type Cost = { rate: number; cpuUs: number; p99: number; backlogMs: number };

/** Loads a peer and, if it delivers, waits until everything is delivered. */
async function load(peer: GodwitPeer, forSeconds: number, isDelivering: boolean): Promise<Required<Load>> {
  const deliveredBefore = isDelivering ? await deliveredCount(peer) : 0;
  const { requests, seconds: took, latenciesMs, statuses } = await runLoad({ ...peer, connections, seconds: forSeconds, makeBody });
  if ([...statuses.keys()].some((status) => status !== 202)) throw new Error(`${peer.name} answered ${[...statuses].join("; ")}`);
  const endedAt = performance.now();
  if (isDelivering) await untilDelivered(peer, deliveredBefore + requests);
  const backlogMs = isDelivering ? performance.now() - endedAt : Number.NaN;
  return {
    messages: requests,
    rate: requests / took,
    p50: quantile(latenciesMs, 0.5),
    p99: quantile(latenciesMs, 0.99),
    backlogMs,
  };
}

/** Returns a function that computes the cost at the end of the round, because work after the load (vacuum, checkpoints) is part of it. */
async function measure(peer: GodwitPeer, forSeconds: number, isDelivering: boolean): Promise<() => Cost> {
  const before = treeCpuUs(peer.child.pid ?? 0);
  const { messages, ...figures } = await load(peer, forSeconds, isDelivering);
  return () => ({ ...figures, cpuUs: (treeCpuUs(peer.child.pid ?? 0) - before) / messages });
}

async function compareCost(end: GodwitPeer): Promise<string[]> {
  const accept = await startGodwit("accept", ACCEPT_ONLY);
  for (const peer of [accept, end]) await measure(peer, WARM_UP_SECONDS, peer === end);
  const results: { accept: Cost; end: Cost }[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    const acceptCost = await measure(accept, seconds, false);
    const endCost = await measure(end, seconds, true);
    results.push({ accept: acceptCost(), end: endCost() });
    const { accept: a, end: e } = results.at(-1) as (typeof results)[number];
    say(
      `round ${round} of ${rounds}: accept ${show(a.rate)}/s ${show(a.cpuUs)} µs; end to end ${show(e.rate)}/s ${show(e.cpuUs)} µs, ${show(e.backlogMs)} ms to drain`,
    );
  }
  accept.child.kill("SIGTERM");
  out(
    "| median of the rounds | per second | p99 of the 202, ms | CPU µs per message | all delivered after the load, ms |\n|---|---|---|---|---|",
  );
  for (const name of ["accept", "end"] as const) {
    const of = (pick: (cost: Cost) => number): number => median(results.map((result) => pick(result[name])));
    out(
      `| ${name === "end" ? "accept → delivered" : "accept only"} | ${show(of((cost) => cost.rate))} | ${show(
        of((cost) => cost.p99),
        1,
      )} | ${show(of((cost) => cost.cpuUs))} | ${show(of((cost) => cost.backlogMs))} |`,
    );
  }
  const ratio = median(results.map((result) => result.end.cpuUs / result.accept.cpuUs));
  const drain = Math.max(...results.map((result) => result.end.backlogMs)) / 1_000;
  return [
    `| CPU per message, end to end / accept only | ${show(ratio, 2)} | ≤ 2.0 |`,
    `| longest backlog at the end of the load, s | ${show(drain, 2)} | < 1 |`,
  ];
}

type Probe = { url: string; key: string };

/** Sends one message after the other and measures the time until each was submitted: from its creation, which is before its 202, to
 *  `sent_at`, which is set when the simulator has responded. The simulator responds at once. */
async function probe({ url, key }: Probe, priority: Priority, count: number, gapMs: number): Promise<{ p50: number; p99: number }> {
  const headers = { Authorization: `Bearer ${key}`, "Content-Type": "application/json" };
  const ids: string[] = [];
  for (let sent = 0; sent < count; sent += 1) {
    const body = JSON.stringify({ recipient: "+14155550123", channel: "sms", body: "Your code is 123456", priority });
    const response = await fetch(`${url}/v1/messages`, { method: "POST", headers, body });
    ids.push(((await response.json()) as { id: string }).id);
    await sleep(gapMs);
  }
  const times: number[] = [];
  for (const id of ids) {
    const message = await untilSubmitted(`${url}/v1/messages/${id}`, headers);
    times.push(Date.parse(message.sent_at) - Date.parse(message.created_at));
  }
  const sorted = Float64Array.from(times).toSorted();
  return { p50: quantile(sorted, 0.5), p99: quantile(sorted, 0.99) };
}

async function untilSubmitted(url: string, headers: Record<string, string>): Promise<{ sent_at: string; created_at: string }> {
  for (let attempts = 0; attempts < 600; attempts += 1) {
    const message = (await (await fetch(url, { headers })).json()) as { sent_at: string | null; created_at: string };
    if (message.sent_at !== null) return { ...message, sent_at: message.sent_at };
    await sleep(100);
  }
  throw new Error("a message was not handed over within a minute");
}

const PROBES = 500;
const PROBE_GAP_MS = 20;

function secondAccount(peer: GodwitPeer): Probe {
  godwit(peer, "accounts", "create", "other");
  godwit(peer, "environments", "set-tier", "test", "bench", "--account", "other");
  const key = godwit(peer, "keys", "create", "--account", "other", "--environment", "test", "--scopes", "messages:send,messages:read");
  return { url: peer.url, key: String(key["key"]) };
}

async function compareFairness(peer: GodwitPeer, other: Probe): Promise<string[]> {
  const campaign = Number(values.campaign);
  await probe(other, "normal", 200, 5);
  const rows: string[] = [];
  out("\n| accept to hand-over, ms | p50 | p99 | p99 / idle |\n|---|---|---|---|");
  const idle = await probe(other, "high", PROBES, PROBE_GAP_MS);
  out(`| idle | ${show(idle.p50, 1)} | ${show(idle.p99, 1)} | |`);
  rows.push(`| p50 from accept to hand-over when idle, ms | ${show(idle.p50, 1)} | < 50 |`);
  const contests = [
    { theirs: "bulk", ours: "high", most: 2 },
    { theirs: "normal", ours: "normal", most: 4 },
  ] as const;
  for (const { theirs, ours, most } of parts.has("fairness") ? contests : []) {
    await preload(peer, { account: peer.account, total: campaign, priority: theirs }, say);
    await sleep(2_000);
    const before = await deliveredCount(peer);
    const beside = await probe(other, ours, PROBES, PROBE_GAP_MS);
    const moved = (await deliveredCount(peer)) - before;
    const left = await metric(peer, /^godwit_queue_depth\{lane="simulator"\} (\S+)/m);
    if (left < 1_000) say(`the campaign ended before the probe: ${left} left`);
    const ratio = beside.p99 / idle.p99;
    out(
      `| \`${ours}\` beside ${show(campaign)} \`${theirs}\` of another account (${show(moved)} delivered meanwhile) | ${show(beside.p50, 1)} | ${show(beside.p99, 1)} | ${show(ratio, 2)} |`,
    );
    rows.push(`| p99 of \`${ours}\` beside ${show(campaign)} \`${theirs}\` / idle | ${show(ratio, 2)} | ≤ ${most} |`);
    await drained(peer);
  }
  return rows;
}

async function drained(peer: GodwitPeer): Promise<void> {
  const db = openBenchDatabase(peer);
  const depth = async (): Promise<number> =>
    (await db.rows<{ rows: number }>({ name: "depth", text: "select count(*)::integer as rows from delivery_queue", values: [] }))[0]
      ?.rows ?? 0;
  const deadline = performance.now() + 15 * 60_000;
  while ((await depth()) > 0 && performance.now() < deadline) await sleep(500);
  await db.close();
}

/** Returns the median time of a claim of 100 rows. The claims have no lease, so that the rows are due again at once. */
async function claimMs(peer: GodwitPeer, claims: number): Promise<number> {
  const db = openBenchDatabase(peer);
  const shares = ((await scanAccounts(db)).get("simulator") ?? []).map(({ rank, group, dueAtMs }) => ({
    rank,
    group,
    fromMs: dueAtMs,
    most: 100,
  }));
  const times: number[] = [];
  for (let count = 0; count < claims; count += 1) {
    const startedAt = performance.now();
    const claimed = await claimDue(db, { lane: "simulator", shares, most: 100, nowMs: Date.now(), leaseMs: 0 });
    times.push(performance.now() - startedAt);
    if (claimed.length !== 100) throw new Error(`a claim took ${claimed.length}`);
  }
  await db.close();
  return median(times.slice(20));
}

async function compareBacklog(): Promise<string[]> {
  const backlog = Number(values.backlog);
  const few = await startGodwit("few", ACCEPT_ONLY);
  const many = await startGodwit("many", ACCEPT_ONLY);
  await preload(few, { account: few.account, total: 1_000, priority: "bulk" }, say);
  await preload(many, { account: many.account, total: backlog, priority: "bulk" }, say);
  const ratios: number[] = [];
  const times: [number, number][] = [];
  for (let round = 0; round < 5; round += 1) {
    const [small, large] = [await claimMs(few, 120), await claimMs(many, 120)];
    ratios.push(large / small);
    times.push([small, large]);
  }
  out(
    `\n| a claim of 100 rows | ms |\n|---|---|\n| 1,000 queued | ${show(median(times.map(([small]) => small)), 2)} |\n| ${show(backlog)} queued | ${show(median(times.map(([, large]) => large)), 2)} |`,
  );
  for (const peer of [few, many]) peer.child.kill("SIGTERM");
  await Promise.all([few, many].map(({ child }) => new Promise((resolve) => child.once("exit", resolve))));
  return [
    `| a 100-row claim with ${show(backlog)} queued / with 1,000 | ${show(median(ratios), 2)} | ≤ 1.5 |`,
    ...(await watchMemory(backlog)),
  ];
}

/** Works off a long queue for a minute. The memory of the process must not depend on the length of the queue. */
async function watchMemory(backlog: number): Promise<string[]> {
  const peer = await startGodwit("memory", DELIVERING);
  await preload(peer, { account: peer.account, total: 20_000, priority: "bulk" }, say);
  await drained(peer);
  const before = rssMb(peer.child.pid ?? 0);
  await preload(peer, { account: peer.account, total: backlog, priority: "bulk" }, say);
  const samples: number[] = [];
  const deliveredBefore = await deliveredCount(peer);
  for (let second = 0; second < 60; second += 1) {
    samples.push(rssMb(peer.child.pid ?? 0));
    await sleep(1_000);
  }
  const rate = ((await deliveredCount(peer)) - deliveredBefore) / 60;
  out(
    `\n| node's memory, MB | |\n|---|---|\n| after 20,000 messages, queue empty | ${show(before)} |\n| median of a minute with ${show(backlog)} queued (${show(rate)} delivered per second) | ${show(median(samples))} |\n| highest | ${show(Math.max(...samples))} |`,
  );
  return [`| memory with ${show(backlog)} queued / after 20,000 | ${show(median(samples) / before, 2)} | flat |`];
}

async function main(): Promise<void> {
  out(`\n${machine()}; ${connections} connections, ${rounds} rounds of ${seconds} s\n`);
  const rows: string[] = [];
  const end = await startGodwit("end", DELIVERING);
  if (parts.has("cost")) rows.push(...(await compareCost(end)));
  if (parts.has("latency") || parts.has("fairness")) rows.push(...(await compareFairness(end, secondAccount(end))));
  end.child.kill("SIGTERM");
  if (parts.has("backlog")) rows.push(...(await compareBacklog()));
  if (parts.has("dead")) rows.push(...(await measureDeadRows()));
  out("\n| figure | measured | must reach |\n|---|---|---|");
  for (const row of rows) out(row);
}

async function startContender({ name, folder }: Checkout): Promise<Contender> {
  const peer = await startGodwit(name, { ...DELIVERING, checkout: folder });
  return {
    cpuUs: () => treeCpuUs(peer.child.pid ?? 0),
    load: async (forSeconds) => {
      const measured = await load(peer, forSeconds, true);
      // The rate counts up to the last delivery: accepting faster than delivering is no gain.
      const { messages, rate, backlogMs } = measured;
      return { ...measured, rate: messages / (messages / rate + backlogMs / 1_000) };
    },
  };
}

await runOrCompare(values, main, {
  rounds,
  seconds,
  about: `accept → delivered, ${connections} connections`,
  titles: {
    rate: "delivered per second",
    cpuUs: "CPU µs per message",
    p50: "p50 of the 202, ms",
    p99: "p99 of the 202, ms",
    backlogMs: "all delivered after the load, ms",
  },
  start: startContender,
});
