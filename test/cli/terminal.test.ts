/** Commands at a terminal, which `script` makes: tables that fit its width, and a key that is typed without being shown. */
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { until } from "../support/expect.ts";
import { baseEnv, startGodwit, type Godwit } from "../support/harness.ts";
import { programPath } from "../support/programs.ts";

const hasScript = spawnSync("script", ["--version"]).status === 0;
const WIDTH = 72;

let godwit: Godwit;
let key: string;
let folder: string;
before(async () => {
  godwit = await startGodwit();
  key = await godwit.key();
  folder = mkdtempSync(join(tmpdir(), "godwit-terminal-"));
});
after(async () => {
  await godwit.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** Runs a command at a terminal. `type` waits for a text of the output, and enters a line. */
async function atTerminal(command: string, env: Record<string, string>, type?: { after: string; line: string }): Promise<string> {
  const line = `stty cols ${WIDTH}; ${process.execPath} ${programPath("godwit")} ${command}`;
  const child = spawn("script", ["-qec", line, "/dev/null"], {
    env: { ...baseEnv(), TERM: "xterm", NO_COLOR: "1", XDG_CONFIG_HOME: folder, ...env },
    stdio: ["pipe", "pipe", "ignore"],
  });
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
  const exit = new Promise((resolve) => child.once("close", resolve));
  if (type !== undefined) {
    await until(type.after, () => output.includes(type.after) || undefined);
    child.stdin.write(`${type.line}\r`);
  }
  await exit;
  return output.replaceAll("\r", "");
}

describe("at a terminal", { skip: hasScript ? false : "script is not installed" }, () => {
  test("a table fits the width, with relative times; --wide shows everything", async () => {
    const sent = await godwit.send(key, { body: "a long text ".repeat(20) });
    const env = { GODWIT_URL: godwit.url, GODWIT_KEY: key };
    const table = await atTerminal("messages list", env);
    assert.ok(table.includes(`${String(sent.json["id"])}  `), table);
    assert.match(table, /…/);
    assert.match(table, / s ago|now/);
    for (const line of table.split("\n")) assert.ok(line.length <= WIDTH, line);
    const wide = await atTerminal("messages list --wide", env);
    assert.ok(wide.includes("a long text ".repeat(20).trim()));
    assert.match(wide, /\d{4}-\d\d-\d\dT/);
  });

  test("login reads the key without showing it", async () => {
    const output = await atTerminal(`login --url ${godwit.url}`, {}, { after: "(not shown): ", line: key });
    assert.match(output, /profile +default/);
    assert.ok(!output.includes(key.slice(-30)), "the key is not shown");
    assert.ok(readFileSync(join(folder, "godwit", "profiles.json"), "utf8").includes(key));
  });
});
