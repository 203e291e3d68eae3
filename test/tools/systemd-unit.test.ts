/** The systemd unit of the package under a real systemd, in a container of systemd-nspawn: installed with the commands of docs/go-live.md. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before } from "node:test";
import { VERSION } from "../../src/version.ts";
import { atEnd } from "../support/at-end.ts";
import { childOf, endNamespaces, removeCgroups } from "../support/namespaces.ts";
import { bootTree, debianTree, lastLines, whyNoTrees } from "../support/debian-tree.ts";
import { missingPackages } from "../support/debian-package.ts";
import { until } from "../support/expect.ts";
import { step } from "../support/steps.ts";
import { isRegistryReachable, npm } from "./user-npm.ts";

const ROOT = join(import.meta.dirname, "..", "..");
const NPM_MS = 280_000;
const COMMAND_MS = 120_000;
const PACKAGES = ["systemd", "systemd-sysv", "dbus"];
const CGROUP = `godwit-unit-${process.pid}`;

let folder: string;
let tree: string;
/** The systemd of the container. */
let leader: number;

before(() => (folder = mkdtempSync(join(tmpdir(), "godwit-unit-"))));
// The functions of atEnd, which stop the container, run before this one.
after(() => rmSync(folder, { recursive: true, force: true }));

/** Runs a shell command as root beside the systemd of the container. */
function shell(command: string, env: Record<string, string> = {}): { status: number | null; stdout: string; stderr: string } {
  const variables = Object.entries({ PATH: "/usr/sbin:/usr/bin:/sbin:/bin", HOME: "/root", ...env }).map(
    ([name, value]) => `${name}=${value}`,
  );
  const args = ["--target", String(leader), "--all", "env", "--ignore-environment", "--chdir=/root", ...variables, "sh", "-euc", command];
  return spawnSync("nsenter", args, { encoding: "utf8", timeout: COMMAND_MS });
}

function succeed(command: string, env: Record<string, string> = {}): string {
  const { status, stdout, stderr } = shell(command, env);
  assert.equal(status, 0, `${command}\n${stdout}${stderr}`);
  return stdout.trim();
}

const property = (name: string): string => succeed(`systemctl show --value --property=${name} godwit`);
const journal = (): string => succeed("journalctl --unit godwit --output cat");

step("Debian has the packages of systemd", async () => {
  const missing = whyNoTrees() ?? missingPackages([["systemd-container", "/usr/bin/systemd-nspawn"]]);
  if (missing !== undefined) return missing;
  const found = debianTree("systemd", "bookworm", PACKAGES);
  if ("missing" in found) return found.missing;
  tree = found.path;
  return undefined;
});

step("npm packs the package", async () => {
  const packed = npm(["pack", "--json", "--pack-destination", folder], ROOT, NPM_MS);
  assert.equal(packed.status, 0, packed.stderr);
});

step("npm installs the package into the folder of its version", async () => {
  const prefix = join(folder, "upper", "opt", `godwit-${VERSION}`);
  mkdirSync(prefix, { recursive: true });
  const source = isRegistryReachable() ? "--prefer-offline" : "--offline";
  const args = ["install", "--global", "--prefix", prefix, source, "--no-audit", "--no-fund", "--loglevel=error"];
  const { status, stderr } = npm([...args, join(folder, `godwit-${VERSION}.tgz`)], folder, NPM_MS);
  if (stderr.includes("ENOTCACHED")) return "the registry cannot be reached, and npm has no copies";
  assert.equal(status, 0, stderr);
  return undefined;
});

step("the container boots", async () => {
  const container = bootTree(tree, folder, CGROUP);
  atEnd(async () => {
    await endNamespaces(container);
    await removeCgroups(CGROUP);
  });
  // unshare, systemd-nspawn, systemd.
  const findLeader = (): number | undefined => {
    assert.equal(container.exitCode, null, lastLines(folder));
    const pid = childOf(childOf(container.pid));
    return pid !== 0 && readFileSync(`/proc/${pid}/comm`, "utf8").trim() === "systemd" ? pid : undefined;
  };
  leader = await until(() => `systemd to start: ${lastLines(folder)}`, findLeader, COMMAND_MS);
  const isRunning = (): boolean => /^(running|degraded)$/m.test(shell("systemctl is-system-running").stdout);
  await until(() => `systemd to be running: ${lastLines(folder)}`, isRunning, COMMAND_MS);
});

const INSTALL = `
ln -sfT godwit-${VERSION} /opt/godwit
cd /opt/godwit/lib/node_modules/godwit/packaging
install -m 0644 godwit.sysusers /usr/lib/sysusers.d/godwit.conf && systemd-sysusers
install -m 0644 godwit.service /etc/systemd/system/godwit.service
install -d -m 0755 /etc/godwit
/opt/godwit/bin/godwit init /etc/godwit/godwit.toml
echo "GODWIT_CONFIG='/etc/godwit/godwit.toml'" | install -m 0600 /dev/stdin /etc/godwit/godwit.env
systemctl daemon-reload && systemctl enable --now godwit
`;

