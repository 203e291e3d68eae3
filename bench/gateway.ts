/** bench/gateway: HTTP in, SMPP out, beside Kannel 1.4.5.
 *
 *  In one run, interleaved over several rounds, against the same carrier and with the same text: Kannel (Debian's package, spool store,
 *  a window of 500, 64 connections) and us (fsync on, an idempotency key for each message, events). Messages per second at the carrier, CPU
 *  of all processes of each, and the time from the request to the carrier. Then each is killed with `kill -9` in mid-run, all of its
 *  processes at once, and started again: what was answered with 202 and never came is lost, what came twice is doubled.
 *
 *  npm run bench -- gateway [--rounds 3] [--seconds 8] [--kills 2]      needs: apt-get install kannel */
import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { randomUUID } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface, type Interface } from "node:readline";
import { parseArgs } from "node:util";
import { poll } from "../src/lib/wait.ts";
import { treeCpuUs } from "./cpu.ts";
import { runConnection, type Exchange } from "./load.ts";
import { children, cleanUp, godwit, machine, median, out, say, serve, show } from "./godwit.ts";

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "3" },
    seconds: { type: "string", default: "8" },
    connections: { type: "string", default: "64" },
    window: { type: "string", default: "500" },
    kills: { type: "string", default: "2" },
  },
});
const rounds = Number(values.rounds);
const seconds = Number(values.seconds);
const connections = Number(values.connections);
const window = Number(values.window);
const kills = Number(values.kills);

const BEARERBOX = "/usr/sbin/bearerbox";
const SMSBOX = "/usr/sbin/smsbox";
const root = mkdtempSync(join(tmpdir(), "godwit-gateway-"));
chmodSync(root, 0o755);

const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });

/** The carrier, in a process of its own. */
class Carrier {
  readonly port: number;
  readonly #child: ChildProcess;
  readonly #lines: Interface;

  private constructor(child: ChildProcess, lines: Interface, port: number) {
    this.#child = child;
    this.#lines = lines;
    this.port = port;
  }

  static async start(): Promise<Carrier> {
    const child = spawn(process.execPath, [join(import.meta.dirname, "peers", "smsc.ts")], { stdio: ["pipe", "pipe", "inherit"] });
    children.push(child);
    const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream });
    const { port } = JSON.parse(await nextLine(lines)) as { port: number };
    return new Carrier(child, lines, port);
  }

  async #ask<T>(what: string): Promise<T> {
    const answer = nextLine(this.#lines);
    this.#child.stdin?.write(`${what}\n`);
    return JSON.parse(await answer) as T;
  }

  count = async (): Promise<number> => (await this.#ask<{ count: number }>("count")).count;
  forget = (): Promise<object> => this.#ask("forget");
  arrivals = async (): Promise<Map<number, number[]>> => new Map(await this.#ask<[number, number[]][]>("arrivals"));

  /** Nothing has come for a while. */
  async quiet(quietMs = 3_000, timeoutMs = 120_000): Promise<void> {
    let last = -1;
    let since = performance.now();
    await poll(
      async () => {
        const now = await this.count();
        if (now !== last) {
          last = now;
          since = performance.now();
        }
        return performance.now() - since >= quietMs ? true : undefined;
      },
      { timeoutMs, everyMs: 200 },
    );
  }
}

const nextLine = (lines: Interface): Promise<string> => new Promise((resolve) => lines.once("line", resolve));

type Gateway = {
  name: string;
  carrier: Carrier;
  url: () => string;
  /** The request that brings a text. */
  request: (text: string, recipient: string) => string;
  cpuUs: () => number;
  /** All processes at once, as a power cut would. */
  kill: () => Promise<void>;
  restart: () => Promise<void>;
};

const alive = (child: ChildProcess): boolean => child.exitCode === null && child.signalCode === null;

/** The process and everything below it. */
function treeOf(pid: number): number[] {
  const { stdout } = spawnSync("ps", ["-e", "-o", "pid=,ppid="], { encoding: "utf8" });
  const pairs = stdout
    .trim()
    .split("\n")
    .map((line) => line.trim().split(/\s+/).map(Number) as [number, number]);
  const below = (parent: number): number[] => pairs.filter(([, ppid]) => ppid === parent).flatMap(([child]) => [child, ...below(child)]);
  return [pid, ...below(pid)];
}

function killTrees(...trees: readonly (ChildProcess | undefined)[]): void {
  const pids = trees.flatMap((child) => (child !== undefined && alive(child) && child.pid !== undefined ? treeOf(child.pid) : []));
  for (const pid of pids) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // It ended by itself.
    }
  }
}

