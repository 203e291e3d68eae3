/** A cluster of Patroni under load: the primary is lost, frozen or switched, and the standby is lost. Every 202 is there, no request has two
 *  effects, and the service continues without a restart. The service reaches the cluster by the addresses of both servers, and through HAProxy.
 *  GODWIT_TEST_FAILOVERS is the number of lost primaries for each of the two. */
import assert from "node:assert/strict";
import { before, describe, test, type TestContext } from "node:test";
import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { request } from "undici";
import { identity } from "../../src/embedded/cluster.ts";
import { chooseUser, type RunAs } from "../../src/embedded/run-as.ts";
import { until } from "../support/expect.ts";
import { startGodwit, type Godwit } from "../support/harness.ts";
import { assertEachOnce, assertNothingHalfDone, retryUnanswered, sendUntil, type Sent } from "../support/sending.ts";
import { atEnd } from "../support/at-end.ts";
import { missingPackages } from "../support/debian-package.ts";

const PACKAGING = join(import.meta.dirname, "..", "..", "packaging");
const OWNER = "godwit";
const PASSWORD = "a-password-for-tests";
const PROGRAMS = "/usr/lib/postgresql";
const PATRONI = "/usr/bin/patroni";
const PATRONICTL = "/usr/bin/patronictl";
const ETCD = "/usr/bin/etcd";
const HAPROXY = "/usr/sbin/haproxy";
// A request to Patroni that is not answered counts as one that failed.
const REQUEST_LIMIT_MS = 2_000;
const COMMAND_LIMIT_MS = 120_000;
const LAST_LINES = 40;

/** The packages, each with a path that it installs. The library for etcd is an alternative of a dependency, so apt may choose another one. */
const PACKAGES: readonly (readonly [name: string, path: string])[] = [
  ["postgresql", PROGRAMS],
  ["python3-etcd", "/usr/lib/python3/dist-packages/etcd"],
  ["patroni", PATRONI],
  ["etcd-server", ETCD],
  ["haproxy", HAPROXY],
  ["openssl", "/usr/bin/openssl"],
];

/** The configuration file of the package, to which docs/high-availability.md leads. */
const packaged = (name: string): string => readFileSync(join(PACKAGING, name), "utf8");

/** Replaces every part of a text that has a replacement. A name that does not occur in the file would change nothing unnoticed, so each
 *  configuration file is verified by the programs that read it. */
const replaced = (text: string, replacements: Readonly<Record<string, string>>): string =>
  Object.entries(replacements).reduce((all, [from, to]) => all.replaceAll(from, to), text);

/** A program that the cluster runs. Its output goes to a file. */
class Program {
  readonly #start: () => ChildProcess;
  #child: ChildProcess | undefined;

  constructor(
    command: readonly [string, ...string[]],
    { log, env = {}, runAs }: { log: string; env?: Record<string, string>; runAs: RunAs | undefined },
  ) {
    const [program, ...args] = command;
    this.#start = () => {
      const output = openSync(log, "a");
      const path = process.env["PATH"] ?? "/usr/bin:/bin";
      return spawn(program, args, {
        ...identity(runAs),
        cwd: "/",
        env: { PATH: path, LC_ALL: "C.UTF-8", ...env },
        stdio: ["ignore", output, output],
      });
    };
  }

  get isRunning(): boolean {
    return this.#child !== undefined && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  start(): void {
    if (!this.isRunning) this.#child = this.#start();
  }

  signal(signal: NodeJS.Signals): void {
    this.#child?.kill(signal);
  }

  async end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child;
    if (child === undefined || !this.isRunning) return;
    child.kill(signal);
    await once(child, "exit");
  }
}

/** One machine with PostgreSQL and Patroni. */
class PatroniNode {
  readonly name: string;
  readonly #folder: string;
  readonly #api: string;
  readonly #patroni: Program;

  constructor(name: string, { folder, api, config, runAs }: { folder: string; api: string; config: string; runAs: RunAs | undefined }) {
    this.name = name;
    this.#folder = folder;
    this.#api = api;
    // Python holds back its output otherwise.
    this.#patroni = new Program([PATRONI, config], { log: join(folder, "log"), env: { PYTHONUNBUFFERED: "1" }, runAs });
  }

  start(): void {
    this.#patroni.start();
  }

