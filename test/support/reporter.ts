/** Prints a line for each test file when it ends, and every failure in full. */
import { relative } from "node:path";
import type { run } from "node:test";

type Counts = { passed: number; failed: number; skipped: number };

/** `closing` is the line that CI reads. */
export type Report = { isGreen: boolean; closing: string };

const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;

export async function reportOf(stream: ReturnType<typeof run>, root: string): Promise<Report> {
  const total: Counts = { passed: 0, failed: 0, skipped: 0 };
  const say = (text: string): void => void process.stdout.write(`${text}\n`);
  let isGreen = true;
  for await (const { type, data } of stream) {
    if (type === "test:stderr" || type === "test:stdout") process.stderr.write(data.message);
    else if (type === "test:summary" && data.file === undefined) isGreen &&= data.success;
    else if (type === "test:summary") {
      const { passed, skipped } = data.counts;
      const failed = data.counts.failed + data.counts.cancelled;
      total.passed += passed;
      total.failed += failed;
      total.skipped += skipped;
      const remarks = [...(failed > 0 ? [`${failed} failed`] : []), ...(skipped > 0 ? [`${skipped} skipped`] : [])];
      say(
        `${data.success ? "✔" : "✖"} ${relative(root, data.file ?? "")} ${[`${passed} tests`, ...remarks, seconds(data.duration_ms)].join(", ")}`,
      );
    } else if (type === "test:fail" && data.details.type !== "suite") {
      isGreen = false;
      const { cause, failureType } = data.details.error as Error & { failureType?: string };
      if (failureType !== "subtestsFailed")
        say(
          `\n✖ ${data.file === undefined ? "" : `${relative(root, data.file)}:${data.line}`} ${data.name}\n${inspect(cause ?? data.details.error)}\n`,
        );
    }
    if (type === "test:pass" && typeof data.skip === "string") say(`- ${data.name}: skipped, ${data.skip}`);
  }
  return { isGreen, closing: `${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped` };
}

const inspect = (error: unknown): string => (error instanceof Error ? (error.stack ?? error.message) : String(error));
