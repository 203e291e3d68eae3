/** A user of the console: a window of a real browser, with the errors and requests in it. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import type { Browser, Locator, Page } from "playwright-core";
import { launchBrowser, type BrowserName } from "../../scripts/browsers.ts";
import { startGodwit, type Godwit } from "./harness.ts";
import { ALLOW_LOOPBACK } from "./hook-server.ts";

export type WindowOptions = { width?: number; height?: number; colorScheme?: "light" | "dark" };

const WAIT_MS = 90_000;
const AXE = readFileSync(fileURLToPath(import.meta.resolve("axe-core/axe.min.js")), "utf8");

/** The rules of axe-core: by their tags, or those about colors. */
const RULES = {
  all: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
  contrasts: ["color-contrast", "link-in-text-block"],
};

type AxeResult = { violations: { id: string; help: string; nodes: { html: string; failureSummary: string }[] }[] };

export class Visitor {
  readonly page: Page;
  readonly url: string;
  /** The errors in the browser: failed scripts, and violations of the Content-Security-Policy. */
  readonly browserErrors: string[] = [];
  /** The URLs of all requests. */
  readonly requestedUrls: string[] = [];

  private constructor(page: Page, url: string) {
    this.page = page;
    this.url = url;
    page.setDefaultTimeout(WAIT_MS);
    page.on("pageerror", (error) => this.browserErrors.push(error.message));
    page.on("console", (message) => {
      // The browser also logs every 4xx response here, which can be expected.
      if (message.type() === "error" && !/Failed to load resource/.test(message.text())) this.browserErrors.push(message.text());
    });
    page.on("request", (request) => this.requestedUrls.push(request.url()));
  }

  static async open(
    browser: Browser,
    url: string,
    { width = 1_440, height = 900, colorScheme = "light" }: WindowOptions = {},
  ): Promise<Visitor> {
    const context = await browser.newContext({ viewport: { width, height }, colorScheme, locale: "en-GB", timezoneId: "UTC" });
    return new Visitor(await context.newPage(), url);
  }

  async goto(path = ""): Promise<void> {
    await this.page.goto(`${this.url}/console${path === "" ? "" : `/${path}`}`);
  }

  /** Opens a page and signs in with the key. */
  async signIn(key: string, path = ""): Promise<void> {
    await this.goto(path);
    await this.enter(key);
  }

  async enter(key: string): Promise<void> {
    await this.page.getByLabel("API key").fill(key);
    await this.page.getByRole("button", { name: "Sign in" }).click();
    await this.page.locator("#main h1").waitFor();
  }

  heading(name: string | RegExp): Locator {
    return this.page.getByRole("heading", { level: 1, name });
  }

  button(name: string | RegExp, exact = true): Locator {
    return this.page.getByRole("button", { name, exact });
  }

  get dialog(): Locator {
    return this.page.getByRole("dialog");
  }

  /** Waits until the text is visible. */
  async sees(text: string | RegExp, within?: Locator): Promise<void> {
    await (within ?? this.page.locator("body")).getByText(text).first().waitFor();
  }

  /** Opens another page by the menu, without a reload. */
  async choose(section: string): Promise<void> {
    await this.page.getByRole("navigation", { name: "Console" }).getByRole("link", { name: section, exact: true }).click();
    await this.heading(section).waitFor();
  }

  /** Asserts that all requests went to the service, and that the browser reported no error. */
  assertClean(): void {
    assert.deepEqual(this.browserErrors, []);
    assert.deepEqual(
      this.requestedUrls.filter((address) => new URL(address).origin !== this.url),
      [],
      "all requests go to the service",
    );
  }

  /** Asserts the rules of axe-core for WCAG 2.2 A and AA. axe-core runs through the debugger, because the policy permits no script. */
  async assertAccessible(what: string): Promise<void> {
    assert.deepEqual(await this.violations(), [], `${what} is accessible`);
  }

  async violations(rules: keyof typeof RULES = "all"): Promise<string[]> {
    if ((await this.page.evaluate("typeof axe")) === "undefined") await this.page.evaluate(AXE);
    const options = JSON.stringify({ runOnly: RULES[rules], resultTypes: ["violations"] });
    const { violations } = (await this.page.evaluate(`axe.run(document, ${options})`)) as AxeResult;
    return violations.map(
      ({ id, help, nodes }) => `${id}: ${help}\n${nodes.map(({ html, failureSummary }) => `  ${html}\n  ${failureSummary}`).join("\n")}`,
    );
  }

  async assertFits(what: string): Promise<void> {
    assert.deepEqual(await this.misfits(), [], `${what} fits`);
  }

  /** Reports a page that is wider than the window. */
  async misfits(): Promise<string[]> {
    const [scroll, width] = (await this.page.evaluate("[document.documentElement.scrollWidth, innerWidth]")) as [number, number];
    return scroll <= width ? [] : [`${scroll} pixels in a window of ${width}`];
  }

  async close(): Promise<void> {
    await this.page.context().close();
  }
}

const BROWSER = "GODWIT_TEST_BROWSER";

/** Runs the tests of this process in another browser than Chromium. */
export const useBrowser = (name: BrowserName): void => void (process.env[BROWSER] = name);

const browserName = (): BrowserName => (process.env[BROWSER] === "Firefox" ? "Firefox" : "Chromium");

type VisitorTest = (visitor: Visitor) => Promise<void>;

/** A service with its simulator, a key with all scopes, and a browser, for all tests of a file. */
export class ConsoleVisits {
  #godwit: Godwit | undefined;
  #browser: Browser | undefined;
  #missing = "";
  key = "";

  /** `fill` runs after the service has started. */
  constructor(fill?: (visits: ConsoleVisits) => Promise<void>) {
    before(async () => {
      const launched = await launchBrowser(browserName());
      if ("missing" in launched) this.#missing = launched.missing;
      else this.#browser = launched.browser;
      this.#godwit = await startGodwit({ roles: "api,dispatch,webhooks", env: ALLOW_LOOPBACK });
      await this.godwit.unlimited();
      this.key = await this.godwit.key();
      await fill?.(this);
    });
    after(async () => {
      await this.#browser?.close();
      await this.#godwit?.stop();
    });
  }

  get godwit(): Godwit {
    return this.#godwit ?? assert.fail("the service has not started yet");
  }

  /** Runs a test in a new window, and asserts that no error occurred in it. Skips the test, with the reason, if there is no browser.
   *  `onlyChromium` is the reason why a test cannot run in Firefox. */
  async visit(
    context: TestContext,
    run: VisitorTest,
    { onlyChromium, ...options }: WindowOptions & { onlyChromium?: string } = {},
  ): Promise<void> {
    if (onlyChromium !== undefined && browserName() !== "Chromium") return context.skip(onlyChromium);
    await this.with(context, async (browser) => {
      const visitor = await Visitor.open(browser, this.godwit.url, options);
      try {
        await run(visitor);
        visitor.assertClean();
      } finally {
        await visitor.close();
      }
    });
  }

  /** Runs a test with the browser itself, for tests that open several windows. */
  async with(context: TestContext, run: (browser: Browser) => Promise<void>): Promise<void> {
    if (this.#browser === undefined) return context.skip(this.#missing);
    await run(this.#browser);
  }
}
