/** Prints a line for each test file when it ends, and every failure in full. */
import { relative } from "node:path";
import type { run } from "node:test";

type Counts = { passed: number; failed: number; skipped: number };
type Ended = { file: string; isGreen: boolean; counts: Counts; ms: number };
type Failure = { name: string; place: string; error: Error & { failureType?: string; exitCode?: number; signal?: string } };

/** `closing` is the line that CI reads. */
export type Report = { isGreen: boolean; closing: string };

export const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;

const say = (text: string): void => void process.stdout.write(`${text}\n`);

export async function reportOf(stream: ReturnType<typeof run>, root: string): Promise<Report> {
  const ended: Ended[] = [];
  let isGreen = true;
  for await (const { type, data } of stream) {
    if (type === "test:stderr" || type === "test:stdout") process.stderr.write(data.message);
    else if (type === "test:summary") {
      isGreen &&= data.success;
      if (data.file === undefined) continue;
      const { passed, failed, cancelled, skipped } = data.counts;
      const counts = { passed, failed: failed + cancelled, skipped };
      ended.push({ file: relative(root, data.file), isGreen: data.success, counts, ms: data.duration_ms });
      sayEnded(ended.at(-1) as Ended);
    } else if (type === "test:fail" && data.details.type !== "suite") {
      isGreen = false;
      const place = data.file === undefined ? "" : `${relative(root, data.file)}:${data.line}`;
      sayFailure({ name: data.name, place, error: data.details.error });
    } else if (type === "test:pass" && typeof data.skip === "string") say(`- ${data.name}: skipped, ${data.skip}`);
  }
  sayGroups(ended);
  const total = (kind: keyof Counts): number => ended.reduce((sum, { counts }) => sum + counts[kind], 0);
  return { isGreen, closing: `${total("passed")} passed, ${total("failed")} failed, ${total("skipped")} skipped` };
}

function sayEnded({ file, isGreen, counts: { passed, failed, skipped }, ms }: Ended): void {
  const remarks = [...(failed > 0 ? [`${failed} failed`] : []), ...(skipped > 0 ? [`${skipped} skipped`] : [])];
  say(`${isGreen ? "✔" : "✖"} ${file} ${[`${passed} tests`, ...remarks, seconds(ms)].join(", ")}`);
}

function sayFailure({ name, place, error }: Failure): void {
  // The failed parts of a test are reported each by itself.
  if (error.failureType === "subtestsFailed") return;
  const { cause = error, exitCode, signal } = error;
  // Of a file whose process ended before its tests did.
  const end = signal ?? (exitCode === undefined ? "" : `exit code ${exitCode}`);
  say(`\n✖ ${place} ${name} ${end}\n${cause instanceof Error ? (cause.stack ?? cause.message) : String(cause)}\n`);
}

function sayGroups(ended: readonly Ended[]): void {
  say("\nTime of the files of each folder, of which several run at once:");
  for (const [group, files] of Map.groupBy(ended, ({ file }) => groupOf(file)))
    say(`  ${group}: ${files.length} files, ${seconds(files.reduce((sum, { ms }) => sum + ms, 0))}`);
}

/** The folder of a test file: `test/api`, `sdk`, `console` or `src`. */
const groupOf = (file: string): string => (file.startsWith("test/") ? file.split("/").slice(0, 2).join("/") : (file.split("/")[0] ?? ""));
