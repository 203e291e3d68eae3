/** Programs of Debian packages, which tests install if possible. */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";

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