  /** Whether a health check of Patroni succeeds. `primary`: the server has the lock and is writable. `sync`: it is the standby for which
   *  commits wait, and that would be promoted. */
  async is(state: "primary" | "sync"): Promise<boolean> {
    try {
      const { statusCode, body } = await request(`${this.#api}/${state}`, {
        headersTimeout: REQUEST_LIMIT_MS,
        bodyTimeout: REQUEST_LIMIT_MS,
        reset: true,
      });
      await body.dump();
      return statusCode === 200;
    } catch {
      return false;
    }
  }

  /** Ends all processes at once, as the end of a machine does. The processes of PostgreSQL would otherwise run on until they notice that
   *  their parent has ended, and could still send their last commits to the standby. */
  async kill(): Promise<void> {
    this.signal("SIGKILL");
    await this.#patroni.end("SIGKILL");
    await until("the processes of PostgreSQL to end", () => this.#postgresProcesses().length === 0 || undefined);
  }

  /** Sends a signal to Patroni first, which would react to the end of PostgreSQL, and to all processes of PostgreSQL. */
  signal(signal: NodeJS.Signals): void {
    this.#patroni.signal(signal);
    for (const pid of this.#postgresProcesses()) {
      try {
        process.kill(pid, signal);
      } catch (error) {
        // It has ended meanwhile.
        if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
      }
    }
  }

  /** The main process of PostgreSQL, which Patroni detaches from itself, and its children. */
  #postgresProcesses(): number[] {
    const file = join(this.#folder, "data", "postmaster.pid");
    const main = existsSync(file) ? Number(readFileSync(file, "utf8").split("\n")[0]) : 0;
    // The id in the file of a server that was killed may belong to another process by now.
    const isOurs = main > 0 && readProc(main, "cmdline").includes(this.#folder);
    return isOurs ? [main, ...childrenOf(main)] : [];
  }

  /** The last lines of its log, for the error of a test. */
  lastLines(): string {
    const log = join(this.#folder, "log");
    return existsSync(log) ? readFileSync(log, "utf8").split("\n").slice(-LAST_LINES).join("\n") : "";
  }
}

function readProc(pid: number, file: "cmdline" | "stat"): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "utf8");
  } catch {
    return "";
  }
}

/** The fourth field of `stat` is the parent. The second one is a name in parentheses, which may contain spaces. */
const childrenOf = (parent: number): number[] =>
  readdirSync("/proc")
    .map(Number)
    .filter((pid) => pid > 0 && Number(readProc(pid, "stat").split(") ").at(-1)?.split(" ")[1]) === parent);

class PatroniCluster {
  /** The URL of the service with both servers, and the one through HAProxy. */
  readonly urls: Readonly<Record<"both servers" | "HAProxy", string>>;
  readonly #nodes: readonly [PatroniNode, PatroniNode];
  readonly #others: readonly Program[];
  readonly #folder: string;
  readonly #config: string;

