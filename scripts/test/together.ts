/** Runs test files in one process, one after the other. `test-process.ts` writes the modules that call this. */
import { after, describe } from "node:test";
import { pathToFileURL } from "node:url";
import { join } from "node:path";
import { stopAll } from "../../test/support/at-end.ts";

const ROOT = join(import.meta.dirname, "..", "..");

/** Each of several files is a suite that has the file's path as its name: hooks at the top of a file belong to that file only. Resolves when
 *  all tests are declared. */
export async function runTogether(files: readonly string[]): Promise<void> {
  const load = (file: string): Promise<unknown> => import(pathToFileURL(join(ROOT, file)).href);
  const [first, ...others] = files;
  if (first !== undefined && others.length === 0) return void (await load(first));
  const loaded = files.map((file) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    void describe(file, async () => {
      await load(file).finally(resolve);
      after(stopAll);
    });
    return promise;
  });
  await Promise.all(loaded);
}
