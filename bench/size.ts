/** bench/size: whether a large database is slower than an empty one. Two services with their embedded databases, one of them with many delivered
 *  messages, each with its idempotency key and four events. In one run, interleaved: accept, a claim of 100 messages, a list, a list of one
 *  recipient, a timeline, usage, a turn of retention and a start. Prints the disk space of a message.
 *
 *  npm run bench -- size [--messages 10000000] [--rounds 5] [--seconds 6]      10,000,000 messages take about an hour and 60 GB of disk */
import { parseArgs } from "node:util";
import { claimDue, scanAccounts } from "../src/delivery/queue.ts";
import { createLog } from "../src/model/log.ts";
import { applyRetention, MIN_RETENTION_DAYS } from "../src/retention/drop-weeks.ts";
import type { Database } from "../src/database/database.ts";
import { machine, median, openBenchDatabase, out, say, serve, show, startGodwit, type GodwitPeer } from "./godwit.ts";
import { loadPeer } from "./load-peer.ts";
import { preload } from "./preload.ts";
import { runBenchmark } from "./run.ts";

const { values } = parseArgs({
  options: {
    messages: { type: "string", default: "10000000" },
    rounds: { type: "string", default: "5" },
    seconds: { type: "string", default: "6" },
  },
});
const [messages, rounds, seconds] = [values.messages, values.rounds, values.seconds].map(Number) as [number, number, number];
const ARGS = ["--roles", "api", "--workers", "1"];
const WARM_UP_SECONDS = 8;
const REPEATS = 30;
const CLAIM = 100;

type Contender = { peer: GodwitPeer; db: Database };
type Figures = Record<string, number>;

/** The median time of some repetitions. */
async function timeOf(work: () => Promise<unknown>, repeats = REPEATS): Promise<number> {
  const times: number[] = [];
  for (let repeat = 0; repeat < repeats; repeat += 1) {
    const startedAt = performance.now();
    await work();
    times.push(performance.now() - startedAt);
  }
  return median(times);
}

async function get({ peer }: Contender, path: string): Promise<{ data?: { id: string; recipient: string }[] }> {
  const response = await fetch(`${peer.url}${path}`, { headers: peer.headers });
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return (await response.json()) as { data?: { id: string; recipient: string }[] };
}

/** Claims messages that the load has left in the queue. */
async function claim({ db }: Contender): Promise<void> {
  const [[lane, [account]] = ["", []]] = await scanAccounts(db);
  if (account === undefined) throw new Error("the queue is empty");
  const share = { rank: account.rank, group: account.group, fromMs: account.dueAtMs, most: CLAIM };
  const claimed = await claimDue(db, { lane, shares: [share], most: CLAIM, nowMs: Date.now(), leaseMs: 3_600_000 });
  if (claimed.length < CLAIM) throw new Error(`a claim found only ${claimed.length} messages`);
}

async function measure(contender: Contender): Promise<Figures> {
  const { rate } = await loadPeer(contender.peer, { connections: 64, seconds });
  const { data: [first] = [] } = await get(contender, "/v1/messages?limit=1");
  if (first === undefined) throw new Error("there is no message");
  const retention = { retentionDays: MIN_RETENTION_DAYS, nowMs: Date.now(), log: createLog("silent").log };
  return {
    "accept, time per message": 1_000 / rate,
    "scan of the queue, claim of 100": await timeOf(() => claim(contender), 5),
    "list of 100": await timeOf(() => get(contender, "/v1/messages?limit=100")),
    "list of one recipient": await timeOf(() => get(contender, `/v1/messages?recipient=${encodeURIComponent(first.recipient)}&limit=100`)),
    timeline: await timeOf(() => get(contender, `/v1/messages/${first.id}/events`)),
    "usage of a day": await timeOf(() => get(contender, "/v1/usage?interval=hour")),
    "turn of retention": await timeOf(() => applyRetention(contender.db, retention), 3),
  };
}

/** Kills the service and measures its next start. */
async function restart({ peer }: Contender): Promise<number> {
  peer.child.kill("SIGKILL");
  await new Promise((resolve) => peer.child.once("exit", resolve));
  const startedAt = performance.now();
  const started = await serve(peer, "/dev/null", ARGS);
  Object.assign(peer, started);
  return performance.now() - startedAt;
}

async function sizeOf({ db }: Contender): Promise<{ bytes: number; count: number }> {
  const [row] = await db.rows<{ bytes: number; count: number }>({
    name: "size",
    text: "select pg_database_size(current_database())::float8 as bytes, (select count(*) from messages)::float8 as count",
    values: [],
  });
  return row ?? { bytes: Number.NaN, count: Number.NaN };
}

async function main(): Promise<void> {
  const start = async (name: string): Promise<Contender> => {
    const peer = await startGodwit(name, { args: ARGS, scopes: ["usage:read"] });
    return { peer, db: openBenchDatabase(peer) };
  };
  const [empty, large] = [await start("empty"), await start("large")];
  const before = await sizeOf(large);
  await preload(large.peer, { account: large.peer.account, total: messages, priority: "normal", isDelivered: true }, say);
  const after = await sizeOf(large);
  for (const { peer } of [empty, large]) await loadPeer(peer, { connections: 64, seconds: WARM_UP_SECONDS });
  const results: { empty: Figures; large: Figures }[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    const figures = { empty: await measure(empty), large: await measure(large) };
    results.push(figures);
    say(`round ${round} of ${rounds}: ${JSON.stringify(figures)}`);
  }
  for (const { db } of [empty, large]) await db.close();
  const starts = { empty: await restart(empty), large: await restart(large) };
  for (const result of results) for (const key of ["empty", "large"] as const) result[key]["start after kill -9"] = starts[key];

  out(`\n${machine()}; ${show(messages)} messages with four events each, ${rounds} rounds\n`);
  out("| ms, median of the rounds | empty | large | large / empty | must reach |\n|---|---|---|---|---|");
  for (const name of Object.keys(results[0]?.empty ?? {})) {
    const of = (key: "empty" | "large"): number => median(results.map((result) => result[key][name] ?? Number.NaN));
    const ratio = median(results.map((result) => (result.large[name] ?? Number.NaN) / (result.empty[name] ?? Number.NaN)));
    out(
      `| ${name} | ${show(of("empty"), 2)} | ${show(of("large"), 2)} | ${show(ratio, 2)} | ${name.startsWith("accept") ? "≤ 1.11" : "≤ 1.2"} |`,
    );
  }
  out(`\n| disk space of a message, bytes | ${show((after.bytes - before.bytes) / (after.count - before.count))} |\n|---|---|`);
}

await runBenchmark(main);
