/** The pages of the documentation in a browser: whether they are accessible, fit their window and have enough contrast. */
import { test } from "node:test";
import assert from "node:assert/strict";
import { COMMAND_PAGES, PAGES, REFERENCE } from "../../site/contents.ts";
import { ConsoleVisits, type Visitor } from "./visitor.ts";

/** Tables, diagrams, samples, lists, long words. */
export const VARIED_PAGES = [
  "/docs",
  "/docs/states",
  "/docs/webhooks",
  "/docs/cli",
  "/docs/cli-send",
  "/docs/settings",
  "/docs/reference",
  "/docs/reference-messages",
  "/errors/no_route",
];

export const openPage = async ({ page, url }: Visitor, path: string): Promise<void> => {
  await page.goto(url + path);
  await page.locator("main h1").first().waitFor();
};

export async function faultsOfPages(visitor: Visitor, paths: readonly string[], { isDark }: { isDark: boolean }): Promise<string[]> {
  const faults: string[] = [];
  const note = (path: string, found: readonly string[]): void => void faults.push(...found.map((fault) => `${path}: ${fault}`));
  for (const path of paths) {
    await visitor.page.emulateMedia({ colorScheme: "light" });
    await visitor.page.setViewportSize({ width: 1_440, height: 900 });
    await openPage(visitor, path);
    note(path, await visitor.violations());
    for (const width of [1_440, 1_024, 768, 360]) {
      await visitor.page.setViewportSize({ width, height: 900 });
      note(path, await visitor.misfits());
    }
    if (!isDark) continue;
    await visitor.page.emulateMedia({ colorScheme: "dark" });
    note(path, await visitor.violations("contrasts"));
  }
  return faults;
}

const PARTS = 4;

/** Tests one part of the other guides. Each part is a file: a page takes seconds on a busy machine. */
export function testGuides(part: number): void {
  const visits = new ConsoleVisits();
  // The pages of commands have one form.
  const alike = new Set(COMMAND_PAGES.map(({ name }) => name));
  const others = [...PAGES, ...REFERENCE.children]
    .filter(({ name }) => !alike.has(name))
    .map(({ name }) => `/docs/${name}`)
    .filter((path) => !VARIED_PAGES.includes(path));
  const paths = others.filter((_, index) => index % PARTS === part - 1);
  test(`part ${part} of the guides is accessible and fits, narrow and wide`, (context) =>
    visits.visit(context, async (visitor) => assert.deepEqual(await faultsOfPages(visitor, paths, { isDark: false }), [])));
}