  private constructor(folder: string, runAs: RunAs | undefined, ports: Readonly<Record<string, string>>) {
    const authority = join(folder, "authority.crt");
    const versions = readdirSync(PROGRAMS).map(Number).filter(Number.isFinite);
    const common = {
      "10.0.0.": "127.0.0.",
      ...ports,
      "/etc/godwit/database-ca.pem": authority,
      "/postgresql/15/": `/postgresql/${Math.max(...versions)}/`,
    };
    const write = (name: string, text: string): string => {
      const path = join(folder, name);
      writeFileSync(path, text, { mode: 0o640 });
      own(path, runAs);
      return path;
    };
    const nodeOf = (name: string, address: string): PatroniNode => {
      const home = join(folder, name);
      const parts = { "name: db1": `name: ${name}`, "10.0.0.11": address, "/var/lib/postgresql/godwit": home };
      const config = write(
        `${name}.yml`,
        replaced(packaged("patroni.yml"), { ...parts, ...common }).replaceAll(/PASSWORD-OF[-A-Z]+/g, PASSWORD),
      );
      return new PatroniNode(name, { folder: home, api: `http://${address}:${ports["8008"]}`, config, runAs });
    };
    this.#folder = folder;
    this.#nodes = [nodeOf("db1", "127.0.0.11"), nodeOf("db2", "127.0.0.12")];
    this.#config = join(folder, "db1.yml");
    const etcd = replaced(packaged("patroni-etcd.env"), { ...common, "/var/lib/etcd/godwit": join(folder, "etcd") });
    const settings = Object.fromEntries(
      Array.from(etcd.matchAll(/^(ETCD_\w+)=(.*)$/gm), ([, name = "", value = ""]) => [name, value] as const),
    );
    // Debian's version refuses to start on ARM without this setting.
    const env = { ...settings, ETCD_UNSUPPORTED_ARCH: "arm64" };
    const proxy = write("haproxy.cfg", replaced(packaged("patroni-haproxy.cfg"), common));
    this.#others = [
      new Program([ETCD], { log: join(folder, "etcd.log"), env, runAs }),
      new Program([HAPROXY, "-db", "-f", proxy], { log: join(folder, "haproxy.log"), runAs }),
    ];
    const urlOf = (...hosts: string[]): string =>
      `postgres://${OWNER}:${PASSWORD}@${hosts.map((host) => `${host}:${ports["5432"]}`).join(",")}/${OWNER}?sslmode=verify-full&sslrootcert=${authority}`;
    this.urls = { "both servers": urlOf("127.0.0.11", "127.0.0.12"), HAProxy: urlOf("127.0.0.20") };
  }

  /** Starts the cluster, with a database for the service. Resolves when commits wait for the standby. */
  static async start(): Promise<PatroniCluster> {
    const folder = mkdtempSync(join(tmpdir(), "godwit-patroni-"));
    chmodSync(folder, 0o755);
    // PostgreSQL and Patroni refuse to run as root.
    const runAs = chooseUser("");
    for (const name of ["db1", "db2", "etcd"]) {
      mkdirSync(join(folder, name), { mode: 0o700 });
      own(join(folder, name), runAs);
    }
    own(folder, runAs);
    makeCertificates(folder, runAs);
    const cluster = new PatroniCluster(folder, runAs, await choosePorts("5432", "8008", "2379", "2380"));
    atEnd(() => cluster[Symbol.asyncDispose]());
    await cluster.#start();
    return cluster;
  }

  async #start(): Promise<void> {
    const [first, second] = this.#nodes;
    for (const program of this.#others) program.start();
    // The first server creates the cluster, and the second one copies it.
    first.start();
    await this.#withLogs(until("the first server to be the primary", () => first.is("primary")));
    await this.#createDatabase();
    second.start();
    await this.untilSynchronous();
  }

  async #createDatabase(): Promise<void> {
    const url = this.urls.HAProxy.replace(`//${OWNER}:`, "//postgres:").replace(`/${OWNER}?`, "/postgres?");
    // HAProxy may not have noticed yet that there is a primary.
    const admin = await until("HAProxy to lead to the primary", async () => {
      const client = new pg.Client(url);
      client.on("error", () => undefined);
      return client.connect().then(
        () => client,
        () => undefined,
      );
    });
    await admin.query(`create role ${OWNER} login password '${PASSWORD}'`);
    await admin.query(`create database ${OWNER} owner ${OWNER}`);
    await admin.end();
  }

  /** The primary and the other server. */
  async roles(): Promise<{ primary: PatroniNode; standby: PatroniNode }> {
    const [first, second] = this.#nodes;
    return until("one server to be the primary", async () => {
      if (await first.is("primary")) return { primary: first, standby: second };
      return (await second.is("primary")) && { primary: second, standby: first };
    });
  }

  /** Resolves when commits wait for the standby, and Patroni would promote it. */
  async untilSynchronous(): Promise<void> {
    await this.#withLogs(until("the standby to be synchronous", async () => (await this.roles()).standby.is("sync")));
  }

  /** Adds the logs of both servers to an error. */
  async #withLogs<T>(work: Promise<T>): Promise<T> {
    try {
      return await work;
    } catch (error) {
      const logs = this.#nodes.map((node) => `${node.name}:\n${node.lastLines()}`);
      throw new Error(logs.join("\n"), { cause: error });
    }
  }

  /** Makes the standby the primary, as an operator does before maintenance. Resolves when the command has ended. */
  async switchover(): Promise<void> {
    const { primary, standby } = await this.roles();
    const args = ["-c", this.#config, "switchover", "godwit", "--force", "--leader", primary.name, "--candidate", standby.name];
    const child = spawn(PATRONICTL, args, {
      cwd: "/",
      env: { PATH: "/usr/bin:/bin", LC_ALL: "C.UTF-8" },
      timeout: COMMAND_LIMIT_MS,
      stdio: ["ignore", "pipe", "pipe"],
    });
    const output: Buffer[] = [];
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => output.push(chunk));
    const [code] = (await once(child, "close")) as [number | null];
    if (code !== 0) throw new Error(`patronictl: ${Buffer.concat(output).toString()}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const node of this.#nodes) await node.kill();
    for (const program of this.#others) await program.end("SIGKILL");
    // A copy of files that Patroni had begun may still write until it has lost its connection.
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }
}

function own(path: string, runAs: RunAs | undefined): void {
  if (runAs !== undefined) chownSync(path, runAs.uid, runAs.gid);
}

/** Makes a certificate authority, and one certificate for both servers. It is valid for the address of HAProxy too, which passes TLS on. */
function makeCertificates(folder: string, runAs: RunAs | undefined): void {
  const openssl = (...args: string[]): void => void execFileSync("openssl", args, { cwd: folder, stdio: "ignore" });
  const newKey = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  openssl("req", "-x509", ...newKey, "-keyout", "authority.key", "-out", "authority.crt", "-days", "2", "-subj", "/CN=authority");
  openssl("req", ...newKey, "-keyout", "server.key", "-out", "server.csr", "-subj", "/CN=database");
  writeFileSync(join(folder, "names"), "subjectAltName=IP:127.0.0.11,IP:127.0.0.12,IP:127.0.0.20");
  const signed = ["-CA", "authority.crt", "-CAkey", "authority.key", "-CAcreateserial", "-extfile", "names"];
  openssl("x509", "-req", "-in", "server.csr", "-out", "server.crt", "-days", "2", ...signed);
  for (const node of ["db1", "db2"])
    for (const name of ["server.crt", "server.key"]) {
      const path = join(folder, node, name);
      writeFileSync(path, readFileSync(join(folder, name)), { mode: 0o600 });
      own(path, runAs);
    }
}

/** A free port in place of each default port. The machines of the page have different addresses, and can use the same port. */
async function choosePorts(...defaults: readonly string[]): Promise<Record<string, string>> {
  // They are all open at the same time, so that they differ.
  const servers = defaults.map(() => createServer().listen(0, "0.0.0.0"));
  await Promise.all(servers.map((server) => once(server, "listening")));
  const ports = servers.map((server) => String((server.address() as AddressInfo).port));
  await Promise.all(servers.map((server) => once(server.close(), "close")));
  return Object.fromEntries(defaults.map((each, index) => [each, ports[index] ?? ""]));
}

// The second one is in the other direction.
const FAILOVERS = Number(process.env["GODWIT_TEST_FAILOVERS"] ?? "2");
const ACCEPTED_AGAIN_MS = 5_000;
// A lost primary takes about 20 s to be replaced, in which every connection gets a 503 again and again. Each of them is repeated later.
const CONNECTIONS = 8;
const MANY = 100;

let missing: string | undefined;
before(() => {
  missing = missingPackages(PACKAGES);
});

/** The service on a cluster, and every request so far. */
type Scene = { cluster: PatroniCluster; godwit: Godwit; apiKey: string; settled: Sent[] };

/** A change of the cluster during the load. It resolves with the server that is the primary from then on. */
type Change = (scene: Scene) => Promise<PatroniNode>;

const killPrimary: Change = async ({ cluster, godwit }) => {
  const { primary, standby } = await cluster.roles();
  await primary.kill();
  await until("the service not to be ready", async () => (await godwit.request("GET", "/readyz")).status === 503 || undefined);
  return standby;
};

/** The machine stops to respond, and its connections stay open. */
const freezePrimary: Change = async ({ cluster }) => {
  const { primary, standby } = await cluster.roles();
  primary.signal("SIGSTOP");
  return standby;
};

const switchOver: Change = async ({ cluster }) => {
  const { standby } = await cluster.roles();
  await cluster.switchover();
  return standby;
};

const killStandby: Change = async ({ cluster }) => {
  const { primary, standby } = await cluster.roles();
  await standby.kill();
  return primary;
};

/** The requests during a change, and the figures for the output. */
type Observed = { all: Sent[]; gapMs: number; pauseMs: number; replacedMs: number };

/** Sends while the cluster changes, and until many messages were accepted on the new primary. */
async function sendDuring(change: Change, scene: Scene): Promise<Observed> {
  const { godwit, apiKey } = scene;
  const stop = new AbortController();
  const acceptedAt: number[] = [];
  const load = sendUntil(stop.signal, { godwit, apiKey, connections: CONNECTIONS }, ({ status }) => {
    if (status === 202) acceptedAt.push(performance.now());
  });
  try {
    await until("messages to be accepted", () => acceptedAt.length >= MANY || undefined);
    const beginAt = performance.now();
    const primary = await change(scene);
    await until(`Patroni to report ${primary.name} as the primary`, () => primary.is("primary"));
    const primaryAt = performance.now();
    const later = (): number[] => acceptedAt.filter((at) => at > primaryAt);
    await until("many messages to be accepted again", () => later().length >= MANY || undefined);
    const pauses = acceptedAt.map((at, index) => at - (acceptedAt[index - 1] ?? at));
    return {
      all: await finish(),
      gapMs: (later()[0] ?? NaN) - primaryAt,
      pauseMs: Math.max(...pauses),
      replacedMs: primaryAt - beginAt,
    };
  } finally {
    await finish();
  }

  function finish(): Promise<Sent[]> {
    stop.abort();
    return load;
  }
}

/** Asserts the promise for all requests of a change, and repeats those without a 202 as their clients do. */
async function assertKept({ godwit, apiKey, settled }: Scene, { all }: Observed): Promise<void> {
  assert.ok(godwit.db !== undefined);
  for (const { status } of all) assert.ok([202, 500, 503].includes(status ?? 0), `responded with ${status}`);
  await assertEachOnce(
    godwit.db,
    all.filter(({ status }) => status === 202),
  );
  settled.push(...(await retryUnanswered(godwit, apiKey, all)));
}

function print(context: TestContext, what: string, { all, gapMs, pauseMs, replacedMs }: Observed): void {
  const of = (status: number): string => `${all.filter((each) => each.status === status).length} times ${status}`;
  const times = `new primary after ${seconds(replacedMs)}, accepted ${seconds(gapMs)} later; longest pause without a 202: ${seconds(pauseMs)}`;
  context.diagnostic(`${what}: ${of(202)}, ${of(503)}, ${of(500)}; ${times}`);
}

const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;

/** Changes the cluster under load, waits until both servers are in order again, and asserts the promise. */
async function changeUnderLoad(context: TestContext, scene: Scene, what: string, change: Change): Promise<void> {
  const { cluster, godwit } = scene;
  const observed = await sendDuring(change, scene);
  print(context, what, observed);
  assert.ok(observed.gapMs < ACCEPTED_AGAIN_MS, `accepted ${observed.gapMs} ms after the new primary`);
  assert.equal((await godwit.request("GET", "/readyz")).status, 200);
  const { standby } = await cluster.roles();
  const backAt = performance.now();
  // It continues where it was frozen, and is started where it was killed.
  standby.signal("SIGCONT");
  standby.start();
  await cluster.untilSynchronous();
  context.diagnostic(`${what}: ${standby.name} is a synchronous standby after ${seconds(performance.now() - backAt)}`);
  await assertKept(scene, observed);
}

async function assertAllKept({ godwit: { db }, settled }: Scene): Promise<void> {
  assert.ok(db !== undefined);
  await assertEachOnce(db, settled);
  await assertNothingHalfDone(db);
}

/** `http.request_failed: 12, …`, for the output. */
const eventsOf = ({ logs }: Godwit): string =>
  Array.from(
    Map.groupBy(
      logs.flatMap(({ event }) => event ?? []),
      (event) => event,
    ),
    ([event, lines]) => `${event}: ${lines.length}`,
  ).join(", ");

for (const way of ["both servers", "HAProxy"] as const)
  describe(`a cluster of Patroni that the service reaches by ${way}`, () => {
    test("keeps every 202, and messages are accepted again without a restart", async (context) => {
      if (missing !== undefined) return context.skip(missing);
      await using cluster = await PatroniCluster.start();
      await using godwit = await startGodwit({ databaseUrl: cluster.urls[way] });
      await godwit.unlimited();
      const scene: Scene = { cluster, godwit, apiKey: await godwit.key(), settled: [] };
      for (let count = 1; count <= FAILOVERS; count += 1) await changeUnderLoad(context, scene, `lost primary ${count}`, killPrimary);
      await changeUnderLoad(context, scene, "frozen primary", freezePrimary);
      await changeUnderLoad(context, scene, "switchover", switchOver);
      await changeUnderLoad(context, scene, "lost standby", killStandby);
      await assertAllKept(scene);
      context.diagnostic(`${scene.settled.length} messages, each exactly once; log: ${eventsOf(godwit)}`);
    });
  });
