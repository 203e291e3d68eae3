/** The Python SDK: it matches the OpenAPI document, runs the scenarios of sdk/scenarios.json with both clients, and passes its own tests. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { text } from "node:stream/consumers";
import { after, before, describe, test } from "node:test";
import { newVariables, playScenario, readScenarios, SCENARIOS_FILE } from "../../sdk/test/scenario.ts";
import { cachedFolder } from "../../test/support/cache.ts";
import { missingProgram, findPython } from "../../test/support/debian-package.ts";
import { startGodwit, type Godwit } from "../../test/support/harness.ts";
import { generated, missingOperations } from "../scripts/generate.ts";

const FOLDER = join(import.meta.dirname, "..");
const TIMEOUT_MS = 120_000;
const MYPY = "/usr/bin/mypy";

const python = findPython();
const skip = "missing" in python ? `the tests of the Python SDK are skipped: ${python.missing}` : false;

let godwit: Godwit;
let key: string;
before(async () => {
  if (skip !== false) return;
  godwit = await startGodwit({ roles: "api,dispatch", simulatorSpeed: 100 });
  await godwit.unlimited();
  key = await godwit.key();
});
after(async () => {
  if (skip === false) await godwit.stop();
});

async function runProgram(program: string, args: readonly string[], input: string, env: Record<string, string>) {
  const child = spawn(program, args, {
    cwd: FOLDER,
    timeout: TIMEOUT_MS,
    env: { PATH: process.env["PATH"], PYTHONDONTWRITEBYTECODE: "1", ...env },
  });
  child.stdin.end(input);
  const [output, errors, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close") as Promise<[number]>]);
  return { code, output: `${output}${errors}` };
}

/** Runs Python with the package of this checkout. */
async function runPython(args: readonly string[], input: string, env: Record<string, string>): Promise<void> {
  assert.ok("path" in python);
  const variables = { PYTHONPATH: join(FOLDER, "src"), ...env };
  const { code, output } = await runProgram(python.path, ["-W", "error::DeprecationWarning:godwit", ...args], input, variables);
  assert.equal(code, 0, output);
}

test("the generated files of the Python SDK are up to date: otherwise run node sdk-python/scripts/generate.ts", () => {
  for (const [path, content] of generated()) assert.equal(readFileSync(path, "utf8"), content, basename(path));
  assert.deepEqual(missingOperations(), [], "operations that sdk-python/scripts/resources.ts does not have");
});

// Starting Python takes longer than most scenarios.
const AT_ONCE = 4;
for (const mode of ["sync", "async"])
  describe(`the ${mode} client`, { skip, concurrency: AT_ONCE }, () => {
    for (const scenario of readScenarios())
      test(scenario.name, () =>
        playScenario(scenario, godwit, (url) =>
          runPython(["test/scenario.py", SCENARIOS_FILE, scenario.name, mode], JSON.stringify(newVariables()), {
            GODWIT_KEY: key,
            GODWIT_URL: url,
          }),
        ),
      );
  });

describe("types", () => {
  const missing = skip === false ? missingProgram("mypy", MYPY) : skip;
  const check = (...args: string[]): Promise<{ code: number; output: string }> =>
    runProgram(MYPY, ["--strict", "--enable-incomplete-feature=Unpack", `--cache-dir=${cachedFolder("mypy")}`, ...args], "", {
      MYPYPATH: "src",
    });

  test("of the package pass mypy --strict", { skip: missing ?? false }, async () => {
    const { code, output } = await check("src/godwit", "test/scenario.py", "test/test_godwit.py");
    assert.equal(code, 0, output);
  });

  test("of calls and records are known to the caller, and mistakes are found", { skip: missing ?? false }, async () => {
    const { output } = await check("test/typed/mistakes.py");
    const found = Array.from(output.matchAll(/^test.typed.mistakes\.py:(\d+): error/gm), ([, line]) => Number(line));
    const lines = readFileSync(join(FOLDER, "test", "typed", "mistakes.py"), "utf8").split("\n");
    const expected = lines.flatMap((line, index) => (line.includes("# mistake") ? [index + 1] : []));
    assert.deepEqual(found, expected, output);
  });
});

test("the tests in Python pass", { skip }, () =>
  runPython(["-m", "unittest", "discover", "-s", "test"], "", { TEST_KEY: key, TEST_URL: godwit.url }),
);
