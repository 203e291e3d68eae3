/** bench/accept: the cost of a durable, idempotent accept.
 *
 *  In one run, interleaved over several rounds: (a) a bare node:http echo, (b) our accept on an empty database, with
 *  authentication, quota, metrics, logs and distinct idempotency keys, fsync on, (c) a Fastify echo with the same schema,
 *  (d) only the SQL of the accept, and, with --preload N, (e) our accept on a database with N messages. Machines are
 *  noisy: only medians of ratios within a round are meaningful.
 *
 *  With --against REF, only (b), of this checkout and of the commit REF.
 *
 *  With --kannel, only (b) beside the same service through its Kannel API: with a key, without one, and with reports. With --twilio, through its Twilio
 *  API.
 *
 *  npm run bench -- accept [--kannel | --twilio] [--rounds 5] [--seconds 8] [--connections 64] [--preload 5000000] [--against REF [--within 0.05]] */
import { spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";
import { AGAINST_OPTIONS, runOrCompare, type Contender } from "./against.ts";
import type { Checkout } from "./checkout.ts";
import { rssMb, treeCpuUs } from "./cpu.ts";
import {
  machine,
  makeKannelTarget,
  makeTwilioForm,
  median,
  out,
  say,
  serve,
  show,
  startGodwit,
  type GodwitPeer,
  type Peer,
} from "./godwit.ts";
import { loadPeer, measurePeer, startPeer, type LoadShape, type Measure } from "./load-peer.ts";
import { preload } from "./preload.ts";
import { children } from "./run.ts";

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "5" },
    seconds: { type: "string", default: "8" },
    connections: { type: "string", default: "64" },
    preload: { type: "string", default: "0" },
    kannel: { type: "boolean", default: false },
    twilio: { type: "boolean", default: false },
    ...AGAINST_OPTIONS,
  },
});
const rounds = Number(values.rounds);
const seconds = Number(values.seconds);
const connections = Number(values.connections);
const preloadCount = Number(values.preload);

const WARM_UP_SECONDS = 8;
// Messages stay in the queue: bench/deliver measures the cost of their delivery.
const ACCEPT_ONLY = { args: ["--roles", "api"] };

const shapeFor = (forSeconds: number): LoadShape => ({ connections, seconds: forSeconds });
const measure = (peer: Peer, forSeconds: number): Promise<() => Measure> => measurePeer(peer, shapeFor(forSeconds));

async function meanBatch({ url }: Peer): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const read = (name: string): number => Number(new RegExp(`^${name} (\\S+)`, "m").exec(text)?.[1]);
  return read("godwit_accept_batch_size_sum") / read("godwit_accept_batch_size_count");
}

type SqlPeer = { run: (batch: number, forSeconds: number) => Promise<{ stored: number; cpuUs: number }> };

