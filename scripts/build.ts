/** Builds dist/ for the npm package: the source as JavaScript, and the migrations. A checkout does not need it. */
import { spawnSync } from "node:child_process";
import { cpSync, rmSync } from "node:fs";
import { join } from "node:path";

const ROOT = join(import.meta.dirname, "..");

rmSync(join(ROOT, "dist"), { recursive: true, force: true });
const { status } = spawnSync(join(ROOT, "node_modules", ".bin", "tsc"), ["-p", "tsconfig.build.json"], { cwd: ROOT, stdio: "inherit" });
if (status === 0) cpSync(join(ROOT, "src", "database", "migrations"), join(ROOT, "dist", "database", "migrations"), { recursive: true });
else process.exitCode = 1;
