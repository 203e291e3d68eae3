/** Finds browsers on this machine, or installs Debian's if possible, and starts them. */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { chromium, firefox, type Browser } from "playwright-core";
import { missingProgram } from "../test/support/debian-package.ts";

export type BrowserName = "Chromium" | "Firefox";

/** `variable` names a browser elsewhere. The packages are tried in their order. */
type Kind = {
  variable: string;
  packages: readonly (readonly [name: string, path: string])[];
  otherPlaces: readonly string[];
  /** The first major version that Playwright can control. */
  minimum?: number;
  launch: (executablePath: string) => Promise<Browser>;
};

const CHROMIUM_ARGS = [
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

const KINDS: Readonly<Record<BrowserName, Kind>> = {
  Chromium: {
    variable: "CHROMIUM_PATH",
    // The shell has no window system and takes two thirds of the processor time. Older releases of Debian have no package for it.
    packages: [
      ["chromium-headless-shell", "/usr/bin/chromium-headless-shell"],
      ["chromium", "/usr/bin/chromium"],
    ],
    otherPlaces: ["/usr/bin/chromium-browser", "/usr/bin/google-chrome", "/usr/bin/google-chrome-stable"],
    // The sandbox does not work for root; without it only our own local pages are opened.
    launch: (executablePath) =>
      chromium.launch({ executablePath, args: process.getuid?.() === 0 ? [...CHROMIUM_ARGS, "--no-sandbox"] : CHROMIUM_ARGS }),
  },
  Firefox: {
    variable: "FIREFOX_PATH",
    packages: [["firefox-esr", "/usr/bin/firefox-esr"]],
    otherPlaces: ["/usr/bin/firefox"],
    minimum: 153,
    // The channel selects WebDriver BiDi, which a Firefox as Mozilla and Debian publish it understands. Playwright from 1.65 on needs a command
    // that Firefox 153 does not have. That protocol cannot emulate reduced
    // motion, so the preference is set for the whole browser.
    launch: (executablePath) =>
      firefox.launch({ executablePath, channel: "moz-firefox", firefoxUserPrefs: { "ui.prefersReducedMotion": 1 } }),
  },
};

/** Returns the path of a browser, after an attempt to install it, or the reason why there is none. */
export function findBrowser(name: BrowserName): { path: string } | { missing: string } {
  const { variable, packages, otherPlaces, minimum = 0 } = KINDS[name];
  const places = [process.env[variable] ?? "", ...packages.map(([, path]) => path), ...otherPlaces];
  const isUsable = (path: string): boolean => path !== "" && existsSync(path) && (minimum === 0 || majorVersion(path) >= minimum);
  const find = (): string | undefined => places.find(isUsable);
  let reason: string | undefined;
  for (const [packageName, path] of packages) if (find() === undefined) reason = missingProgram(packageName, path, () => isUsable(path));
  const path = find();
  return path === undefined ? { missing: `${reason ?? name}; ${variable} names a ${name} elsewhere` } : { path };
}

const majorVersion = (path: string): number =>
  Number(/\d+/.exec(spawnSync(path, ["--version"], { encoding: "utf8", timeout: 60_000 }).stdout ?? "")?.[0] ?? 0);

/** Starts a browser, or returns the reason why there is none. */
export async function launchBrowser(name: BrowserName): Promise<{ browser: Browser } | { missing: string }> {
  const found = findBrowser(name);
  return "missing" in found ? found : { browser: await KINDS[name].launch(found.path) };
}
