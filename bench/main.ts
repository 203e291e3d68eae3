/** npm run bench -- NAME [flags]: runs one of the measurements in this folder. */
import { existsSync } from "node:fs";
import { join } from "node:path";

const BENCHMARKS = ["accept", "batch", "deliver", "gateway", "webhooks"];

const [name = "", ...rest] = process.argv.slice(2);
if (BENCHMARKS.includes(name) && existsSync(join(import.meta.dirname, `${name}.ts`))) {
  process.argv.splice(2, process.argv.length, ...rest);
  await import(`./${name}.ts`);
} else {
  process.stderr.write(`which one? ${BENCHMARKS.join(", ")}\n`);
  process.exitCode = 2;
}
