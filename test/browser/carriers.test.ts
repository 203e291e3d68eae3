/** Carriers in the console: from no carrier to a delivered message, with a real SMPP carrier on an address that the operator allows. */
import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { until } from "../support/expect.ts";
import { Smsc } from "../support/fakes/smsc.ts";
import { byRecipient } from "../support/fakes/smsc-scripts.ts";
import { ConsoleVisits, type Visitor } from "../support/visitor.ts";

const PASSWORD = "right";
// ESME_RINVPASWD.
const INVALID_PASSWORD = 0x0e;

let smsc: Smsc;
let key: string;
const visits = new ConsoleVisits(async ({ godwit }) => {
  smsc = await Smsc.start({ ...byRecipient, bind: ({ password }) => (password === PASSWORD ? 0 : INVALID_PASSWORD) });
  key = await godwit.key({ environment: "live" });
});
after(() => smsc.stop());

/** Fills in the form of an SMPP carrier, and adds it. */
async function addCarrier({ page, ...visitor }: Visitor, password: string): Promise<void> {
  await page.getByRole("link", { name: "SMPP" }).click();
  await page.getByLabel("Host", { exact: true }).fill("127.0.0.1");
  await page.getByLabel("Port", { exact: true }).fill(String(smsc.port));
  await page.getByLabel("Use TLS").uncheck();
  await page.getByLabel("System ID").fill("godwit");
  await page.getByLabel("Password", { exact: true }).fill(password);
  await page.getByRole("button", { name: "Add the carrier" }).click();
  await page.getByRole("heading", { level: 1, name: "SMPP", exact: true }).waitFor();
  assert.deepEqual(visitor.browserErrors, []);
}

/** Makes a request, and returns the id in its response. */
async function create(path: string, body: object): Promise<string> {
  const { json, text } = await visits.godwit.request("POST", path, { key, body });
  assert.equal(typeof json["id"], "string", text);
  return String(json["id"]);
}

/** Checks the open page wide and narrow, light and dark. */
async function assertLook(visitor: Visitor, what: string): Promise<void> {
  for (const [width, colorScheme] of [
    [1_440, "light"],
    [360, "dark"],
  ] as const) {
    await visitor.page.setViewportSize({ width, height: 900 });
    await visitor.page.emulateMedia({ colorScheme });
    await visitor.assertAccessible(`${what} at ${width}, ${colorScheme},`);
    await visitor.assertFits(what);
  }
  await visitor.page.setViewportSize({ width: 1_440, height: 900 });
}

describe("a new account", () => {
  test("gets from no carrier to a delivered message, and reads what is wrong on the way", (context) =>
    visits.visit(context, async (visitor) => {
      const { page, dialog } = visitor;
      await visitor.signIn(key);
      const steps = page.getByRole("region", { name: "First steps" });
      await steps.getByRole("link", { name: "Add a carrier" }).click();
      await assertLook(visitor, "the choice of carriers");
      await page.getByRole("link", { name: "Telnyx" }).click();
      await visitor.button("Add the carrier").click();
      const region = page.getByRole("form", { name: "New carrier" });
      await page.locator(".field.wrong label").getByText("API key").waitFor();
      assert.equal(await page.getByLabel("Public URL").inputValue(), visits.godwit.url);
      await visitor.sees("is required", region);
      await assertLook(visitor, "a form with faults");
      await page.getByRole("link", { name: "Choose another carrier" }).click();
      await addCarrier(visitor, "wrong");
      const connection = page.getByRole("region", { name: "Connection" });
      await visitor.button("Test connection").click();
      await visitor.sees(/refuses the credentials/, connection);
      await visitor.button("Change").click();
      await dialog.getByLabel("Password", { exact: true }).fill(PASSWORD);
      await dialog.getByRole("button", { name: "Save" }).click();
      await dialog.waitFor({ state: "detached" });
      await visitor.sees(/^connected$/, page.getByRole("region", { name: "State" }));
      await visitor.button("Test connection").click();
      await visitor.sees("The connection works.", connection);
      const senders = page.getByRole("region", { name: "Senders" });
      await senders.getByLabel("Number or name").fill("+14155550100");
      await senders.getByRole("button", { name: "Add a sender" }).click();
      await senders.getByRole("button", { name: /^Remove/ }).waitFor();
      await assertLook(visitor, "the page of a carrier");
      assert.ok(!(await page.content()).includes(PASSWORD), "no secret is shown");
      await visitor.choose("Overview");
      await visitor.sees(/^Send one to your own number/, steps);
      await visitor.choose("Carriers");
      await page.getByRole("link", { name: "SMPP" }).click();
      await page.getByRole("link", { name: "Write a message" }).click();
      await page.getByLabel("Recipient").fill("+4915112345678");
      await page.getByLabel("Text").fill("Hello");
      await visitor.button("Send").click();
      await visitor.sees(/^delivered$/, page.getByRole("region", { name: "The message you sent" }).getByRole("status"));
      await visitor.choose("Overview");
      // The list is not shown before it is loaded either. The browser stores that all steps are done.
      const names = (): Promise<string> => page.evaluate("Object.keys(localStorage).join()");
      await until("the steps to be done", async () => ((await names()).includes("godwit:first-steps:") ? true : undefined));
      assert.equal(await steps.count(), 0);
      await visitor.choose("Carriers");
      await visitor.sees(/^connected$/, page.getByRole("row").filter({ hasText: "SMPP" }));
    }));
});

