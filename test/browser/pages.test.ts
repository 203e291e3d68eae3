/** The other pages of the console, each with its actions, in a real browser. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ConsoleVisits } from "../support/visitor.ts";
import { until } from "../support/expect.ts";
import type { Reply } from "../support/harness.ts";
import { Hook, REFUSED } from "../support/hook-server.ts";

const visits = new ConsoleVisits();

describe("the overview", () => {
  test("charts show their values by pointer and by keyboard, with counts where there are few messages", (context) =>
    visits.visit(context, async (visitor) => {
      const { page } = visitor;
      await visits.godwit.send(visits.key, { recipient: "+15005550006" });
      await visitor.signIn(visits.key, "?range=24h");
      const reader = page.getByRole("slider", { name: "Delivery rate: values by time" });
      await reader.focus();
      await page.keyboard.press("ArrowLeft");
      await page.keyboard.press("End");
      await until("the newest rate to be read", async () =>
        / Delivered \d+(\.\d)?% \(\d+ of \d+\)$/.test((await reader.getAttribute("aria-valuetext")) ?? "") ? true : undefined,
      );
      await page.keyboard.press("Home");
      assert.match((await reader.getAttribute("aria-valuetext")) ?? "", /: Delivered –$/);
      const throughput = page.getByRole("slider", { name: "Messages over time: values by time" });
      await throughput.hover();
      await page.locator(".readout").getByText("Delivered").first().waitFor();
      assert.ok((await page.getByRole("region", { name: "Throughput" }).locator(".time-axis li").count()) > 3);
    }));

  test("shows a custom period, which the address keeps", (context) =>
    visits.visit(context, async (visitor) => {
      const { page } = visitor;
      await visitor.signIn(visits.key);
      await page.getByLabel("Period", { exact: true }).selectOption("custom");
      await page.getByLabel("From").fill("2020-01-01T00:00");
      await visitor.sees("The period must be at most 400 days long.");
      await page.getByLabel("Until").fill("2020-01-02T00:00");
      await visitor.sees("No data in this period");
      await page.reload();
      await visitor.sees("No data in this period");
      assert.equal(await page.getByLabel("From").inputValue(), "2020-01-01T00:00");
    }));

  test("lists carriers and endpoints that fail", (context) =>
    visits.visit(context, async (visitor) => {
      await using hook = await Hook.listen();
      hook.behave = () => REFUSED;
      await visits.godwit.request("POST", "/v1/webhook_endpoints", {
        key: visits.key,
        body: { url: hook.url("/failing"), event_types: ["*"] },
      });
      await visits.godwit.send(visits.key, { recipient: "+15005550006" });
      await until("the delivery to fail", () => (hook.calls.length > 0 ? true : undefined));
      await visitor.signIn(visits.key);
      await visitor.sees("simulator", visitor.page.getByRole("region", { name: "Carriers" }));
      await visitor.sees(hook.url("/failing"), visitor.page.getByRole("region", { name: "Failing endpoints" }));
    }));
});

describe("keys", () => {
  test("get the scopes of a preset", (context) =>
    visits.visit(context, async (visitor) => {
      const { dialog } = visitor;
      await visitor.signIn(visits.key, "keys");
      await visitor.button("Create a key").click();
      await dialog.getByRole("button", { name: "Read only" }).click();
      await visitor.sees("changes nothing", dialog);
      assert.ok(!(await dialog.getByRole("checkbox", { name: "messages:send" }).isChecked()));
      await dialog.getByRole("button", { name: "Send", exact: true }).click();
      assert.ok(await dialog.getByRole("checkbox", { name: "messages:send" }).isChecked());
      await dialog.getByRole("checkbox", { name: "events:read" }).uncheck();
      await visitor.sees("Choose a preset", dialog);
      await dialog.getByLabel("Your API key").fill(visits.key);
      await dialog.getByRole("button", { name: "Create" }).click();
      const made = (await dialog.locator("pre").textContent()) ?? "";
      const { json } = await visits.godwit.request("GET", "/v1/credential", { key: made });
      assert.deepEqual(json["scopes"], ["messages:send", "messages:read", "templates:read", "media:read", "media:write"]);
    }));

  test("are created only with a valid key of the session's account and environment, which the page then forgets", (context) =>
    visits.visit(context, async (visitor) => {
      const { dialog, page } = visitor;
      const [live, foreign] = [await visits.godwit.key({ environment: "live" }), await visits.godwit.key({ account: "another" })];
      await visitor.signIn(visits.key, "keys");
      await visitor.button("Create a key").click();
      const again = dialog.getByLabel("Your API key");
      assert.deepEqual([await again.getAttribute("type"), await again.getAttribute("autocomplete")], ["password", "off"]);
      await dialog.getByLabel("Name").fill("after several attempts");
      await dialog.getByRole("checkbox", { name: "messages:read" }).check();
      const refusals: [typed: string, fault: RegExp][] = [
        ["", /A key looks like/],
        [`${visits.key.slice(0, -1)}${visits.key.endsWith("A") ? "B" : "A"}`, /unknown, expired or revoked/],
        [live, /This key belongs to live, and you are signed in to test/],
        [foreign, /This key belongs to another account/],
      ];
      for (const [typed, fault] of refusals) {
        await again.fill(typed);
        await dialog.getByRole("button", { name: "Create" }).click();
        await visitor.sees(fault, dialog.locator(".fault"));
        await visitor.sees("See the marked fields.", dialog.getByRole("alert"));
        assert.equal(await again.getAttribute("aria-invalid"), "true");
        const kept = [await again.inputValue(), await dialog.getByLabel("Name").inputValue()];
        assert.deepEqual(kept, [typed, "after several attempts"]);
      }
      const { json } = await visits.godwit.request("GET", "/v1/keys", { key: visits.key });
      assert.ok(!JSON.stringify(json).includes("after several attempts"), "no key was created");
      await again.fill(visits.key);
      await dialog.getByRole("checkbox", { name: "messages:read" }).uncheck();
      await dialog.getByRole("button", { name: "Create" }).click();
      await visitor.sees("Choose at least one scope.", dialog);
      await dialog.getByRole("checkbox", { name: "messages:read" }).check();
      await dialog.getByRole("button", { name: "Create" }).click();
      await dialog.locator("pre").waitFor();
      await dialog.getByRole("button", { name: "Done" }).click();
      await visitor.button("Create a key").click();
      assert.equal(await again.inputValue(), "");
      assert.ok(!String(await page.evaluate("JSON.stringify({ ...sessionStorage })")).includes(visits.key));
    }));

  test("can be limited to addresses, and a key for other addresses cannot sign in", (context) =>
    visits.visit(context, async (visitor) => {
      const { dialog, page } = visitor;
      await visitor.signIn(visits.key, "keys");
      await visitor.button("Create a key").click();
      await dialog.getByLabel("Name").fill("elsewhere");
      await dialog.getByRole("checkbox", { name: "messages:read" }).check();
      await dialog.getByLabel("Your API key").fill(visits.key);
      const addresses = dialog.getByLabel("Allowed addresses");
      await addresses.fill("192.0.2.0/24, 192.0.2.300\n2001:db8::/32");
      await dialog.getByRole("button", { name: "Create" }).click();
      await visitor.sees(/^192\.0\.2\.300 must be an address or a CIDR block/, dialog);
      assert.equal(await addresses.getAttribute("aria-invalid"), "true");
      await addresses.fill("192.0.2.0/24, 198.51.100.7\n2001:db8::/32");
      await dialog.getByRole("button", { name: "Create" }).click();
      const made = (await dialog.locator("pre").textContent()) ?? "";
      await dialog.getByRole("button", { name: "Done" }).click();
      const row = page.getByRole("row").filter({ hasText: "elsewhere" });
      for (const block of ["192.0.2.0/24", "198.51.100.7", "2001:db8::/32"]) await visitor.sees(block, row);
      const { json } = await visits.godwit.request("GET", "/v1/credential", { key: visits.key });
      await row.getByRole("link", { name: String(json["key_id"]) }).click();
      await visitor.sees("All keys");
      await visitor.sees("this session", page.getByRole("table"));
      assert.equal(await page.getByRole("row").count(), 2, "the heading and the key that created it");
      await visitor.button("Sign out").click();
      await page.getByLabel("API key").fill(made);
      await visitor.button("Sign in").click();
      await visitor.sees("The key cannot be used from this address");
    }));
});

describe("credentials of compatible APIs", () => {
  const SMS = { to: "+15005550006", from: "12345" };
  const sendsms = (password: string): Promise<Reply> => {
    const query = new URLSearchParams({ username: "playsms", password, ...SMS, text: "Through Kannel" });
    return visits.godwit.request("GET", `/cgi-bin/sendsms?${query.toString()}`, { isDeclared: false });
  };
  const sendAsTwilio = async (sid: string, token: string): Promise<number> => {
    const response = await fetch(`${visits.godwit.url}/twilio/2010-04-01/Accounts/${sid}/Messages.json`, {
      method: "POST",
      headers: { authorization: `Basic ${Buffer.from(`${sid}:${token}`).toString("base64")}` },
      body: new URLSearchParams({ To: SMS.to, From: SMS.from, Body: "Through Twilio" }),
    });
    await response.text();
    return response.status;
  };

  test("of Kannel are created, shown once, send messages that name their API, and are revoked", (context) =>
    visits.visit(context, async (visitor) => {
      const { page, dialog } = visitor;
      await visitor.signIn(visits.key, "keys");
      const card = page.getByRole("region", { name: "Credentials of compatible APIs" });
      await visitor.sees("No credentials of compatible APIs", card);
      for (const product of ["Twilio", "Kannel"])
        assert.equal(
          await card.getByRole("link", { name: `Move from ${product}` }).getAttribute("href"),
          `/docs/migrate-from-${product.toLowerCase()}`,
        );
      await visitor.button("Create a credential").click();
      await dialog.getByLabel("Kind").selectOption("kannel");
      await dialog.getByLabel("get-url").fill("https://example.com/sms?text=%a");
      await dialog.getByLabel("Your API key").fill(visits.key);
      await dialog.getByRole("button", { name: "Create" }).click();
      await visitor.sees(/must be 0 with get-url/, dialog);
      for (const field of ["User name", "max-messages"])
        assert.equal(await dialog.getByLabel(field).getAttribute("aria-invalid"), "true", field);
      await dialog.getByLabel("User name").fill("playsms");
      await dialog.getByLabel("max-messages").fill("0");
      await dialog.getByRole("button", { name: "Create" }).click();
      const password = (await dialog.locator("pre").textContent()) ?? "";
      assert.match(password, /^\w{24}$/);
      await dialog.getByLabel("password").waitFor();
      await visitor.sees(`${visits.godwit.url}/cgi-bin/sendsms`, dialog);
      await dialog.getByRole("button", { name: "Done" }).click();
      const row = card.getByRole("row").filter({ hasText: "playsms" });
      for (const text of ["Kannel", "active", "max-messages=0", "messages:send", "never"]) await visitor.sees(text, row);
      assert.ok(!(await page.content()).includes(password), "the password is not on the page any more");

      assert.equal((await sendsms(password)).text, "0: Accepted for delivery");
      await visitor.choose("Messages");
      const message = page.getByRole("row").filter({ hasText: "Through Kannel" });
      await visitor.sees("Kannel API", message);
      await message.getByRole("link").click();
      await visitor.sees(/^Kannel$/, page.getByRole("region", { name: "Record" }));

      await visitor.choose("Keys");
      await row.getByRole("link", { name: "Endpoint" }).click();
      await visitor.heading("https://example.com/sms").waitFor();
      await visitor.choose("Keys");
      await row.getByRole("button", { name: /^Revoke/ }).click();
      await visitor.sees("gets no more inbound messages", dialog);
      await dialog.getByRole("button", { name: "Revoke" }).click();
      await visitor.sees(/^revoked$/, row);
      assert.equal(await row.getByRole("button").count(), 0);
      await until("the password to be refused", async () => ((await sendsms(password)).status === 403 ? true : undefined));
      await visitor.choose("Audit log");
      const revoked = page.getByRole("row").filter({ hasText: "compatible_credential.revoked" });
      await revoked.getByRole("link", { name: /^key_/ }).last().click();
      await visitor.sees("playsms", card);
      assert.equal(await page.getByRole("region", { name: "Keys" }).count(), 0);
    }));

  test("of Twilio are created with its scopes and other ones, send, and are refused after the revocation", (context) =>
    visits.visit(context, async (visitor) => {
      const { page, dialog } = visitor;
      const create = async (): Promise<void> => {
        await visitor.button("Create a credential").click();
        await dialog.getByLabel("Your API key").fill(visits.key);
        await dialog.getByRole("button", { name: "Create" }).click();
      };
      await visitor.signIn(visits.key, "keys");
      await create();
      const token = (await dialog.getByLabel("auth token").textContent()) ?? "";
      const sid = (await dialog.getByText(/^AC[0-9a-f]{32}$/).textContent()) ?? "";
      await dialog.getByRole("button", { name: "Done" }).click();
      assert.equal(await sendAsTwilio(sid, token), 201);
      await visitor.choose("Messages");
      await visitor.sees("Twilio API", page.getByRole("row").filter({ hasText: "Through Twilio" }));
      await visitor.choose("Keys");
      const row = page.getByRole("row").filter({ hasText: sid });
      await row.getByRole("link", { name: "Endpoint" }).click();
      await visitor.heading(`Twilio: ${sid}`).waitFor();
      await visitor.choose("Webhooks");
      await page.getByRole("link", { name: `Twilio: ${sid}` }).waitFor();
      await visitor.choose("Keys");
      await visitor.sees("type=auth_token", row);
      await create();
      await visitor.sees("another credential has this user name", dialog);
      await dialog.getByLabel("Kind").selectOption("twilio_api_key");
      await dialog.getByText("Scopes other than").click();
      await dialog.getByRole("checkbox", { name: "messages:send" }).check();
      await dialog.getByRole("button", { name: "Create" }).click();
      await dialog.getByLabel("API key secret").waitFor();
      await dialog.getByRole("button", { name: "Done" }).click();
      const apiKey = page.getByRole("row").filter({ hasText: "type=api_key" });
      await visitor.sees(/^SK/, apiKey);
      assert.equal(await apiKey.getByText("messages:read").count(), 0);
      await row.getByRole("button", { name: /^Revoke/ }).click();
      await dialog.getByRole("button", { name: "Revoke" }).click();
      await visitor.sees(/^revoked$/, row);
      await until("the token to be refused", async () => ((await sendAsTwilio(sid, token)) === 401 ? true : undefined));
    }));

  test("are only shown to a key that cannot write keys", (context) =>
    visits.visit(context, async (visitor) => {
      const { page } = visitor;
      const body = { source: "kannel", user_name: "shown" };
      await visits.godwit.request("POST", "/v1/compatible_credentials", { key: visits.key, body });
      await visitor.signIn(await visits.godwit.key({ scopes: ["keys:read"] }), "keys");
      const row = page.getByRole("row").filter({ hasText: "shown" });
      await visitor.sees("active", row);
      assert.equal(await page.locator("#main").getByRole("button").count(), 0);
    }));
});

describe("the request log", () => {
  test("leads from a refused request to its faults, and from a message to its requests and back", (context) =>
    visits.visit(context, async (visitor) => {
      const { page } = visitor;
      const refused = await visits.godwit.request("POST", "/v1/messages", { key: visits.key, body: { recipient: "+1", channel: "sms" } });
      const sent = await visits.godwit.send(visits.key);
      const [refusedId, messageId] = [refused.headers.get("x-request-id") ?? "", String(sent.json["id"])];
      await until("both requests to be in the log", async () => {
        const paths = [`/v1/requests/${refusedId}`, `/v1/requests/${sent.headers.get("x-request-id")}`];
        const found = await Promise.all(paths.map((path) => visits.godwit.request("GET", path, { key: visits.key })));
        return found.every(({ status }) => status === 200);
      });
      await visitor.signIn(visits.key, "requests?status=4xx&method=POST");
      await page.getByRole("link", { name: "POST /v1/messages" }).first().click();
      const refusal = page.getByRole("region", { name: "Refusal" });
      await visitor.sees("/recipient", refusal);
      await visitor.sees('"recipient": "[2 characters]"', refusal);
      await visitor.goto(`messages/${messageId}`);
      await page.getByRole("link", { name: "API requests" }).click();
      await page.getByRole("link", { name: "POST /v1/messages" }).click();
      await page.getByRole("link", { name: messageId }).click();
      await page.getByRole("region", { name: "Timeline" }).waitFor();
    }));

  test("names the filters that found nothing, and removes them", (context) =>
    visits.visit(context, async (visitor) => {
      await visitor.signIn(visits.key, "requests?code=none_such");
      await visitor.sees("No request matches these filters");
      await visitor.button("Remove the filters").click();
      await until("all requests", () => !visitor.page.url().includes("code="));
    }));
});

describe("the audit log", () => {
  /** Makes a request, and returns the id in its response. */
  const create = async (path: string, body: object): Promise<string> => {
    const { json, text } = await visits.godwit.request("POST", path, { key: visits.key, body });
    assert.equal(typeof json["id"], "string", text);
    return String(json["id"]);
  };

  test("shows who changed what, can be filtered, and links to what was changed", (context) =>
    visits.visit(context, async (visitor) => {
      const { page } = visitor;
      const { json: own } = await visits.godwit.request("GET", "/v1/credential", { key: visits.key });
      const actor = String(own["key_id"]);
      const key = await create("/v1/keys", { name: "audited", scopes: ["messages:read"] });
      const endpoint = await create("/v1/webhook_endpoints", { url: "https://example.com/hook", event_types: ["audit.*"] });
      const template = await create("/v1/templates", {
        name: "audited",
        language: "en",
        category: "utility",
        channels: ["sms"],
        body: "Hello",
      });
      const suppression = await create("/v1/suppressions", { recipient: "+14155550177" });
      const sendAt = new Date(Date.now() + 3_600_000).toISOString();
      const message = await create("/v1/messages", { recipient: "+15005550006", channel: "sms", body: "Later", send_at: sendAt });
      await visits.godwit.request("POST", `/v1/messages/${message}/cancel`, { key: visits.key });
      await visitor.signIn(visits.key);
      await visitor.choose("Audit log");
      const table = page.getByRole("table", { name: "Audit log" });
      const entry = (id: string): ReturnType<typeof table.getByRole> => table.getByRole("row").filter({ hasText: id });
      const newest = table.getByRole("row").nth(1);
      await visitor.sees("message.canceled", newest);
      for (const text of [message, "from 127.0.0.1", /^req_/]) await visitor.sees(text, newest);
      await until("the entry to be sealed", async () => {
        await visitor.button("Refresh").click();
        return (await newest.getByText(/^sealed$/).count()) > 0 ? true : undefined;
      });
      await newest.getByText(/^sealed$/).click();
      await visitor.sees(/^[0-9a-f]{64}$/, newest);
      await entry(key).getByText("4 fields").click();
      await visitor.sees('["messages:read"]', entry(key));
      const places: [id: string, heading: string | RegExp, shown: string][] = [
        [key, "Keys", "audited"],
        [endpoint, "https://example.com/hook", "Created by"],
        [template, "audited", "created by"],
        [suppression, "Suppressions", "+14155550177"],
        [message, /^To /, "canceled"],
      ];
      for (const [id, heading, shown] of places) {
        await entry(id).getByRole("link", { name: id }).click();
        await visitor.heading(heading).waitFor();
        await visitor.sees(shown, page.locator("#main"));
        if (id !== message) await page.locator("#main").getByRole("link", { name: actor }).waitFor();
        await page.goBack();
        await visitor.heading("Audit log").waitFor();
      }
      await page.getByLabel("Action").selectOption("key.*");
      await entry(endpoint).waitFor({ state: "detached" });
      await visitor.sees("key.created", entry(key));
      await page.getByLabel("Action").selectOption("");
      await page.getByLabel("Target").fill(template);
      await entry(key).waitFor({ state: "detached" });
      await visitor.sees("template.created", entry(template));
      await page.getByLabel("Actor").fill("carrier");
      await visitor.sees("No entry matches these filters");
      assert.match(page.url(), new RegExp(`target=${template}&actor=carrier`));
      await visitor.button("Remove the filters").click();
      await visitor.sees("message.canceled", newest);
      await page.getByLabel("Period").selectOption("custom");
      await page.getByLabel("Until").fill("2020-01-01T00:00");
      await visitor.sees("No entry matches these filters");
    }));

  test("is not in the menu of a key without its scope, and its address names the scope", (context) =>
    visits.visit(context, async (visitor) => {
      await visitor.signIn(await visits.godwit.key({ scopes: ["messages:read"] }), "audit");
      await visitor.sees("audit:read");
      const menu = visitor.page.getByRole("navigation", { name: "Console" });
      assert.deepEqual(await menu.getByRole("link").allTextContents(), ["Messages", "Conversations", "Batches"]);
    }));
});

