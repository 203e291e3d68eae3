/** The reporter inside a test process: passes the results of its tests to the runner, a line of JSON each, with the processor time that the
 *  process and the processes below it have used. */
import { writeSync } from "node:fs";
import { processorMs } from "./processor-time.ts";
import type { TestEvent } from "node:test/reporters";

/** The descriptor on which the runner listens. A write that blocks loses nothing when the process ends. */
export const RESULTS_FD = 3;

export type Result =
  | {
      kind: "test";
      name: string;
      isSuite: boolean;
      /** Whether the test or suite is inside no other. */
      isTop: boolean;
      outcome: "passed" | "failed" | "skipped";
      reason: string;
      place: string;
      ms: number;
      processorMs: number | undefined;
    }
  | { kind: "note"; text: string }
  | { kind: "end"; processorMs: number | undefined };

const pass = (result: Result): void => void writeSync(RESULTS_FD, `${JSON.stringify(result)}\n`);

// Node takes the default export of a reporter.
// oxlint-disable-next-line import/no-default-export
export default async function* report(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  process.once("exit", () => pass({ kind: "end", processorMs: processorMs() }));
  for await (const { type, data } of events) {
    if (type === "test:stdout" || type === "test:stderr") yield data.message;
    else if (type === "test:diagnostic") pass({ kind: "note", text: data.message });
    else if (type === "test:pass" || type === "test:fail") {
      const isSuite = data.details.type === "suite";
      const error = type === "test:fail" ? data.details.error : undefined;
      // Each failed subtest is reported separately. A suite fails for another reason if its file or a hook throws.
      const isReported = error !== undefined && "failureType" in error && error.failureType === "subtestsFailed";
      pass({
        kind: "test",
        name: data.name,
        isSuite,
        isTop: data.nesting === 0,
        outcome: error !== undefined && !isReported ? "failed" : data.skip === undefined ? "passed" : "skipped",
        reason: error === undefined ? String(data.skip ?? "") : stackOf(error.cause ?? error),
        place: `${data.file ?? ""}:${data.line ?? ""}`,
        ms: data.details.duration_ms,
        processorMs: isSuite && data.nesting === 0 ? processorMs() : undefined,
      });
    }
  }
}

/** The stack of an error, and those of its causes. */
function stackOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const stack = error.stack ?? error.message;
  return error.cause === undefined ? stack : `${stack}\ncaused by ${stackOf(error.cause)}`;
}
