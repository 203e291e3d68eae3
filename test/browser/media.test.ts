/** Contents that are more than a text, and their files, in a real browser. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import type { Locator } from "playwright-core";
import { SCOPES } from "../../src/access/scope.ts";
import { openPicture, PICTURE_FILE } from "../../src/providers/simulator/picture.ts";
import { JPEG, pdf, upload } from "../support/media.ts";
import { ConsoleVisits, type Visitor } from "../support/visitor.ts";

const PERSON = "+15005550006";
const CONVERSATION = `conversations/${encodeURIComponent(PERSON)}`;

let picture: Buffer;
const visits = new ConsoleVisits(async () => {
  const opened = await openPicture(PICTURE_FILE);
  picture = opened.kind === "open" ? Buffer.concat(await Array.fromAsync(opened.read())) : assert.fail();
});

const sendContent = async (content: object, fields: object = {}): Promise<string> => {
  const { json, text } = await visits.godwit.request("POST", "/v1/messages", {
    key: visits.key,
    body: { recipient: PERSON, channel: "whatsapp", content, ...fields },
  });
  assert.equal(typeof json["id"], "string", text);
  return String(json["id"]);
};
const store = async (bytes: Buffer, name: string): Promise<string> =>
  String((await upload(visits.godwit, bytes, { key: visits.key, query: { file_name: name } })).json["id"]);

const threadOf = ({ page }: Visitor): Locator => page.getByRole("list", { name: "Messages" });
/** Runs in the browser. */
async function decodedWidth(image: unknown): Promise<number> {
  const element = image as { decode: () => Promise<void>; naturalWidth: number };
  await element.decode();
  return element.naturalWidth;
}

/** Waits until the browser has decoded the picture. */
const showsPicture = async (place: Locator): Promise<void> => {
  const image = place.locator("img").first();
  await image.waitFor();
  assert.ok((await image.evaluate(decodedWidth)) > 0);
  assert.match((await image.getAttribute("src")) ?? "", /^blob:/);
};