/** Starts the peer that runs only the accept statement, on the database of an idle service. */
function startSql({ socketDir, account }: GodwitPeer): SqlPeer {
  const child = spawn(process.execPath, [join(import.meta.dirname, "peers", "sql-only.ts"), socketDir, account], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  children.push(child);
  const results = createInterface({ input: child.stdout });
  return {
    run: (batch, forSeconds) =>
      new Promise((resolve) => {
        results.once("line", (line) => resolve(JSON.parse(line) as { stored: number; cpuUs: number }));
        child.stdin.write(`${batch} ${forSeconds}\n`);
      }),
  };
}

async function measureSql(sql: SqlPeer, { child }: GodwitPeer, batch: number, forSeconds: number): Promise<() => Measure> {
  const before = treeCpuUs(child.pid ?? 0);
  const { stored, cpuUs } = await sql.run(batch, forSeconds);
  return () => ({
    rate: stored / forSeconds,
    cpuUs: (treeCpuUs(child.pid ?? 0) - before + cpuUs) / stored,
    p50: Number.NaN,
    p99: Number.NaN,
  });
}

async function main(): Promise<void> {
  const echo = await startPeer("bare node:http echo", "echo.ts");
  const framework = await startPeer("Fastify echo, same schema", "fastify-echo.ts");
  const accept = await startGodwit("empty", ACCEPT_ONLY);
  const loaded = preloadCount > 0 ? await startGodwit("loaded", ACCEPT_ONLY) : undefined;
  if (loaded !== undefined) await preload(loaded, { account: loaded.account, total: preloadCount, priority: "normal" }, say);

  // The just-in-time compiler needs some ten thousand requests before the figures are meaningful.
  for (const peer of [echo, framework, accept, ...(loaded === undefined ? [] : [loaded])]) await measure(peer, WARM_UP_SECONDS);
  // The SQL peer has its own database, so that the vacuum of its rows does not count for the accept.
  const database = await startGodwit("database", ACCEPT_ONLY);
  const sql = startSql(database);
  await measureSql(sql, database, 32, WARM_UP_SECONDS / 2);
  const results = new Map<string, Measure[]>();
  const keep = (name: string, result: Measure): void => void results.set(name, [...(results.get(name) ?? []), result]);
  let peakRss = 0;
  for (let round = 1; round <= rounds; round += 1) {
    const measured: [string, () => Measure][] = [];
    measured.push([echo.name, await measure(echo, seconds)]);
    measured.push(["accept", await measure(accept, seconds)]);
    peakRss = Math.max(peakRss, rssMb(accept.child.pid ?? 0));
    measured.push([framework.name, await measure(framework, seconds)]);
    const batch = Math.max(1, Math.round(await meanBatch(accept)));
    measured.push(["SQL batch only", await measureSql(sql, database, batch, seconds)]);
    if (loaded !== undefined) measured.push(["accept, loaded", await measure(loaded, seconds)]);
    for (const [name, finish] of measured) keep(name, finish());
    say(
      `round ${round} of ${rounds}: ${[...results].map(([name, list]) => `${name} ${show(list.at(-1)?.rate ?? 0)}/s ${show(list.at(-1)?.cpuUs ?? 0)} µs`).join("; ")}`,
    );
  }

  const of = (name: string, pick: (result: Measure) => number): number[] => (results.get(name) ?? []).map(pick);
  const ratio = (a: string, b: string, pick: (result: Measure) => number): number =>
    median(of(a, pick).map((value, round) => value / (of(b, pick)[round] ?? Number.NaN)));
  const cpu = (result: Measure): number => result.cpuUs;
  const rate = (result: Measure): number => result.rate;
  const parts = median(
    of("accept", cpu).map((value, round) => value / ((of(framework.name, cpu)[round] ?? 0) + (of("SQL batch only", cpu)[round] ?? 0))),
  );

  out(`\n${machine()}; ${connections} connections, ${rounds} rounds of ${seconds} s, mean batch ${show(await meanBatch(accept), 1)}\n`);
  out("| median of the rounds | per second | p50 ms | p99 ms | CPU µs per message |\n|---|---|---|---|---|");
  for (const [name, list] of results)
    out(
      `| ${name} | ${show(median(list.map(rate)))} | ${show(median(list.map((result) => result.p50)), 1)} | ${show(median(list.map((result) => result.p99)), 1)} | ${show(median(list.map(cpu)))} |`,
    );
  out("\n| figure | measured | must reach | goal |\n|---|---|---|---|");
  out(`| accept's CPU per message / bare echo's | ${show(ratio("accept", echo.name, cpu), 2)} | ≤ 3.5 | 2.5 |`);
  out(`| accept's throughput / bare echo's | ${show(ratio("accept", echo.name, rate), 2)} | ≥ 0.38 | 0.45 |`);
  out(`| accept's CPU / (Fastify echo + SQL only) | ${show(parts, 2)} | ≤ 1.5 | |`);
  if (loaded !== undefined)
    out(`| throughput with ${show(preloadCount)} messages / empty | ${show(ratio("accept, loaded", "accept", rate), 2)} | ≥ 0.8 | |`);
  out(`| node's memory, MB | ${show(peakRss)} | < 200 | |`);
  out(`| start on an existing directory to ready, s | ${show((await restartMs(accept)) / 1_000, 1)} | < 5 | |`);
}

/** Kills a loaded service with SIGKILL and measures its next start. */
async function restartMs(peer: GodwitPeer): Promise<number> {
  peer.child.kill("SIGKILL");
  const startedAt = performance.now();
  await serve(peer, "/dev/null", []);
  return performance.now() - startedAt;
}

async function startContender({ name, folder }: Checkout): Promise<Contender> {
  const peer = await startGodwit(name, { ...ACCEPT_ONLY, checkout: folder });
  return { cpuUs: () => treeCpuUs(peer.child.pid ?? 0), load: (forSeconds) => loadPeer(peer, shapeFor(forSeconds)) };
}

/** Creates a user of a compatible API. */
async function createUser({ url, headers }: GodwitPeer, fields: Record<string, string>): Promise<{ user_name: string; secret: string }> {
  const body = JSON.stringify({ ...fields, scopes: ["messages:send"] });
  const created = await fetch(`${url}/v1/compatible_credentials`, { method: "POST", headers, body });
  if (created.status !== 201) throw new Error(await created.text());
  return (await created.json()) as { user_name: string; secret: string };
}

/** How a compatible API gets the messages: with a key, without one, and with reports. */
type Through = { title: string; limit: string; peerFor: (hasKey: boolean, hasReports: boolean) => Omit<Peer, "name" | "url" | "child"> };

async function throughKannel(native: GodwitPeer): Promise<Through> {
  const { user_name: name, secret } = await createUser(native, { source: "kannel", user_name: "bench" });
  const user = `username=${name}&password=${secret}`;
  const reports = "&dlr-mask=31&dlr-url=https%3A%2F%2Fexample.com%2Fdlr%3Ftype%3D%25d";
  return {
    title: "Kannel",
    limit: "≤ 1.05",
    peerFor: (hasKey, hasReports) => ({
      path: native.path,
      headers: {},
      hasKey,
      makeTarget: () => makeKannelTarget(hasReports ? user + reports : user),
    }),
  };
}

async function throughTwilio(native: GodwitPeer): Promise<Through> {
  const { user_name: sid, secret } = await createUser(native, { source: "twilio" });
  const authorization = `Basic ${Buffer.from(`${sid}:${secret}`).toString("base64")}`;
  return {
    title: "Twilio",
    limit: "≤ 1.15",
    peerFor: (hasKey, hasReports) => ({
      path: `/twilio/2010-04-01/Accounts/${sid}/Messages.json`,
      headers: { "Content-Type": "application/x-www-form-urlencoded", Authorization: authorization },
      hasKey,
      keyHeader: "I-Twilio-Idempotency-Token",
      makeForm: () => makeTwilioForm(hasReports ? "&StatusCallback=https%3A%2F%2Fexample.com%2Fstatus" : ""),
    }),
  };
}

/** The same messages through our API and through a compatible one of the same service, in turns. */
async function compareThrough(connect: (native: GodwitPeer) => Promise<Through>): Promise<void> {
  const native = await startGodwit("compatible", { ...ACCEPT_ONLY, scopes: ["keys:write", "usage:read", "links:read"] });
  const { title, limit, peerFor } = await connect(native);
  const through = (name: string, hasKey: boolean, hasReports: boolean): Peer => ({
    name,
    url: native.url,
    child: native.child,
    ...peerFor(hasKey, hasReports),
  });
  const peers: readonly Peer[] = [
    { ...native, name: "native" },
    through(title, true, false),
    { ...native, name: "native, no key", hasKey: false },
    through(`${title}, no key`, false, false),
    through(`${title}, reports`, true, true),
  ];
  for (const peer of peers) await measure(peer, WARM_UP_SECONDS / 2);
  const results = new Map<string, number[]>();
  for (let round = 1; round <= rounds; round += 1)
    for (const peer of peers) {
      const { cpuUs, rate } = (await measure(peer, seconds))();
      results.set(peer.name, [...(results.get(peer.name) ?? []), cpuUs]);
      say(`round ${round} of ${rounds}: ${peer.name} ${show(rate)}/s ${show(cpuUs)} µs`);
    }
  const ratio = (one: string, other: string): number =>
    median((results.get(one) ?? []).map((value, round) => value / (results.get(other)?.[round] ?? Number.NaN)));
  out(`\n${machine()}; ${connections} connections, ${rounds} rounds of ${seconds} s\n`);
  out("| CPU per message | measured | must reach |\n|---|---|---|");
  out(`| ${title} API / native, both with a key | ${show(ratio(title, "native"), 2)} | ${limit} |`);
  out(`| ${title} API / native, both without a key | ${show(ratio(`${title}, no key`, "native, no key"), 2)} | |`);
  out(`| ${title} API with reports / native, both with a key | ${show(ratio(`${title}, reports`, "native"), 2)} | |`);
}

const chosen = values.twilio ? throughTwilio : values.kannel ? throughKannel : undefined;

await runOrCompare(values, chosen === undefined ? main : () => compareThrough(chosen), {
  rounds,
  seconds,
  about: `accept, ${connections} connections`,
  titles: { rate: "accepted per second", cpuUs: "CPU µs per message", p50: "p50 of the 202, ms", p99: "p99 of the 202, ms" },
  start: startContender,
});
