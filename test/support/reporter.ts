/** Prints a line for each test file when it ends, every failure in full, and all failures again at the end of the output, where they are
 *  found without searching, also where only the end was kept. */
import { relative } from "node:path";
import type { run } from "node:test";

type Counts = { passed: number; failed: number; skipped: number };
type Ended = { file: string; counts: Counts; ms: number };
type Failure = { name: string; place: string; error: Error & { failureType?: string; exitCode?: number; signal?: string } };

/** `closing` is the line that CI reads. */
export type Report = { isGreen: boolean; closing: string };

export const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;

const SHOWS_FIGURES = process.env["GODWIT_TEST_FIGURES"] === "1";

const say = (text: string): void => void process.stdout.write(`${text}\n`);

/** Reports the runs of `files`. A process runs one file, or several as suites that have the names of the files. */
export async function reportOf(stream: ReturnType<typeof run>, root: string, files: ReadonlySet<string>): Promise<Report> {
  const ended: Ended[] = [];
  const failures: Failure[] = [];
  let isGreen = true;
  let counts: Counts = { passed: 0, failed: 0, skipped: 0 };
  const end = (file: string, ms: number): void => {
    ended.push({ file, counts, ms });
    sayEnded({ file, counts, ms });
    counts = { passed: 0, failed: 0, skipped: 0 };
  };
  // The events of one process come together, those of a test before those of the suite that it is in.
  for await (const { type, data } of stream) {
    if (type === "test:stderr" || type === "test:stdout") process.stderr.write(data.message);
    // An error that no test waits for fails the process of its file. The figures of tests are for those who ask.
    else if (type === "test:diagnostic" && (data.message.startsWith("Error:") || SHOWS_FIGURES)) say(data.message);
    else if (type === "test:summary") {
      isGreen &&= data.success;
      const file = data.file === undefined ? "" : relative(root, data.file);
      if (files.has(file)) end(file, data.duration_ms);
    } else if (type === "test:pass" || type === "test:fail") {
      const isSuite = data.details.type === "suite";
      if (type === "test:fail") {
        const place = data.file === undefined ? "" : `${relative(root, data.file)}:${data.line}`;
        const error: Failure["error"] = data.details.error;
        // Each failed subtest is reported separately. A suite fails for another reason if its file or a hook throws.
        const isReported = error.failureType === "subtestsFailed";
        if (!isReported) {
          failures.push({ name: data.name, place, error });
          sayFailure({ name: data.name, place, error });
        }
        if (!isSuite || !isReported) counts.failed += 1;
      } else if (!isSuite) {
        counts[data.skip === undefined ? "passed" : "skipped"] += 1;
        if (typeof data.skip === "string") say(`- ${data.name}: skipped, ${data.skip}`);
      }
      if (isSuite && files.has(data.name)) end(data.name, data.details.duration_ms);
    }
  }
  sayGroups(ended);
  if (failures.length > 0) say("\nWhat failed:");
  for (const failure of failures) sayFailure(failure);
  const total = (kind: keyof Counts): number => ended.reduce((sum, each) => sum + each.counts[kind], counts[kind]);
  return {
    isGreen: isGreen && total("failed") === 0,
    closing: `${total("passed")} passed, ${total("failed")} failed, ${total("skipped")} skipped`,
  };
}

function sayEnded({ file, counts: { passed, failed, skipped }, ms }: Ended): void {
  const remarks = [...(failed > 0 ? [`${failed} failed`] : []), ...(skipped > 0 ? [`${skipped} skipped`] : [])];
  say(`${failed === 0 ? "✔" : "✖"} ${file} ${[`${passed} tests`, ...remarks, seconds(ms)].join(", ")}`);
}

function sayFailure({ name, place, error }: Failure): void {
  const { cause = error, exitCode, signal } = error;
  // The process of a file can end before its tests.
  const end = signal ?? (exitCode === undefined ? "" : `exit code ${exitCode}`);
  say(`\n✖ ${place} ${name} ${end}\n${stackOf(cause)}\n`);
}

/** The stack of an error, and those of its causes. */
function stackOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const stack = error.stack ?? error.message;
  return error.cause === undefined ? stack : `${stack}\ncaused by ${stackOf(error.cause)}`;
}

function sayGroups(ended: readonly Ended[]): void {
  say("\nTime of the files of each folder, of which several run at once:");
  for (const [group, files] of Map.groupBy(ended, ({ file }) => groupOf(file)))
    say(`  ${group}: ${files.length} files, ${seconds(files.reduce((sum, { ms }) => sum + ms, 0))}`);
}

/** The folder of a test file: `test/api`, `sdk`, `console` or `src`. */
const groupOf = (file: string): string => (file.startsWith("test/") ? file.split("/").slice(0, 2).join("/") : (file.split("/")[0] ?? ""));
