/** The console in a real browser, on a real service with its simulator. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ConsoleVisits, type Visitor } from "../support/visitor.ts";
import { until } from "../support/expect.ts";

const visits = new ConsoleVisits();
const environment = (visitor: Visitor, name: string): Promise<void> =>
  visitor.page.getByRole("region", { name: "Session" }).getByText(name, { exact: true }).waitFor();

describe("the session", () => {
  test("does not start with a malformed or revoked key, and the fault is shown", (context) =>
    visits.visit(context, async (visitor) => {
      await visitor.goto();
      await visitor.page.getByLabel("API key").fill("hello");
      await visitor.page.keyboard.press("Enter");
      await visitor.sees("A key looks like gw_test_… or gw_live_…");
      await visitor.page.getByLabel("API key").fill(`${visits.key.slice(0, -1)}${visits.key.endsWith("A") ? "B" : "A"}`);
      await visitor.button("Sign in").click();
      await visitor.sees(/unknown, expired or revoked/);
      await visitor.page.getByLabel("API key").fill(visits.key);
      await visitor.button("Sign in").click();
      await visitor.heading("Overview").waitFor();
    }));

  test("ends with a sign-out: the token is deleted, and the page requires a key again", (context) =>
    visits.visit(context, async (visitor) => {
      await visitor.signIn(visits.key, "messages");
      await visitor.heading("Messages").waitFor();
      await visitor.button("Sign out").click();
      await visitor.sees("You are signed out.");
      assert.equal(await visitor.page.evaluate("sessionStorage.length"), 0);
      await visitor.page.reload();
      await visitor.page.getByLabel("API key").waitFor();
    }));

  test("lasts as long as its token after a reload, and the console reports the end of the session", (context) =>
    visits.visit(context, async (visitor) => {
      await visitor.signIn(visits.key, "carriers");
      await visitor.page.evaluate(
        `sessionStorage.setItem("godwit:session", JSON.stringify(JSON.parse(sessionStorage.getItem("godwit:session")).map((grant) => ({ ...grant, endsAtMs: Date.now() + 3_000 }))))`,
      );
      await visitor.page.reload();
      await visitor.heading("Carriers").waitFor();
      await visitor.sees("Your session has ended");
      assert.equal(await visitor.page.evaluate("sessionStorage.length"), 0);
    }));

  test("of another key is added once, and then shown without another sign-in, also after a reload", (context) =>
    visits.visit(context, async (visitor) => {
      const { page } = visitor;
      const live = await visits.godwit.key({ environment: "live" });
      const { json } = await visits.godwit.send(visits.key);
      await visitor.signIn(visits.key, `messages/${String(json["id"])}`);
      await visitor.button("Add a key").click();
      await visitor.button(/^Continue with test/).waitFor();
      await page.getByLabel("API key").fill(live);
      await visitor.button("Sign in").click();
      const choice = page.getByLabel("Switch to");
      await environment(visitor, "live");
      await visitor.heading("Messages").waitFor();
      const band = page.getByRole("complementary", { name: "Environment" });
      await band.getByText("Live: messages reach real recipients").waitFor();
      await choice.selectOption({ index: 0 });
      await environment(visitor, "test");
      assert.equal(await band.count(), 0);
      await page.reload();
      await environment(visitor, "test");
      await visitor.heading("Messages").waitFor();
      await choice.selectOption({ label: (await choice.locator("option").filter({ hasText: "live" }).textContent()) ?? "" });
      await environment(visitor, "live");
      await visitor.button("Sign out").click();
      await visitor.sees("You are signed out.");
      assert.equal(await page.evaluate("sessionStorage.length"), 0);
    }));

  test("that ends shows the sign-in page, and not the data of another key", (context) =>
    visits.visit(context, async (visitor) => {
      const { page } = visitor;
      await visitor.signIn(await visits.godwit.key({ environment: "live" }), "messages");
      await visitor.heading("Messages").waitFor();
      await visitor.button("Add a key").click();
      await page.getByLabel("API key").fill(visits.key);
      await visitor.button("Sign in").click();
      await environment(visitor, "test");
      await page.evaluate(
        `sessionStorage.setItem("godwit:session", JSON.stringify(JSON.parse(sessionStorage.getItem("godwit:session")).map((grant, index) => index === 0 ? { ...grant, endsAtMs: 1 } : grant)))`,
      );
      await page.reload();
      await visitor.button(/^Continue with live/).click();
      await environment(visitor, "live");
    }));

  test("stays ended when the sign-out happens while the next token is created", (context) =>
    visits.visit(
      context,
      async (visitor) => {
        const { page } = visitor;
        const bought = Promise.withResolvers<undefined>();
        let asked = 0;
        await page.route("**/v1/oauth/token", async (route) => {
          asked += 1;
          const response = await route.fetch();
          if (asked > 1) await bought.promise;
          // So short a validity that the next request creates another token.
          await route.fulfill({ response, json: { ...((await response.json()) as object), expires_in: 30 } });
        });
        await visitor.signIn(visits.key, "carriers");
        await until("another token to be requested", () => (asked > 1 ? true : undefined));
        await visitor.button("Sign out").click();
        await visitor.sees("You are signed out.");
        const answered = page.waitForResponse("**/v1/oauth/token");
        bought.resolve(undefined);
        await answered;
        await page.reload();
        await page.getByLabel("API key").waitFor();
        assert.equal(await page.evaluate("sessionStorage.length"), 0);
      },
      { onlyChromium: "WebDriver BiDi of Firefox does not replace responses" },
    ));

  test("ends with a notice when its key is revoked, and the next session continues at the same page", (context) =>
    visits.visit(context, async (visitor) => {
      const short = await visits.godwit.key();
      const made = await visits.godwit.request("GET", "/v1/credential", { key: short });
      await visitor.signIn(short, "suppressions");
      await visitor.heading("Suppressions").waitFor();
      await visits.godwit.request("DELETE", `/v1/keys/${String(made.json["key_id"])}`, { key: visits.key });
      // Without a request: the service ends the stream of a credential that is no longer valid.
      await visitor.page.getByText("Your session has ended").waitFor({ timeout: 30_000 });
      assert.equal(await visitor.page.evaluate("sessionStorage.length"), 0);
      await visitor.enter(visits.key);
      await visitor.heading("Suppressions").waitFor();
    }));
});

