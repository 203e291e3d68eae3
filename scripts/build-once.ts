/** Builds a folder of static files, unless it was built from the same sources before. */
import { createHash } from "node:crypto";
import { chmodSync, existsSync, globSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const ROOT = join(import.meta.dirname, "..");
const FINGERPRINT_FILE = ".sources";

export type Build = {
  /** The name of the result, for messages. */
  name: string;
  /** The folder whose dist/ is built. */
  folder: string;
  /** Patterns of the files that decide about the result, relative to the repository. */
  sources: readonly string[];
  /** Writes everything into a folder. */
  write: (to: string) => Promise<void>;
};

const say = (text: string): void => void process.stderr.write(`${text}\n`);

function fingerprint(sources: readonly string[]): string {
  const hash = createHash("sha256");
  for (const path of globSync([...sources], { cwd: ROOT }).toSorted()) hash.update(`${path}\n`).update(readFileSync(join(ROOT, path)));
  return hash.digest("hex");
}

const isCurrent = (dist: string, current: string): boolean =>
  existsSync(join(dist, FINGERPRINT_FILE)) && readFileSync(join(dist, FINGERPRINT_FILE), "utf8") === current;

/** Moves a new build to its place. Another process may have built the same at the same time. */
function replace(dist: string, fresh: string, current: string): void {
  rmSync(dist, { recursive: true, force: true });
  try {
    renameSync(fresh, dist);
  } catch (error) {
    if (!isCurrent(dist, current)) throw error;
  }
}

const isMissing = (error: unknown): boolean => error instanceof Error && "code" in error && error.code === "ERR_MODULE_NOT_FOUND";

/** With `isOptional`, a failure is only reported, and the service starts without the result, as in a read-only checkout. */
export async function buildOnce({ name, folder, sources, write }: Build, { isOptional }: { isOptional: boolean }): Promise<void> {
  const dist = join(folder, "dist");
  const current = fingerprint(sources);
  if (isCurrent(dist, current)) return;
  try {
    // The build goes to a new folder that then replaces dist/, so that a running service never serves half of it.
    const fresh = mkdtempSync(join(folder, ".dist-"));
    try {
      await write(fresh);
      writeFileSync(join(fresh, FINGERPRINT_FILE), current);
      // mkdtemp keeps the folder to its owner, but a service that root starts continues as another user.
      chmodSync(fresh, 0o755);
      replace(dist, fresh, current);
    } finally {
      rmSync(fresh, { recursive: true, force: true });
    }
  } catch (error) {
    if (isMissing(error))
      return say(`${name}: not built, because its tools are not installed here (npm ci without --omit=dev installs them).`);
    if (!isOptional) throw error;
    say(`${name}: cannot be built, and is left out: ${(error as Error).message}`);
  }
}
