/** The main calls through the client of `orval`: a function for each operation, whose result has the type of its status. */
import assert from "node:assert/strict";
import {
  createWebhookEndpoint,
  getMessage,
  listEvents,
  listMessages,
  sendMessage,
  type Event,
  type NewMessage,
  type NewWebhookEndpoint,
} from "./client/api.ts";
import { hook, key, reference, until, type KnownEvent } from "./support.ts";

const options: RequestInit = { headers: { authorization: `Bearer ${key}` } };

const newEndpoint: NewWebhookEndpoint = { url: hook, event_types: ["message.delivered"] };
const endpoint = await createWebhookEndpoint(newEndpoint, {}, options);
assert.ok(endpoint.status === 201);
assert.match(endpoint.data.secret, /^whsec_/);

// Two requests with one idempotency key: one message.
const body: NewMessage = { recipient: "+14155550123", channel: "sms", body: "Hello", client_reference: reference };
const headers = { "Idempotency-Key": crypto.randomUUID() };
const sent = await sendMessage(body, headers, options);
const again = await sendMessage(body, headers, options);
assert.ok(sent.status === 202 && again.status === 202);
assert.equal(again.headers.get("idempotent-replayed"), "true");
const { id } = sent.data;
assert.equal(again.data.id, id);
const read = await getMessage(id, options);
assert.ok(read.status === 200);
assert.equal(read.data.client_reference, reference);

// A filtered list of two pages, newest first.
async function send(more: Partial<NewMessage>): Promise<string> {
  const { status, data } = await sendMessage({ ...body, ...more }, {}, options);
  assert.ok(status === 202);
  return data.id;
}
await send({ client_reference: "order-8" });
const others = [await send({ metadata: { shop: "Oslo" } }), await send({ priority: "high" })];
const query = { client_reference: reference, direction: "outbound", limit: 2 } as const;
const first = await listMessages(query, options);
assert.ok(first.status === 200 && first.data.has_more && first.data.next_cursor !== null);
const last = await listMessages({ ...query, cursor: first.data.next_cursor }, options);
assert.ok(last.status === 200 && last.data.next_cursor === null);
assert.deepEqual(
  [...first.data.data, ...last.data.data].map((message) => message.id),
  [...others.toReversed(), id],
);

// A refusal.
const refused = await sendMessage({ ...body, recipient: "nobody" }, {}, options);
assert.ok(refused.status === 400);
assert.equal(refused.data.code, "invalid_request_payload");
assert.deepEqual(
  refused.data.errors?.map(({ pointer }) => pointer),
  ["/recipient"],
);

// An event, narrowed by its type.
const event = await until("the message is delivered", async () => {
  const { status, data } = await listEvents({ type: "message.delivered", message_id: id }, options);
  assert.ok(status === 200);
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
  await sendMessage({ ...body, channel: "fax" });
  // @ts-expect-error -- a message needs a recipient
  await sendMessage({ channel: "sms", body: "Hello" });
  const message = await getMessage(id, options);
  // @ts-expect-error -- a refusal has no such field, and the status is not known
  assert.equal(message.data.delivered_at, null);
  // @ts-expect-error -- there is no such filter
  await listMessages({ no_such_filter: "x" });
  // @ts-expect-error -- an idempotency key is a text
  await sendMessage(body, { "Idempotency-Key": 7 });
}

process.stdout.write("arrived\n");
