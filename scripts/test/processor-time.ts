/** Processor time of processes, from /proc. Other systems have none, and nothing is measured there. */
import { existsSync, readFileSync } from "node:fs";

// Linux reports times to programs in hundredths of a second, on every architecture.
const TICK_MS = 10;

/** The processor time of this process, and of all processes below it that have ended. Undefined without /proc. */
export function processorMs(): number | undefined {
  const path = "/proc/self/stat";
  if (!existsSync(path)) return undefined;
  // The name of the program, in parentheses, can contain spaces. Counted after it: utime, stime, cutime and cstime.
  const fields = readFileSync(path, "latin1").split(") ").at(-1)?.split(" ") ?? [];
  return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks) * TICK_MS, 0);
}
