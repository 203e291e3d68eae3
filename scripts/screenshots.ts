/** Takes a screenshot of every page of the console, at two widths, light and dark: npm run screenshots [-- folder], or only that of the README:
 *  npm run screenshots -- --readme. Starts its own service with an embedded database in a temporary folder, and fills it through the API. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Browser, Page } from "playwright-core";
import { Godwit } from "../sdk/src/index.ts";
import { launchBrowser } from "./browsers.ts";
import { startOwnService, type OwnService } from "./own-service.ts";

const ROOT = join(import.meta.dirname, "..");
const IS_README = process.argv[2] === "--readme";
const OUT = IS_README ? join(ROOT, "docs", "pictures") : (process.argv[2] ?? join(ROOT, "screenshots"));
const SIZES = [
  { width: 360, height: 800 },
  { width: 1440, height: 900 },
] as const;
const THEMES = ["light", "dark"] as const;

const say = (text: string): void => void process.stdout.write(`${text}\n`);

/** Creates some of every resource, so that no page is empty. Returns the paths of the pages of single resources. */
async function fill({ url, key }: OwnService): Promise<string[]> {
  const api = new Godwit({ baseUrl: url, apiKey: key });
  const endpoint = await api.webhookEndpoints.create({
    url: "http://127.0.0.1:9/hook",
    event_types: ["*"],
    description: "Refuses connections",
  });
  await api.webhookEndpoints.create({ url: `${url}/livez`, event_types: ["message.delivered"], description: null });
  const template = await api.templates.create({
    name: "order_shipped",
    language: "en",
    category: "utility",
    channels: ["sms", "whatsapp"],
    body: "Hello {{name}}, your order {{order}} is on its way.",
    examples: { name: "Ada", order: "1815" },
  });
  const long = await api.messages.send({
    recipient: "+15005550006",
    channel: "sms",
    body: `A long one – with a dash that is not in the GSM alphabet 🐦. ${"It goes on and on, over several parts. ".repeat(6)}`,
    client_reference: "order-1815",
    metadata: { customer: "1815", campaign: "autumn" },
  });
  for (const number of ["02", "03", "05", "06", "06", "06", "07", "08", "09", "10", "12"])
    await api.messages.send({ recipient: `+150055500${number}`, channel: "sms", body: `Your order is on its way (${number}).` });
  const failed = await api.messages.send({ recipient: "+15005550002", channel: "sms", body: "<script>alert('shown as text')</script>" });
  await api.messages.send({
    recipient: "+15005550006",
    channel: "sms",
    body: "Tomorrow",
    send_at: new Date(Date.now() + 86_400_000).toISOString(),
  });
  await api.suppressions.create({ recipient: "+14155550199", note: "asked by phone" });
  const batch = await api.batches.send({
    defaults: { channel: "sms", body: "To many recipients" },
    items: ["02", "05", "06", "06", "12"].map((number) => ({ recipient: `+150055500${number}` })),
  });
  const verification = await api.verifications.create({ recipient: "+15005550006", channel: "sms" });
  await sleep(6_000);
  return [
    `batches/${batch.id}`,
    `verifications/${verification.id}`,
    `messages/${long.id}`,
    `messages/${failed.id}`,
    `endpoints/${endpoint.id}`,
    `templates/${template.id}`,
  ];
}

const PAGES = [
  "",
  "messages",
  "messages?search=order",
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
];

async function takeScreenshot(page: Page, name: string): Promise<void> {
  await page.screenshot({ path: join(OUT, `${name}.png`), fullPage: true });
  say(`${name}.png`);
}

async function takeScreenshots(browser: Browser, { url, key }: OwnService, paths: readonly string[]): Promise<void> {
  for (const viewport of SIZES) {
    for (const colorScheme of THEMES) {
      const context = await browser.newContext({ viewport, colorScheme, locale: "en-GB" });
      const page = await context.newPage();
      const toName = (path: string): string =>
        `${path === "" ? "overview" : path.replaceAll(/_[0-9a-z]{26}/g, "").replaceAll(/[^\w-]+/g, "-")}-${viewport.width}-${colorScheme}`;
      await page.goto(`${url}/console`);
      await takeScreenshot(page, toName("sign-in"));
      await page.getByLabel("API key").fill(key);
      await page.getByRole("button", { name: "Sign in" }).click();
      await page.getByRole("heading", { name: "Overview" }).waitFor();
      for (const [at, path] of paths.entries()) {
        await page.goto(`${url}/console${path === "" ? "" : `/${path}`}`);
        await page.waitForLoadState("load");
        // The page fetches and draws its data after the load event.
        await sleep(1_200);
        await takeScreenshot(page, `${String(at).padStart(2, "0")}-${toName(path)}`);
      }
      await context.close();
    }
  }
}

/** Takes the picture of the README: a message that its carrier throttles twice before it is delivered. */
async function takeReadmePicture(browser: Browser, { url, key }: OwnService): Promise<void> {
  const api = new Godwit({ baseUrl: url, apiKey: key });
  const { id } = await api.messages.send({
    recipient: "+15005550012",
    channel: "sms",
    body: "Your order A-17 is on its way and arrives on Monday.",
    client_reference: "order-A-17",
  });
  const page = await browser.newPage({ viewport: { width: 1_280, height: 800 }, colorScheme: "light", locale: "en-US" });
  await page.goto(`${url}/console`);
  await page.getByLabel("API key").fill(key);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  await page.goto(`${url}/console/messages/${id}`);
  await page.getByText("delivered", { exact: true }).nth(1).waitFor();
  writeFileSync(join(OUT, "console.webp"), await toWebp(browser, await page.screenshot()));
}

/** Encodes a picture as WebP, which takes a third of the space. The policy of the console permits no pictures of others, so another page does it. */
async function toWebp(browser: Browser, png: Buffer): Promise<Buffer> {
  const page = await browser.newPage();
  await page.setContent(`<img src="data:image/png;base64,${png.toString("base64")}"><canvas></canvas>`);
  const encoded = await page.evaluate<string>(`(async () => {
    const [picture, canvas] = [document.querySelector("img"), document.querySelector("canvas")];
    await picture.decode();
    [canvas.width, canvas.height] = [picture.naturalWidth, picture.naturalHeight];
    canvas.getContext("2d").drawImage(picture, 0, 0);
    return canvas.toDataURL("image/webp", 0.9);
  })()`);
  return Buffer.from(encoded.slice(encoded.indexOf(",") + 1), "base64");
}

const launched = await launchBrowser("Chromium");
if ("missing" in launched) throw new Error(launched.missing);
const { browser } = launched;
mkdirSync(OUT, { recursive: true });
const service = await startOwnService("test", "Pictures");
try {
  if (IS_README) await takeReadmePicture(browser, service);
  else await takeScreenshots(browser, service, [...PAGES, ...(await fill(service))]);
} finally {
  await browser.close();
  await service.stop();
}
