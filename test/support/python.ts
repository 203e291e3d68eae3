/** Debian's Python with httpx, which the tests of the Python SDK and of Python samples use. */
import { spawnSync } from "node:child_process";
import { missingProgram } from "./debian-package.ts";

const PYTHON = "/usr/bin/python3";
const HTTPX = "/usr/lib/python3/dist-packages/httpx/__init__.py";
const VERSION = "import sys, httpx; sys.exit(0 if sys.version_info >= (3, 11) else 1)";

/** Returns the path of a Python that has httpx, after an attempt to install it, or the reason why there is none. PYTHON_PATH names another
 *  one. */
export function findPython(): { path: string } | { missing: string } {
  const given = process.env["PYTHON_PATH"];
  const missing = given === undefined ? missingProgram("python3-httpx", HTTPX) : undefined;
  if (missing !== undefined) return { missing: `${missing} (PYTHON_PATH names a Python 3.11 or later that has httpx)` };
  const path = given ?? PYTHON;
  return spawnSync(path, ["-c", VERSION]).status === 0 ? { path } : { missing: `${path} is older than Python 3.11, or has no httpx` };
}