describe("sending", () => {
  test("a text shows its segments, alphabet, expensive characters and faults while it is typed", (context) =>
    visits.visit(context, async (visitor) => {
      const { page } = visitor;
      await visitor.signIn(visits.key, "send");
      await page.getByLabel("Recipient", { exact: true }).fill("123");
      await visitor.sees(/must begin with \+/);
      await page.getByLabel("Recipient", { exact: true }).fill("+15005550006");
      await page.getByLabel("Text").fill("It’s here 🐦");
      await visitor.sees("UCS-2");
      assert.deepEqual(await page.locator("mark").allTextContents(), ["’", "🐦"]);
      await visitor.button("Use GSM characters").click();
      assert.equal(await page.getByLabel("Text").inputValue(), "It's here 🐦");
      await page.getByLabel("Text").fill("It's here");
      await visitor.sees("GSM 7-bit");
      assert.equal(await page.locator("mark").count(), 0);
    }));

  test("a refusal is shown, and repeated submissions of the form send one message", (context) =>
    visits.visit(context, async (visitor) => {
      const { page } = visitor;
      await visitor.signIn(visits.key, "send");
      await visitor.button("refused: opted out").click();
      await page.getByLabel("Text").fill("Hello");
      await visitor.button("Send").click();
      await visitor.sees(/recipient_opted_out/);
      await visitor.sees("is a test number that is always refused as opted out");
      assert.equal(await page.getByRole("link", { name: "See the suppression" }).count(), 0);
      await visitor.button("delivered", true).click();
      await page.getByText("Advanced options").click();
      await page.getByLabel("Client reference").fill("pressed-twice");
      await visitor.button("Send").dblclick();
      await page.getByRole("region", { name: "The message you sent" }).waitFor();
      await visitor.button("Sent").waitFor();
      assert.ok(await visitor.button("Sent").isDisabled(), "the same message is not sent again by accident");
      await page.getByLabel("Client reference").press("Enter");
      const { json } = await visits.godwit.request("GET", "/v1/messages?client_reference=pressed-twice", { key: visits.key });
      assert.equal((json["data"] as unknown[]).length, 1);
      await visitor.button("Send another copy").click();
      await visitor.button("Send").click();
      await visitor.button("Sent").waitFor();
      const again = await visits.godwit.request("GET", "/v1/messages?client_reference=pressed-twice", { key: visits.key });
      assert.equal((again.json["data"] as unknown[]).length, 2, "another message is sent on request");
    }));

  test("a number is sent without its separators, and an opt-out leads to the suppression", (context) =>
    visits.visit(context, async (visitor) => {
      const { page } = visitor;
      const recipient = "+14155550188";
      const made = await visits.godwit.request("POST", "/v1/suppressions", { key: visits.key, body: { recipient } });
      assert.equal(made.status, 201, made.text);
      await visitor.signIn(visits.key, "send");
      await page.getByLabel("Recipient", { exact: true }).fill("+1 (415) 555-01.88");
      await visitor.sees("GET /v1/suppressions?recipient=… shows the entry");
      await page.getByRole("link", { name: "See the suppression" }).click();
      await visitor.heading("Suppressions").waitFor();
      await visitor.sees(recipient, page.getByRole("region", { name: "Suppressions" }));
    }));

  test("a live message for a carrier without a connection is shown with a warning", (context) =>
    visits.visit(context, async (visitor) => {
      const { page } = visitor;
      const key = await visits.godwit.key({ environment: "live", account: "unconnected" });
      const settings = { host: "127.0.0.1", port: 1, tls: false, system_id: "godwit", password: "x" };
      const link = await visits.godwit.request("POST", "/v1/links", { key, body: { name: "Acme", provider: "smpp", settings } });
      assert.equal(link.status, 201, link.text);
      await visitor.signIn(key, "send");
      await page.getByLabel("Recipient", { exact: true }).fill("+14155550123");
      await page.getByLabel("Text").fill("Hello");
      await visitor.sees(/^The carrier Acme is not connected/, page.getByRole("form", { name: "New message" }));
      await visitor.assertAccessible("the warning");
    }));

  test("a message that no carrier takes shows the error once, with a link to its page and the next step", (context) =>
    visits.visit(context, async (visitor) => {
      const { page } = visitor;
      await visitor.signIn(await visits.godwit.key({ environment: "live" }), "send");
      await page.getByLabel("Recipient", { exact: true }).fill("+14155550123");
      await page.getByLabel("Text").fill("Hello");
      const code = page.locator("main").getByRole("link", { name: "no_route" });
      await code.waitFor();
      await visitor.button("Send").click();
      await page.getByRole("alert").getByRole("link", { name: "no_route" }).waitFor();
      assert.equal(await code.count(), 1, "the validation and the refusal are not shown both");
      assert.equal(await code.getAttribute("href"), "/errors/no_route");
      await page.getByRole("alert").getByRole("link", { name: "add a carrier" }).click();
      await visitor.heading("Add a carrier").waitFor();
    }));

  test("a time that does not exist is refused at its field, and the form remains usable", (context) =>
    visits.visit(context, async (visitor) => {
      const { page } = visitor;
      await visitor.signIn(visits.key, "send");
      await page.getByText("Advanced options").click();
      await page.getByLabel("Send at").focus();
      await page.keyboard.type("01012026610:00");
      await page.getByLabel("Text").fill("Still here");
      await visitor.sees("Still here", page.locator(".bubble"));
    }));

  test("an incomplete date is not treated as empty, and nothing is sent", (context) =>
    visits.visit(context, async (visitor) => {
      const { page } = visitor;
      await visitor.signIn(visits.key, "send");
      await visitor.button("delivered", true).click();
      await page.getByLabel("Text").fill("Not yet");
      await page.getByText("Advanced options").click();
      await page.getByLabel("Client reference").fill("half-a-date");
      await page.getByLabel("Send at").focus();
      await page.keyboard.type("01012030");
      await page.keyboard.press("Enter");
      await page.getByLabel("Text").focus();
      await visitor.sees("The date is not complete.");
      await visitor.button("Schedule").click();
      assert.equal(await page.getByRole("region", { name: "The message you sent" }).count(), 0);
      const { json } = await visits.godwit.request("GET", "/v1/messages?client_reference=half-a-date", { key: visits.key });
      assert.deepEqual(json["data"], []);
    }));

  test("a draft is restored after a visit to another page, and deleted by a sign-out", (context) =>
    visits.visit(context, async (visitor) => {
      const { page } = visitor;
      await visitor.signIn(visits.key, "send");
      await page.getByLabel("Text").fill("Half a thought");
      await visitor.choose("Messages");
      await visitor.choose("Send");
      assert.equal(await page.getByLabel("Text").inputValue(), "Half a thought");
      await visitor.button("Sign out").click();
      await visitor.enter(visits.key);
      await visitor.heading("Send").waitFor();
      assert.equal(await page.getByLabel("Text").inputValue(), "");
    }));

  test("a template requires its variables and is sent with them", (context) =>
    visits.visit(context, async (visitor) => {
      const { page } = visitor;
      await visitor.signIn(visits.key, "send");
      await visitor.button("delivered", true).click();
      await visitor.button("Template").click();
      await page.getByLabel("Template", { exact: true }).selectOption("verification_code");
      const variables = page.locator("label", { hasText: "{{" });
      await variables.first().waitFor();
      for (const label of await variables.allTextContents()) await page.getByLabel(label.trim(), { exact: true }).fill("123456");
      await visitor.sees(/123456/, page.locator(".bubble"));
      await visitor.button("Send").click();
      await visitor.sees(/^delivered$/, page.getByRole("region", { name: "The message you sent" }).getByRole("status"));
    }));
});

