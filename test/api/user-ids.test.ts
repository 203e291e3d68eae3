/** Recipients without a number: a business-scoped user id of WhatsApp in place of a number, wherever a request names a person. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { clientOfAccount, recordOf, type Client } from "../support/client.ts";
import { assertProblem, faultsOf, pointersOf } from "../support/expect.ts";
import { startGodwit, type Godwit } from "../support/harness.ts";

let godwit: Godwit;
let client: Client;
before(async () => {
  godwit = await startGodwit({ roles: "api,dispatch", simulatorSpeed: 1_000 });
  client = await clientOfAccount(godwit, "main");
});
after(() => godwit.stop());

let people = 0;
const nextId = (): string => `US.1349120865530274${String((people += 1)).padStart(4, "0")}`;
const text = (recipient: string, fields: object = {}): object => ({ recipient, channel: "whatsapp", body: "Hello", ...fields });

test("a message to a user id is sent, and found by it", async () => {
  const recipient = nextId();
  const message = await client.messages.send(text(recipient));
  assert.equal(message["recipient"], recipient);
  assert.equal(message["segments"], null);
  await client.messages.reached(message["id"], "read");
  const { data } = await client.messages.list({ recipient });
  assert.deepEqual(
    data.map(({ id }) => id),
    [message["id"]],
  );
});

for (const [what, body, pointer, code] of [
  ["on sms", { channel: "sms" }, "/recipient", "invalid_format"],
  ["with a fallback to sms", { fallback: [{ channel: "sms", body: "Hello", after_seconds: 60 }] }, "/fallback/0/channel", "conflict"],
  ["with small letters for the country", { recipient: "us.13491208655302741918" }, "/recipient", "invalid_format"],
  ["with another character", { recipient: "US.1349-1208" }, "/recipient", "invalid_format"],
  ["that is too long", { recipient: `US.${"1".repeat(129)}` }, "/recipient", "invalid_format"],
] as const)
  test(`a message to a user id ${what} is refused with a fault`, async () => {
    const reply = await client.request("POST", "/v1/messages", { body: text(nextId(), body) });
    assertProblem(reply, "invalid_request_payload");
    assert.deepEqual(
      faultsOf(reply).map((fault) => [fault.pointer, fault.code]),
      [[pointer, code]],
    );
    const validation = recordOf(await client.request("POST", "/v1/messages/validate", { body: text(nextId(), body) }));
    assert.equal(validation["valid"], false);
  });

test("validate accepts a user id on whatsapp", async () => {
  const validation = recordOf(await client.request("POST", "/v1/messages/validate", { body: text(nextId()) }));
  assert.deepEqual([validation["valid"], validation["errors"]], [true, []]);
});

test("an item of a batch has a user id on whatsapp only, also where the channel is a default", async () => {
  const [first, second] = [nextId(), nextId()];
  const items = [{ recipient: first, channel: "whatsapp" }, { recipient: second }];
  const batch = recordOf(
    await client.request("POST", "/v1/batches", { body: { defaults: { channel: "sms", body: "Hello" }, items } }),
    202,
  );
  assert.deepEqual([batch["accepted"], batch["refused"]], [1, 1]);
});

test("a verification takes a number only", async () => {
  const reply = await client.request("POST", "/v1/verifications", { body: { recipient: nextId(), channel: "whatsapp" } });
  assert.deepEqual(pointersOf(reply), ["/recipient"]);
});

test("a suppression of a user id refuses messages to it, is found by it, and is lifted", async () => {
  const recipient = nextId();
  const suppression = await client.suppressions.add({ recipient });
  assertProblem(await client.request("POST", "/v1/messages", { body: text(recipient) }), "recipient_opted_out");
  assert.deepEqual((await client.suppressions.list({ recipient })).data, [suppression]);
  await client.suppressions.lift(suppression["id"]);
  await client.messages.send(text(recipient));
});

test("a user id is exported and erased, and its opt-out stays in effect", async () => {
  const recipient = nextId();
  const message = await client.messages.send(text(recipient));
  await client.messages.reached(message["id"], "read");
  await client.suppressions.add({ recipient });
  const lines = (await client.request("POST", "/v1/recipients/export", { body: { recipient } })).text.trim().split("\n");
  const objects = new Set(lines.map((line) => (JSON.parse(line) as { object: string }).object));
  assert.deepEqual(objects, new Set(["message", "timeline_entry", "suppression", "suppression_change", "export_end"]));
  const erasure = recordOf(await client.request("POST", "/v1/recipients/erase", { body: { recipient } }));
  assert.equal((erasure["erased"] as Record<string, number>)["messages"], 1);
  assert.equal((await client.messages.read(message["id"]))["recipient"], "erased");
  assertProblem(await client.request("POST", "/v1/messages", { body: text(recipient) }), "recipient_opted_out");
});
