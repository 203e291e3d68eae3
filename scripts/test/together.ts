/** Runs several test files in one process, one after the other. `test-process.ts` writes the modules that call this. */
import { after, describe } from "node:test";
import { pathToFileURL } from "node:url";
import { join } from "node:path";
import { stopAll } from "../../test/support/at-end.ts";

const ROOT = join(import.meta.dirname, "..", "..");

/** Each file is a suite that has the file's path as its name: hooks at the top of a file belong to that file only. */
export function runTogether(files: readonly string[]): void {
  for (const file of files)
    describe(file, async () => {
      await import(pathToFileURL(join(ROOT, file)).href);
      after(stopAll);
    });
}