describe("a picture", () => {
  test("is uploaded, previewed and sent, and its conversation shows it", (context) =>
    visits.visit(context, async (visitor) => {
      const { page } = visitor;
      await visitor.signIn(visits.key, "send?channel=whatsapp");
      await page.getByLabel("Recipient").fill(PERSON);
      await visitor.button("File").click();
      await visitor.button("Send").click();
      await visitor.sees("Choose a file.");
      await page.getByLabel("File", { exact: true }).setInputFiles({ name: "house.png", mimeType: "image/png", buffer: picture });
      await visitor.sees("Uploaded: house.png");
      await page.getByLabel("Caption").fill("Our house");
      const preview = page.getByRole("group", { name: "Preview" });
      await showsPicture(preview);
      await visitor.sees("Our house", preview);
      await visitor.assertAccessible("the form with a file");
      await visitor.button("Send").click();
      await visitor.sees(/^read$/, page.getByRole("region", { name: "The message you sent" }));
      await visitor.choose("Conversations");
      const row = page.getByRole("table").getByRole("row").filter({ hasText: "Our house" });
      await showsPicture(row);
      await row.getByRole("link").click();
      const item = threadOf(visitor).locator("li").filter({ hasText: "Our house" });
      await showsPicture(item);
      // By keyboard.
      await item.getByRole("button", { name: /full size/ }).focus();
      await page.keyboard.press("Enter");
      await visitor.dialog.getByRole("img", { name: "Picture house.png" }).waitFor();
      await page.keyboard.press("Escape");
      await visitor.dialog.waitFor({ state: "detached" });
    }));

  test("of a person appears as soon as it is downloaded, below the message that it quotes", (context) =>
    visits.visit(context, async (visitor) => {
      await visitor.signIn(visits.key, `conversations/${encodeURIComponent("+15005550019")}`);
      await visitor.sees("No messages with this person");
      await visits.godwit.send(visits.key, { recipient: "+15005550019", channel: "whatsapp", body: "Please send a picture" });
      const item = threadOf(visitor).locator("li.inbound");
      await showsPicture(item);
      await visitor.sees("Please send a picture", item.locator("blockquote"));
      await item.getByRole("button", { name: "Reply" }).click();
      const reply = visitor.page.getByRole("form", { name: "Reply" });
      await visitor.sees("Picture", reply.locator("blockquote"));
      await reply.getByLabel("Text").fill("Thank you for it");
      await reply.getByRole("button", { name: "Send the reply" }).click();
      const replied = threadOf(visitor).locator("li.outbound").filter({ hasText: "Thank you for it" });
      await visitor.sees("Picture", replied.locator("blockquote"));
      assert.equal(await reply.locator("blockquote").count(), 0);
    }));

  test("that is not here yet says so, and becomes the picture; one that failed says why", (context) =>
    visits.visit(context, async (visitor) => {
      const { page } = visitor;
      const id = await store(picture, "late.png");
      const message = await sendContent({ type: "media", kind: "image", media_id: id });
      const { json } = await visits.godwit.request("GET", `/v1/media/${id}`, { key: visits.key });
      let shown: object = { ...json, status: "pending" };
      await page.route(`**/v1/media/${id}`, (route) => route.fulfill({ json: shown }));
      // Without events, the page asks again.
      await visitor.signIn(await visits.godwit.key({ scopes: ["messages:read", "media:read"] }), `messages/${message}`);
      const text = page.getByRole("region", { name: "Text" });
      await visitor.sees("The file is being downloaded from the carrier", text);
      shown = json;
      await showsPicture(text);
      shown = { ...json, status: "failed", error: "media_expired" };
      await page.reload();
      await visitor.sees("The file could not be downloaded from the carrier: media expired.", text);
    }));

  test("that is deleted, or that the key may not read, is named", (context) =>
    visits.visit(context, async (visitor) => {
      const { page } = visitor;
      const id = await store(picture, "gone.png");
      const message = await sendContent({ type: "media", kind: "image", media_id: id, caption: "See" });
      await visitor.signIn(await visits.godwit.key({ scopes: ["messages:read"] }), `messages/${message}`);
      const text = page.getByRole("region", { name: "Text" });
      await visitor.sees("media:read", text);
      assert.equal(await page.getByRole("link", { name: "Media", exact: true }).count(), 0, "the menu has no files");
      assert.deepEqual(
        visitor.requestedUrls.filter((address) => address.includes("/v1/media")),
        [],
      );
      await visits.godwit.request("DELETE", `/v1/media/${id}`, { key: visits.key });
      await visitor.button("Add a key").click();
      await visitor.enter(visits.key);
      await visitor.goto(`messages/${message}`);
      await visitor.sees("The file was deleted.", text);
    }));
});

