/** Runs the checks that need no tests: types, lint, format, dead code and words. Prints how long each took, and the output of those that fail. */
import { spawn } from "node:child_process";
import { join } from "node:path";

const ROOT = join(import.meta.dirname, "..");
// The checks use several threads each. More of them at once only makes them wait for each other.
const AT_ONCE = 2;

/** The longest first. */
const CHECKS: readonly (readonly [program: string, ...args: string[]])[] = [
  ["oxlint"],
  ["tsc", "-p", "."],
  ["knip"],
  ["tsc", "-p", "console"],
  ["tsc", "-p", "site"],
  ["tsc", "-p", "sdk", "--noEmit"],
  ["oxfmt", "--check"],
  ["node", "scripts/check-words.ts"],
];

async function check([program, ...args]: (typeof CHECKS)[number]): Promise<boolean> {
  const startedAt = performance.now();
  const child = spawn(join(ROOT, "node_modules", ".bin", program), args, { cwd: ROOT, stdio: ["ignore", "pipe", "pipe"] });
  const output: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => output.push(chunk));
  const code = await new Promise<number | null>((resolve, reject) => child.on("error", reject).on("close", resolve));
  const took = `${((performance.now() - startedAt) / 1_000).toFixed(1)} s`;
  process.stdout.write(`${code === 0 ? "✔" : "✖"} ${[program, ...args].join(" ")} ${took}\n`);
  if (code !== 0) process.stdout.write(Buffer.concat(output));
  return code === 0;
}

const waiting = CHECKS.values();
let isGreen = true;
const work = async (): Promise<void> => {
  for (const each of waiting) if (!(await check(each))) isGreen = false;
};
await Promise.all(Array.from({ length: AT_ONCE }, work));
if (!isGreen) process.exitCode = 1;
