/** A real browser: the one that is here, or Debian's, installed where that is possible. */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { chromium, type Browser } from "playwright-core";

const PLACES = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome", "/usr/bin/google-chrome-stable"];
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

/** Where it is, or why there is none, after it was tried to install it. */
export function findChromium(): { path: string } | { missing: string } {
  const here = find();
  if (here !== undefined) return { path: here };
  const canInstall = process.getuid?.() === 0 && existsSync(APT);
  if (!canInstall) return { missing: "Chromium is not installed (CHROMIUM_PATH names one elsewhere), and only root can install it" };
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  const apt = (...args: string[]): void => void spawnSync(APT, args, { env, timeout: INSTALL_MS, stdio: "ignore" });
  apt("install", "-y", "-q", "--no-install-recommends", "chromium");
  if (find() === undefined) {
    // The lists may be missing, or too old.
    apt("update", "-q");
    apt("install", "-y", "-q", "--no-install-recommends", "chromium");
  }
  const installed = find();
  return installed === undefined ? { missing: "Chromium could not be installed" } : { path: installed };
}

/** Root cannot have the sandbox; the pages are our own, from this machine. */
export const launchChromium = (path: string): Promise<Browser> =>
  chromium.launch({ executablePath: path, args: process.getuid?.() === 0 ? [...ARGS, "--no-sandbox"] : ARGS });
