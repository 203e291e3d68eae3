/** A log that keeps its lines for a test. */
import { logTo, type Log } from "../../src/model/log.ts";
import type { LogLine } from "./harness.ts";

export function keepLines(): { log: Log; lines: readonly LogLine[] } {
  const lines: LogLine[] = [];
  return { log: logTo({ write: (line) => void lines.push(JSON.parse(line) as LogLine) }).log, lines };
}
