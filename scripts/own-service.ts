/** A service with an embedded database in a temporary folder, and a key with every scope, for scripts that show what the service does. */
import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { SCOPES } from "../src/access/scope.ts";

const ROOT = join(import.meta.dirname, "..");
const START_MS = 60_000;

export type OwnService = { url: string; key: string; stop: () => Promise<void> };

export async function startOwnService(environment: "test" | "live", keyName: string): Promise<OwnService> {
  const folder = mkdtempSync(join(tmpdir(), "godwit-script-"));
  const env = { ...process.env, GODWIT_PORT: "0", GODWIT_DATA_DIR: folder, GODWIT_WEBHOOK_ALLOW: "127.0.0.0/8", GODWIT_LOG: "json" };
  const child = spawn(process.execPath, ["src/main.ts", "serve"], { cwd: ROOT, env, stdio: ["ignore", "pipe", "inherit"] });
  const stop = async (): Promise<void> => {
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGTERM");
    await ended;
    rmSync(folder, { recursive: true, force: true });
  };
  const url = await readUrl(child);
  const args = ["keys", "create", "--environment", environment, "--name", keyName, "--scopes", SCOPES.join(","), "--json"];
  const made = spawnSync(process.execPath, ["src/main.ts", ...args], { cwd: ROOT, env, encoding: "utf8" });
  return { url, key: (JSON.parse(made.stdout) as { key: string }).key, stop };
}

const readUrl = (child: ChildProcess): Promise<string> =>
  new Promise((resolve, reject) => {
    if (child.stdout === null) return;
    const timer = setTimeout(() => reject(new Error("the service did not start")), START_MS);
    child.once("exit", () => reject(new Error("the service ended")));
    createInterface(child.stdout).on("line", (line) => {
      const found = /"url":"([^"]+)"/.exec(line)?.[1];
      if (found === undefined) return;
      clearTimeout(timer);
      resolve(found);
    });
  });
