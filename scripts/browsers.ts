/** Finds Chromium on this machine, or installs Debian's if possible, and starts it. */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { chromium, type Browser } from "playwright-core";

// The shell has no window system and takes two thirds of the processor time.
const PLACES = [
  "/usr/bin/chromium-headless-shell",
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
  "/usr/bin/google-chrome-stable",
];
const PACKAGES = ["chromium-headless-shell", "chromium"];
const APT = "/usr/bin/apt-get";
const INSTALL_MS = 300_000;

const ARGS = [
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

const find = (): string | undefined => [process.env["CHROMIUM_PATH"] ?? "", ...PLACES].find((path) => path !== "" && existsSync(path));

/** Returns the path of Chromium, after an attempt to install it, or the reason why there is none. */
export function findChromium(): { path: string } | { missing: string } {
  const here = find();
  if (here !== undefined) return { path: here };
  const canInstall = process.getuid?.() === 0 && existsSync(APT);
  if (!canInstall) return { missing: "Chromium is not installed (CHROMIUM_PATH names one elsewhere), and only root can install it" };
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  const apt = (...args: string[]): void => void spawnSync(APT, args, { env, timeout: INSTALL_MS, stdio: "ignore" });
  const install = (): void => {
    // Older releases of Debian have no package for the shell.
    for (const name of PACKAGES) if (find() === undefined) apt("install", "-y", "-q", "--no-install-recommends", name);
  };
  install();
  if (find() === undefined) {
    // The package lists may be missing or too old.
    apt("update", "-q");
    install();
  }
  const installed = find();
  return installed === undefined ? { missing: "Chromium could not be installed" } : { path: installed };
}

/** Starts Chromium. The sandbox does not work for root; without it only our own local pages are opened. */
export const launchChromium = (path: string): Promise<Browser> =>
  chromium.launch({ executablePath: path, args: process.getuid?.() === 0 ? [...ARGS, "--no-sandbox"] : ARGS });
