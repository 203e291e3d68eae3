/** Commands at a terminal, which `script` makes: tables that fit its width. */
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { after, before, describe, test } from "node:test";
import { baseEnv, runGodwit, startGodwit, type Godwit } from "../support/harness.ts";
import { programPath } from "../support/programs.ts";

const hasScript = spawnSync("script", ["--version"]).status === 0;
const WIDTH = 72;

let godwit: Godwit;
before(async () => {
  godwit = await startGodwit();
});
after(() => godwit.stop());

/** Runs a command at a terminal. */
async function atTerminal(command: string, env: Record<string, string>): Promise<string> {
  const line = `stty cols ${WIDTH}; ${process.execPath} ${programPath("godwit")} ${command}`;
  const child = spawn("script", ["-qec", line, "/dev/null"], {
    env: { ...baseEnv(), TERM: "xterm", NO_COLOR: "1", ...env },
    stdio: ["ignore", "pipe", "ignore"],
  });
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
  await once(child, "close");
  return output.replaceAll("\r", "");
}

describe("at a terminal", { skip: hasScript ? false : "script is not installed" }, () => {
  test("a table fits the width, with relative times; --wide shows everything", async () => {
    const name = "an account with a name of more than sixty characters of width";
    const env = { DATABASE_URL: godwit.databaseUrl ?? "" };
    const created = await runGodwit(["accounts", "create", name, "--json"], env);
    const { id } = JSON.parse(created.stdout) as { id: string };
    const table = await atTerminal("accounts list", env);
    assert.ok(table.includes(`${id}  `), table);
    assert.match(table, /…/);
    assert.match(table, / s ago|now/);
    for (const line of table.split("\n")) assert.ok(line.length <= WIDTH, line);
    const wide = await atTerminal("accounts list --wide", env);
    assert.ok(wide.includes(name));
    assert.match(wide, /\d{4}-\d\d-\d\dT/);
  });
});
