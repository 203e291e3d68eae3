/** Emits dist/: JavaScript and types. Uses the compiler of the root; the one in this workspace is only for openapi-typescript. */
import { execFileSync } from "node:child_process";
import { globSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

const SDK = join(import.meta.dirname, "..");
const require = createRequire(join(SDK, "..", "package.json"));
const compiler = join(dirname(require.resolve("typescript/package.json")), "bin", "tsc");

rmSync(join(SDK, "dist"), { recursive: true, force: true });
execFileSync(process.execPath, [compiler, "-p", SDK], { stdio: "inherit" });

// The compiler leaves `.ts` in the imports of declarations. It resolves them itself; other tools may not.
for (const path of globSync(join(SDK, "dist", "*.d.ts")))
  writeFileSync(path, readFileSync(path, "utf8").replaceAll(/(from "\.\/[\w-]+)\.ts"/g, '$1.js"'));
