/** Every page of the console, wide and narrow, light and dark: accessible according to axe-core, and within its width. */
import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { ConsoleVisits, type Visitor, type WindowOptions } from "../support/visitor.ts";
import { until } from "../support/expect.ts";
import { Hook, REFUSED } from "../support/hook-server.ts";
import { JPEG, upload } from "../support/media.ts";

/** A path for each kind of page, with content. */
const paths: string[] = [
  "",
  "messages",
  "messages?search=word",
  "conversations",
  "conversations/%2B15005550008",
  "send",
  "bulk",
  "batches",
  "verifications",
  "templates",
  "templates/new",
  "media",
  "endpoints",
  "suppressions",
  "usage",
  "carriers",
  "keys",
  "requests",
  "audit",
  "nonsense",
];
/** The paths of pages for a single object, by its kind. */
const pages = new Map<string, string>();
let hook: Hook;

const visits = new ConsoleVisits(async ({ godwit, key }) => {
  const create = async (path: string, body: object): Promise<string> => {
    const { json, text } = await godwit.request("POST", path, { key, body });
    assert.equal(typeof json["id"], "string", text);
    return String(json["id"]);
  };
  hook = await Hook.listen();
  hook.behave = () => REFUSED;
  const endpoint = await create("/v1/webhook_endpoints", {
    url: hook.url(`/${"long".repeat(60)}`),
    description: "w".repeat(200),
    event_types: ["*"],
  });
  const template = await create("/v1/templates", {
    name: "order_shipped",
    language: "en",
    category: "utility",
    channels: ["sms", "whatsapp"],
    body: "Hello {{name}}, your order is on its way.",
    examples: { name: "Ada" },
  });
  await create("/v1/suppressions", { recipient: "+14155550199" });
  const inbound = `https://example.com/${"long".repeat(60)}`;
  await create("/v1/compatible_credentials", {
    source: "kannel",
    user_name: `look${"w".repeat(60)}`,
    settings: { "get-url": inbound, "max-messages": "0" },
  });
  await create("/v1/compatible_credentials", { source: "twilio" });
  const message = await create("/v1/messages", { recipient: "+15005550005", channel: "sms", body: "Hello", metadata: { order: "1815" } });
  await create("/v1/messages", { recipient: "+15005550006", channel: "sms", body: "word ".repeat(80), client_reference: "r".repeat(100) });
  await create("/v1/messages", { recipient: "+15005550008", channel: "sms", body: "w".repeat(300) });
  const batch = await create("/v1/batches", { items: [{ recipient: "+15005550006", channel: "sms", body: "One of many" }] });
  const verification = await create("/v1/verifications", { recipient: "+15005550006", channel: "sms" });
  await until("deliveries to fail", () => (hook.calls.length >= 4 ? true : undefined));
  const sendAt = new Date(Date.now() + 3_600_000).toISOString();
  const scheduled = await create("/v1/messages", { recipient: "+15005550006", channel: "sms", body: "Later", send_at: sendAt });
  pages.set("message", `messages/${message}`).set("scheduled message", `messages/${scheduled}`);
  pages.set("endpoint", `endpoints/${endpoint}`).set("template", `templates/${template}`);
  const picture = await upload(godwit, JPEG, { key, query: { file_name: `${"long".repeat(40)}.jpg` } });
  const file = String(picture.json["id"]);
  const list = await create("/v1/messages", {
    recipient: "+15005550006",
    channel: "whatsapp",
    content: { type: "list", text: "w".repeat(300), button: "Open", sections: [{ rows: [{ id: "a", title: "One" }] }] },
  });
  await create("/v1/messages", {
    recipient: "+15005550008",
    channel: "whatsapp",
    content: { type: "media", kind: "document", media_id: file, file_name: "n".repeat(200), caption: "w".repeat(300) },
  });
  pages.set("file", `media/${file}`).set("list", `messages/${list}`);
  pages.set("batch", `batches/${batch}`).set("verification", `verifications/${verification}`);
  paths.push(...pages.values());
});
after(() => hook[Symbol.asyncDispose]());

/** Waits until the page has loaded completely. */
const settled = async ({ page }: Visitor): Promise<void> => {
  await page.locator("main h1").waitFor();
  await page.locator(".skeleton").first().waitFor({ state: "detached" });
};