async function startKannel(): Promise<Gateway> {
  const carrier = await Carrier.start();
  const folder = join(root, "kannel");
  const spool = join(folder, "spool");
  mkdirSync(spool, { recursive: true });
  const [admin, box, sendsms] = [await freePort(), await freePort(), await freePort()];
  const config = join(folder, "kannel.conf");
  writeFileSync(config, kannelConfig({ admin, box, sendsms, spool, smsc: carrier.port }));
  let bearerbox: ChildProcess | undefined;
  let smsbox: ChildProcess | undefined;
  const request = (text: string, recipient: string): string =>
    `GET /cgi-bin/sendsms?username=bench&password=bench&from=12345&to=${encodeURIComponent(recipient)}&text=${encodeURIComponent(text)} HTTP/1.1\r\nHost: 127.0.0.1:${sendsms}\r\n\r\n`;
  const restart = async (): Promise<void> => {
    const options = { stdio: "ignore" as const, cwd: folder };
    bearerbox = spawn(BEARERBOX, [config], options);
    children.push(bearerbox);
    await answers(`http://127.0.0.1:${admin}/status.txt?password=bench`);
    smsbox = spawn(SMSBOX, [config], options);
    children.push(smsbox);
    await answers(`http://127.0.0.1:${sendsms}/`);
  };
  await restart();
  return {
    name: "Kannel 1.4.5",
    carrier,
    url: () => `http://127.0.0.1:${sendsms}`,
    request,
    cpuUs: () => treeCpuUs(bearerbox?.pid ?? 0) + treeCpuUs(smsbox?.pid ?? 0),
    kill: async () => killTrees(bearerbox, smsbox),
    restart,
  };
}

const answers = (url: string): Promise<unknown> =>
  poll(async () => ((await fetch(url).catch(() => undefined)) === undefined ? undefined : true), { timeoutMs: 20_000, everyMs: 100 });

/** The spool keeps what was taken in files, one for each message; nothing of it is synced. */
const kannelConfig = ({
  admin,
  box,
  sendsms,
  spool,
  smsc,
}: {
  admin: number;
  box: number;
  sendsms: number;
  spool: string;
  smsc: number;
}): string => `
group = core
admin-port = ${admin}
admin-password = bench
smsbox-port = ${box}
box-allow-ip = "127.0.0.1"
store-type = spool
store-location = "${spool}"
log-level = 4

group = smsc
smsc = smpp
smsc-id = bench
host = 127.0.0.1
port = ${smsc}
transceiver-mode = true
smsc-username = bench
smsc-password = bench
system-type = ""
max-pending-submits = ${window}
enquire-link-interval = 30

group = smsbox
bearerbox-host = 127.0.0.1
bearerbox-port = ${box}
sendsms-port = ${sendsms}
log-level = 4

group = sendsms-user
username = bench
password = bench
max-messages = 10
concatenation = true

group = sms-service
keyword = default
text = "No service"
max-messages = 0
`;

async function startOurs(): Promise<Gateway> {
  const carrier = await Carrier.start();
  const dataDir = join(root, "ours");
  const config = join(root, "godwit.toml");
  writeFileSync(
    config,
    `[[link]]
name = "bench"
provider = "smpp"
host = "127.0.0.1"
port = ${carrier.port}
system_id = "bench"
password_env = "BENCH_PASSWORD"
window = ${window}
sender = "12345"
on_unknown = "resend"
hold_seconds = 5
`,
  );
  process.env["BENCH_PASSWORD"] = "bench";
  godwit(dataDir, "accounts", "create", "bench");
  godwit(dataDir, "environments", "set-tier", "live", "unlimited");
  const { key } = godwit(dataDir, "keys", "create", "--environment", "live", "--scopes", "messages:send,messages:read,links:read");
  const headers = { "content-type": "application/json", authorization: `Bearer ${String(key)}` };
  let child: ChildProcess | undefined;
  let url = "";
  const fixed = Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join("");
  const restart = async (): Promise<void> => {
    const started = await serve(dataDir, join(root, "ours.log"), ["--config", config]);
    child = started.child;
    url = started.url;
    await poll(async () => ((await isConnected(started.url, headers)) ? true : undefined), { timeoutMs: 60_000, everyMs: 200 });
  };
  await restart();
  return {
    name: "Godwit",
    carrier,
    url: () => url,
    request: (text, recipient) => {
      const body = JSON.stringify({ recipient, channel: "sms", body: text });
      const lines = `Host: ${new URL(url).host}\r\n${fixed}idempotency-key: ${randomUUID()}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n`;
      return `POST /v1/messages HTTP/1.1\r\n${lines}\r\n${body}`;
    },
    cpuUs: () => treeCpuUs(child?.pid ?? 0),
    kill: async () => killTrees(child),
    restart,
  };
}

async function isConnected(url: string, headers: Record<string, string>): Promise<boolean> {
  const reply = await fetch(`${url}/v1/links`, { headers });
  const { data = [] } = (await reply.json()) as { data?: { name: string; state: string }[] };
  return data.some(({ name, state }) => name === "bench" && state === "connected");
}

