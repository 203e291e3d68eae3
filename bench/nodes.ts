/** bench/nodes: the same load on one PostgreSQL server (Debian's) from one, two and three nodes, accepting only and from accept to delivered.
 *  Messages per second, the CPU of the nodes and of PostgreSQL for each message, connections, and the bytes of log (WAL) and disk for each
 *  message. The numbers of docs/scale.md are from here.
 *
 *  npm run bench -- nodes [--nodes 1,2,3] [--rounds 3] [--seconds 6] [--connections 96]      needs: apt-get install postgresql */
import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chmodSync, chownSync, existsSync, globSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { poll } from "../src/lib/wait.ts";
import { Database } from "../src/database/database.ts";
import { missingDurability } from "../src/database/health.ts";
import { chooseUser } from "../src/embedded/run-as.ts";
import { rssMb, treeCpuUs } from "./cpu.ts";
import { godwit, machine, makeBody, median, out, say, serve, show, THIS_CHECKOUT, type Peer } from "./godwit.ts";
import { runLoad } from "./load.ts";
import { deliveredCount, freePort } from "./load-peer.ts";
import { benchDir, children, runBenchmark, UsageError } from "./run.ts";

const { values } = parseArgs({
  options: {
    nodes: { type: "string", default: "1,2,3" },
    rounds: { type: "string", default: "3" },
    seconds: { type: "string", default: "6" },
    connections: { type: "string", default: "96" },
  },
});
const [rounds, seconds, connections] = [values.rounds, values.seconds, values.connections].map(Number) as [number, number, number];
const counts = values.nodes.split(",").map(Number);
const WARM_UP_SECONDS = 6;
const SETTLE_MS = 1_500;

const SETTINGS = {
  listen_addresses: "127.0.0.1",
  max_connections: "200",
  shared_buffers: "512MB",
  max_wal_size: "4GB",
  checkpoint_timeout: "15min",
};

type Server = { child: ChildProcess; urlOf: (database: string) => string; db: Database };

/** Starts Debian's PostgreSQL on an empty cluster. */
async function startPostgres(): Promise<Server> {
  const [bin] = globSync("/usr/lib/postgresql/*/bin").toSorted().toReversed();
  if (bin === undefined || !existsSync(join(bin, "postgres"))) throw new UsageError("PostgreSQL is not here: apt-get install postgresql");
  const data = join(benchDir, "debian");
  const user = chooseUser(data);
  mkdirSync(data);
  chmodSync(data, 0o700);
  if (user !== undefined) chownSync(data, user.uid, user.gid);
  const as = user === undefined ? {} : { uid: user.uid, gid: user.gid };
  const created = spawnSync(join(bin, "initdb"), ["-D", data, "-U", "godwit", "--auth=trust", "--locale=C", "-E", "UTF8"], {
    ...as,
    encoding: "utf8",
    cwd: data,
  });
  if (created.status !== 0) throw new Error(created.stderr);
  const port = await freePort();
  const flags = Object.entries({ ...SETTINGS, port: String(port), unix_socket_directories: data }).flatMap(([name, value]) => [
    "-c",
    `${name}=${value}`,
  ]);
  const child = spawn(join(bin, "postgres"), ["-D", data, ...flags], { ...as, cwd: data, stdio: ["ignore", "ignore", "ignore"] });
  children.push(child);
  const urlOf = (database: string): string => `postgres://godwit@127.0.0.1:${port}/${database}`;
  const db = new Database({ url: urlOf("postgres") }, "bench", () => undefined);
  await poll(async () => (await missingDurability(db).catch(() => undefined)) && true, { timeoutMs: 20_000, everyMs: 100 });
  const off = await missingDurability(db);
  if (off.length > 0) throw new Error(`the database is not durable: ${off.join(", ")} off`);
  return { child, urlOf, db };
}

type Node = Peer & { child: ChildProcess };

async function startNodes(count: number, { roles, headers }: Pick<Kind, "roles" | "headers">): Promise<Node[]> {
  const nodes: Node[] = [];
  for (let number = 1; number <= count; number += 1) {
    const name = `${roles.replaceAll(",", "-")}-${number}`;
    const installation = { checkout: THIS_CHECKOUT, dataDir: join(benchDir, name) };
    const args = ["--roles", roles, "--workers", "1", "--simulator-speed", "50"];
    const { child, url } = await serve(installation, join(benchDir, `${name}.log`), args);
    nodes.push({ name, url, child, path: "/v1/messages", headers, hasKey: true });
  }
  return nodes;
}

const stop = async (nodes: readonly Node[]): Promise<void> => {
  await Promise.all(
    nodes.map(({ child }) => {
      child.kill("SIGTERM");
      return new Promise((resolve) => child.once("exit", resolve));
    }),
  );
};

type Sample = { nodesUs: number; postgresUs: number; walBytes: number; diskBytes: number };

async function sample(server: Server, nodes: readonly Node[]): Promise<Sample> {
  const [row] = await server.db.rows<{ wal: number; disk: number }>({
    name: "sizes",
    text: `select pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float8 as wal, sum(pg_database_size(datname))::float8 as disk from pg_database`,
    values: [],
  });
  return {
    nodesUs: nodes.reduce((sum, { child }) => sum + treeCpuUs(child.pid ?? 0), 0),
    postgresUs: treeCpuUs(server.child.pid ?? 0),
    walBytes: row?.wal ?? Number.NaN,
    diskBytes: row?.disk ?? Number.NaN,
  };
}

