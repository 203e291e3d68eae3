/** npm as a user of the package runs it: with the system's programs, and without the variables of the npm that runs the tests. */
import { spawnSync } from "node:child_process";
import { tmpdir } from "node:os";
import { delimiter, dirname } from "node:path";

// A registry that needs longer to return one version counts as unreachable.
const PROBE = ["--prefer-online", "--fetch-retries=0", "--fetch-timeout=10000"];
const PROBE_TIMEOUT_MS = 60_000;

/** The environment of a user. The variables that npm sets for its scripts would point the inner npm to this checkout. */
const environment = (): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(npm_|GODWIT_|DATABASE_URL|NODE_|INIT_CWD$)/i.test(name)));

/** Without the programs of the packages of this checkout. */
const systemPath = (): string[] => (process.env["PATH"] ?? "").split(delimiter).filter((each) => !each.includes("node_modules"));

/** The settings and the cache of this machine's npm. npm looks for its global settings next to the Node that runs it, and would not
 *  find them (the registry, its certificates, a proxy) when another one does. */
function readNpmSettings(): NodeJS.ProcessEnv {
  const env = { ...process.env, PATH: systemPath().join(delimiter) };
  const { stdout } = spawnSync("npm", ["config", "list", "--json"], { cwd: tmpdir(), env, encoding: "utf8" });
  const settings = JSON.parse(stdout) as Record<string, string>;
  return Object.fromEntries(["globalconfig", "userconfig", "registry", "cache"].map((name) => [`npm_config_${name}`, settings[name]]));
}

let npmSettings: NodeJS.ProcessEnv | undefined;

/** The environment with this Node first, or with only the system's programs and any Node among them. */
export function userEnvironment(node?: string): NodeJS.ProcessEnv {
  npmSettings ??= readNpmSettings();
  return { ...environment(), ...npmSettings, PATH: [...(node === undefined ? [] : [dirname(node)]), ...systemPath()].join(delimiter) };
}

/** Runs npm with our own Node. */
export function npm(args: readonly string[], cwd: string, timeout: number): { status: number | null; stdout: string; stderr: string } {
  return spawnSync("npm", [...args], { cwd, env: userEnvironment(process.execPath), encoding: "utf8", timeout });
}

export const isRegistryReachable = (): boolean =>
  npm(["view", "canonicalize", "version", ...PROBE], tmpdir(), PROBE_TIMEOUT_MS).status === 0;