describe("a file with active content", () => {
  const SCRIPT = "<script>window.hasRun = true; alert(1)</script>";
  const FILES: readonly (readonly [name: string, bytes: Buffer])[] = [
    ["page.html", Buffer.from(`<!doctype html>${SCRIPT}`)],
    ["drawing.svg", Buffer.from(`<svg xmlns="http://www.w3.org/2000/svg" onload="window.hasRun = true">${SCRIPT}</svg>`)],
  ];

  for (const [name, bytes] of FILES)
    test(`${name} is only saved, and never run or shown`, (context) =>
      visits.visit(
        context,
        async (visitor) => {
          const { page } = visitor;
          page.on("dialog", () => assert.fail("a script has run"));
          await visitor.signIn(visits.key, "media");
          await page.getByLabel("Upload files").setInputFiles({ name, mimeType: "text/html", buffer: bytes });
          const row = page.getByRole("table", { name: "Files" }).getByRole("row").filter({ hasText: name });
          await visitor.sees("text/plain", row);
          const id = (await row.getByRole("link", { name }).getAttribute("href"))?.split("/").at(-1) ?? "";
          const message = await sendContent({ type: "media", kind: "document", media_id: id });
          const named = page.locator("tr, .thread > li").filter({ hasText: name });
          const places = [
            ["media", named],
            [CONVERSATION, named],
            [`media/${id}`, page.locator("#main")],
            [`messages/${message}`, page.locator("#main")],
          ] as const;
          for (const [path, place] of places) {
            await visitor.goto(path);
            const download = page.waitForEvent("download");
            await page
              .getByRole("button", { name: `Download ${name}` })
              .first()
              .click();
            const saved = await download;
            assert.equal(saved.suggestedFilename(), name);
            assert.ok(readFileSync(await saved.path()).equals(bytes));
            assert.equal(await place.locator("iframe, object, embed, img, [src]").count(), 0, path);
            assert.equal(await page.evaluate("window.hasRun"), undefined);
          }
        },
        { onlyChromium: "WebDriver BiDi of Firefox does not report downloads" },
      ));

  test("that begins like a picture is a broken picture", (context) =>
    visits.visit(context, async (visitor) => {
      const { page } = visitor;
      page.on("dialog", () => assert.fail("a script has run"));
      const id = await store(Buffer.concat([JPEG, Buffer.from(`<html>${SCRIPT}`)]), "both.jpg");
      await visitor.signIn(visits.key, `media/${id}`);
      await visitor.sees("The browser cannot show this picture.");
      await page.getByRole("button", { name: "Download both.jpg" }).first().waitFor();
      assert.equal(await page.evaluate("window.hasRun"), undefined);
    }));
});

describe("contents without a file", () => {
  test("are shown as the phone shows them: a list opens by keyboard, a reaction is beside its message", (context) =>
    visits.visit(context, async (visitor) => {
      const { page } = visitor;
      const first = await sendContent({ type: "text", text: "Our times" });
      await sendContent({
        type: "list",
        text: "Choose your time",
        button: "See times",
        sections: [
          { title: "Monday", rows: [{ id: "m9", title: "9:00", description: "with breakfast" }] },
          { title: "Tuesday", rows: [{ id: "t9", title: "9:30" }] },
        ],
      });
      await sendContent({
        type: "buttons",
        text: "Do you come?",
        footer: "Until Friday",
        buttons: [{ type: "reply", id: "y", title: "Yes, gladly" }],
      });
      await sendContent({ type: "location", latitude: 52.5163, longitude: 13.3777, name: "Brandenburger Tor" });
      await sendContent({
        type: "contacts",
        contacts: [{ name: { formatted_name: "Ada Lovelace" }, phones: [{ phone: "+1 415 555 0123" }] }],
      });
      await visitor.signIn(visits.key, `messages/${first}`);
      await visitor.sees(/^read$/, page.getByRole("region", { name: "Text" }));
      const reaction = await sendContent({ type: "reaction", message_id: first, emoji: "👍" });
      await page.getByRole("link", { name: "Conversation", exact: true }).click();
      const thread = threadOf(visitor);
      const list = thread.locator("li").filter({ hasText: "Choose your time" });
      assert.ok(!(await list.getByText("with breakfast").isVisible()));
      await list.locator("summary").focus();
      await page.keyboard.press("Enter");
      await list.getByText("with breakfast").waitFor();
      await list.getByRole("region", { name: "Tuesday" }).getByText("9:30").waitFor();
      await thread.getByRole("list", { name: "Buttons" }).getByText("Yes, gladly").waitFor();
      const map = thread.getByRole("link", { name: /Open a map of Brandenburger Tor/ });
      assert.match((await map.getAttribute("href")) ?? "", /^https:\/\/www\.openstreetmap\.org\/\?mlat=52\.5163&mlon=13\.3777/);
      await thread.getByRole("group", { name: "Contact Ada Lovelace" }).getByText("+1 415 555 0123").waitFor();
      const reacted = thread.locator("li").filter({ hasText: "Our times" });
      assert.equal(await reacted.getByRole("link", { name: /👍/ }).getAttribute("href"), `/console/messages/${reaction}`);
      await visitor.assertAccessible("a conversation with contents");
    }));

  const INBOUND: readonly (readonly [text: string, content: object])[] = [
    [
      "order_1815",
      { type: "order", catalog_id: "c", text: null, items: [{ product_id: "order_1815", quantity: 2, price: "9.90", currency: "EUR" }] },
    ],
    ["+1 415 555 0199", { type: "form", name: "Booking", response: '{"phone":"+1 415 555 0199"}' }],
    ["Ada changed her number", { type: "system", text: "Ada changed her number" }],
    ["Row of a list", { type: "reply", kind: "list", id: "m9", title: "9:00", description: null }],
    ["The console cannot show this content: poll.", { type: "unsupported", kind: "poll", original: '{"a":{"b":1}}' }],
    ["The console cannot show this content.", { type: "tomorrow", some: "thing" }],
  ];

  test("of a person are readable, also one that the console does not know", (context) =>
    visits.visit(context, async (visitor) => {
      const { page } = visitor;
      const { json } = await visits.godwit.send(visits.key, { recipient: PERSON, body: "Hello" });
      let content: object = {};
      await page.route(`**/v1/messages/${String(json["id"])}`, (route) =>
        route.fulfill({ json: { ...json, direction: "inbound", status: "received", sender: PERSON, body: "[text]", content } }),
      );
      await visitor.signIn(visits.key);
      for (const [text, each] of INBOUND) {
        content = each;
        await visitor.goto("nonsense");
        await visitor.goto(`messages/${String(json["id"])}`);
        await visitor.sees(text, page.getByRole("region", { name: "Text" }));
        await visitor.assertAccessible(text);
      }
    }));
});

