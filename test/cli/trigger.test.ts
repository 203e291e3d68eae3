/** `godwit trigger`: each event that it lists occurs, and is printed. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Json } from "../support/client.ts";
import { runGodwit, startGodwit, type Godwit } from "../support/harness.ts";

let godwit: Godwit;
let key: string;
before(async () => {
  godwit = await startGodwit({ roles: "api,dispatch", simulatorSpeed: 100 });
  key = await godwit.key();
  await godwit.unlimited();
});
after(() => godwit.stop());

const trigger = (...args: string[]): ReturnType<typeof runGodwit> =>
  runGodwit(["trigger", ...args], { GODWIT_URL: godwit.url, GODWIT_KEY: key });

test("every listed event occurs, also a second time", async () => {
  const listed = JSON.parse((await trigger("--json")).stdout) as { event: string }[];
  assert.ok(listed.length >= 14);
  for (const { event } of [...listed, { event: "recipient.opted_out" }]) {
    const { code, stdout, stderr } = await trigger(event, "--json");
    assert.equal(code, 0, `${event}: ${stderr}`);
    assert.equal((JSON.parse(stdout) as Json)["type"], event);
  }
});

test("people get a few lines with the error", async () => {
  const { code, stdout } = await trigger("message.undelivered");
  assert.equal(code, 0);
  assert.match(stdout, /^type +message\.undelivered$/m);
  assert.match(stdout, /^error +blocked_by_carrier$/m);
});

test("an unknown event gets a suggestion, and a live key is refused before anything is sent", async () => {
  const unknown = await trigger("message.undeliverd");
  assert.equal(unknown.code, 2);
  assert.match(unknown.stderr, /did you mean godwit trigger message\.undelivered\?/);
  assert.match((await trigger("delivered")).stderr, /did you mean godwit trigger message\.delivered\?/);
  assert.match((await trigger("foo")).stderr, /there is no event foo to cause\nThe events: message\.scheduled, .*batch\.completed\n/);
  const live = await runGodwit(["trigger", "message.sent"], {
    GODWIT_URL: godwit.url,
    GODWIT_KEY: await godwit.key({ environment: "live" }),
  });
  assert.equal(live.code, 2);
  assert.match(live.stderr, /trigger needs a test key/);
});

test("an event that does not occur in time exits with 3", async () => {
  await using idle = await startGodwit({ roles: "api" });
  const { code, stderr } = await runGodwit(["trigger", "message.delivered", "--timeout", "1s"], {
    GODWIT_URL: idle.url,
    GODWIT_KEY: await idle.key(),
  });
  assert.equal(code, 3);
  assert.match(stderr, /message\.delivered did not occur within 1 s/);
});
