/** A fixed program of the kind of work that tests do: start Node, strip types, compile, read and write JSON, hash, allocate. Prints the
 *  processor time that it used, in milliseconds. */
import { createHash } from "node:crypto";
import { stripTypeScriptTypes } from "node:module";
import { runInThisContext } from "node:vm";

const ROUNDS = 15;
// Node warns that the function is experimental.
process.removeAllListeners("warning");

const source = Array.from({ length: 150 }, (_, index) => `function f${index}(n: number): string { return "item " + (n * ${index}); }\n`);
let digest = "";
for (let round = 0; round < ROUNDS; round += 1) {
  const f = runInThisContext(stripTypeScriptTypes(`(() => { ${source.join("")} return f${round}; })() // ${round}`)) as (
    n: number,
  ) => string;
  const rows = Array.from({ length: 1_000 }, (_, index) => ({ id: index, text: f(index), tags: [digest, String(index)] }));
  const text = JSON.stringify(JSON.parse(JSON.stringify(rows)));
  digest = createHash("sha256").update(text).digest("hex");
}
const { user, system } = process.cpuUsage();
process.stdout.write(`${(user + system) / 1_000}\n`);