describe("the send page", () => {
  test("shows the faults of buttons at their fields, and sends a copy of a list", (context) =>
    visits.visit(context, async (visitor) => {
      const { page } = visitor;
      await visitor.signIn(visits.key, "send");
      await visitor.button("Buttons").click();
      await visitor.sees(/This content cannot be sent on sms/);
      await page.getByLabel("Channel").selectOption("whatsapp");
      await visitor.button("delivered").click();
      await page.getByRole("group", { name: "Button 1" }).getByLabel("Label").fill("Yes");
      await visitor.button("Add a button").click();
      await page.getByRole("group", { name: "Button 2" }).getByLabel("Label").fill("Yes");
      await visitor.button("Send").click();
      await visitor.sees("two of them have the same title", page.getByRole("group", { name: "Buttons" }));
      assert.equal(await page.getByRole("textbox", { name: "Text", exact: true }).getAttribute("aria-invalid"), "true");
      const message = await sendContent({
        type: "list",
        text: "Choose",
        button: "Open",
        sections: [{ rows: [{ id: "a", title: "Row A" }] }],
      });
      await visitor.goto(`messages/${message}`);
      await visitor.button("Send again as new").click();
      assert.equal(await page.getByLabel("Title", { exact: true }).inputValue(), "Row A");
      await visitor.button("Send").click();
      await visitor.sees(/^read$/, page.getByRole("region", { name: "The message you sent" }));
    }));

  test("sends a template with its file and the end of its URL", (context) =>
    visits.visit(context, async (visitor) => {
      const { page } = visitor;
      const id = await store(pdf(2_000), "ticket.pdf");
      const { json, text } = await visits.godwit.request("POST", "/v1/templates", {
        key: visits.key,
        body: {
          name: "ticket",
          language: "en",
          category: "utility",
          channels: ["whatsapp"],
          body: "Your ticket, {{name}}.",
          header_media: "document",
          buttons: [{ type: "url", text: "Open", url: "https://www.example.com/tickets/{{1}}" }],
          examples: { name: "Ada" },
        },
      });
      assert.equal(json["status"], "approved", text);
      await visitor.signIn(visits.key, `templates/${String(json["id"])}`);
      assert.equal(await page.getByLabel("File above the text").inputValue(), "document");
      await page.getByRole("link", { name: "Send with this template" }).click();
      await page.getByLabel("Channel").selectOption("whatsapp");
      await visitor.button("delivered").click();
      await page.getByLabel("{{name}}").fill("Ada");
      await visitor.button("Stored file").click();
      await page.getByLabel("Stored file").selectOption(id);
      await page.getByLabel(/^End of the URL of Open/).fill("1815");
      await visitor.sees("ticket.pdf", page.getByRole("group", { name: "Preview" }));
      await visitor.button("Send").click();
      await visitor.sees(/^read$/, page.getByRole("region", { name: "The message you sent" }));
    }));
});