let number = 0;

type Sent = Map<number, number>;

/** Sends for so long with so many at a time; returns what was taken, and when it was asked for. */
async function load(gateway: Gateway, forSeconds: number, isOver: () => boolean = () => false): Promise<Sent> {
  const taken: Sent = new Map();
  const deadline = performance.now() + forSeconds * 1_000;
  const next = (): Exchange | undefined => {
    if (performance.now() >= deadline || isOver()) return undefined;
    number += 1;
    const mine = number;
    const askedAt = Date.now();
    const text = `Your code is 123456. It is valid for ten minutes. #${mine}`;
    return {
      request: gateway.request(text, `+1415555${String(mine % 10_000).padStart(4, "0")}`),
      answered: (status) => {
        if (status === 202) taken.set(mine, askedAt);
      },
    };
  };
  // Whoever is killed drops its connections.
  await Promise.all(Array.from({ length: connections }, () => runConnection(gateway.url(), next).catch(() => undefined)));
  return taken;
}

type Measure = { rate: number; cpuUs: number; p50: number; p99: number };

async function measure(gateway: Gateway): Promise<Measure> {
  await gateway.carrier.forget();
  const before = gateway.cpuUs();
  const startedAt = performance.now();
  const sent = await load(gateway, seconds);
  await gateway.carrier.quiet(1_000);
  const took = (performance.now() - startedAt) / 1_000 - 1;
  const arrivals = await gateway.carrier.arrivals();
  const delays = [...sent].flatMap(([id, askedAt]) => {
    const at = arrivals.get(id)?.[0];
    return at === undefined ? [] : [at - askedAt];
  });
  const sorted = delays.toSorted((a, b) => a - b);
  const at = (q: number): number => sorted[Math.floor(sorted.length * q)] ?? Number.NaN;
  return { rate: arrivals.size / took, cpuUs: (gateway.cpuUs() - before) / arrivals.size, p50: at(0.5), p99: at(0.99) };
}

type Survived = { acknowledged: number; lost: number; doubled: number };

/** Killed in mid-run, and started again: whatever it still knows reaches the carrier. */
async function killInMidRun(gateway: Gateway): Promise<Survived> {
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
  // What was being handed over is in doubt until its lease and its hold are over.
  await gateway.carrier.quiet(30_000);
  const arrivals = await gateway.carrier.arrivals();
  return {
    acknowledged: sent.size,
    lost: [...sent.keys()].filter((id) => !arrivals.has(id)).length,
    doubled: [...arrivals.values()].filter(({ length }) => length > 1).length,
  };
}

async function main(): Promise<void> {
  if (!existsSync(BEARERBOX)) throw new Error("Kannel is not here: apt-get install kannel");
  const gateways = [await startKannel(), await startOurs()];
  for (const gateway of gateways) await load(gateway, 8);
  const results = new Map<string, Measure[]>();
  for (let round = 1; round <= rounds; round += 1)
    for (const gateway of gateways) {
      const measured = await measure(gateway);
      results.set(gateway.name, [...(results.get(gateway.name) ?? []), measured]);
      say(`round ${round} of ${rounds}: ${gateway.name} ${show(measured.rate)}/s ${show(measured.cpuUs)} µs, p99 ${show(measured.p99)} ms`);
    }
  const survivors = new Map<string, Survived[]>();
  for (let kill = 1; kill <= kills; kill += 1)
    for (const gateway of gateways) {
      const survived = await killInMidRun(gateway);
      survivors.set(gateway.name, [...(survivors.get(gateway.name) ?? []), survived]);
      say(`kill ${kill} of ${kills}: ${gateway.name} ${JSON.stringify(survived)}`);
    }
  report(results, survivors);
}

function report(results: ReadonlyMap<string, Measure[]>, survivors: ReadonlyMap<string, Survived[]>): void {
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
    const sum = (pick: (survived: Survived) => number): string => show(list.reduce((total, each) => total + pick(each), 0));
    out(
      `| ${name}, ${list.length} times | ${sum(({ acknowledged }) => acknowledged)} | ${sum(({ lost }) => lost)} | ${sum(({ doubled }) => doubled)} |`,
    );
  }
  const [theirs = [], ours = []] = [...results.values()];
  const ratio = median(ours.map(({ rate }, round) => rate / (theirs[round]?.rate ?? Number.NaN)));
  out("\n| figure | measured | must reach | goal |\n|---|---|---|---|");
  out(`| our messages per second / Kannel's | ${show(ratio, 2)} | ≥ 0.7 | 2 |`);
  out(`| our lost messages | ${survivors.get("Godwit")?.reduce((total, { lost }) => total + lost, 0) ?? 0} | 0 | |`);
}

try {
  await main();
} finally {
  await cleanUp();
  rmSync(root, { recursive: true, force: true });
}
