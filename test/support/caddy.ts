/** Caddy with the Caddyfile of the package, on a free port of loopback and with a certificate for localhost. */
import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { atEnd } from "./at-end.ts";
import { missingPackages } from "./debian-package.ts";
import { until } from "./expect.ts";
import { freePort } from "./free-port.ts";

const CADDYFILE = join(import.meta.dirname, "..", "..", "packaging", "Caddyfile");
const DOMAIN = "localhost";

/** The reason why tests with Caddy are skipped, after an attempt to install it. */
export const whyNoCaddy = (): string | false =>
  spawnSync("caddy", ["version"], { stdio: "ignore" }).error !== undefined && (missingPackages([["caddy", "/usr/bin/caddy"]]) ?? false);

type Adapted = { apps: { http: { servers: Record<string, Record<string, unknown>> } & Record<string, unknown> } & Record<string, unknown> };

/** Caddy writes its files to the folder. */
const environment = (folder: string): Record<string, string> => ({
  PATH: process.env["PATH"] ?? "",
  HOME: folder,
  XDG_DATA_HOME: folder,
  XDG_CONFIG_HOME: folder,
});

/** Runs a command of Caddy on the Caddyfile of the package, and returns its output. */
export function caddyCommand(command: "adapt" | "validate" | "fmt", env: Record<string, string> = {}): string {
  const args = command === "fmt" ? [CADDYFILE] : ["--config", CADDYFILE, "--adapter", "caddyfile"];
  const { status, stdout, stderr } = spawnSync("caddy", [command, ...args], {
    env: { ...environment(tmpdir()), ...env },
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(`caddy ${command}: ${stdout}${stderr}`);
  return stdout;
}

export class Caddy {
  readonly port: number;
  /** The certificate of the authority that Caddy has created. */
  readonly ca: string;
  readonly #child: ChildProcess;
  readonly #folder: string;

  private constructor(child: ChildProcess, folder: string, { port, ca }: { port: number; ca: string }) {
    this.#child = child;
    this.#folder = folder;
    this.port = port;
    this.ca = ca;
  }

  get url(): string {
    return `https://${DOMAIN}:${this.port}`;
  }

  /** `upstreams` are the URLs of the services. */
  static async start(upstreams: readonly string[]): Promise<Caddy> {
    const folder = mkdtempSync(join(tmpdir(), "godwit-caddy-"));
    const port = await freePort();
    const config = JSON.parse(
      caddyCommand("adapt", { GODWIT_DOMAIN: DOMAIN, GODWIT_UPSTREAMS: upstreams.map((url) => new URL(url).host).join(" ") }),
    ) as Adapted;
    const [server] = Object.values(config.apps.http.servers);
    Object.assign(server ?? {}, { listen: [`127.0.0.1:${port}`], automatic_https: { disable_redirects: true } });
    Object.assign(config.apps.http, { https_port: port });
    const file = join(folder, "caddy.json");
    writeFileSync(file, JSON.stringify({ ...config, admin: { disabled: true } }));
    const child = spawn("caddy", ["run", "--config", file], { env: environment(folder), stdio: "ignore" });
    const root = join(folder, "caddy", "pki", "authorities", "local", "root.crt");
    const leaf = join(folder, "caddy", "certificates", "local", DOMAIN, `${DOMAIN}.crt`);
    await until("the certificate of Caddy", () => (existsSync(root) && existsSync(leaf)) || undefined);
    const caddy = new Caddy(child, folder, { port, ca: readFileSync(root, "utf8") });
    atEnd(() => caddy.stop());
    return caddy;
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) {
      this.#child.kill("SIGKILL");
      await once(this.#child, "exit");
    }
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
