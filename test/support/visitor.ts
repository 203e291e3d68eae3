/** A person at the console: a real browser, a window of its own, and what went wrong in it. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import type { Browser, Locator, Page } from "playwright-core";
import { findChromium, launchChromium } from "../../scripts/chromium.ts";
import { startGodwit, type Godwit } from "./harness.ts";
import { ALLOW_LOOPBACK } from "./hook-server.ts";

export type WindowOptions = { width?: number; height?: number; colorScheme?: "light" | "dark" };

const WAIT_MS = 90_000;
const AXE = readFileSync(fileURLToPath(import.meta.resolve("axe-core/axe.min.js")), "utf8");

type AxeResult = { violations: { id: string; help: string; nodes: { html: string; failureSummary: string }[] }[] };

export class Visitor {
  readonly page: Page;
  readonly url: string;
  /** What the browser complained of: scripts that failed, and whatever the Content-Security-Policy refused. */
  readonly complaints: string[] = [];
  /** Every address that was asked for. */
  readonly asked: string[] = [];

  private constructor(page: Page, url: string) {
    this.page = page;
    this.url = url;
    page.setDefaultTimeout(WAIT_MS);
    page.on("pageerror", (error) => this.complaints.push(error.message));
    page.on("console", (message) => {
      // That an answer was a 4xx is said here too; whether it should be is another question.
      if (message.type() === "error" && !/Failed to load resource/.test(message.text())) this.complaints.push(message.text());
    });
    page.on("request", (request) => this.asked.push(request.url()));
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

  /** From the door to where the address leads. */
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

  /** Waits until it says so. */
  async sees(text: string | RegExp, within?: Locator): Promise<void> {
    await (within ?? this.page.locator("body")).getByText(text).first().waitFor();
  }

  /** Another page by the menu, without loading anew. */
  async choose(section: string): Promise<void> {
    await this.page.getByRole("navigation", { name: "Console" }).getByRole("link", { name: section, exact: true }).click();
    await this.heading(section).waitFor();
  }

  /** Nothing but our own files and routes, and no complaint. */
  assertClean(): void {
    assert.deepEqual(this.complaints, []);
    assert.deepEqual(
      this.asked.filter((address) => new URL(address).origin !== this.url),
      [],
      "no request goes elsewhere",
    );
  }

  /** Everything that axe-core knows of WCAG 2.2 A and AA. Evaluated from outside: the policy lets no script in. */
  async assertAccessible(what: string): Promise<void> {
    assert.deepEqual(await this.violations(), [], `${what} is accessible`);
  }

  async violations(): Promise<string[]> {
    if ((await this.page.evaluate("typeof axe")) === "undefined") await this.page.evaluate(AXE);
    const { violations } = (await this.page.evaluate(
      `axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"], resultTypes: ["violations"] })`,
    )) as AxeResult;
    return violations.map(
      ({ id, help, nodes }) => `${id}: ${help}\n${nodes.map(({ html, failureSummary }) => `  ${html}\n  ${failureSummary}`).join("\n")}`,
    );
  }

  async assertFits(what: string): Promise<void> {
    assert.deepEqual(await this.misfits(), [], `${what} fits`);
  }

  /** What is wider than the window. */
  async misfits(): Promise<string[]> {
    const [scroll, width] = (await this.page.evaluate("[document.documentElement.scrollWidth, innerWidth]")) as [number, number];
    return scroll <= width ? [] : [`${scroll} pixels in a window of ${width}`];
  }

  async close(): Promise<void> {
    await this.page.context().close();
  }
}

type Act = (visitor: Visitor) => Promise<void>;

/** A service with its simulator, a key that may do everything, and a browser, for all tests of a file. */
export class ConsoleVisits {
  #godwit: Godwit | undefined;
  #browser: Browser | undefined;
  #missing = "";
  key = "";

  /** `fill` runs once the service is there. */
  constructor(fill?: (visits: ConsoleVisits) => Promise<void>) {
    before(async () => {
      const found = findChromium();
      if ("missing" in found) this.#missing = found.missing;
      else this.#browser = await launchChromium(found.path);
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
    return this.#godwit ?? assert.fail("the service is not there yet");
  }

  /** With a window of its own, closed at the end; and nothing went wrong in it. Skipped, with the reason, where there is no browser. */
  visit(context: TestContext, act: Act, options: WindowOptions = {}): Promise<void> {
    return this.with(context, async (browser) => {
      const visitor = await Visitor.open(browser, this.godwit.url, options);
      try {
        await act(visitor);
        visitor.assertClean();
      } finally {
        await visitor.close();
      }
    });
  }

  /** With the browser itself, for tests that open windows of their own. */
  async with(context: TestContext, act: (browser: Browser) => Promise<void>): Promise<void> {
    if (this.#browser === undefined) return context.skip(this.#missing);
    await act(this.#browser);
  }
}