describe("messages", () => {
  test("appear and change in the list without a reload", (context) =>
    visits.visit(context, async (visitor) => {
      const { page } = visitor;
      await visitor.signIn(visits.key, "messages");
      await visitor.sees(/^Connected$/);
      const { json } = await visits.godwit.send(visits.key, { recipient: "+15005550006", client_reference: "seen-live" });
      const row = page.getByRole("row").filter({ hasText: "seen-live" });
      await visitor.sees(/^delivered$/, row);
      await row.getByRole("link").first().click();
      await visitor.heading("To +15005550006").waitFor();
      assert.ok(page.url().endsWith(`/console/messages/${String(json["id"])}`));
    }));

  test("are filtered by a URL that can be shared, and found by id, recipient, and part of a text, number or reference", (context) =>
    visits.visit(context, async (visitor) => {
      const { page } = visitor;
      const { json } = await visits.godwit.send(visits.key, { recipient: "+15005550002", client_reference: "will-fail" });
      await visits.godwit.send(visits.key, { recipient: "+15005550006", client_reference: "will-pass" });
      await until("the message to fail", async () => {
        const reply = await visits.godwit.request("GET", `/v1/messages/${String(json["id"])}`, { key: visits.key });
        return reply.json["status"] === "failed" ? true : undefined;
      });
      await visitor.signIn(visits.key, "messages");
      await page.getByLabel("Status").selectOption("failed");
      await visitor.sees("will-fail");
      await page.getByText("will-pass").waitFor({ state: "detached" });
      assert.match(page.url(), /\?status=failed$/);
      await page.reload();
      await visitor.sees("will-fail");
      assert.equal(await page.getByLabel("Status").inputValue(), "failed");

      const search = page.getByRole("searchbox", { name: /^Search by id/ });
      await page.getByLabel("Status").selectOption("");
      await search.fill("will-pa");
      await search.press("Enter");
      await visitor.sees(/messages? searched, 1 found\. There are no older ones\./);
      await visitor.sees("will-pass", page.getByRole("table", { name: "Search results" }));
      assert.match(page.url(), /search=will-pa/);
      await search.fill("555 0002");
      await search.press("Enter");
      await visitor.sees("will-fail", page.getByRole("table", { name: "Search results" }));
      await search.fill("nowhere");
      await search.press("Enter");
      await visitor.sees("No message found");
      await page.getByRole("link", { name: "filter by the exact reference" }).click();
      await visitor.sees("No message matches these filters");
      await visitor.button("Remove client reference").click();
      await search.fill("+1 500 555 0002");
      await search.press("Enter");
      await visitor.sees("will-fail", page.getByRole("table"));
      assert.match(page.url(), /recipient=%2B15005550002/);
      await search.fill(String(json["id"]));
      await search.press("Enter");
      await visitor.sees("invalid_destination", page.getByRole("region", { name: "Text" }));
      await page.goBack();
      await visitor.heading("Messages").waitFor();
      assert.match(page.url(), /recipient=%2B15005550002/);
    }));

  test("open by a click anywhere in their row, unless it ends a selection of text", (context) =>
    visits.visit(context, async (visitor) => {
      const { page } = visitor;
      const sent = await visits.godwit.send(visits.key, { client_reference: "row-click" });
      await visitor.signIn(visits.key, "messages?client_reference=row-click");
      const status = page.getByRole("table", { name: "Messages" }).getByRole("cell").nth(1);
      await status.waitFor();
      await page.evaluate("getSelection().selectAllChildren(document.querySelector('h1'))");
      await status.dispatchEvent("click");
      await visitor.heading("Messages").waitFor();
      await page.evaluate("getSelection().removeAllRanges()");
      await status.click();
      await page.waitForURL(`**/messages/${String(sent.json["id"])}`);
    }));

  test("that the filters show are exported as CSV, and a running search can be stopped", (context) =>
    visits.visit(
      context,
      async (visitor) => {
        const { page } = visitor;
        await visits.godwit.send(visits.key, { recipient: "+15005550006", body: "=1+1, really", client_reference: "to-export" });
        await visitor.signIn(visits.key, "messages?client_reference=to-export");
        await visitor.button("Export CSV").click();
        const file = page.waitForEvent("download");
        await visitor.dialog.getByRole("button", { name: "Export" }).click();
        const stream = await (await file).createReadStream();
        const lines = (await stream.setEncoding("utf8").toArray()).join("").split("\r\n");
        assert.match(lines[0] ?? "", /^id,created_at,direction,/);
        assert.match(lines[1] ?? "", /^msg_.*,\+15005550006,.*"'=1\+1, really",to-export/);
        assert.equal(lines.length, 3, "the heading, one message, and the end of its line");
        await visitor.sees("The file has 1 message.");
        await visitor.dialog.getByRole("button", { name: "Close" }).click();

        const answered = Promise.withResolvers<undefined>();
        await page.route("**/v1/messages?*limit=100*", async (route) => {
          await answered.promise;
          await route.continue();
        });
        const search = page.getByRole("searchbox", { name: /^Search by id/ });
        await search.fill("anything");
        await search.press("Enter");
        await visitor.button("Stop").click();
        answered.resolve(undefined);
        await visitor.sees("0 messages searched, 0 found. Older ones were not searched.");
        await visitor.button("Search older messages").click();
        await visitor.sees(/There are no older ones\./);
      },
      { onlyChromium: "WebDriver BiDi of Firefox does not report downloads" },
    ));

  test("with markup and emoji are shown as text", (context) =>
    visits.visit(context, async (visitor) => {
      const { page } = visitor;
      const body = `<script>window.broken = true</script><img src=x onerror="window.broken = true"> 🐦 & "quotes"`;
      const { json } = await visits.godwit.send(visits.key, { recipient: "+15005550006", body, client_reference: "<b>bold</b>" });
      await visitor.signIn(visits.key, `messages/${String(json["id"])}`);
      assert.equal(await page.locator(".bubble").textContent(), body);
      await visitor.sees("<b>bold</b>");
      await visitor.choose("Messages");
      await visitor.sees(/<script>window\.broken/);
      assert.equal(await page.evaluate("window.broken"), undefined);
      assert.equal(await page.locator("main img, main script").count(), 0);
    }));

  test("that an event has updated are not reverted by an older response", (context) =>
    visits.visit(context, async (visitor) => {
      const { page } = visitor;
      const sendAt = new Date(Date.now() + 3_600_000).toISOString();
      const { json } = await visits.godwit.send(visits.key, { recipient: "+15005550006", send_at: sendAt });
      const path = `/v1/messages/${String(json["id"])}`;
      await visitor.signIn(visits.key, "messages");
      await visitor.sees(/^Connected$/);
      const canceled = Promise.withResolvers<undefined>();
      await page.route(`**${path}`, async (route) => {
        const response = await route.fetch();
        await canceled.promise;
        await route.fulfill({ response });
      });
      const asked = page.waitForRequest(`**${path}`);
      await page.getByRole("link", { name: "+15005550006" }).first().click();
      await asked;
      await visits.godwit.request("POST", `${path}/cancel`, { key: visits.key });
      const text = page.getByRole("region", { name: "Text" });
      await visitor.sees(/^canceled$/, text);
      const answered = page.waitForResponse(`**${path}`);
      canceled.resolve(undefined);
      await answered;
      await visitor.sees("canceled", page.getByRole("region", { name: "Timeline" }));
      assert.equal(await text.getByText("scheduled").count(), 0);
      await visitor.sees(/^canceled$/, text);
    }));

  test("that do not exist, and unknown URLs, are reported as not found", (context) =>
    visits.visit(context, async (visitor) => {
      await visitor.signIn(visits.key, "messages/msg_01k9zs3v8mf4tb2xg1qj6n0d5c");
      await visitor.sees(/not_found/);
      await visitor.goto("nonsense");
      await visitor.heading("Page not found").waitFor();
    }));
});

