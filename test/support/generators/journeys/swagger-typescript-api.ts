/** The main calls through the client of `swagger-typescript-api`: a class with a method for each operation. It has no types for headers. */
import assert from "node:assert/strict";
import { Api, type Event, type NewMessage, type NewWebhookEndpoint } from "./client/api.ts";
import { hook, key, reference, serviceUrl, until, type KnownEvent } from "./support.ts";

const { v1 } = new Api({ baseUrl: serviceUrl, securityWorker: () => ({ headers: { authorization: `Bearer ${key}` } }) });

const newEndpoint: NewWebhookEndpoint = { url: hook, event_types: ["message.delivered"] };
const endpoint = await v1.createWebhookEndpoint(newEndpoint);
assert.equal(endpoint.status, 201);
assert.match(endpoint.data.secret, /^whsec_/);

// Two requests with one idempotency key: one message.
const body: NewMessage = { recipient: "+14155550123", channel: "sms", body: "Hello", client_reference: reference };
const headers = { "Idempotency-Key": crypto.randomUUID() };
const sent = await v1.sendMessage(body, { headers });
const again = await v1.sendMessage(body, { headers });
assert.equal(sent.status, 202);
assert.equal(again.headers.get("idempotent-replayed"), "true");
const { id } = sent.data;
assert.equal(again.data.id, id);
const read = await v1.getMessage(id);
assert.equal(read.data.client_reference, reference);

// A filtered list of two pages, newest first.
const send = async (more: Partial<NewMessage>): Promise<string> => (await v1.sendMessage({ ...body, ...more })).data.id;
await send({ client_reference: "order-8" });
const others = [await send({ metadata: { shop: "Oslo" } }), await send({ priority: "high" })];
const query = { client_reference: reference, direction: "outbound", limit: 2 } as const;
const { data: first } = await v1.listMessages(query);
assert.ok(first.has_more && first.next_cursor !== null);
const { data: last } = await v1.listMessages({ ...query, cursor: first.next_cursor });
assert.equal(last.next_cursor, null);
assert.deepEqual(
  [...first.data, ...last.data].map((message) => message.id),
  [...others.toReversed(), id],
);

// A refusal.
const refused = await v1.sendMessage({ ...body, recipient: "nobody" });
assert.ok(!refused.ok);
assert.deepEqual([refused.error.status, refused.error.code], [400, "invalid_request_payload"]);
assert.deepEqual(
  refused.error.errors?.map(({ pointer }) => pointer),
  ["/recipient"],
);

// An event, narrowed by its type.
const event = await until("the message is delivered", async () => {
  const { data } = await v1.listEvents({ type: "message.delivered", message_id: id });
  return data.data[0];
});
assert.equal(subjectOf(event as KnownEvent<Event>), `message ${id}`);

function subjectOf(known: KnownEvent<Event>): string {
  if (known.type === "message.delivered") return `message ${known.data.message.id}`;
  if (known.type === "template.approved") return `template ${known.data.template.name}`;
  // @ts-expect-error -- an audit event has no message
  return known.type === "audit.created" ? known.data.message : known.id;
}

/** Code that must not compile. Never runs. */
export async function misuse(): Promise<void> {
  // @ts-expect-error -- there is no such channel
  await v1.sendMessage({ ...body, channel: "fax" });
  // @ts-expect-error -- a message needs a recipient
  await v1.sendMessage({ channel: "sms", body: "Hello" });
  // @ts-expect-error -- a message has no such field
  assert.equal(read.data.no_such_field, undefined);
  // @ts-expect-error -- nor has a refusal
  assert.equal(refused.error.no_such_member, undefined);
  // @ts-expect-error -- there is no such filter
  await v1.listMessages({ no_such_filter: "x" });
}

process.stdout.write("arrived\n");