type Window = Required<WindowOptions>;
const WINDOWS: readonly Window[] = [
  { width: 360, height: 800, colorScheme: "light" },
  { width: 360, height: 800, colorScheme: "dark" },
  { width: 1_440, height: 900, colorScheme: "light" },
  { width: 1_440, height: 900, colorScheme: "dark" },
];

describe("every page", () => {
  /** The faults of the pages, by window. */
  const faults = new Map<Window, string[]>(WINDOWS.map((each) => [each, []]));
  const misfits: string[] = [];
  let isWalked = false;

  /** Checks the open page in each of the windows, and in widths between theirs. */
  async function checkPage(visitor: Visitor, what: string): Promise<void> {
    for (const [{ width, height, colorScheme }, found] of faults) {
      await visitor.page.setViewportSize({ width, height });
      await visitor.page.emulateMedia({ colorScheme });
      // Colors change nothing but contrasts.
      const violations = await visitor.violations(colorScheme === "light" ? "all" : "contrasts");
      for (const each of [...violations, ...(await visitor.misfits())]) found.push(`${what}: ${each}`);
    }
    for (const width of [480, 720, 900, 1_024, 1_280]) {
      await visitor.page.setViewportSize({ width, height: 900 });
      for (const each of await visitor.misfits()) misfits.push(`${what}: ${each}`);
    }
  }

  /** Once for all tests, because loading a page takes about as long as checking it. */
  async function walk(visitor: Visitor): Promise<void> {
    await visitor.goto();
    await visitor.page.getByLabel("API key").waitFor();
    await checkPage(visitor, "the sign-in page");
    await visitor.enter(visits.key);
    for (const path of paths) {
      await visitor.goto(path);
      await settled(visitor);
      await checkPage(visitor, `/console/${path}`);
    }
    isWalked = true;
  }

  for (const each of WINDOWS) {
    test(`is accessible and fits, ${each.width} pixels wide and ${each.colorScheme}`, async (context) => {
      if (!isWalked) await visits.visit(context, walk);
      assert.deepEqual(faults.get(each), []);
    });
  }

  test("fits any width between the two, also with long words", async (context) => {
    if (!isWalked) await visits.visit(context, walk);
    assert.deepEqual(misfits, []);
  });
});

describe("the keyboard", () => {
  test("is sufficient to sign in, skip the menu, follow a link, and open and close a dialog", (context) =>
    visits.visit(context, async ({ page, ...visitor }) => {
      const { keyboard } = page;
      await page.goto(`${visits.godwit.url}/console`);
      await page.getByLabel("API key").waitFor();
      await keyboard.type(visits.key);
      await keyboard.press("Enter");
      await page.getByRole("heading", { name: "Overview" }).waitFor();
      await page.reload();
      await page.getByRole("heading", { name: "Overview" }).waitFor();
      await keyboard.press("Tab");
      assert.equal(await focused(page), "Skip to the content");
      await keyboard.press("Enter");
      assert.equal(await page.evaluate("document.activeElement.id"), "main");
      await page.getByRole("link", { name: "Suppressions", exact: true }).focus();
      await keyboard.press("Enter");
      await page.getByRole("heading", { name: "Suppressions" }).waitFor();
      assert.equal(await focused(page), "Suppressions", "the heading of the new page has the focus");
      const add = page.getByRole("button", { name: "Add a recipient" });
      await add.focus();
      await keyboard.press("Enter");
      await page.getByRole("dialog").waitFor();
      await keyboard.press("Escape");
      await page.getByRole("dialog").waitFor({ state: "detached" });
      assert.equal(visitor.browserErrors.length, 0);
    }));
});

const focused = (page: Visitor["page"]): Promise<string> => page.evaluate("document.activeElement.textContent");