describe("the media page", () => {
  test("filters files, and deletes a file after a confirmation", (context) =>
    visits.visit(context, async (visitor) => {
      const { page } = visitor;
      await visitor.signIn(visits.key, "media");
      await page.getByLabel("Upload files").setInputFiles([
        { name: "one.png", mimeType: "image/png", buffer: picture },
        { name: "two.pdf", mimeType: "application/pdf", buffer: pdf(3_000) },
      ]);
      const table = page.getByRole("table", { name: "Files" });
      const [one, two] = ["one.png", "two.pdf"].map((name) => table.getByRole("row").filter({ hasText: name })) as [Locator, Locator];
      await two.waitFor();
      await showsPicture(one);
      await visitor.assertAccessible("the list of files");
      await page.getByLabel("Kind").selectOption("document");
      await one.waitFor({ state: "detached" });
      await two.getByRole("button", { name: "Delete" }).click();
      await visitor.dialog.getByText("two.pdf is deleted permanently").waitFor();
      await page.keyboard.press("Escape");
      await two.waitFor();
      await two.getByRole("button", { name: "Delete" }).click();
      await visitor.dialog.getByRole("button", { name: "Delete" }).click();
      await two.waitFor({ state: "detached" });
      await visitor.goto("media?kind=image");
      await one.getByRole("link", { name: "one.png" }).click();
      await visitor.heading("one.png").waitFor();
      await page.getByRole("link", { name: "Send this file" }).click();
      await showsPicture(page.getByRole("group", { name: "Preview" }));
    }));

  test("has no upload and no deletion for a key that only reads", (context) =>
    visits.visit(context, async (visitor) => {
      await store(picture, "read.png");
      await visitor.signIn(await visits.godwit.key({ scopes: SCOPES.filter((scope) => scope.endsWith(":read")) }), "media");
      await visitor.page.getByRole("link", { name: "read.png" }).waitFor();
      assert.equal(await visitor.page.getByLabel("Upload files").count(), 0);
      assert.equal(await visitor.button("Delete").count(), 0);
    }));

  test("says why a file is refused, and uploads it again on request", (context) =>
    visits.visit(context, async (visitor) => {
      const { page } = visitor;
      await visitor.signIn(visits.key, "media");
      const field = page.getByLabel("Upload files");
      await field.setInputFiles({ name: "empty.txt", mimeType: "text/plain", buffer: Buffer.alloc(0) });
      await visitor.sees("the file is empty");
      assert.equal(await visitor.button("Retry").count(), 0);
      let isLost = true;
      await page.route("**/v1/media?file_name=*", (route) => (isLost ? route.abort() : route.continue()));
      await field.setInputFiles({ name: "again.csv", mimeType: "text/csv", buffer: Buffer.from("a,b\n1,2\n") });
      await visitor.sees("The service cannot be reached");
      isLost = false;
      await visitor.button("Retry").click();
      await visitor.sees("text/csv", page.getByRole("row").filter({ hasText: "again.csv" }));
    }));
});
