/** Bulk sends in the console: the columns and the preview of a file, a send that is paused, lost and repeated, its result file, and its
 *  cancellation. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { describe, test } from "node:test";
import type { Download, Locator } from "playwright-core";
import { until } from "../support/expect.ts";
import { ConsoleVisits, type Visitor } from "../support/visitor.ts";

const visits = new ConsoleVisits(async ({ godwit, key }) => {
  const body = {
    name: "shipped",
    language: "en",
    category: "utility",
    channels: ["sms"],
    body: "Hello {{name}}, order {{order}} is here.",
  };
  const made = await godwit.request("POST", "/v1/templates", { key, body });
  assert.equal(made.status, 201, made.text);
});

const choose = (visitor: Visitor, name: string, text: string | Buffer): Promise<void> =>
  visitor.page.getByLabel("CSV file").setInputFiles({ name, mimeType: "text/csv", buffer: Buffer.from(text) });

const NUMBERS_FROM = 14_155_550_000;
const fileOfNumbers = (count: number): string =>
  `recipient\n${Array.from({ length: count }, (_, at) => `+${NUMBERS_FROM + at}\n`).join("")}`;

const region = (visitor: Visitor, name: string): Locator => visitor.page.getByRole("region", { name });

/** Chooses a file with one text for all rows, checks it, and confirms. `sendAt`: in local time. */
async function sendText(visitor: Visitor, name: string, rows: number, { text, sendAt }: { text: string; sendAt?: string }): Promise<void> {
  const { page } = visitor;
  await choose(visitor, name, fileOfNumbers(rows));
  await page.getByLabel("Content").selectOption("text");
  await page.getByLabel("Text", { exact: true }).fill(text);
  if (sendAt !== undefined) {
    await page.getByText("Advanced options").click();
    await page.getByLabel("Send at").fill(sendAt);
  }
  await visitor.button("Check the file").click();
  await visitor.button(`Send ${rows.toLocaleString("en-GB")} messages`).click();
  await visitor.dialog.getByRole("button", { name: "Send" }).click();
}

async function linesOf(download: Promise<Download>): Promise<string[]> {
  return (await readFile(await (await download).path(), "utf8")).trimEnd().split("\r\n");
}

/** The messages with this text to each recipient. */
const sentWith = async (text: string): Promise<{ count: number; most: number }> => {
  const [row] = await visits.godwit.rows<{ count: number; most: number }>(
    `select count(*)::int as count, coalesce(max(each), 0)::int as most
       from (select count(*) as each from messages where body = $1 group by recipient) as sent`,
    [text],
  );
  return row ?? { count: 0, most: 0 };
};

test("without a template, the content is a text", (context) =>
  visits.visit(context, async (visitor) => {
    const { page } = visitor;
    await visitor.signIn(await visits.godwit.key({ environment: "live" }), "bulk");
    await page.getByLabel("Text", { exact: true }).waitFor();
    assert.equal(await page.getByLabel("Content").inputValue(), "text");
  }));

describe("a file", () => {
  test("is mapped to a template, checked row by row, shown as messages, and sent", (context) =>
    visits.visit(context, async (visitor) => {
      const { page } = visitor;
      await visitor.signIn(visits.key, "bulk");
      await visitor.heading("Bulk send").waitFor();
      await choose(
        visitor,
        "people.csv",
        "Mobile no;Name;Order;Note\n+1 415 555 0101;Ada;A-17;x\n4155550102;Grace;A-18;\n+14155550103;;A-19;\n",
      );
      await page.getByLabel("Template").selectOption("shipped");
      await visitor.sees("no column has the recipient");
      await page.getByLabel("Mobile no").selectOption("recipient");
      assert.equal(await page.getByLabel("Name").inputValue(), "var.name");
      assert.equal(await page.getByLabel("Note").inputValue(), "ignore");
      await visitor.button("Check the file").click();
      const preview = region(visitor, "Preview");
      await visitor.sees("Hello Ada, order A-17 is here.", preview);
      await visitor.sees("must begin with + and the calling code", region(visitor, "Invalid rows"));
      await visitor.sees("has no value for the variable name", region(visitor, "Invalid rows"));
      await visitor.assertAccessible("the preview of a file");
      await visitor.assertFits("the preview of a file");
      await visitor.button("Send 1 message").click();
      await visitor.sees("2 invalid rows are left out", visitor.dialog);
      await visitor.dialog.getByRole("button", { name: "Send" }).click();
      await visitor.sees("All rows are done");
      await visitor.assertAccessible("a finished send");
      const download = page.waitForEvent("download");
      await visitor.button("Download results").click();
      assert.equal((await download).suggestedFilename(), "people.csv.results.csv");
      const [head, first, ...others] = await linesOf(download);
      assert.equal(head, "row,recipient,status,message_id,batch_id,error_code,error_detail");
      assert.match(first ?? "", /^2,\+14155550101,accepted,msg_\w+,batch_\w+,,$/);
      assert.deepEqual(
        others.map((line) => line.split(",").slice(0, 3)),
        [
          ["3", "4155550102", "invalid"],
          ["4", "+14155550103", "invalid"],
        ],
      );
      assert.deepEqual(await sentWith("Hello Ada, order A-17 is here."), { count: 1, most: 1 });
    }));

  test("that cannot be read is refused with its line", (context) =>
    visits.visit(context, async (visitor) => {
      await visitor.signIn(visits.key, "bulk");
      await choose(visitor, "latin.csv", Buffer.from("recipient,n\u00e4me\n", "latin1"));
      await visitor.sees("Line 1: the file is not UTF-8");
      await choose(visitor, "empty.csv", "");
      await visitor.sees("The file is empty.");
      await choose(visitor, "open.csv", 'recipient\n+14155550123\n"+14155550124\n');
      await visitor.page.getByLabel("Content").selectOption("text");
      await visitor.page.getByLabel("Text", { exact: true }).fill("Hello");
      await visitor.button("Check the file").click();
      await visitor.sees("Line 3: a quotation mark is not closed.", visitor.page.locator(".field.wrong"));
    }));

  test("with a row that is refused sends the others, and keeps the results after a reload", (context) =>
    visits.visit(context, async (visitor) => {
      const { page } = visitor;
      await visitor.signIn(visits.key, "bulk");
      await choose(visitor, "refused.csv", "recipient\n+14155550171\n+15005550004\n+14155550172\n");
      await page.getByLabel("Content").selectOption("text");
      await page.getByLabel("Text", { exact: true }).fill("One is refused");
      await visitor.button("Check the file").click();
      await visitor.button("Send 2 messages").click();
      await visitor.sees("1 row will be refused.", visitor.dialog);
      await visitor.dialog.getByRole("button", { name: "Send" }).click();
      await visitor.sees("All rows are done");
      await page.reload();
      await visitor.sees("3 of 3 (100%)", region(visitor, "Progress"));
      const download = page.waitForEvent("download");
      await visitor.button("Download results").click();
      assert.match((await linesOf(download))[2] ?? "", /^3,\+15005550004,refused,,batch_\w+,recipient_opted_out,/);
      await visitor.button("New send").click();
      await page.reload();
      await page.getByLabel("CSV file").waitFor();
    }));
});