describe("dialogs", () => {
  const DIALOGS: readonly (readonly [path: string, ...buttons: string[]])[] = [
    ["suppressions", "Add a recipient", "Lift", "History"],
    ["endpoints", "Add an endpoint"],
    ["endpoint", "Edit", "Rotate the secret", "Recover", "Disable", "Delete"],
    ["keys", "Create a key", "Rotate", "Revoke", "Create a credential", "Revoke look"],
    ["template", "Archive"],
    ["scheduled message", "Cancel message", "Reschedule"],
    ["message", "Redact"],
    ["messages", "Export CSV"],
    ["file", "Delete"],
  ];
  for (const [place, ...buttons] of DIALOGS) {
    test(`of the page ${place} are accessible and fit a narrow window: ${buttons.join(", ")}`, (context) =>
      visits.visit(
        context,
        async (visitor) => {
          await visitor.signIn(visits.key, pages.get(place) ?? place);
          await settled(visitor);
          for (const button of buttons) {
            await visitor.page
              .getByRole("button", { name: new RegExp(`^${button}`) })
              .first()
              .click();
            await visitor.dialog.waitFor();
            await visitor.assertAccessible(button);
            await visitor.assertFits(button);
            await visitor.page.keyboard.press("Escape");
            await visitor.dialog.waitFor({ state: "detached" });
          }
        },
        { width: 360, height: 800 },
      ));
  }
});

describe("the menu", () => {
  test("keeps its width for a session with an unnamed key", (context) =>
    visits.visit(context, async (visitor) => {
      await visitor.signIn(visits.key);
      await visitor.sees("unnamed key");
      const overflow =
        "[...document.querySelectorAll('.side, .side *')].filter((each) => each.scrollWidth > each.clientWidth + 1 && each.clientWidth > 0 && !each.matches('.unseen')).length";
      assert.equal(await visitor.page.evaluate(overflow), 0);
      const right =
        "Math.max(...[...document.querySelectorAll('.account *')].map((each) => each.getBoundingClientRect().right)) - document.querySelector('.side').getBoundingClientRect().right";
      assert.ok(Number(await visitor.page.evaluate(right)) <= 0, "nothing leaves the menu");
    }));
});

describe("filters", () => {
  test("fold behind a button in a narrow window", (context) =>
    visits.visit(
      context,
      async (visitor) => {
        await visitor.signIn(visits.key, "messages?status=delivered");
        await settled(visitor);
        const status = visitor.page.getByLabel("Status");
        assert.ok(!(await status.isVisible()));
        await visitor.button("Filters (1)").click();
        await status.selectOption("");
        await visitor.button("Filters").waitFor();
      },
      { width: 360, height: 800 },
    ));
});

describe("the first load", () => {
  test("is under 150 kB compressed, comes only from this service, and works under its content security policy", (context) =>
    visits.visit(context, async (visitor) => {
      let bytes = 0;
      visitor.page.on("response", (response) => {
        const length = Number(response.headers()["content-length"] ?? 0);
        assert.ok(length > 0, `${response.url()} has a content length`);
        bytes += length;
      });
      await visitor.goto();
      await visitor.page.getByLabel("API key").waitFor();
      assert.ok(bytes > 10_000 && bytes < 150_000, `${bytes} bytes`);
    }));
});

describe("reduced motion", () => {
  test("is respected on every page", (context) =>
    visits.visit(context, async (visitor) => {
      await visitor.page.emulateMedia({ reducedMotion: "reduce" });
      await visitor.signIn(visits.key);
      for (const path of paths) {
        await visitor.goto(path);
        await visitor.page.locator("main h1").waitFor();
        assert.equal(await visitor.page.evaluate("document.getAnimations().length"), 0, path);
      }
    }));
});

describe("colors", () => {
  test("follow the system or the selected setting, also after a reload", (context) =>
    visits.visit(
      context,
      async (visitor) => {
        await visitor.signIn(visits.key);
        const ground = (): Promise<string> => visitor.page.evaluate("getComputedStyle(document.body).backgroundColor");
        assert.equal(await ground(), "rgb(20, 23, 22)");
        await visitor.page.getByLabel("Colors").selectOption("light");
        assert.equal(await ground(), "rgb(247, 246, 243)");
        await visitor.page.reload();
        await visitor.heading("Overview").waitFor();
        assert.equal(await ground(), "rgb(247, 246, 243)");
      },
      { colorScheme: "dark", onlyChromium: "WebDriver BiDi of Firefox does not emulate dark colors" },
    ));
});
