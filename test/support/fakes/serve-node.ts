/** The real service as a separate process, with other timings: `serve-node.ts TIMINGS FLAGS…`. It ends with the process that started it,
 *  where that has given it a pipe as its input. */
import { fstatSync } from "node:fs";
import { parseInput } from "../../../src/cli/command.ts";
import { runService, serve } from "../../../src/cli/serve.ts";
import type { Timings } from "../../../src/timings.ts";

if (fstatSync(0).isFIFO() || fstatSync(0).isSocket())
  process.stdin
    .once("end", () => process.exit(1))
    .resume()
    .unref();

const [timings = "", ...args] = process.argv.slice(2);
process.exitCode = await runService(parseInput(serve, args).flags, JSON.parse(timings) as Timings);
