/** The documentation in a real browser: search, tabs, theme, copies, and every page in all widths, light and dark. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Locator } from "playwright-core";
import { faultsOfPages, openPage as open, VARIED_PAGES } from "../support/docs-pages.ts";
import { ConsoleVisits, type Visitor } from "../support/visitor.ts";

const visits = new ConsoleVisits();

describe("a guide", () => {
  test("shows samples with the URL of this service, and copies them", (context) =>
    visits.visit(context, async (visitor) => {
      const { page, url } = visitor;
      await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
      await open(visitor, "/docs/sending");
      const sample = page.locator(".sample", { hasText: `${url}/v1/messages` }).first();
      const copy = sample.getByRole("button", { name: "Copy" });
      const [button, code] = [await copy.boundingBox(), await sample.locator("pre").boundingBox()];
      assert.ok(button !== null && code !== null && button.y + button.height <= code.y, "the button covers no code");
      await copy.click();
      await sample.getByRole("button", { name: "Copied" }).waitFor();
      const copied = (await page.evaluate("navigator.clipboard.readText()")) as string;
      assert.ok(copied.includes(`${url}/v1/messages`), copied);
    }));

  test("shows the address of this service in links and texts, and the default of a setting as it is", (context) =>
    visits.visit(context, async (visitor) => {
      const { page, url } = visitor;
      await open(visitor, "/docs/console");
      assert.equal(
        await page
          .getByRole("article")
          .getByRole("link", { name: `${url}/console` })
          .getAttribute("href"),
        "/console",
      );
      await open(visitor, "/docs/getting-started");
      await page.locator("pre", { hasText: `export GODWIT_URL=${url}` }).waitFor();
      assert.ok(!(await page.content()).includes("http://127.0.0.1:8080"));
      await open(visitor, "/docs/sdk");
      await visitor.sees("http://127.0.0.1:8080", page.locator("td"));
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
  const formOf = ({ page }: Visitor, id: string): Locator => page.locator("section", { has: page.locator(`#${id}`) }).locator(".try");

  /** Opens the form of an operation, and enters the key. */
  async function openForm(visitor: Visitor, { path = SEND, id = "sendMessage", key = visits.key } = {}): Promise<Locator> {
    await open(visitor, path);
    const form = formOf(visitor, id);
    await form.getByText("Try it").click();
    await form.getByLabel("API key").fill(key);
    return form;
  }

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
      await page.getByRole("option", { name: "API reference › Cancel a message" }).click();
      await page.waitForURL(/\/docs\/reference-messages#cancelMessage$/);
    }));

  test("sends a message with a test key, and repeats it with the same idempotency key", (context) =>
    visits.visit(context, async (visitor) => {
      const form = await openForm(visitor);
      const reply = form.locator(".reply");
      await form.getByRole("button", { name: "Send the request" }).click();
      await visitor.sees(/^202 Accepted · \d+ ms$/, form);
      const [id = ""] = /msg_\w+/.exec(await reply.innerText()) ?? [];
      assert.equal((await visits.godwit.request("GET", `/v1/messages/${id}`, { key: visits.key })).status, 200);
      await visitor.sees("$GODWIT_KEY", reply);
      await form.getByRole("button", { name: "Send the request" }).click();
      await visitor.sees("Idempotent-Replayed: true", reply);
      assert.ok((await reply.innerText()).includes(id));
      // A changed request is another one.
      const used = await form.getByLabel("Idempotency-Key").inputValue();
      await form.getByLabel("Body").fill(JSON.stringify({ recipient: "+14155550124", channel: "sms", body: "Hello" }));
      assert.notEqual(await form.getByLabel("Idempotency-Key").inputValue(), used);
    }));

  test("shows the faults of a request, and the error of a network", (context) =>
    visits.visit(context, async (visitor) => {
      const form = await openForm(visitor);
      const reply = form.locator(".reply");
      await form.getByLabel("Body").fill('{"recipient": "+14155550123", "channel": "pigeon"}');
      await form.getByRole("button", { name: "Send the request" }).click();
      await visitor.sees(/^400 Bad Request/, form);
      await visitor.sees('"/channel"', reply);
      await visitor.page.route("**/v1/messages", (route) => route.abort());
      await form.getByRole("button", { name: "Send the request" }).click();
      await visitor.sees("The request failed, and may have reached the service", form);
    }));

  test("fills in paths and queries, and sends forms", (context) =>
    visits.visit(context, async (visitor) => {
      const { json: message } = await visits.godwit.send(visits.key);
      const get = await openForm(visitor, { id: "getMessage" });
      await get.getByLabel("id").fill(String(message["id"]));
      await get.getByRole("button", { name: "Send the request" }).click();
      await visitor.sees(/^200 OK/, get);
      // The key is that of the other form.
      const list = formOf(visitor, "listMessages");
      await list.getByText("Try it").click();
      await list.getByLabel("limit").fill("1");
      await list.getByLabel("channel").selectOption("sms");
      await list.getByRole("button", { name: "Send the request" }).click();
      await visitor.sees("/v1/messages?limit=1&channel=sms", list.locator(".reply"));
      const token = await openForm(visitor, { path: "/docs/reference-keys-and-tokens", id: "createAccessToken" });
      const { json } = await visits.godwit.request("GET", "/v1/credential", { key: visits.key });
      await token.getByLabel("Key id").fill(String(json["key_id"]));
      await token.getByRole("button", { name: "Send the request" }).click();
      await visitor.sees('"access_token"', token.locator(".reply"));
    }));

  test("keeps the key in its fields only, and refuses a live key until the person confirms it", (context) =>
    visits.visit(context, async (visitor) => {
      const { page } = visitor;
      const form = await openForm(visitor, { key: "gw_live_0123456789" });
      const sent = (): number => visitor.requestedUrls.filter((url) => url.includes("/v1/")).length;
      await form.getByRole("button", { name: "Send the request" }).click();
      await visitor.sees("This is not a test key", form);
      assert.equal(sent(), 0);
      await form.getByLabel("This is live").check();
      await form.getByRole("button", { name: "Send the request" }).click();
      await visitor.sees(/^401 /, form);
      await form.getByLabel("API key").fill(visits.key);
      await form.getByRole("button", { name: "Send the request" }).click();
      await visitor.sees(/^202 /, form);
      const stored = (await page.evaluate(
        "indexedDB.databases().then((databases) => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href, databases]))",
      )) as string;
      const kept = stored + visitor.requestedUrls.join() + (await form.locator(".reply").innerText());
      for (const key of [visits.key, "gw_live_0123456789"]) assert.ok(!kept.includes(key));
      await page.reload();
      assert.equal(await form.getByLabel("API key").inputValue(), "");
    }));

  test("keeps the key for the other pages of the tab by choice, until the choice ends", (context) =>
    visits.visit(context, async (visitor) => {
      const form = await openForm(visitor);
      await form.getByLabel("Keep the key").check();
      const other = "/docs/reference-webhooks";
      await open(visitor, other);
      const list = formOf(visitor, "listWebhookEndpoints");
      await list.getByText("Try it").click();
      assert.equal(await list.getByLabel("API key").inputValue(), visits.key);
      await list.getByLabel("Keep the key").uncheck();
      await open(visitor, other);
      assert.equal(await list.getByLabel("API key").inputValue(), "");
      assert.equal(await visitor.page.evaluate("sessionStorage.length"), 0);
    }));

  test("has forms that are accessible and fit a phone, light and dark", (context) =>
    visits.visit(
      context,
      async (visitor) => {
        const form = await openForm(visitor);
        await form.getByRole("button", { name: "Send the request" }).click();
        await visitor.sees(/^202 /, form);
        await visitor.page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })");
        assert.deepEqual([...(await visitor.violations()), ...(await visitor.misfits())], []);
        await visitor.page.emulateMedia({ colorScheme: "dark" });
        assert.deepEqual(await visitor.violations("contrasts"), []);
      },
      { width: 360, height: 740 },
    ));

  test("is complete without a script, and has no form then", (context) =>
    visits.visit(
      context,
      async (visitor) => {
        const page = await visitor.page.context().browser()?.newPage({ javaScriptEnabled: false });
        assert.ok(page !== undefined);
        await page.goto(visitor.url + SEND);
        assert.ok(await page.getByText("The phone number of the recipient in E.164 format").first().isVisible());
        assert.ok(await page.getByText("Try it").first().isHidden());
        await page.close();
      },
      { onlyChromium: "Playwright cannot switch scripts off in Firefox." },
    ));
});
