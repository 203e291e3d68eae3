/** Carriers in the console: from no carrier to a delivered message, with a real SMPP carrier on an address that the operator allows. */
import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { until } from "../support/expect.ts";
import { Smsc, type Submit } from "../support/fakes/smsc.ts";
import { byRecipient } from "../support/fakes/smsc-scripts.ts";
import { startGodwit } from "../support/harness.ts";
import { ConsoleVisits, Visitor } from "../support/visitor.ts";

const PASSWORD = "right";
// ESME_RINVPASWD.
const INVALID_PASSWORD = 0x0e;
// ESME_RSYSERR, after which another link takes the message.
const SYSTEM_ERROR = 0x08;
const REFUSED_ONCE = "+493012345678";

let smsc: Smsc;
let key: string;
const visits = new ConsoleVisits(async ({ godwit }) => {
  smsc = await Smsc.start({
    submit: (submit, session) =>
      isFirstTo(submit, REFUSED_ONCE) ? session.refuse(submit, SYSTEM_ERROR) : byRecipient.submit?.(submit, session),
    bind: ({ password }) => (password === PASSWORD ? 0 : INVALID_PASSWORD),
  });
  key = await godwit.key({ environment: "live" });
});
after(() => smsc.stop());

const isFirstTo = ({ short }: Submit, recipient: string): boolean =>
  `+${short.destination.text}` === recipient &&
  smsc.submits.filter((each) => each.short.destination.text === short.destination.text).length === 1;

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

const createLink = (name: string): Promise<string> =>
  create("/v1/links", {
    name,
    provider: "smpp",
    settings: { host: "127.0.0.1", port: smsc.port, system_id: name, password: PASSWORD },
  });