const delivered = async (nodes: readonly Node[]): Promise<number> =>
  (await Promise.all(nodes.map(deliveredCount))).reduce((sum, count) => sum + count, 0);

type Result = { rate: number; nodesUs: number; postgresUs: number; wal: number; disk: number; connections: number; memory: number };

/** Loads all nodes at once, each with its part of the connections. The rate counts the time until everything is delivered. */
async function load(nodes: readonly Node[], forSeconds: number, isDelivering: boolean): Promise<{ messages: number; tookMs: number }> {
  const before = isDelivering ? await delivered(nodes) : 0;
  const startedAt = performance.now();
  const share = Math.max(1, Math.round(connections / nodes.length));
  const loads = await Promise.all(nodes.map((node) => runLoad({ ...node, connections: share, seconds: forSeconds, makeBody })));
  const messages = loads.reduce((sum, { requests }) => sum + requests, 0);
  for (const { statuses } of loads) if ([...statuses.keys()].some((status) => status !== 202)) throw new Error([...statuses].join("; "));
  if (isDelivering) while ((await delivered(nodes)) < before + messages) await sleep(10);
  return { messages, tookMs: performance.now() - startedAt };
}

async function measure(server: Server, nodes: readonly Node[], isDelivering: boolean): Promise<Result> {
  const before = await sample(server, nodes);
  const { messages, tookMs } = await load(nodes, seconds, isDelivering);
  const [row] = await server.db.rows<{ count: number }>({
    name: "connections",
    text: "select count(*)::integer as count from pg_stat_activity where application_name like 'godwit %' and application_name not like 'godwit bench%'",
    values: [],
  });
  // Vacuum and checkpoints that follow the load belong to its cost.
  await sleep(SETTLE_MS);
  const after = await sample(server, nodes);
  const per = (key: keyof Sample): number => (after[key] - before[key]) / messages;
  return {
    rate: messages / (tookMs / 1_000),
    nodesUs: per("nodesUs"),
    postgresUs: per("postgresUs"),
    wal: per("walBytes"),
    disk: per("diskBytes"),
    connections: row?.count ?? Number.NaN,
    memory: Math.max(...nodes.map(({ child }) => rssMb(child.pid ?? 0))),
  };
}

/** Creates an account with a key in the database of the environment. */
function createKey(): Record<string, string> {
  const installation = { checkout: THIS_CHECKOUT, dataDir: join(benchDir, "cli") };
  godwit(installation, "accounts", "create", "bench");
  godwit(installation, "environments", "set-tier", "test", "unlimited");
  const { key } = godwit(installation, "keys", "create", "--environment", "test", "--scopes", "messages:send,messages:read");
  return { "Content-Type": "application/json", Authorization: `Bearer ${String(key)}` };
}

type Kind = { name: string; roles: string; isDelivering: boolean; url: string; headers: Record<string, string> };

/** Each kind of work has a database of its own: the messages that one leaves in the queue do not disturb the other. */
async function createKinds(server: Server): Promise<Kind[]> {
  const kinds: Kind[] = [];
  for (const { name, roles, database } of [
    { name: "accept", roles: "api", database: "accepting" },
    { name: "accept → delivered", roles: "api,dispatch", database: "delivering" },
  ]) {
    await server.db.script(`create database ${database}`);
    const url = server.urlOf(database);
    process.env["DATABASE_URL"] = url;
    kinds.push({ name, roles, isDelivering: roles.includes("dispatch"), url, headers: createKey() });
  }
  return kinds;
}

async function main(): Promise<void> {
  const server = await startPostgres();
  process.env["GODWIT_SECRET_KEY"] = randomBytes(32).toString("base64");
  const kinds = await createKinds(server);
  const [version] = await server.db.rows<{ server_version: string }>({ name: "version", text: "show server_version", values: [] });
  const results = new Map<string, Result[]>();
  for (let round = 1; round <= rounds; round += 1)
    for (const { name, isDelivering, url, ...kind } of kinds)
      for (const count of counts) {
        process.env["DATABASE_URL"] = url;
        const nodes = await startNodes(count, kind);
        await load(nodes, WARM_UP_SECONDS, isDelivering);
        const result = await measure(server, nodes, isDelivering);
        await stop(nodes);
        const title = `${name}, ${count} ${count === 1 ? "node" : "nodes"}`;
        results.set(title, [...(results.get(title) ?? []), result]);
        say(
          `round ${round} of ${rounds}: ${title}: ${show(result.rate)}/s, nodes ${show(result.nodesUs)} µs, PostgreSQL ${show(result.postgresUs)} µs`,
        );
      }
  await server.db.close();
  out(`\n${machine()}, PostgreSQL ${version?.server_version ?? ""}; ${connections} connections, ${rounds} rounds of ${seconds} s\n`);
  out(
    "| median of the rounds | per second | CPU µs of the nodes | CPU µs of PostgreSQL | WAL, bytes | disk, bytes | connections | largest node, MB |",
  );
  out("|---|---|---|---|---|---|---|---|");
  for (const [title, list] of results) {
    const of = (key: keyof Result): string => show(median(list.map((result) => result[key])));
    out(
      `| ${title} | ${of("rate")} | ${of("nodesUs")} | ${of("postgresUs")} | ${of("wal")} | ${of("disk")} | ${of("connections")} | ${of("memory")} |`,
    );
  }
}

await runBenchmark(main);
