/** The limits for codes: exact, with any number of concurrent requests on any number of nodes. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { clientOf, clientOfAccount, newRecipient, NO_LIMITS, type Client } from "../support/client.ts";
import { assertProblem, pointersOf } from "../support/expect.ts";
import { startGodwit, type Godwit, type Reply } from "../support/harness.ts";
import { rowId } from "../support/tables.ts";

const PER_RECIPIENT = 4;
const PER_PREFIX = 7;

let godwit: Godwit;
let other: Godwit;
let nodes: readonly Client[];
before(async () => {
  const env = { ...NO_LIMITS, GODWIT_VERIFY_PER_RECIPIENT: String(PER_RECIPIENT), GODWIT_VERIFY_PER_PREFIX: String(PER_PREFIX) };
  godwit = await startGodwit({ env });
  other = await startGodwit({ databaseUrl: godwit.databaseUrl, env });
  const client = await clientOfAccount(godwit, "limits");
  nodes = [client, clientOf(other, client.key)];
});
after(() => Promise.all([godwit.stop(), other.stop()]));

const node = (index: number): Client => nodes[index % 2] as Client;

/** Sends twenty concurrent requests to both nodes. */
const twenty = (recipientOf: (index: number) => string): Promise<Reply[]> =>
  Promise.all(Array.from({ length: 20 }, (_, index) => node(index).verifications.start({ recipient: recipientOf(index), channel: "sms" })));

/** Asserts that so many codes were sent, all others were refused, and no other message exists. */
async function assertSent(replies: readonly Reply[], count: number, recipients: readonly string[]): Promise<void> {
  assert.equal(replies.filter(({ status }) => status === 201).length, count);
  for (const reply of replies) {
    if (reply.status === 201) continue;
    assertProblem(reply, "verification_limit_reached");
    assert.deepEqual(pointersOf(reply), ["/recipient"]);
  }
  const sent = await godwit.rows<{ messages: number; queued: number; verifications: number }>(
    `select count(*)::integer as messages, count(q.message_id)::integer as queued,
            (select count(*)::integer from verifications where recipient = any ($1::text[])) as verifications
       from messages m left join delivery_queue q on q.message_id = m.id
      where m.recipient = any ($1::text[])`,
    [recipients],
  );
  assert.deepEqual(sent, [{ messages: count, queued: count, verifications: count }]);
}

/** Moves the creation of a verification, which is in its id, into the past. */
const longAgo = (id: unknown, ms: number): Promise<unknown> =>
  godwit.rows(
    `update verifications
        set id = (lpad(to_hex(('x' || substr(replace(id::text, '-', ''), 1, 12))::bit(48)::bigint - $2::bigint), 12, '0')
                  || substr(replace(id::text, '-', ''), 13))::uuid
      where id = $1`,
    [rowId(id), ms],
  );

