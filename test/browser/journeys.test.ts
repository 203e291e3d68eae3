/** One journey through each area of the console, in a real browser. The other files of this folder have the details. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import { ConsoleVisits } from "../support/visitor.ts";
import { until } from "../support/expect.ts";
import { Hook, OK } from "../support/hook-server.ts";

const visits = new ConsoleVisits();

describe("the overview", () => {
  test("counts messages without a reload, and links an error code to its messages", (context) =>
    visits.visit(context, async (visitor) => {
      const { page } = visitor;
      await visitor.signIn(visits.key);
      await visitor.heading("Overview").waitFor();
      await visitor.sees("No errors in this period");
      const step = page.getByRole("region", { name: "First steps" }).getByRole("listitem").filter({ hasText: "Send a test message" });
      assert.equal(await step.getByText("done").count(), 0);
      const throughput = page.getByRole("region", { name: "Throughput" });
      for (const recipient of ["+15005550002", "+15005550006"]) await visits.godwit.send(visits.key, { recipient });
      const errors = page.getByRole("region", { name: "Errors by code" });
      await visitor.sees("invalid_destination", errors);
      await until("half of the messages to be delivered", async () => ((await page.getByText("50%").count()) > 0 ? true : undefined));
      await visitor.sees("median; too few messages for p95");
      await visitor.sees("done", step);
      await visits.godwit.send(visits.key, { recipient: "+15005550006", send_at: new Date(Date.now() + 3_600_000).toISOString() });
      await visitor.sees("1 message scheduled");
      await throughput.getByText("As a table").click();
      const table = throughput.getByRole("table");
      await table.waitFor();
      assert.equal(await table.getByRole("row").count(), 61, "sixty minutes with the current one, and the heading");
      // The last two rows, because a minute may have ended meanwhile: delivered, in progress, other, not delivered.
      const cellsOf = (row: number): Promise<string[]> => table.getByRole("row").nth(row).getByRole("cell").allTextContents();
      await until("the table to show all messages", async () => {
        const [before, newest] = [await cellsOf(59), await cellsOf(60)];
        const sums = newest.map((cell, at) => Number(cell) + Number(before[at]));
        return isDeepStrictEqual(sums, [1, 1, 0, 1]) ? true : undefined;
      });
      for (const range of ["24h", "7d", "30d"]) {
        await page.getByLabel("Period", { exact: true }).selectOption(range);
        await visitor.sees("invalid_destination", errors);
        assert.match(page.url(), new RegExp(`range=${range}$`));
      }
      const code = errors.getByRole("link", { name: "invalid_destination" });
      assert.equal(await code.getAttribute("href"), "/docs/states#error-codes-of-messages");
      await errors.getByRole("link", { name: "1 message" }).click();
      await visitor.heading("Messages").waitFor();
      assert.match(page.url(), /error_code=invalid_destination/);
      await visitor.sees("+15005550002", page.getByRole("table"));
    }));
});

describe("keys", () => {
  test("can be created with few scopes, are shown once, and can be rotated and revoked", (context) =>
    visits.visit(context, async (visitor) => {
      const { page, dialog } = visitor;
      await visitor.signIn(visits.key, "keys");
      await visitor.button("Create a key").click();
      await dialog.getByLabel("Name").fill("made in the console");
      await dialog.getByRole("checkbox", { name: "messages:read" }).check();
      await dialog.getByLabel("Your API key").fill(visits.key);
      await dialog.getByRole("button", { name: "Create" }).click();
      const made = (await dialog.locator("pre").textContent()) ?? "";
      assert.match(made, /^gw_test_/);
      await dialog.getByRole("button", { name: "Done" }).click();
      const { json } = await visits.godwit.request("GET", "/v1/credential", { key: made });
      assert.deepEqual(json["scopes"], ["messages:read"]);
      assert.equal(json["expires_at"], null, "it outlives the access token of the session");
      assert.ok(!(await page.content()).includes(made), "the key is not on the page any more");

      const row = page.getByRole("row").filter({ hasText: "made in the console" });
      await row
        .first()
        .getByRole("button", { name: /^Rotate/ })
        .click();
      await dialog.getByLabel("Your API key").fill(visits.key);
      await dialog.getByRole("button", { name: "Rotate" }).click();
      const next = (await dialog.locator("pre").textContent()) ?? "";
      assert.match(next, /^gw_test_/);
      await dialog.getByRole("button", { name: "Done" }).click();
      await until("both keys to be listed", async () => ((await row.count()) === 2 ? true : undefined));

      await row
        .first()
        .getByRole("button", { name: /^Revoke/ })
        .click();
      await dialog.getByRole("button", { name: "Revoke" }).click();
      await visitor.sees(/^revoked$/, row.first());
      await until("the key to be refused", async () =>
        (await visits.godwit.request("GET", "/v1/credential", { key: next })).status === 401 ? true : undefined,
      );
    }));
});

describe("templates", () => {
  test("can be created, previewed by the service, changed, and sent", (context) =>
    visits.visit(context, async (visitor) => {
      const { page } = visitor;
      await visitor.signIn(visits.key, "templates/new");
      await page.getByLabel("Name", { exact: true }).fill("Bad Näme");
      await page.getByLabel("Body", { exact: true }).fill("Hello ");
      await visitor.button("Insert a variable").click();
      await page.keyboard.type("name");
      assert.equal(await page.getByLabel("Body", { exact: true }).inputValue(), "Hello {{name}}");
      await visitor.button("Submit").click();
      await visitor.sees(/must/);
      await page.getByLabel("Name", { exact: true }).fill("From the Console");
      await page.getByLabel(/Example for \{\{name\}\}/).fill("Ada");
      const preview = page.getByRole("region", { name: "Preview" });
      await visitor.sees("Hello Ada", preview);
      await visitor.button("Submit").click();
      await visitor.heading("from_the_console").waitFor();
      await visitor.sees("Hello Ada", preview);
      await preview.getByLabel(/Value of/).fill("Grace");
      await visitor.sees("Hello Grace", preview);
      await page.getByLabel("Body", { exact: true }).fill("Good morning {{name}}");
      await visitor.sees("Good morning Ada", preview);
      await visitor.button("Save").click();
      await preview.getByLabel(/Value of/).fill("Grace");
      await visitor.sees("Good morning Grace", preview);
      await page.getByRole("link", { name: "Send with this template" }).click();
      await visitor.button("delivered", true).click();
      await page.getByLabel("{{name}}", { exact: true }).fill("Grace");
      await visitor.sees("Good morning Grace");
      await visitor.button("Send").click();
      await visitor.sees(/^delivered$/, page.getByRole("region", { name: "The message you sent" }).getByRole("status"));
    }));
});

describe("suppressions", () => {
  test("can be added, found and lifted, and their history is shown", (context) =>
    visits.visit(context, async (visitor) => {
      const { page, dialog } = visitor;
      await visitor.signIn(visits.key, "suppressions");
      await visitor.sees("No suppressed recipients");
      await visitor.button("Add a recipient").click();
      await dialog.getByLabel("Recipient").fill("12");
      await dialog.getByRole("button", { name: "Suppress" }).click();
      await visitor.sees(/must begin with \+/, dialog);
      await dialog.getByLabel("Recipient").fill("+14155550155");
      await dialog.getByRole("button", { name: "Suppress" }).click();
      await visitor.sees(/^suppressed$/);
      await page.getByRole("searchbox", { name: "Recipient" }).fill("+14155550156");
      await visitor.sees("This recipient is not suppressed");
      await page.getByRole("searchbox", { name: "Recipient" }).fill("+14155550155");
      await visitor.button("Lift").click();
      await dialog.getByRole("button", { name: "Lift" }).click();
      await visitor.sees("This recipient is not suppressed");
      await page.getByLabel("State").selectOption("lifted");
      await visitor.sees(/^lifted$/, page.getByRole("table"));
      await visitor.button("History").click();
      await visitor.sees(/^suppressed$/, dialog);
      await visitor.sees(/^lifted$/, dialog);
    }));
});

describe("the audit log", () => {
  test("loads further pages on request, and shows the error of an invalid filter", (context) =>
    visits.visit(context, async (visitor) => {
      const { page } = visitor;
      const suppress = (recipient: string) => visits.godwit.request("POST", "/v1/suppressions", { key: visits.key, body: { recipient } });
      for (let count = 0; count <= 50; count += 1) await suppress(`+1415555${1_000 + count}`);
      await visitor.signIn(visits.key, "audit?action=suppression.*");
      const rows = page.getByRole("table", { name: "Audit log" }).getByRole("row");
      await rows.first().waitFor();
      assert.equal(await rows.count(), 51, "the heading and 50 entries");
      await visitor.button("Load more").click();
      await rows.nth(51).waitFor();
      await visitor.goto("audit?created_after=yesterday");
      await page.getByRole("alert").getByText("created_after").waitFor();
    }));
});

describe("usage and carriers", () => {
  test("the counts match the API, and can be downloaded as a file", (context) =>
    visits.visit(
      context,
      async (visitor) => {
        const { page } = visitor;
        await visits.godwit.send(visits.key, { recipient: "+15005550006" });
        await visitor.signIn(visits.key, "usage?range=24h");
        await page.getByRole("heading", { name: "By hour" }).waitFor();
        const file = page.waitForEvent("download");
        await visitor.button("Download CSV").click();
        assert.match((await file).suggestedFilename(), /^usage-test-by-hour-.*\.csv$/);
      },
      { onlyChromium: "WebDriver BiDi of Firefox does not report downloads" },
    ));

  test("the simulator is shown as the carrier of test", (context) =>
    visits.visit(context, async (visitor) => {
      await visitor.signIn(visits.key, "carriers");
      await visitor.sees("simulator");
      await visitor.sees(/^connected$/);
    }));
});

describe("the session", () => {
  test("stores only an access token of the key, survives a reload, and is not shared with another tab", (context) =>
    visits.visit(context, async (visitor) => {
      await visitor.signIn(visits.key);
      await visitor.heading("Overview").waitFor();
      const stored = (await visitor.page.evaluate("JSON.stringify([{ ...sessionStorage }, { ...localStorage }])")) as string;
      assert.ok(!stored.includes(visits.key), "the key is not in the browser's storage");
      assert.match(stored, /"token\\":\\"eyJ/, "an access token is stored");
      await visitor.page.reload();
      await visitor.heading("Overview").waitFor();
      const other = await visitor.page.context().newPage();
      await other.goto(`${visits.godwit.url}/console`);
      await other.getByLabel("API key").waitFor();
    }));
});

describe("sending", () => {
  test("a message to the simulator shows its status up to delivered without a reload", (context) =>
    visits.visit(context, async (visitor) => {
      const { page } = visitor;
      await visitor.signIn(visits.key, "send");
      await visitor.button("delivered", true).click();
      await page.getByLabel("Text").fill("Hello from the console");
      await visitor.sees("1 segment");
      await visitor.sees(`"recipient": "+15005550006"`, page.getByRole("region", { name: "Code sample" }));
      await visitor.button("TypeScript").click();
      await visitor.sees("godwit.messages.send(", page.getByRole("region", { name: "Code sample" }));
      await visitor.button("Python").click();
      await visitor.sees("from godwit import Godwit", page.getByRole("region", { name: "Code sample" }));
      const loads = visitor.requestedUrls.filter((address) => address.endsWith("/console/send")).length;
      await visitor.button("Send").click();
      const followed = page.getByRole("region", { name: "The message you sent" });
      await visitor.sees(/^delivered$/, followed.getByRole("status"));
      await visitor.sees("simulator", followed);
      assert.equal(visitor.requestedUrls.filter((address) => address.endsWith("/console/send")).length, loads, "the page is not reloaded");
      await followed.getByRole("link", { name: /^Open msg_/ }).click();
      await visitor.heading("To +15005550006").waitFor();
      await visitor.sees("Hello from the console", page.getByRole("region", { name: "Text" }));
      await visitor.sees("delivered", page.getByRole("region", { name: "Parts" }));
    }));
});

describe("messages", () => {
  test("that are scheduled can be rescheduled, canceled, redacted, and sent again as new", (context) =>
    visits.visit(context, async (visitor) => {
      const { page } = visitor;
      const sendAt = new Date(Date.now() + 3_600_000).toISOString();
      const { json } = await visits.godwit.send(visits.key, { recipient: "+15005550006", body: "For later", send_at: sendAt });
      await visitor.signIn(visits.key, `messages/${String(json["id"])}`);
      await visitor.button("Reschedule").click();
      const later = new Date(Date.now() + 7_200_000).toISOString().slice(0, 16);
      await visitor.dialog.getByLabel("Send at").fill(later);
      await visitor.dialog.getByRole("button", { name: "Reschedule" }).click();
      await visitor.sees("The message is rescheduled");
      const read = async (): Promise<Record<string, unknown>> =>
        (await visits.godwit.request("GET", `/v1/messages/${String(json["id"])}`, { key: visits.key })).json;
      assert.equal((await read())["send_at"], `${later}:00.000Z`);

      await visitor.button("Cancel message").click();
      await visitor.dialog.waitFor();
      await page.keyboard.press("Escape");
      await visitor.dialog.waitFor({ state: "detached" });
      assert.equal((await read())["status"], "scheduled", "Escape cancels nothing");
      await visitor.button("Cancel message").click();
      await visitor.dialog.getByRole("button", { name: "Cancel message" }).click();
      await visitor.sees(/^canceled$/, page.getByRole("region", { name: "Text" }));
      assert.equal((await read())["status"], "canceled");

      await visitor.button("Send again as new").click();
      await visitor.heading("Send").waitFor();
      assert.equal(await page.getByLabel("Text").inputValue(), "For later");
      assert.ok(!page.url().includes("later"), "the text is not in the URL");
      await page.goBack();
      await visitor.button("Redact").click();
      await visitor.dialog.getByRole("button", { name: "Redact" }).click();
      await visitor.sees(/was redacted/);
      assert.equal((await read())["body"], null);
    }));
});

describe("webhooks", () => {
  test("an endpoint can be created, and a failed delivery to it is shown and can be retried", (context) =>
    visits.visit(context, async (visitor) => {
      const { page } = visitor;
      await using hook = await Hook.listen();
      // The other deliveries stay pending, however long the test takes.
      hook.behave = () => ({ status: 503, headers: { "retry-after": "3600" } });
      await visitor.signIn(visits.key, "endpoints");
      await visitor.button("Add an endpoint").click();
      await visitor.sees("godwit listen --forward-to", visitor.dialog);
      await visitor.dialog.getByLabel("URL").fill(hook.url());
      await visitor.dialog.getByRole("button", { name: "Add", exact: false }).click();
      await visitor.sees(/^whsec_/);
      await visitor.button("Done").click();
      await visitor.sees(hook.url());
      const { json } = await visits.godwit.send(visits.key, { recipient: "+15005550006" });
      const deliveries = page.getByRole("region", { name: "Deliveries" });
      await visitor.sees("message.delivered", deliveries);
      await visitor.sees(/503/, deliveries);
      hook.behave = () => OK;
      await deliveries
        .getByRole("button", { name: /^Retry/ })
        .first()
        .click();
      await visitor.sees(/^succeeded$/, deliveries);
      // The page of the message shows the same.
      await visitor.goto(`messages/${String(json["id"])}`);
      const webhooks = page.getByRole("region", { name: "Webhook deliveries" });
      await visitor.sees("message.sent", webhooks);
      await visitor.sees(/^pending$/, webhooks);
      await webhooks.getByRole("row").filter({ hasText: "pending" }).first().getByRole("button", { name: "Retry" }).click();
      await visitor.sees("The delivery is retried now");
    }));
});
