/** The real service as a separate process, with other timings: `serve-node.ts TIMINGS FLAGS…`. */
import { parseInput } from "../../../src/cli/command.ts";
import { runService, serve } from "../../../src/cli/serve.ts";
import type { Timings } from "../../../src/timings.ts";

const [timings = "", ...args] = process.argv.slice(2);
process.exitCode = await runService(parseInput(serve, args).flags, JSON.parse(timings) as Timings);
