/** The image and compose.yaml, built and run by the Docker of Debian's packages: Caddy, two nodes and PostgreSQL, to a delivered message. */
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { copyFileSync, cpSync, createReadStream, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { after, before, describe } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { VERSION } from "../../src/version.ts";
import { debianTree, whyNoTrees } from "../support/debian-tree.ts";
import { until } from "../support/expect.ts";
import { DOCKER_PACKAGES, OwnDocker } from "../support/own-docker.ts";
import type { LoadResult } from "../support/request-load.ts";
import { underLoad } from "../support/request-loading.ts";
import { step } from "../support/steps.ts";
import { isRegistryReachable, npm } from "./user-npm.ts";

const ROOT = join(import.meta.dirname, "..", "..");
const FILES = join(import.meta.dirname, "..", "support", "container-images");
const CHECKOUT = "/host/checkout";
const PULL_MS = 60_000;
const NPM_MS = 120_000;
const BUILD_PART_MS = 240_000;
const IMAGE = `godwit:${VERSION}`;

let folder: string;
let tree: string;
let base: string;
let docker: OwnDocker;

before(() => {
  // The tests need hundreds of megabytes, and the folder must take an overlay.
  folder = mkdtempSync(join(tmpdir(), "godwit-containers-"));
});
// The functions of atEnd, which stop the daemon, run before this one.
after(() => rmSync(folder, { recursive: true, force: true }));

const compose = (...args: readonly string[]): Promise<string> => docker.succeed(["docker", "compose", ...args], { cwd: CHECKOUT });

step("Debian has the packages of Docker, Caddy and PostgreSQL", async () => {
  const missing = whyNoTrees();
  if (missing !== undefined) return missing;
  if (!isRegistryReachable()) return "the npm registry cannot be reached";
  const found = debianTree("docker", "trixie", [...DOCKER_PACKAGES, "caddy", "postgresql", "wget"]);
  if ("missing" in found) return found.missing;
  tree = found.path;
  return undefined;
});

step("Debian has the packages of a base image", async () => {
  const found = debianTree("base.tar", "bookworm", []);
  if ("missing" in found) return found.missing;
  base = found.path;
  docker = await OwnDocker.start(tree, folder, "host");
  return undefined;
});

step("the images that the public registry does not give are made from Debian's packages", async (context) => {
  const missing = await Promise.all(
    ["node:24-slim", "caddy:2", "postgres:18"].map(async (image) => {
      const { code } = await docker.run(["docker", "pull", image], { timeoutMs: PULL_MS });
      return code === 0 ? [] : [image];
    }),
  );
  context.diagnostic(`made from Debian's packages: ${missing.flat().join(", ") || "none"}`);
  if (missing.flat().includes("node:24-slim")) await makeNodeImage();
  const others = missing.flat().filter((image) => image !== "node:24-slim");
  if (others.length > 0) await makeProgramImages(others);
});

/** Debian's essential packages, our Node, and npm with the registry and the certificates of this machine. */
async function makeNodeImage(): Promise<void> {
  const files = join(folder, "node-image", "usr", "local");
  for (const each of ["bin", "etc", "lib"]) mkdirSync(join(files, each), { recursive: true });
  copyFileSync(process.execPath, join(files, "bin", "node"));
  const setting = (...args: string[]): string => npm(args, tmpdir(), NPM_MS).stdout.trim();
  // The version that Node 24 brings.
  const installed = npm(["install", "--prefix", join(files, "lib"), "--no-audit", "--no-fund", "npm@11"], tmpdir(), NPM_MS);
  assert.equal(installed.status, 0, installed.stderr);
  const settings = { registry: setting("config", "get", "registry"), cafile: setting("config", "get", "cafile") };
  copyFileSync(settings.cafile === "null" ? "/etc/ssl/certs/ca-certificates.crt" : settings.cafile, join(files, "etc", "ca.pem"));
  writeFileSync(join(files, "etc", "npmrc"), `registry=${settings.registry}\ncafile=/usr/local/etc/ca.pem\n`);
  await docker.succeed(["docker", "import", "-", "debian-base"], { input: createReadStream(base) });
  const dockerfile = "FROM debian-base\nCOPY . /\nRUN ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm\n";
  await build("node:24-slim", "node-image", dockerfile);
}

/** Debian's Caddy and PostgreSQL in place of the official images: the same paths, users and variables, as far as compose.yaml uses them. */
async function makeProgramImages(images: readonly string[]): Promise<void> {
  const archive = spawn("tar", ["--one-file-system", "--directory", tree, "--create", "."], { stdio: ["ignore", "pipe", "inherit"] });
  await docker.succeed(["docker", "import", "-", "debian-programs"], { input: archive.stdout });
  cpSync(FILES, join(folder, "program-images"), { recursive: true });
  for (const image of images) {
    const name = `${image.split(":")[0]}.dockerfile`;
    await build(image, "program-images", readFileSync(join(FILES, name), "utf8"));
  }
}

async function build(image: string, context: string, dockerfile: string): Promise<void> {
  const input = join(folder, context, "Dockerfile");
  writeFileSync(input, dockerfile);
  await docker.succeed(["docker", "build", "--quiet", "--tag", image, `/host/${context}`], { env: { DOCKER_BUILDKIT: "0" } });
}

let building: Promise<string>;

// The build has two tests, because a busy machine can need more than the time of one.
step("docker compose builds the image from the files that .dockerignore names", async () => {
  copyCheckout();
  building = compose("build");
  await Promise.race([building, sleep(BUILD_PART_MS, undefined, { ref: false })]);
});

step("the image has the user 10001 and no development dependencies", async () => {
  await building;
  const format = "--format={{.Config.User}} {{.Size}}";
  const [user, size] = (await docker.succeed(["docker", "inspect", format, IMAGE])).trim().split(" ");
  assert.equal(user, "10001:10001");
  // It is 400 MB, of which the base is 300. The development dependencies are as large again.
  assert.ok(Number(size) < 600e6, `${size} bytes`);
});

/** Copies the files that the builder gets from the checkout, without generated ones, and writes .env. */
function copyCheckout(): void {
  const sent = readFileSync(join(ROOT, ".dockerignore"), "utf8").matchAll(/^!(.+)$/gm);
  const isOurs = (path: string): boolean => !["node_modules", "dist"].includes(basename(path)) && !basename(path).startsWith(".dist-");
  for (const path of ["Dockerfile", ".dockerignore", "compose.yaml", ...Array.from(sent, ([, each = ""]) => each)]) {
    const target = join(folder, "checkout", path);
    mkdirSync(dirname(target), { recursive: true });
    cpSync(join(ROOT, path), target, { recursive: true, filter: isOurs });
  }
  const [password, secret] = [randomBytes(32).toString("hex"), randomBytes(32).toString("base64")];
  const text = `GODWIT_DOMAIN=localhost\nPOSTGRES_PASSWORD=${password}\nGODWIT_SECRET_KEY=${secret}\n`;
  writeFileSync(join(folder, "checkout", ".env"), text, { mode: 0o600 });
  // npm reaches the registry through the network of this machine.
  const node = "{ build: { network: host } }";
  writeFileSync(join(folder, "checkout", "compose.override.yaml"), `services:\n  godwit-1: ${node}\n  godwit-2: ${node}\n`);
}

step("the image runs with its embedded database, on a read-only root and without capabilities", async () => {
  const name = "embedded";
  const limits = ["--read-only", "--tmpfs=/tmp", "--cap-drop=ALL", "--security-opt=no-new-privileges", "--memory=1g", "--network=none"];
  await docker.succeed(["docker", "run", "--detach", `--name=${name}`, ...limits, "--env=GODWIT_HOST=127.0.0.1", IMAGE]);
  await untilHealthy(name);
  const key = await until("the key of the first start", async () => {
    const { stdout, stderr } = await docker.run(["docker", "logs", name]);
    return /gw_test_\w+/.exec(stdout + stderr)?.[0];
  });
  assert.match(await docker.succeed(["docker", "exec", `--env=GODWIT_KEY=${key}`, name, "godwit", ...SEND]), /delivered/);
  // The service gets the signal itself, and ends by itself.
  await docker.succeed(["docker", "stop", "--time=40", name]);
  assert.equal((await docker.succeed(["docker", "inspect", "--format={{.State.ExitCode}}", name])).trim(), "0");
  await docker.succeed(["docker", "rm", "--volumes", name]);
});

const SEND = ["send", "--to", "+14155550123", "--body", "Hello from Godwit", "--wait"];

const untilHealthy = (name: string): Promise<true> =>
  until(`${name} to be healthy`, async () => {
    const state = await docker.succeed(["docker", "inspect", "--format={{.State.Status}} {{.State.Health.Status}}", name]);
    if (state.startsWith("exited")) throw new Error((await docker.run(["docker", "logs", "--tail=20", name])).stdout);
    return state.trim() === "running healthy" || undefined;
  });

describe("docker compose up", () => {
  let key: string;
  let caFile: string;

  step("starts PostgreSQL, two nodes and Caddy, and every container becomes healthy", async () => {
    await docker.stop();
    // Its own network, so that ports 80 and 443 are free.
    docker = await OwnDocker.start(tree, folder, "own");
    mkdirSync(join(folder, "checkout", "config"));
    const config = await compose("run", "--rm", "--no-deps", "-T", "godwit-1", "init", "--stdout");
    writeFileSync(join(folder, "checkout", "config", "godwit.toml"), config);
    await compose("up", "--detach", "--wait");
    const states = (await compose("ps", "--format", "{{.Service}} {{.Health}}")).trim().split("\n").toSorted();
    assert.deepEqual(states, ["caddy healthy", "godwit-1 healthy", "godwit-2 healthy", "postgres healthy"]);
    key = await until("the key of the first start", async () => /gw_test_\w+/.exec(await compose("logs"))?.[0]);
    caFile = join(folder, "ca.pem");
    const ca = await until("the certificate of Caddy", async () => {
      const { code, stdout } = await docker.run(["docker", "compose", "exec", "-T", "caddy", "cat", CA_FILE], { cwd: CHECKOUT });
      return code === 0 && stdout;
    });
    writeFileSync(caFile, ca);
  });
  const CA_FILE = "/data/caddy/pki/authorities/local/root.crt";

  step("a message that is sent through Caddy is delivered", async () => {
    const godwit = (...args: string[]) => {
      const [program = "", ...rest] = [...docker.inNetwork, process.execPath, join(ROOT, "src", "main.ts"), ...args];
      const env = { PATH: process.env["PATH"], GODWIT_URL: "https://localhost", GODWIT_KEY: key, NODE_EXTRA_CA_CERTS: caFile };
      return spawnSync(program, rest, { env, encoding: "utf8", timeout: 120_000 });
    };
    await until("Caddy to know a ready node", () => godwit("api", "GET", "/v1/messages").status === 0);
    const { status, stdout, stderr } = godwit(...SEND);
    assert.equal(status, 0, stderr);
    assert.match(stdout, /delivered/);
  });

  const load = (work: () => Promise<unknown>): Promise<LoadResult> =>
    underLoad({ url: "https://localhost", key, caFile, command: docker.inNetwork }, work);

  step("a node runs as a user that the image does not know, and another node serves beside it", async () => {
    // Platforms such as OpenShift choose a user. The group may open the socket of PostgreSQL.
    const options = ["--detach", "--name", "arbitrary", "--no-deps", "--user", "1000770000:10001"];
    await compose("run", ...options, "godwit-1");
    await untilHealthy("arbitrary");
    assert.match(await docker.succeed(["docker", "exec", "arbitrary", "cat", "/proc/1/status"]), /^Uid:\t1000770000\t/m);
    await docker.succeed(["docker", "exec", `--env=GODWIT_KEY=${key}`, "arbitrary", "godwit", ...SEND]);
    await docker.succeed(["docker", "rm", "--force", "--volumes", "arbitrary"]);
  });

  const containerId = async (service: string): Promise<string> => (await compose("ps", "--quiet", "--no-trunc", service)).trim();

  step("no request fails while both nodes are restarted one after the other", async (context) => {
    const result = await load(async () => {
      await compose("restart", "godwit-1");
      await compose("up", "--detach", "--wait", "godwit-1");
      await compose("restart", "godwit-2");
      await compose("up", "--detach", "--wait", "godwit-2");
    });
    context.diagnostic(JSON.stringify(result));
    assert.deepEqual(result.failed, {});
    assert.ok(result.accepted > 50, String(result.accepted));
  });

  step("four workers stay below the memory limit for which compose.yaml has them", async (context) => {
    const variables = "GODWIT_WORKERS=4\nGODWIT_MEMORY=2g\n";
    writeFileSync(join(folder, "checkout", ".env"), variables, { flag: "a" });
    await compose("up", "--detach", "--wait");
    const id = await containerId("godwit-1");
    assert.equal(docker.cgroupValue(id, "memory.limit_in_bytes", "memory.max").trim(), String(2 * 2 ** 30));
    // A node is healthy when its first worker listens. A stop before the last one does would be the end of an unfinished start.
    await until("all workers of both nodes", async () => (await compose("logs")).match(/all workers listen/g)?.length === 2);
    assert.equal((await nodeProcesses()).length, 5);
    const result = await load(() => sleep(10_000));
    const peak = Number(docker.cgroupValue(id, "memory.max_usage_in_bytes", "memory.peak"));
    context.diagnostic(`${JSON.stringify(result)}, at most ${Math.round(peak / 2 ** 20)} MiB`);
    assert.deepEqual(result.failed, {});
    assert.match(docker.cgroupValue(id, "memory.oom_control", "memory.events"), /^oom_kill 0$/m);
    const format = "--format={{.RestartCount}} {{.State.OOMKilled}}";
    assert.equal((await docker.succeed(["docker", "inspect", format, id])).trim(), "0 false");
    assert.doesNotMatch(await compose("logs", "godwit-1"), /service\.worker_ended/);
  });
  const nodeProcesses = async (): Promise<string[]> =>
    (await compose("top", "godwit-1")).split("\n").filter((line) => line.includes("main.js"));

  step("a stop ends both nodes with code 0, and down removes the volumes", async () => {
    const ids = [await containerId("godwit-1"), await containerId("godwit-2")];
    await compose("stop");
    const logs = await compose("logs", "--tail=10", "godwit-1", "godwit-2");
    for (const id of ids) assert.equal((await docker.succeed(["docker", "inspect", "--format={{.State.ExitCode}}", id])).trim(), "0", logs);
    await compose("down", "--volumes");
    assert.equal(
      (await docker.succeed(["docker", "volume", "ls", "--quiet", "--filter", "label=com.docker.compose.project=godwit"])).trim(),
      "",
    );
  });
});
