/** The gateways that bench/gateway measures: Kannel 1.4.5 (Debian's package) and ours. Each has its own process of the same simulated
 *  carrier. Their configurations are in this file. */
import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { randomUUID } from "node:crypto";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface, type Interface } from "node:readline";
import { poll } from "../src/lib/wait.ts";
import { childrenOf, rssMb, treeCpuUs } from "./cpu.ts";
import { godwit, serve, THIS_CHECKOUT } from "./godwit.ts";
import { freePort } from "./load-peer.ts";
import { benchDir, children, undo } from "./run.ts";

const BEARERBOX = "/usr/sbin/bearerbox";
const SMSBOX = "/usr/sbin/smsbox";

/** The simulated carrier, in its own process. */
export class Carrier {
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

  async #request<T>(what: string): Promise<T> {
    const response = nextLine(this.#lines);
    this.#child.stdin?.write(`${what}\n`);
    return JSON.parse(await response) as T;
  }

  count = async (): Promise<number> => (await this.#request<{ count: number }>("count")).count;
  forget = (): Promise<object> => this.#request("forget");
  arrivals = async (): Promise<Map<number, number[]>> => new Map(await this.#request<[number, number[]][]>("arrivals"));

  /** Waits until `count` messages have arrived. */
  async received(count: number, timeoutMs = 120_000): Promise<void> {
    const arrived = await poll(async () => ((await this.count()) >= count ? true : undefined), { timeoutMs, everyMs: 50 });
    if (arrived === undefined) throw new Error(`${count} messages were accepted, and ${await this.count()} arrived`);
  }

  /** Waits until no message has arrived for `quietMs`. */
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

export type Gateway = {
  name: string;
  carrier: Carrier;
  url: () => string;
  /** Builds the HTTP request that sends a text. */
  request: (text: string, recipient: string) => string;
  cpuUs: () => number;
  /** Resident memory of the gateway's own processes, without the database. */
  memoryMb: () => number;
  /** Kills all processes at once. */
  kill: () => Promise<void>;
  restart: () => Promise<void>;
};

const alive = (child: ChildProcess): boolean => child.exitCode === null && child.signalCode === null;

/** Returns the process and all its descendants. */
function processTree(pid: number): number[] {
  const { stdout } = spawnSync("ps", ["-e", "-o", "pid=,ppid="], { encoding: "utf8" });
  const pairs = stdout
    .trim()
    .split("\n")
    .map((line) => line.trim().split(/\s+/).map(Number) as [number, number]);
  const below = (parent: number): number[] => pairs.filter(([, ppid]) => ppid === parent).flatMap(([child]) => [child, ...below(child)]);
  return [pid, ...below(pid)];
}

function killTrees(...trees: readonly (ChildProcess | undefined)[]): void {
  const pids = trees.flatMap((child) => (child !== undefined && alive(child) && child.pid !== undefined ? processTree(child.pid) : []));
  for (const pid of pids) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // The process has already ended.
    }
  }
}

const SYNCED_DISK_MB = 2_000;

/** Mounts a file system on which every write is synced: a program that syncs nothing is then as durable as one that does. */
function mountSynced(folder: string): void {
  const disk = `${folder}.img`;
  for (const [command, ...args] of [
    ["truncate", "-s", `${SYNCED_DISK_MB}M`, disk],
    ["mkfs.ext4", "-q", "-F", disk],
    ["mount", "-o", "loop,sync", disk, folder],
  ] as const) {
    const { status, stderr, error } = spawnSync(command, args, { encoding: "utf8" });
    if (status !== 0) throw new Error(`a file system cannot be mounted here: ${stderr || String(error)}`);
  }
  undo.push(() => void spawnSync("umount", [folder]));
}

/** `isSynced`: its spool is on a file system on which every write is synced. */
export async function startKannel(window: number, { isSynced }: { isSynced: boolean }): Promise<Gateway> {
  if (!existsSync(BEARERBOX)) throw new Error("Kannel is not here: apt-get install kannel");
  const folder = join(benchDir, isSynced ? "kannel-synced" : "kannel");
  const spool = join(folder, "spool");
  mkdirSync(spool, { recursive: true });
  if (isSynced) mountSynced(spool);
  const carrier = await Carrier.start();
  const [admin, box, sendsms] = [await freePort(), await freePort(), await freePort()];
  const config = join(folder, "kannel.conf");
  writeFileSync(config, kannelConfig({ admin, box, sendsms, spool, smsc: carrier.port, window }));
  let bearerbox: ChildProcess | undefined;
  let smsbox: ChildProcess | undefined;
  const request = (text: string, recipient: string): string =>
    `GET /cgi-bin/sendsms?username=bench&password=bench&from=12345&to=${encodeURIComponent(recipient)}&text=${encodeURIComponent(text)} HTTP/1.1\r\nHost: 127.0.0.1:${sendsms}\r\n\r\n`;
  const restart = async (): Promise<void> => {
    const options = { stdio: "ignore" as const, cwd: folder };
    bearerbox = spawn(BEARERBOX, [config], options);
    children.push(bearerbox);
    await responds(`http://127.0.0.1:${admin}/status.txt?password=bench`);
    smsbox = spawn(SMSBOX, [config], options);
    children.push(smsbox);
    await responds(`http://127.0.0.1:${sendsms}/`);
  };
  await restart();
  return {
    name: isSynced ? "Kannel 1.4.5, synced" : "Kannel 1.4.5",
    carrier,
    url: () => `http://127.0.0.1:${sendsms}`,
    request,
    cpuUs: () => treeCpuUs(bearerbox?.pid ?? 0) + treeCpuUs(smsbox?.pid ?? 0),
    memoryMb: () => rssMb(bearerbox?.pid ?? 0) + rssMb(smsbox?.pid ?? 0),
    kill: async () => killTrees(bearerbox, smsbox),
    restart,
  };
}

const responds = (url: string): Promise<unknown> =>
  poll(async () => ((await fetch(url).catch(() => undefined)) === undefined ? undefined : true), { timeoutMs: 20_000, everyMs: 100 });

/** The spool stores each accepted message in a file, and does not sync it. */
const kannelConfig = ({
  admin,
  box,
  sendsms,
  spool,
  smsc,
  window,
}: {
  admin: number;
  box: number;
  sendsms: number;
  spool: string;
  smsc: number;
  window: number;
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

type OursOptions = { name?: string; checkout?: string; workers?: number };

/** Starts our gateway from a checkout. `name` distinguishes its files from those of another one in the same run. */
export async function startOurs(
  window: number,
  { workers = 1, name = `ours-${workers}`, checkout = THIS_CHECKOUT }: OursOptions = {},
): Promise<Gateway> {
  const carrier = await Carrier.start();
  const installation = { checkout, dataDir: join(benchDir, name) };
  const config = join(benchDir, `${name}.toml`);
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
  godwit(installation, "accounts", "create", "bench");
  godwit(installation, "environments", "set-tier", "live", "unlimited");
  const { key } = godwit(installation, "keys", "create", "--environment", "live", "--scopes", "messages:send,messages:read,links:read");
  const headers = { "content-type": "application/json", authorization: `Bearer ${String(key)}` };
  // A commit of a comparison may not know the flag.
  const workerFlags = workers === 1 ? [] : ["--workers", String(workers)];
  let child: ChildProcess | undefined;
  let url = "";
  const fixed = Object.entries(headers)
    .map(([header, value]) => `${header}: ${value}\r\n`)
    .join("");
  const restart = async (): Promise<void> => {
    const started = await serve(installation, join(benchDir, `${name}.log`), ["--config", config, ...workerFlags]);
    child = started.child;
    url = started.url;
    await poll(async () => ((await isConnected(started.url, headers)) ? true : undefined), { timeoutMs: 60_000, everyMs: 200 });
  };
  await restart();
  return {
    name: workers === 1 ? "Godwit" : `Godwit, ${workers} workers`,
    carrier,
    url: () => url,
    request: (text, recipient) => {
      const body = JSON.stringify({ recipient, channel: "sms", body: text });
      const lines = `Host: ${new URL(url).host}\r\n${fixed}idempotency-key: ${randomUUID()}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n`;
      return `POST /v1/messages HTTP/1.1\r\n${lines}\r\n${body}`;
    },
    cpuUs: () => treeCpuUs(child?.pid ?? 0),
    memoryMb: () => (workers === 1 ? rssMb(child?.pid ?? 0) : Math.max(...childrenOf(child?.pid ?? 0, "main.ts").map(rssMb))),
    kill: async () => killTrees(child),
    restart,
  };
}

async function isConnected(url: string, headers: Record<string, string>): Promise<boolean> {
  const reply = await fetch(`${url}/v1/links`, { headers });
  const { data = [] } = (await reply.json()) as { data?: { name: string; state: string }[] };
  return data.some(({ name, state }) => name === "bench" && state === "connected");
}