step("the commands of docs/go-live.md install and start the service, and a message is delivered", async () => {
  const page = readFileSync(join(ROOT, "docs", "go-live.md"), "utf8");
  for (const line of INSTALL.trim().split("\n")) assert.ok(page.includes(`\n${line}\n`), line);
  succeed(INSTALL);
  assert.equal(property("ActiveState"), "active");
  assert.match(await sendMessage(), /delivered/);
});

async function sendMessage(): Promise<string> {
  const key = /gw_test_\w+/.exec(journal())?.[0] ?? "";
  return succeed('/opt/godwit/bin/godwit send --to +14155550123 --body "Hello from Godwit" --wait', { GODWIT_KEY: key });
}

step("the service has no capabilities, and can write only to its own folder", async () => {
  const pid = property("MainPID");
  const status = succeed(`cat /proc/${pid}/status`);
  for (const line of ["NoNewPrivs:\t1", "CapEff:\t0000000000000000", "CapBnd:\t0000000000000000", "Seccomp:\t2"])
    assert.ok(status.includes(line), line);
  const canWrite = (path: string): boolean => {
    const asService = `nsenter --target ${pid} --mount setpriv --reuid=godwit --regid=godwit --clear-groups`;
    return shell(`${asService} sh -c 'touch ${path}/probe && rm ${path}/probe'`).status === 0;
  };
  assert.deepEqual(["/var/lib/godwit", "/tmp", "/etc/godwit", "/opt/godwit", "/var/lib", "/home", "/"].map(canWrite), [
    true,
    true,
    false,
    false,
    false,
    false,
    false,
  ]);
  // Root cannot write either in the view of the service.
  assert.match(shell(`nsenter --target ${pid} --mount touch /etc/probe`).stderr, /Read-only file system/);
});

step("reload changes the links, and keeps the process", async () => {
  const pid = property("MainPID");
  const webhook = "\n[[link]]\nname = 'second'\nprovider = 'simulator'\n";
  succeed(`cat >> /etc/godwit/godwit.toml <<'END'${webhook}END\nsystemctl reload godwit`);
  const godwit = "set -a; . /etc/godwit/godwit.env; GODWIT_DATA_DIR=/var/lib/godwit /opt/godwit/bin/godwit";
  await until("the new link", () => /second/.test(shell(`${godwit} links`).stdout), COMMAND_MS);
  assert.equal(property("MainPID"), pid);
});

const NEXT = "9.8.7";
const SWITCH = `
ln -sfT godwit-$NEW /opt/godwit
install -m 0644 /opt/godwit/lib/node_modules/godwit/packaging/godwit.service /etc/systemd/system/godwit.service
systemctl daemon-reload
systemctl restart godwit
`;

step("the commands of docs/upgrading.md change to the next version and back", async () => {
  const page = readFileSync(join(ROOT, "docs", "upgrading.md"), "utf8");
  for (const version of ["NEW", "OLD"])
    for (const line of SWITCH.replace("NEW", version).trim().split("\n")) assert.ok(page.includes(`\n${line}\n`), line);
  const next = `/opt/godwit-${NEXT}`;
  succeed(`cp -a /opt/godwit-${VERSION} ${next}`);
  succeed(`sed -i 's/"version": "${VERSION}"/"version": "${NEXT}"/' ${next}/lib/node_modules/godwit/package.json`);
  for (const version of [NEXT, VERSION]) {
    succeed(SWITCH, { NEW: version });
    assert.equal(succeed(`readlink /proc/${property("MainPID")}/exe`).split("/")[2], `godwit-${version}`);
    assert.match(succeed("/opt/godwit/bin/godwit version"), new RegExp(`^godwit ${RegExp.escape(version)} `));
    assert.match(await sendMessage(), /delivered/);
  }
});

step("systemd starts the service again after kill -9, with the embedded database", async () => {
  succeed("systemctl kill --kill-who=main --signal=KILL godwit");
  await until("a restart", () => property("NRestarts") === "1" && property("ActiveState") === "active", COMMAND_MS);
  assert.match(await sendMessage(), /delivered/);
});

step("a stop ends the service and its database without an error", async () => {
  succeed("systemctl stop godwit");
  assert.deepEqual([property("Result"), property("ExecMainStatus")], ["success", "0"]);
  assert.equal(succeed("cat /var/lib/godwit/postgres/postmaster.pid 2>/dev/null || echo stopped"), "stopped");
});

step("the start of a faulty configuration fails once, with code 2", async () => {
  succeed("echo 'no TOML' >> /etc/godwit/godwit.toml");
  assert.notEqual(shell("systemctl start godwit").status, 0);
  assert.deepEqual([property("ActiveState"), property("ExecMainStatus"), property("NRestarts")], ["failed", "2", "0"]);
});