/** The rules of all routes. */
async function readRoutes(): Promise<object[]> {
  const { json } = await visits.godwit.request("GET", "/v1/routes", { key });
  const routes = json["data"] as Record<string, unknown>[];
  return routes.map(({ links, countries, prefixes, priority, weights, strategy }) => ({
    links,
    countries,
    prefixes,
    priority,
    weights,
    strategy,
  }));
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
      const password = dialog.getByLabel("Password", { exact: true });
      assert.match((await password.getAttribute("placeholder")) ?? "", /leave it empty to keep it/);
      await password.fill("x".repeat(20_000));
      await dialog.getByRole("button", { name: "Save" }).click();
      await dialog.locator(".field.wrong label").getByText("Password").waitFor();
      await password.fill(PASSWORD);
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
      const link = await createLink("Acme");
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

describe("routes", () => {
  test("are added, changed and deleted, and their faults are beside the fields", (context) =>
    visits.visit(context, async (visitor) => {
      const { page, dialog } = visitor;
      const [first, second] = [await createLink("First"), await createLink("Second")];
      await visitor.signIn(key, "carriers");
      const card = page.getByRole("region", { name: "Routes" });
      await visitor.sees(/^Without routes, the carriers of a channel are used in the order/, card);
      await card.getByRole("button", { name: "Add a route" }).click();
      await dialog.getByRole("combobox", { name: "Carrier 1" }).selectOption("Second");
      await dialog.getByRole("button", { name: "Add a carrier" }).click();
      await dialog.getByRole("combobox", { name: "Carrier 2" }).selectOption("Second");
      await dialog.getByLabel("Countries").fill("us, USA");
      await dialog.getByLabel("Prefixes").fill("1415");
      await dialog.getByLabel("Priority").fill("5000");
      await dialog.getByLabel("Weight").first().fill("3");
      const faults = dialog.locator(".field.wrong");
      const fieldsAtFault = (): Promise<string[]> => faults.locator("label").allInnerTexts();
      await dialog.getByRole("button", { name: "Add", exact: true }).click();
      await faults.first().waitFor();
      assert.deepEqual(await fieldsAtFault(), ["Weight optional", "Countries optional", "Prefixes optional", "Priority optional"]);
      await visitor.sees("Entry 2 must be a country of two letters such as US", dialog);
      await visitor.sees("See the marked fields.", dialog);
      assert.equal(await dialog.getByText("must be a country of two letters").count(), 1, "the fault is shown once");
      await assertLook(visitor, "the form of a route");
      await dialog.getByLabel("Countries").fill("us, ca");
      await dialog.getByLabel("Prefixes").fill("");
      await dialog.getByLabel("Priority").clear();
      await dialog.getByLabel("Priority").fill("5");
      await dialog.getByLabel("Weight").last().fill("1");
      await dialog.getByRole("button", { name: "Add", exact: true }).click();
      await visitor.sees("is listed twice", dialog);
      assert.deepEqual(await fieldsAtFault(), ["Carrier 2"]);
      await dialog.getByRole("combobox", { name: "Carrier 2" }).selectOption("First");
      await dialog.getByRole("button", { name: "Add", exact: true }).click();
      await dialog.waitFor({ state: "detached" });
      await visitor.sees("Second (weight 3), First (weight 1)", card);
      const rules = { countries: ["US", "CA"], prefixes: null, priority: 5 };
      assert.deepEqual(await readRoutes(), [{ links: [second, first], ...rules, weights: [3, 1], strategy: null }]);
      await assertLook(visitor, "the routes");

      await card.getByRole("button", { name: "Change the route of sms to US, CA" }).click();
      await dialog.getByRole("button", { name: "Move up" }).last().click();
      for (const weight of await dialog.getByLabel("Weight").all()) await weight.fill("");
      await dialog.getByRole("button", { name: "Save" }).click();
      await visitor.sees("First, then Second", card);
      assert.deepEqual(await readRoutes(), [{ links: [first, second], ...rules, weights: null, strategy: null }]);
      await card.getByRole("button", { name: "Change the route of sms to US, CA" }).click();
      await dialog.getByLabel("Choose by").selectOption("price");
      await dialog.getByRole("button", { name: "Save" }).click();
      await visitor.sees("First, Second", card);
      assert.deepEqual(await readRoutes(), [{ links: [first, second], ...rules, weights: null, strategy: "price" }]);

      await page.getByRole("table", { name: "Carriers" }).getByRole("link", { name: "First" }).click();
      await visitor.button("Change").click();
      await dialog.getByText("Advanced settings").click();
      await dialog.getByLabel("Prices").fill("de cheap, * 0.05");
      await dialog.getByRole("button", { name: "Save" }).click();
      await dialog.locator(".field.wrong").getByText(/^DE /).waitFor();
      await dialog.getByLabel("Prices").fill("de 0.07, * 0.05");
      await dialog.getByRole("button", { name: "Save" }).click();
      await visitor.sees("DE 0.07, * 0.05", page.getByRole("region", { name: "State" }));
      await visitor.button("Delete").click();
      await dialog.getByRole("button", { name: "Delete" }).click();
      await visitor.sees(/change or delete the route first/, dialog);
      await dialog.getByRole("button", { name: "Cancel" }).click();
      await visitor.choose("Carriers");
      await card.getByRole("button", { name: "Delete the route of sms to US, CA" }).click();
      await dialog.getByRole("button", { name: "Delete" }).click();
      await card.getByRole("table").waitFor({ state: "detached" });
      assert.deepEqual(await readRoutes(), []);
    }));

  test("of the operator are shown, and cannot be changed", (context) =>
    visits.with(context, async (browser) => {
      const config = `
        [[link]]
        name = "acme"
        provider = "smpp"
        host = "127.0.0.1"
        port = ${smsc.port}
        system_id = "operator"
        password_env = "ACME_PASSWORD"
        [[route]]
        channel = "sms"
        prefixes = ["+49"]
        links = ["acme"]`;
      const godwit = await startGodwit({ config, env: { ACME_PASSWORD: PASSWORD } });
      const visitor = await Visitor.open(browser, godwit.url);
      try {
        await visitor.signIn(await godwit.key({ environment: "live" }), "carriers");
        const row = visitor.page.getByRole("table", { name: "Routes" }).getByRole("row").last();
        await visitor.sees("configured by the operator", row);
        await visitor.sees("acme", row);
        await visitor.sees("+49…", row);
        assert.equal(await row.getByRole("button").count(), 0);
        assert.equal(await visitor.button("Add a route").count(), 0, "a route names carriers of the account, and it has none");
        visitor.assertClean();
      } finally {
        await visitor.close();
        await godwit.stop();
      }
    }));
});

describe("the carrier of a message", () => {
  test("is shown by its name, and by its id if it is deleted or the key may not read carriers", (context) =>
    visits.visit(context, async (visitor) => {
      const { page } = visitor;
      const { godwit } = visits;
      const [north, south] = [await createLink("North"), await createLink("South")];
      const route = await create("/v1/routes", { channel: "sms", links: [north, south] });
      const id = await create("/v1/messages", { channel: "sms", recipient: REFUSED_ONCE, body: "Hello" });
      await visitor.signIn(key, `messages/${id}`);
      const [record, timeline] = [page.getByRole("region", { name: "Record" }), page.getByRole("region", { name: "Timeline" })];
      await visitor.sees("South reports delivered", timeline);
      await visitor.sees("Attempt 1 at North: refused", timeline);
      await visitor.sees("South takes it next", timeline);
      assert.ok(!(await timeline.innerText()).includes("lnk_"), await timeline.innerText());
      assert.equal(await timeline.getByText("North", { exact: true }).first().getAttribute("title"), north);
      await visitor.sees(south, record);
      await assertLook(visitor, "a message with the name of its carrier");
      await record.getByRole("link", { name: "South" }).click();
      await visitor.heading("South").waitFor();

      await visitor.button("Sign out").click();
      await visitor.signIn(await godwit.key({ environment: "live", scopes: ["messages:read"] }), `messages/${id}`);
      await visitor.sees(`${south} reports delivered`, timeline);
      await visitor.sees(`${south} takes it next`, timeline);
      await godwit.request("DELETE", `/v1/routes/${route}`, { key });
      for (const link of [north, south]) assert.equal((await godwit.request("DELETE", `/v1/links/${link}`, { key })).status, 200);
      await visitor.button("Sign out").click();
      await visitor.signIn(key, `messages/${id}`);
      await visitor.sees(`${south} reports delivered`, timeline);
      await record.getByText(south).waitFor();
      await record.getByRole("link", { name: south }).waitFor({ state: "detached" });
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
      await createLink("Readable");
      await visitor.signIn(await visits.godwit.key({ environment: "live", scopes: ["links:read"] }), "carriers");
      await visitor.sees("links:write");
      assert.equal(await page.getByText("simulator").count(), 0);
      await page.getByRole("region", { name: "Routes" }).waitFor();
      assert.equal(await visitor.button("Add a route").count(), 0);
      await visitor.goto("carriers/new");
      await visitor.sees(/Your key may not add carriers/);
    }));
});
