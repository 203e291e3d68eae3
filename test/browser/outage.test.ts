/** The console while the service is unavailable, and when it is available again. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ConsoleVisits, Visitor } from "../support/visitor.ts";
import { startGodwit } from "../support/harness.ts";

const visits = new ConsoleVisits();

test("an outage is shown, typed text is kept, and the console continues without a reload when the service is available again", (context) =>
  visits.with(context, async (browser) => {
    const first = await startGodwit({ asProcess: true, roles: "api,dispatch,webhooks" });
    await first.unlimited();
    const key = await first.key();
    const { port } = new URL(first.url);
    const again = { databaseUrl: first.databaseUrl, roles: "api,dispatch,webhooks", env: { GODWIT_PORT: port } };
    const list = await Visitor.open(browser, first.url);
    await list.signIn(key, "messages");
    await list.sees(/^Connected$/);
    const send = await Visitor.open(browser, first.url);
    await send.signIn(key, "send");
    await send.button("delivered", true).click();
    await send.page.getByLabel("Text").fill("Written before");
    await send.sees("1 segment");
    await first.stop("SIGKILL");

    await list.sees("Connection lost, reconnecting…");
    await list.page.getByLabel("Status").selectOption("failed");
    await list.page.getByRole("alert").getByText("The service cannot be reached").waitFor();
    await send.button("Send").click();
    await send.sees("Sending…");
    await send.page.getByRole("alert").getByText("The service cannot be reached").waitFor();

    await using second = await startGodwit(again);
    // The second click repeats the request with its idempotency key.
    await send.button("Send").click();
    await send.page.getByRole("region", { name: "The message you sent" }).waitFor();
    await send.page.getByRole("region", { name: "The message you sent" }).getByRole("status").getByText("delivered").waitFor();
    await list.page.getByLabel("Status").selectOption("");
    await list.page.getByRole("table").getByText("Written before").waitFor();
    await list.page.getByText(/^Connected$/).waitFor();
    const { json } = await second.request("GET", "/v1/messages", { key });
    assert.equal((json["data"] as unknown[]).length, 1, "the message is sent once");
    const later = await second.send(key, { recipient: "+15005550006", client_reference: "after-the-outage" });
    assert.equal(later.status, 202);
    await list.sees("after-the-outage");
    await Promise.all([list.close(), send.close()]);
  }));

test("a hidden tab closes its event stream, and shows all changes when it is visible again", (context) =>
  visits.visit(
    context,
    async (visitor) => {
      const { page } = visitor;
      await visitor.signIn(visits.key, "messages");
      await visitor.sees(/^Connected$/);
      const turn = (state: "hidden" | "visible"): Promise<unknown> =>
        page.evaluate(
          `Object.defineProperty(document, "visibilityState", { value: "${state}", configurable: true }); document.dispatchEvent(new Event("visibilitychange"))`,
        );
      const ended = page.waitForEvent("requestfailed", {
        predicate: (request) => request.url().endsWith("/v1/events/stream"),
      });
      await turn("hidden");
      await ended;
      await visits.godwit.send(visits.key, { recipient: "+15005550006", client_reference: "while-away" });
      assert.equal(await page.getByText("while-away").count(), 0);
      await turn("visible");
      await visitor.sees("while-away");
    },
    { onlyChromium: "WebDriver BiDi of Firefox does not report aborted requests" },
  ));
