/** The documentation in a real browser: search, tabs, theme, copies, and every page in all widths, light and dark. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { faultsOfPages, openPage as open, VARIED_PAGES } from "../support/docs-pages.ts";
import { ConsoleVisits } from "../support/visitor.ts";

const visits = new ConsoleVisits();

describe("a guide", () => {
  test("shows samples with the URL of this service, and copies them", (context) =>
    visits.visit(context, async (visitor) => {
      const { page, url } = visitor;
      await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
      await open(visitor, "/docs/sending");
      const sample = page.locator(".sample", { hasText: `${url}/v1/messages` }).first();
      await sample.getByRole("button", { name: "Copy" }).click();
      await sample.getByRole("button", { name: "Copied" }).waitFor();
      const copied = (await page.evaluate("navigator.clipboard.readText()")) as string;
      assert.ok(copied.includes(`${url}/v1/messages`), copied);
    }));

  test("is found by a search that needs only the keyboard", (context) =>
    visits.visit(context, async (visitor) => {
      const { page } = visitor;
      await open(visitor, "/docs");
      await page.keyboard.press("/");
      await page.getByRole("combobox", { name: "Search the documentation" }).fill("opt-out words");
      await page.getByRole("listbox", { name: "Results" }).getByRole("option").first().waitFor();
      await page.keyboard.press("ArrowDown");
      await page.keyboard.press("ArrowUp");
      await page.keyboard.press("Enter");
      await page.waitForURL(/\/docs\/(inbound|consent)/);
      await page.keyboard.press("Control+k");
      await page.getByRole("combobox", { name: "Search the documentation" }).fill("xyzzyx");
      await visitor.sees("Nothing found for “xyzzyx”.");
      await page.keyboard.press("Escape");
      await page.getByRole("dialog").waitFor({ state: "hidden" });
    }));

  test("has one tab for each language, and remembers the choice on the next page", (context) =>
    visits.visit(context, async (visitor) => {
      const { page } = visitor;
      await open(visitor, "/docs/sending");
      const tabs = page.locator(".tabs").first();
      await tabs.getByRole("tab", { name: "Python" }).click();
      await tabs.locator(".sample[data-tab=Python] pre").waitFor();
      assert.equal(await tabs.locator(".sample[data-tab=curl]").first().isVisible(), false);
      await open(visitor, "/docs/batches");
      assert.equal(await page.locator(".tabs").first().getByRole("tab", { name: "Python" }).getAttribute("aria-selected"), "true");
    }));

  test("shows the theme that is chosen, also after a reload", (context) =>
    visits.visit(context, async (visitor) => {
      const { page } = visitor;
      await open(visitor, "/docs/states");
      await page.getByLabel("Colors").selectOption("dark");
      await page.reload();
      assert.equal(await page.locator("html").getAttribute("data-theme"), "dark");
      assert.equal(await page.locator(".on-dark").first().isVisible(), true);
      assert.equal(await page.locator(".on-light").first().isVisible(), false);
    }));

  test("has its sections beside it, and a menu on a phone", (context) =>
    visits.visit(
      context,
      async (visitor) => {
        const { page } = visitor;
        await open(visitor, "/docs/sending");
        await page.getByText("Menu", { exact: true }).click();
        await page.getByRole("navigation", { name: "Documentation" }).getByRole("link", { name: "Templates", exact: true }).click();
        await page.waitForURL(/\/docs\/templates$/);
        await page.getByText("On this page", { exact: true }).click();
        await page.getByRole("navigation", { name: "On this page" }).getByRole("link").first().click();
        assert.match(page.url(), /#/);
        // The bar, which has several lines here, does not cover the heading.
        const heading = await page.locator(new URL(page.url()).hash).boundingBox();
        const bar = await page.locator(".bar").boundingBox();
        assert.ok(heading !== null && bar !== null && heading.y >= bar.y + bar.height);
      },
      { width: 360, height: 740 },
    ));
});

test("the pages with every kind of content are accessible and fit, narrow and wide, light and dark", (context) =>
  visits.visit(context, async (visitor) => assert.deepEqual(await faultsOfPages(visitor, VARIED_PAGES, { isDark: true }), [])));

describe("the API reference", () => {
  const SEND = "/docs/reference-messages#sendMessage";

  test("leads from an anchor of its earlier form to the operation, and finds operations by their paths", (context) =>
    visits.visit(context, async (visitor) => {
      const { page, url } = visitor;
      for (const anchor of ["operation/cancelMessage", "/messages/cancelMessage", "tag/Messages/operation/cancelMessage"]) {
        await page.goto(`${url}/docs/reference#${anchor}`);
        await page.waitForURL(`${url}/docs/reference-messages#cancelMessage`);
        await page.goto(`${url}/docs`);
      }
      await page.keyboard.press("/");
      await page.getByRole("combobox", { name: "Search the documentation" }).fill("POST /v1/messages/{id}/cancel");
      await page.getByRole("option", { name: "Cancel a message" }).click();
      await page.waitForURL(/\/docs\/reference-messages#cancelMessage$/);
    }));

  test("is complete without a script", (context) =>
    visits.visit(
      context,
      async (visitor) => {
        const page = await visitor.page.context().browser()?.newPage({ javaScriptEnabled: false });
        assert.ok(page !== undefined);
        await page.goto(visitor.url + SEND);
        assert.ok(await page.getByText("The phone number of the recipient in E.164 format").first().isVisible());
        await page.close();
      },
      { onlyChromium: "Playwright cannot switch scripts off in Firefox." },
    ));
});
