/** The main calls through the client of `@hey-api/openapi-ts`: a function for each operation. */
import assert from "node:assert/strict";
import { client } from "./client/client.gen.ts";
import {
  createWebhookEndpoint,
  getMessage,
  listEvents,
  listMessages,
  sendMessage,
  type Event,
  type NewMessage,
  type NewWebhookEndpoint,
} from "./client/index.ts";
import { hook, key, reference, serviceUrl, until, type KnownEvent } from "./support.ts";

client.setConfig({ baseUrl: serviceUrl, auth: key });

const newEndpoint: NewWebhookEndpoint = { url: hook, event_types: ["message.delivered"] };
const endpoint = await createWebhookEndpoint({ body: newEndpoint, throwOnError: true });
assert.match(endpoint.data.secret, /^whsec_/);

// Two requests with one idempotency key: one message.
const body: NewMessage = { recipient: "+14155550123", channel: "sms", body: "Hello", client_reference: reference };
const headers = { "Idempotency-Key": crypto.randomUUID() };
const sent = await sendMessage({ headers, body, throwOnError: true });
const again = await sendMessage({ headers, body, throwOnError: true });
assert.equal(sent.response.status, 202);
assert.equal(again.response.headers.get("idempotent-replayed"), "true");
const { id } = sent.data;
assert.equal(again.data.id, id);
const read = await getMessage({ path: { id }, throwOnError: true });
assert.equal(read.data.client_reference, reference);

// A filtered list of two pages, newest first.
const send = async (more: Partial<NewMessage>): Promise<string> =>
  (await sendMessage({ body: { ...body, ...more }, throwOnError: true })).data.id;
await send({ client_reference: "order-8" });
const others = [await send({ metadata: { shop: "Oslo" } }), await send({ priority: "high" })];
const query = { client_reference: reference, direction: "outbound", limit: 2 } as const;
const { data: first } = await listMessages({ query, throwOnError: true });
assert.ok(first.has_more && first.next_cursor !== null);
const { data: last } = await listMessages({ query: { ...query, cursor: first.next_cursor }, throwOnError: true });
assert.equal(last.next_cursor, null);
assert.deepEqual(
  [...first.data, ...last.data].map((message) => message.id),
  [...others.toReversed(), id],
);

// A refusal.
const refused = await sendMessage({ body: { ...body, recipient: "nobody" } });
assert.ok(refused.error !== undefined);
assert.deepEqual([refused.error.status, refused.error.code], [400, "invalid_request_payload"]);
assert.deepEqual(
  refused.error.errors?.map(({ pointer }) => pointer),
  ["/recipient"],
);

// An event, narrowed by its type.
const event = await until("the message is delivered", async () => {
  const { data } = await listEvents({ query: { type: "message.delivered", message_id: id }, throwOnError: true });
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
  await sendMessage({ body: { ...body, channel: "fax" } });
  // @ts-expect-error -- a message needs a recipient
  await sendMessage({ body: { channel: "sms", body: "Hello" } });
  // @ts-expect-error -- a message has no such field
  assert.equal(read.data.no_such_field, undefined);
  // @ts-expect-error -- nor has a refusal
  assert.equal(refused.error?.no_such_member, undefined);
  // @ts-expect-error -- there is no such filter
  await listMessages({ query: { no_such_filter: "x" } });
  // @ts-expect-error -- there is no such header
  await sendMessage({ body, headers: { "Idempotency-Key": 7 } });
}

process.stdout.write("arrived\n");