describe("an endpoint", () => {
  test("gets the entries of the audit log only when they are selected beside all other events", (context) =>
    visits.visit(context, async (visitor) => {
      const { page, dialog } = visitor;
      const { json } = await visits.godwit.request("POST", "/v1/webhook_endpoints", {
        key: visits.key,
        body: { url: "https://example.com/all", event_types: ["*"] },
      });
      await visitor.signIn(visits.key, `endpoints/${String(json["id"])}`);
      const facts = page.getByRole("region", { name: "Endpoint" });
      await visitor.sees("all except the audit log", facts);
      await visitor.button("Edit").click();
      await dialog.getByRole("checkbox", { name: "audit.created" }).check();
      await dialog.getByRole("button", { name: "Save" }).click();
      await visitor.sees("all events", facts);
      const changed = await visits.godwit.request("GET", `/v1/webhook_endpoints/${String(json["id"])}`, { key: visits.key });
      assert.deepEqual(changed.json["event_types"], ["*", "audit.created"]);
    }));

  test("can be tested, disabled, enabled, recovered, given another secret, and deleted", (context) =>
    visits.visit(context, async (visitor) => {
      const { page, dialog } = visitor;
      await using hook = await Hook.listen();
      const made = await visits.godwit.request("POST", "/v1/webhook_endpoints", {
        key: visits.key,
        body: { url: hook.url("/whole"), event_types: ["*"] },
      });
      const id = String(made.json["id"]);
      const read = async (): Promise<Record<string, unknown>> =>
        (await visits.godwit.request("GET", `/v1/webhook_endpoints/${id}`, { key: visits.key })).json;
      await visitor.signIn(visits.key, `endpoints/${id}`);
      await visitor.button("Send a test event").click();
      await visitor.sees("webhook.test", page.getByRole("region", { name: "Deliveries" }));
      await visitor.sees(/^succeeded$/, page.getByRole("region", { name: "Deliveries" }));
      await visitor.button("Rotate the secret").click();
      await dialog.getByRole("button", { name: /^Rotate/ }).click();
      assert.match((await dialog.locator("pre").textContent()) ?? "", /^whsec_/);
      await dialog.getByRole("button", { name: "Done" }).click();
      assert.notEqual((await read())["previous_secret_until"], null);
      await visitor.button("Disable").click();
      await dialog.getByRole("button", { name: "Disable" }).click();
      await visitor.button("Enable").click();
      await until("the endpoint to be enabled", async () => ((await read())["status"] === "enabled" ? true : undefined));
      await visitor.button("Recover").click();
      await dialog.getByRole("button", { name: "Recover" }).click();
      await dialog.waitFor({ state: "detached" });
      await visitor.button("Delete").click();
      await dialog.getByRole("button", { name: "Delete" }).click();
      await visitor.heading("Webhooks").waitFor();
      assert.equal((await visits.godwit.request("GET", `/v1/webhook_endpoints/${id}`, { key: visits.key })).status, 404);
    }));
});
