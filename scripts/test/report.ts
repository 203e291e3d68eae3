/** Prints a line for each test file when it ends, every failure in full, and all failures again at the end of the output, where they are
 *  found without searching, also where only the end was kept. */
import { relative } from "node:path";
import type { Result } from "./child-reporter.ts";

type Counts = { passed: number; failed: number; skipped: number };
/** `processorMs`: of the processes of the file; undefined on a system without /proc. */
export type EndedFile = { file: string; counts: Counts; ms: number; processorMs: number | undefined };
type Failure = { file: string; name: string; place: string; reason: string };

const SHOWS_FIGURES = process.env["GODWIT_TEST_FIGURES"] === "1";
const MOST_EXPENSIVE = 20;

export const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;
const say = (text: string): void => void process.stdout.write(`${text}\n`);
const noCounts = (): Counts => ({ passed: 0, failed: 0, skipped: 0 });

export class Report {
  ended: EndedFile[] = [];
  readonly #root: string;
  #failures: Failure[] = [];
  /** The failures of files that ran again. */
  readonly #earlier: Failure[] = [];

  constructor(root: string) {
    this.#root = root;
  }

  get isGreen(): boolean {
    return this.#failures.length === 0;
  }

  get failedFiles(): string[] {
    return [...new Set(this.#failures.map(({ file }) => file))];
  }

  /** Begins a second run of a file. Its first run no longer counts, but stays in the closing report. */
  repeat(file: string): void {
    say(`\n${file} runs again, without other tests beside it`);
    const isOf = (each: { file: string }): boolean => each.file === file;
    this.#earlier.push(...this.#failures.filter(isOf));
    this.#failures = this.#failures.filter((each) => !isOf(each));
    this.ended = this.ended.filter((each) => !isOf(each));
  }

  /** The line that CI reads. */
  get closing(): string {
    const total = (kind: keyof Counts): number => this.ended.reduce((sum, { counts }) => sum + counts[kind], 0);
    return `${total("passed")} passed, ${total("failed")} failed, ${total("skipped")} skipped`;
  }

  /** Follows the results of one process. `end` takes the reason why the process did not end by itself. */
  follow(files: readonly string[]): { onResult: (result: Result) => void; end: (reason: string | undefined) => void } {
    const startedAt = performance.now();
    let counts = noCounts();
    let processorMs: number | undefined;
    let processorMsBefore = 0;
    const unfinished = new Set(files);
    let failures: Omit<Failure, "file">[] = [];
    const fail = (failure: Omit<Failure, "file">): void => {
      failures.push(failure);
      sayFailure(failure);
    };
    const endFile = (file: string, ms: number): void => {
      unfinished.delete(file);
      if (counts.passed + counts.failed + counts.skipped === 0) {
        counts.failed += 1;
        fail({ name: "", place: file, reason: "no test ran" });
      }
      this.#failures.push(...failures.map((failure) => ({ file, ...failure })));
      failures = [];
      this.#endFile({ file, counts, ms, processorMs: processorMs === undefined ? undefined : processorMs - processorMsBefore });
      processorMsBefore = processorMs ?? 0;
      counts = noCounts();
    };
    const onResult = (result: Result): void => {
      if (result.kind === "end") processorMs = result.processorMs;
      else if (result.kind === "note") {
        // An error that no test waits for fails the process of its file. The figures of tests are for those who ask.
        if (result.text.startsWith("Error:") || SHOWS_FIGURES) say(result.text);
      } else {
        if (result.outcome === "failed") fail({ name: result.name, place: relative(this.#root, result.place), reason: result.reason });
        if (result.outcome === "skipped" && result.reason !== "") say(`- ${result.name}: skipped, ${result.reason}`);
        if (!result.isSuite || result.outcome === "failed") counts[result.outcome] += 1;
        if (result.processorMs !== undefined) processorMs = result.processorMs;
        // Of several files in a process, each is a suite that has the name of the file.
        if (result.isTop && result.isSuite && files.length > 1 && unfinished.has(result.name)) endFile(result.name, result.ms);
      }
    };
    const end = (reason: string | undefined): void => {
      if (reason !== undefined) {
        // A process can also fail after the last test.
        if (unfinished.size === 0) unfinished.add(files.at(-1) ?? "");
        counts.failed += 1;
        fail({ name: "", place: [...unfinished][0] ?? "", reason });
      }
      for (const file of unfinished) endFile(file, performance.now() - startedAt);
    };
    return { onResult, end };
  }

  /** Prints the most expensive files, and all failures. */
  close(): void {
    say(`\nThe ${MOST_EXPENSIVE} most expensive files, in processor time:`);
    const sorted = this.ended.toSorted((one, other) => (other.processorMs ?? 0) - (one.processorMs ?? 0));
    for (const { file, ms, processorMs = 0 } of sorted.slice(0, MOST_EXPENSIVE))
      say(`  ${seconds(processorMs).padStart(8)}  ${file}, in ${seconds(ms)}`);
    say("\nProcessor time of the files of each folder:");
    for (const [folder, files] of Map.groupBy(this.ended, ({ file }) => folderOf(file)))
      say(`  ${seconds(files.reduce((sum, { processorMs = 0 }) => sum + processorMs, 0)).padStart(8)}  ${folder}, ${files.length} files`);
    const repaired = this.#earlier.filter(({ file }) => !this.failedFiles.includes(file));
    if (repaired.length > 0) say("\nFailed first and passed alone, which is a fault of the test or of the service:");
    repaired.forEach(sayFailure);
    if (this.#failures.length > 0) say("\nWhat failed:");
    this.#failures.forEach(sayFailure);
  }

  #endFile(ended: EndedFile): void {
    this.ended.push(ended);
    const { file, ms, counts, processorMs = 0 } = ended;
    const { passed, failed, skipped } = counts;
    const remarks = [...(failed > 0 ? [`${failed} failed`] : []), ...(skipped > 0 ? [`${skipped} skipped`] : [])];
    say(
      `${failed === 0 ? "✔" : "✖"} ${file} ${[`${passed} tests`, ...remarks, seconds(ms), `${seconds(processorMs)} of processor time`].join(", ")}`,
    );
  }
}

const sayFailure = ({ name, place, reason }: Omit<Failure, "file">): void => say(`\n✖ ${place} ${name}\n${reason}\n`);

/** The folder of a test file: `test/api`, `sdk`, `console` or `src`. */
const folderOf = (file: string): string => (file.startsWith("test/") ? file.split("/").slice(0, 2).join("/") : (file.split("/")[0] ?? ""));