describe("a carrier", () => {
  test("can be paused, resumed and deleted, and its sender removed", (context) =>
    visits.visit(context, async (visitor) => {
      const { page, dialog } = visitor;
      const settings = { host: "127.0.0.1", port: smsc.port, system_id: "acme", password: PASSWORD };
      const link = await create("/v1/links", { name: "Acme", provider: "smpp", settings });
      await create("/v1/senders", { number: "+14155550101", link_id: link });
      await visitor.signIn(key, "carriers");
      const row = page.getByRole("row").filter({ hasText: "Acme" });
      await visitor.sees(/^connected$/, row);
      await row.getByRole("button", { name: "Pause" }).click();
      await visitor.sees(/^paused$/, row);
      await assertLook(visitor, "the list of carriers");
      await row.getByRole("button", { name: "Resume" }).click();
      await visitor.sees(/^connected$/, row);
      await row.getByRole("link", { name: "Acme" }).click();
      await page.getByRole("button", { name: "Remove +14155550101" }).click();
      await dialog.getByRole("button", { name: "Remove" }).click();
      await visitor.sees(/^No sender yet/);
      await visitor.button("Delete").click();
      await dialog.getByRole("button", { name: "Delete" }).click();
      await visitor.heading("Carriers").waitFor();
      await row.waitFor({ state: "detached" });
      assert.equal((await visits.godwit.request("GET", `/v1/links/${link}`, { key })).status, 404);
    }));
});

describe("a key that cannot change carriers", () => {
  test("of test sees the simulator, and how to get a live key; the list of first steps can be hidden", (context) =>
    visits.visit(context, async (visitor) => {
      const { page } = visitor;
      await visitor.signIn(visits.key);
      const steps = page.getByRole("region", { name: "First steps" });
      await visitor.sees(/keys create --environment live/, steps);
      await steps.getByRole("button", { name: "Hide" }).click();
      await page.reload();
      await visitor.sees("Delivery rate");
      assert.equal(await steps.count(), 0);
      await visitor.choose("Carriers");
      await visitor.sees("simulator", page.getByRole("table"));
      assert.equal(await page.getByRole("link", { name: "Add a carrier" }).count(), 0);
    }));

  test("of live without links:write reads which scope is missing, and sees no simulator", (context) =>
    visits.visit(context, async (visitor) => {
      const { page } = visitor;
      await visitor.signIn(await visits.godwit.key({ environment: "live", scopes: ["links:read"] }), "carriers");
      await visitor.sees("links:write");
      assert.equal(await page.getByText("simulator").count(), 0);
      await visitor.goto("carriers/new");
      await visitor.sees(/Your key may not add carriers/);
    }));
});
