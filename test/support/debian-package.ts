/** Programs of Debian packages, which tests install if possible. */
import { spawnSync } from "node:child_process";
import { existsSync, rmSync, writeFileSync } from "node:fs";

const APT = "/usr/bin/apt-get";
// On a busy machine a large package takes minutes, and apt leaves a broken state where it is stopped.
const INSTALL_MS = 600_000;
// Test files of several processes install packages at the same time.
const WAIT = ["-o", "DPkg::Lock::Timeout=300"];

/** Returns the reason why a program is missing, after an attempt to install its package. `isUsable`: whether the program that is there is
 *  recent enough. */
export function missingProgram(name: string, path: string, isUsable = (): boolean => existsSync(path)): string | undefined {
  if (isUsable()) return undefined;
  const canInstall = process.getuid?.() === 0 && existsSync(APT);
  if (!canInstall) return `${name} is not installed, and only root can install it`;
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  const apt = (...args: string[]): void => void spawnSync(APT, [...WAIT, ...args], { env, timeout: INSTALL_MS, stdio: "ignore" });
  // The package lists may be missing or too old.
  apt("update", "-q");
  apt("install", "-y", "-q", "--no-install-recommends", name);
  return isUsable() ? undefined : `${name} could not be installed, or is too old`;
}

// The script that Debian's packages ask before they start a service.
const POLICY = "/usr/sbin/policy-rc.d";

/** The reason why one of the packages is missing, after an attempt to install them. Each has a path that it installs. The services of the packages are
 *  not started: they would use their default ports. An existing policy is not replaced: most images of containers have one, which forbids the same. */
export function missingPackages(packages: readonly (readonly [name: string, path: string])[]): string | undefined {
  const isInstalled = packages.every(([, path]) => existsSync(path));
  const needsPolicy = !isInstalled && !existsSync(POLICY) && process.getuid?.() === 0;
  if (needsPolicy) writeFileSync(POLICY, "#!/bin/sh\nexit 101\n", { mode: 0o755 });
  try {
    for (const [name, path] of packages) {
      const missing = missingProgram(name, path);
      if (missing !== undefined) return missing;
    }
    return undefined;
  } finally {
    if (needsPolicy) rmSync(POLICY, { force: true });
  }
}

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
