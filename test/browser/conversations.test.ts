/** The pages for conversations, batches and verifications, in a real browser. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { describe, test } from "node:test";
import { ConsoleVisits } from "../support/visitor.ts";

const visits = new ConsoleVisits();

describe("conversations", () => {
  test("show the messages of both directions without a reload, and a reply is sent from the number that the person wrote to", (context) =>
    visits.visit(context, async (visitor) => {
      const { page } = visitor;
      await visitor.signIn(visits.key, "conversations");
      await visitor.sees("No conversations yet");
      await visits.godwit.send(visits.key, { recipient: "+15005550008", body: "Did it arrive?" });
      const table = page.getByRole("table", { name: "Conversations" });
      await visitor.sees("received", table);
      await table.getByRole("link", { name: "+15005550008" }).click();
      await visitor.heading("+15005550008").waitFor();
      const thread = page.getByRole("list", { name: "Messages" });
      await visitor.sees("Did it arrive?", thread);
      await thread.locator("li.inbound").waitFor();
      assert.equal(await thread.locator("li.inbound").count(), 1);
      const reply = page.getByRole("form", { name: "Reply" });
      assert.notEqual(await reply.getByLabel("Sender").inputValue(), "");
      assert.ok(await reply.getByRole("button", { name: "Send the reply" }).isDisabled());
      // By keyboard.
      await reply.getByLabel("Text").focus();
      await page.keyboard.type("See you tomorrow");
      await page.keyboard.press("Tab");
      await page.keyboard.press("Enter");
      await visitor.sees("See you tomorrow", thread);
      await visitor.sees("delivered", thread.locator("li").filter({ hasText: "See you tomorrow" }));
      assert.equal(await reply.getByLabel("Text").inputValue(), "");
      await thread.locator("li").filter({ hasText: "See you tomorrow" }).getByRole("link", { name: "Details" }).click();
      await visitor.heading("To +15005550008").waitFor();
      await page.getByRole("link", { name: "Conversation", exact: true }).click();
      await visitor.heading("+15005550008").waitFor();
    }));

  test("offer no reply to a person who has opted out", (context) =>
    visits.visit(context, async (visitor) => {
      const { page } = visitor;
      await visits.godwit.send(visits.key, { recipient: "+15005550010", body: "Hello" });
      await visitor.signIn(visits.key, `conversations/${encodeURIComponent("+15005550010")}`);
      const reply = page.getByRole("form", { name: "Reply" });
      await visitor.sees("+15005550010 has opted out", reply);
      await reply.getByLabel("Text").fill("Are you sure?");
      assert.ok(await reply.getByRole("button", { name: "Send the reply" }).isDisabled());
      await reply.getByRole("link", { name: "See the suppression" }).click();
      await visitor.sees("replied STOP");
    }));

  test("name the end of the service window of WhatsApp", (context) =>
    visits.visit(context, async (visitor) => {
      const { page } = visitor;
      await visits.godwit.send(visits.key, { recipient: "+15005550008", channel: "whatsapp", body: "Hello on WhatsApp" });
      await visitor.signIn(visits.key, `conversations/${encodeURIComponent("+15005550008")}`);
      const reply = page.getByRole("form", { name: "Reply" });
      await reply.getByLabel("Channel").selectOption("whatsapp");
      await reply.getByLabel("Sender").fill("");
      await visitor.sees(/The service window is open until/, reply);
    }));
});

describe("batches", () => {
  test("are listed, and show their progress and results", (context) =>
    visits.visit(context, async (visitor) => {
      const { page } = visitor;
      const items = [{ recipient: "+15005550006" }, { recipient: "+15005550002" }, { recipient: "12" }];
      const { json, text } = await visits.godwit.request("POST", "/v1/batches", {
        key: visits.key,
        idempotencyKey: randomUUID(),
        body: { defaults: { channel: "sms", body: "To many" }, items },
      });
      const id = String(json["id"]);
      assert.match(id, /^batch_/, text);
      await visitor.signIn(visits.key, "batches");
      await page.getByRole("table", { name: "Batches" }).getByRole("link", { name: id }).click();
      await visitor.sees("2 of 2", page.getByRole("region", { name: "Progress" }));
      await visitor.sees(/^completed$/, page.getByRole("region", { name: "Progress" }));
      await visitor.sees(/reasons of refused items/);
      const results = page.getByRole("table", { name: "Results" });
      await results.getByRole("row").filter({ hasText: "failed" }).getByRole("link", { name: "1" }).click();
      await visitor.heading("Messages").waitFor();
      assert.match(page.url(), new RegExp(`batch_id=${id}&status=failed`));
      await visitor.sees("+15005550002", page.getByRole("table"));
      await visitor.goto("batches/batch_01k9zs3v8mf4tb2xg1qj6n0d5c");
      await visitor.sees("not_found");
    }));
});

describe("verifications", () => {
  test("can be sent, checked and canceled", (context) =>
    visits.visit(context, async (visitor) => {
      const { page } = visitor;
      await visitor.signIn(visits.key, "verifications");
      const form = page.getByRole("form", { name: "Send a code" });
      await form.getByLabel("Recipient").fill("12");
      await form.getByRole("button", { name: "Send a code" }).click();
      await visitor.sees(/must begin with \+/, form);
      await form.getByLabel("Recipient").fill("+15005550006");
      await form.getByRole("button", { name: "Send a code" }).click();
      await visitor.heading("Verification of +15005550006").waitFor();
      const facts = page.getByRole("region", { name: "Verification" });
      await visitor.sees(/^pending$/, facts);
      const check = page.getByRole("form", { name: "Check a code" });
      await check.getByLabel("Code").fill("000000");
      await check.getByRole("button", { name: "Check" }).click();
      await visitor.sees("The code is wrong.", check);
      await check.getByLabel("Code").fill("123456");
      await check.getByRole("button", { name: "Check" }).click();
      await visitor.sees(/^approved$/, facts);
      await check.waitFor({ state: "detached" });

      await visitor.choose("Verifications");
      const list = page.getByRole("table", { name: "Verifications" });
      await list.getByRole("row").filter({ hasText: "approved" }).getByRole("link", { name: "+15005550006" }).waitFor();
      await form.getByLabel("Recipient").fill("+15005550012");
      await form.getByRole("button", { name: "Send a code" }).click();
      await visitor.button("Cancel the verification").click();
      await visitor.sees(/^canceled$/, facts);
    }));
});