describe("the limit per hour", () => {
  test("allows a number of codes for a recipient, of twenty concurrent requests", async () => {
    const recipient = newRecipient();
    await assertSent(await twenty(() => recipient), PER_RECIPIENT, [recipient]);
    assertProblem(await node(0).verifications.start({ recipient, channel: "sms" }), "verification_limit_reached");
  });

  test("allows a number of codes for a prefix, of twenty concurrent requests", async () => {
    const stem = newRecipient().slice(0, -4);
    const recipients = Array.from({ length: 20 }, (_, index) => `${stem}${String(1_000 + index)}`);
    await assertSent(await twenty((index) => recipients[index] as string), PER_PREFIX, recipients);
    // Another prefix is not affected.
    await node(0).verifications.started({ recipient: newRecipient() });
  });

  test("counts for each account separately", async () => {
    const recipient = newRecipient();
    await twenty(() => recipient);
    await (await clientOfAccount(godwit, "another")).verifications.started({ recipient });
  });

  test("ends after an hour, and not before", async () => {
    const recipient = newRecipient();
    const replies = await twenty(() => recipient);
    const [first, second] = replies.filter(({ status }) => status === 201).map(({ json }) => json["id"]);
    await longAgo(first, 3_590_000);
    assertProblem(await node(0).verifications.start({ recipient, channel: "sms" }), "verification_limit_reached");
    await longAgo(second, 3_600_001);
    await node(1).verifications.started({ recipient });
    assertProblem(await node(0).verifications.start({ recipient, channel: "sms" }), "verification_limit_reached");
  });

  test("counts only sent codes, and not those refused for another reason", async () => {
    const recipient = newRecipient();
    const suppression = await godwit.request("POST", "/v1/suppressions", { key: node(0).key, body: { recipient } });
    for (let attempt = 0; attempt < PER_RECIPIENT + 2; attempt += 1)
      assertProblem(await node(attempt).verifications.start({ recipient, channel: "sms" }), "recipient_opted_out");
    for (let attempt = 0; attempt < PER_RECIPIENT + 2; attempt += 1)
      assertProblem(await node(attempt).verifications.start({ recipient, channel: "sms", template_id: "nothing" }), "template_not_found");
    await godwit.request("DELETE", `/v1/suppressions/${String(suppression.json["id"])}`, { key: node(0).key });
    await assertSent(await twenty(() => recipient), PER_RECIPIENT, [recipient]);
  });

  test("also counts codes that are not pending any more", async () => {
    const recipient = newRecipient();
    for (let sent = 0; sent < PER_RECIPIENT; sent += 1) {
      const { id } = await node(sent).verifications.started({ recipient });
      await (sent % 2 === 0 ? node(sent).verifications.checked(id) : node(sent).verifications.canceled(id));
    }
    assertProblem(await node(0).verifications.start({ recipient, channel: "sms" }), "verification_limit_reached");
  });

  test("does not change the pending code when a further one is refused", async () => {
    const recipient = newRecipient();
    const replies = await twenty(() => recipient);
    const pending = await Promise.all(
      replies.filter(({ status }) => status === 201).map(async ({ json }) => node(0).verifications.read(json["id"])),
    );
    const [last, ...more] = pending.filter(({ status }) => status === "pending");
    assert.ok(last !== undefined && more.length === 0);
    assertProblem(await node(1).verifications.start({ recipient, channel: "sms" }), "verification_limit_reached");
    assert.equal((await node(0).verifications.checked(last["id"]))["valid"], true);
  });
});

test("a further code can be sent after the cool-down, and of many concurrent requests one is sent", async () => {
  await using strict = await startGodwit({ databaseUrl: godwit.databaseUrl, env: { ...NO_LIMITS, GODWIT_VERIFY_COOLDOWN: "600" } });
  const client = clientOf(strict, node(0).key);
  const recipient = newRecipient();
  const replies = await Promise.all(Array.from({ length: 20 }, () => client.verifications.start({ recipient, channel: "sms" })));
  const [first, ...more] = replies.filter(({ status }) => status === 201);
  assert.ok(first !== undefined && more.length === 0, `${more.length + 1} codes were sent`);
  for (const reply of replies) {
    if (reply === first) continue;
    assertProblem(reply, "verification_too_soon");
    const seconds: string | undefined = /^The next code can be sent in (\d+) seconds\.$/.exec(String(reply.json["detail"]))?.[1];
    assert.ok(Number(seconds) > 0 && Number(seconds) <= 600, String(reply.json["detail"]));
    assert.equal(reply.headers.get("retry-after"), seconds);
  }
  assert.equal((await client.messages.list({ recipient: recipient, limit: "100" })).data.length, 1);
  // The cool-down applies with any final status and any channel.
  await client.verifications.checked(first.json["id"]);
  assertProblem(await client.verifications.start({ recipient, channel: "whatsapp" }), "verification_too_soon");
  await longAgo(first.json["id"], 600_000);
  assert.equal((await client.verifications.start({ recipient, channel: "sms" })).status, 201);
  // Other recipients need not wait.
  await client.verifications.started({ recipient: `${recipient.slice(0, -1)}9` });
});
