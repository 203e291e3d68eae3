/** Redocly's validating proxy between a test's client and the service. The proxy checks requests and responses against the schemas and the
 *  security requirements of docs/openapi.json, independently of our own code. GODWIT_CONTRACT_PROXY=1 makes test/support/harness.ts put a
 *  proxy in front of every service that it starts. */
import { spawn, type ChildProcess } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { poll } from "../../src/lib/wait.ts";
import { violationsOf, type Exchange, type Finding } from "./contract.ts";
import { DOCUMENT, QUIET, REDOCLY, ROOT } from "./redocly.ts";

const START_TIMEOUT_MS = 30_000;
// The proxy waits for outstanding responses, and then writes its report.
const STOP_TIMEOUT_MS = 20_000;

type Sarif = {
  runs: { results: { ruleId: string; level: Finding["level"]; message: { text: string }; properties: Finding["about"] }[] }[];
};

/** The methods that the proxy supports. The document does not describe responses to other methods. */
const METHODS = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);

export const isContractRun = (): boolean => process.env["GODWIT_CONTRACT_PROXY"] === "1";

export class ContractProxy {
  readonly url: string;
  readonly #child: ChildProcess;
  readonly #folder: string;
  readonly #report: () => string;
  readonly #orphaned: () => void;
  #isClosed = false;

  private constructor(url: string, run: { child: ChildProcess; folder: string; report: () => string; orphaned: () => void }) {
    this.url = url;
    this.#child = run.child;
    this.#folder = run.folder;
    this.#report = run.report;
    this.#orphaned = run.orphaned;
  }

  static async start(target: string): Promise<ContractProxy> {
    const folder = mkdtempSync(join(tmpdir(), "godwit-contract-"));
    const files = ["--har", join(folder, "traffic.har"), "--api", DOCUMENT, "--config", join(ROOT, "redocly.yaml")];
    const args = [REDOCLY, "proxy", "--target", target, "--port", "0", "--report-format", "sarif", ...files];
    const child = spawn(process.execPath, args, { cwd: folder, env: QUIET, stdio: ["ignore", "pipe", "pipe"] });
    // A test that ends without stopping its service leaves no process behind.
    const orphaned = (): void => void child.kill("SIGKILL");
    process.once("exit", orphaned);
    let report = "";
    let stderr = "";
    child.stdout.on("data", (chunk: Buffer) => (report += chunk.toString()));
    // The proxy also prints every finding here; only the beginning is needed.
    child.stderr.on("data", (chunk: Buffer) => (stderr = `${stderr}${chunk.toString()}`.slice(0, 10_000)));
    const listening = async () => /listening on (http:\S+)/.exec(stderr)?.[1];
    const url = await poll(listening, { timeoutMs: START_TIMEOUT_MS, everyMs: 20 });
    if (url === undefined) throw new Error(`the proxy did not start: ${stderr}`);
    return new ContractProxy(url, { child, folder, report: () => report, orphaned });
  }

  supports(method: string): boolean {
    return METHODS.has(method);
  }

  /** Stops the proxy and returns the violations of the document, one per line. A second call returns none. */
  async close(): Promise<string[]> {
    if (this.#isClosed) return [];
    this.#isClosed = true;
    return this.#close();
  }

  async #close(): Promise<string[]> {
    const ended = new Promise<void>((resolve) => this.#child.once("close", () => resolve()));
    this.#child.kill("SIGTERM");
    const limit = setTimeout(() => this.#child.kill("SIGKILL"), STOP_TIMEOUT_MS);
    await ended;
    clearTimeout(limit);
    process.off("exit", this.#orphaned);
    try {
      return violationsOf(this.#exchanges(), this.#findings());
    } finally {
      rmSync(this.#folder, { recursive: true, force: true });
    }
  }

  #findings(): Finding[] {
    const { runs } = JSON.parse(this.#report()) as Sarif;
    return runs.flatMap(({ results }) =>
      results.map(({ ruleId, level, message, properties }) => ({ rule: ruleId, level, text: message.text, about: properties })),
    );
  }

  #exchanges(): Exchange[] {
    type Header = { name: string; value: string };
    type Har = { log: { entries: { request: { method: string; url: string }; response: { status: number; headers: Header[] } }[] } };
    const { log } = JSON.parse(readFileSync(join(this.#folder, "traffic.har"), "utf8")) as Har;
    return log.entries.map(({ request: { method, url }, response: { status, headers } }) => ({
      method,
      path: new URL(url).pathname,
      status,
      headers: new Map(headers.map(({ name, value }) => [name.toLowerCase(), value])),
    }));
  }
}