describe("a send", () => {
  test("pauses after a batch, continues on another page, and sends each row once", (context) =>
    visits.visit(
      context,
      async (visitor) => {
        const { page } = visitor;
        const text = "Paused in the console";
        await visitor.signIn(visits.key, "bulk");
        const held = Promise.withResolvers<undefined>();
        let batches = 0;
        await page.route("**/v1/batches", async (route) => {
          batches += 1;
          const response = await route.fetch();
          if (batches === 2) await held.promise;
          await route.fulfill({ response });
        });
        await sendText(visitor, "paused.csv", 3_500, { text });
        await until("the second batch to be sent", () => (batches === 2 ? true : undefined));
        await visitor.button("Pause").click();
        held.resolve(undefined);
        await visitor.sees("Paused", region(visitor, "Progress"));
        await visitor.sees("2,000 of 3,500 (57.1%)");
        assert.deepEqual(await sentWith(text), { count: 2_000, most: 1 });
        await visitor.choose("Templates");
        await visitor.choose("Bulk send");
        await visitor.button("Continue").click();
        await visitor.sees("All rows are done");
        assert.deepEqual(await sentWith(text), { count: 3_500, most: 1 });
      },
      { onlyChromium: "WebDriver BiDi of Firefox does not replace responses" },
    ));

  test("that is lost with its page begins again with the same file, and each row is sent once", (context) =>
    visits.visit(
      context,
      async (visitor) => {
        const { page } = visitor;
        const text = "Lost with its page";
        await visitor.signIn(visits.key, "bulk");
        let batches = 0;
        await page.route("**/v1/batches", async (route) => {
          batches += 1;
          // The service executes the second batch, its response never arrives, and nothing is sent after it.
          if (batches > 2) return;
          const response = await route.fetch();
          if (batches === 1) await route.fulfill({ response });
        });
        await sendText(visitor, "lost.csv", 2_500, { text });
        await until("the second batch to be executed", async () => ((await sentWith(text)).count === 2_000 ? true : undefined));
        page.on("dialog", (dialog) => void dialog.accept());
        // Without the route, a page that still lives would send the second batch once more, and then the third.
        await page.reload();
        await page.unroute("**/v1/batches");
        await sendText(visitor, "lost.csv", 2_500, { text });
        await visitor.sees("All rows are done");
        await visitor.sees("2,000 rows were accepted before");
        assert.deepEqual(await sentWith(text), { count: 2_500, most: 1 });
      },
      { onlyChromium: "WebDriver BiDi of Firefox does not replace responses" },
    ));

  test("that is scheduled can be canceled as a whole", (context) =>
    visits.visit(context, async (visitor) => {
      const text = "Canceled in the console";
      await visitor.signIn(visits.key, "bulk");
      const sendAt = new Date(Date.now() + 86_400_000).toISOString().slice(0, 16);
      await sendText(visitor, "canceled.csv", 1_100, { text, sendAt });
      await visitor.sees("All rows are done");
      await visitor.button("Cancel messages").click();
      await visitor.dialog.getByRole("button", { name: "Cancel messages" }).click();
      await visitor.sees("Canceled", region(visitor, "Progress").getByRole("status"));
      const statuses = await visits.godwit.rows("select distinct status from messages where body = $1", [text]);
      assert.deepEqual(statuses, [{ status: "canceled" }]);
      await visitor.button("New send").click();
      await visitor.page.getByLabel("CSV file").waitFor();
    }));
});

test("the page fits a phone", (context) =>
  visits.visit(
    context,
    async (visitor) => {
      await visitor.signIn(visits.key, "bulk");
      await choose(visitor, "wide.csv", `recipient,${Array.from({ length: 20 }, (_, at) => `column ${at}`).join(",")}\n`);
      await visitor.page.getByLabel("column 19").waitFor();
      await visitor.assertFits("the form of a bulk send");
      await visitor.assertAccessible("the form of a bulk send");
    },
    { width: 360, height: 740 },
  ));
