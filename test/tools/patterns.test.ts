/** Every regular expression that the source makes of constants with `new RegExp` matches any text in linear time. The linter checks literals, and
 *  allows `new RegExp` only outside of functions, so that all of them are made when their files are loaded. */
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { findSuperLinear } from "../../scripts/lint-rules.ts";

const ROOT = join(import.meta.dirname, "../..");

test("every regular expression that is made of constants is linear", async () => {
  const made = new Map<string, string>();
  const Native = RegExp;
  globalThis.RegExp = class extends Native {
    constructor(source: string | RegExp, flags?: string) {
      super(source, flags);
      const [, , caller = ""] = new Error().stack?.split("\n") ?? [];
      if (caller.includes("/src/")) made.set(caller.trim(), findSuperLinear(this.source, this.flags) ?? "");
    }
  } as RegExpConstructor;
  try {
    const files = globSync("src/**/*.ts", { cwd: ROOT }).filter(
      (path) => !path.endsWith(".test.ts") && readFileSync(join(ROOT, path), "utf8").includes("new RegExp("),
    );
    for (const path of files) await import(pathToFileURL(join(ROOT, path)).href);
    assert.ok(made.size >= files.length, `${made.size} expressions of ${files.length} files`);
  } finally {
    globalThis.RegExp = Native;
  }
  assert.deepEqual(
    [...made].filter(([, fault]) => fault !== ""),
    [],
  );
});