describe("scopes", () => {
  test("pages that the key may not read are not in the menu, and their URLs name the missing scope", (context) =>
    visits.visit(context, async (visitor) => {
      const { page } = visitor;
      const few = await visits.godwit.key({ scopes: ["messages:read"] });
      await visitor.signIn(few, "messages");
      await visitor.heading("Messages").waitFor();
      const menu = await page.getByRole("navigation", { name: "Console" }).getByRole("link").allTextContents();
      assert.deepEqual(menu, ["Messages", "Conversations", "Batches"]);
      await visitor.sees("No live updates: the key lacks events:read");
      assert.equal(await page.getByRole("link", { name: "Send a message" }).count(), 0);
      const { json } = await visits.godwit.send(visits.key, { recipient: "+15005550006" });
      await visitor.goto(`messages/${String(json["id"])}`);
      await visitor.sees(/^delivered$/, page.getByRole("region", { name: "Text" }));
      assert.equal(await visitor.button("Redact").count(), 0);
      assert.equal(await page.getByRole("region", { name: "Webhook deliveries" }).count(), 0);
      await visitor.goto();
      await visitor.heading("Messages").waitFor();
      for (const path of ["send", "bulk", "keys", "endpoints", "templates", "suppressions", "usage", "carriers"]) {
        await visitor.goto(path);
        await visitor.sees(/Your key may not see/);
      }
      const refused = visitor.requestedUrls.filter((address) =>
        /\/v1\/(usage|queue|keys|links|templates|suppressions|webhook)/.test(address),
      );
      assert.deepEqual(refused, [], "no request is made that would be refused");
    }));

  test("a key with only messages:send can send, and the page names the scope for following the message", (context) =>
    visits.visit(context, async (visitor) => {
      const { page } = visitor;
      await visitor.signIn(await visits.godwit.key({ scopes: ["messages:send"] }), "send");
      await visitor.button("delivered", true).click();
      await page.getByLabel("Text").fill("Hello");
      await visitor.button("Send").click();
      await visitor.sees(/messages:read/, page.getByRole("region", { name: "The message you sent" }));
    }));
});
