/** The main calls through a client that `openapi-typescript` and `openapi-fetch` generate from the OpenAPI document.
 *  ../generated-client.test.ts generates ./schema.ts beside a copy of this file, compiles both and runs them. The document is the only
 *  thing that this file takes from the project. */
import assert from "node:assert/strict";
import { setTimeout } from "node:timers/promises";
import createClient from "openapi-fetch";
import type { components, paths } from "./schema.ts";

type Schemas = components["schemas"];
type Message = Schemas["Message"];

const [, , baseUrl = "", key = "", hook = ""] = process.argv;
const api = createClient<paths>({ baseUrl, headers: { authorization: `Bearer ${key}` } });

/** Returns the data of a call that succeeded. Fails with its error otherwise. */
function held<T>({ data, error }: { data?: T; error?: unknown }): T {
  assert.ok(data !== undefined, JSON.stringify(error));
  return data;
}

async function until<T>(what: string, ask: () => Promise<T | undefined>): Promise<T> {
  for (let tries = 0; tries < 200; tries += 1) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    await setTimeout(50);
  }
  throw new Error(`not in time: ${what}`);
}

const toId = (id: string) => ({ params: { path: { id } } });
const delivered = (id: string): Promise<Message> =>
  until("the message is delivered", async () => {
    const message = held(await api.GET("/v1/messages/{id}", toId(id)));
    return message.status === "delivered" ? message : undefined;
  });

// An endpoint for the events of delivered messages.
const endpoint = held(await api.POST("/v1/webhook_endpoints", { body: { url: hook, event_types: ["message.delivered"] } }));
assert.match(endpoint.secret, /^whsec_/);

// Two requests with one idempotency key: one message, which is followed until it is delivered.
const header = { "Idempotency-Key": crypto.randomUUID() };
const body = { recipient: "+14155550123", channel: "sms", body: "Hello", client_reference: "order-7" } as const;
const sent = await api.POST("/v1/messages", { params: { header }, body });
const again = await api.POST("/v1/messages", { params: { header }, body });
assert.equal(sent.response.status, 202);
assert.equal(again.response.headers.get("idempotent-replayed"), "true");
const { id } = held(sent);
assert.equal(held(again).id, id);
const message = await delivered(id);
assert.ok(message.delivered_at !== null && message.error === null);
const timeline = held(await api.GET("/v1/messages/{id}/events", toId(id)));
assert.deepEqual(
  timeline.data.map(({ type }) => type),
  ["message.delivered", "message.sent", "message.sending", "message.queued"],
);

// A template, and a message with its variables.
const template = held(
  await api.POST("/v1/templates", {
    body: {
      name: "order_shipped",
      language: "en",
      category: "utility",
      channels: ["sms"],
      body: "Hello {{name}}",
      examples: { name: "Ada" },
    },
  }),
);
const preview = held(
  await api.POST("/v1/templates/{id}/preview", { ...toId(template.id), body: { template_variables: { name: "Grace" } } }),
);
assert.equal(preview.body, "Hello Grace");
const filled = await until("the template is approved", async () => {
  const { data } = await api.POST("/v1/messages", {
    body: { recipient: "+14155550123", channel: "sms", template_id: template.id, template_variables: { name: "Grace" } },
  });
  return data;
});
assert.equal(filled.template_id, template.id);

// A batch with one item that is refused.
const items = [1, 2, 3].map((count) => ({ recipient: "+14155550123", channel: "sms" as const, body: `Number ${count}` }));
const batch = held(await api.POST("/v1/batches", { body: { items: [...items, { recipient: "nobody", channel: "sms", body: "x" }] } }));
assert.deepEqual([batch.accepted, batch.refused], [3, 1]);
await until("the batch is completed", async () => {
  const { status } = held(await api.GET("/v1/batches/{id}", toId(batch.id)));
  return status === "completed" || undefined;
});

// A list, page by page.
const listed: string[] = [];
let cursor: string | null = null;
do {
  const page: components["schemas"]["MessagePage"] = held(
    await api.GET("/v1/messages", { params: { query: { limit: 2, ...(cursor === null ? {} : { cursor }) } } }),
  );
  assert.ok(page.data.length <= 2);
  listed.push(...page.data.map((each) => each.id));
  cursor = page.next_cursor;
} while (cursor !== null);
assert.deepEqual(new Set(listed).size, listed.length);
assert.equal(listed.length, 5);
assert.equal(listed.at(-1), id);

// Events, and their deliveries to the endpoint.
const events = held(await api.GET("/v1/events", { params: { query: { type: "message.delivered", limit: 100 } } }));
const isMessageEvent = (event: Schemas["Event"]): event is Schemas["MessageEvent"] => event.type.startsWith("message.");
assert.ok(events.data.filter(isMessageEvent).some(({ data }) => data.message.id === id));
await until("the endpoint has received the events", async () => {
  const { data } = held(await api.GET("/v1/webhook_endpoints/{id}/deliveries", toId(endpoint.id)));
  return data.some(({ status }) => status === "succeeded") || undefined;
});

// Refusals are typed: only the members that every error has.
const refused = await api.POST("/v1/messages", { body: { ...body, recipient: "+15005550004" } });
assert.ok(refused.error !== undefined && refused.data === undefined);
assert.equal(refused.error.code, "recipient_opted_out");
const faulty = await api.POST("/v1/messages", { body: { ...body, recipient: "nobody" } });
assert.deepEqual(
  faulty.error?.errors?.map(({ pointer }) => pointer),
  ["/recipient"],
);
const missing = await api.GET("/v1/messages/{id}", toId("msg_01k9zs3v8mf4tb2xg1qj6n0d5c"));
assert.equal(missing.error?.status, 404);
// @ts-expect-error -- a problem has no such member
assert.equal(missing.error?.no_such_member, undefined);
// @ts-expect-error -- a message has no such field
assert.equal(message.no_such_field, undefined);

/** The events of this version, which a program distinguishes by `type`. The other form has any text as its type. */
type KnownEvent<Form = Schemas["Event"]> = Form extends { type: infer Type } ? (string extends Type ? never : Form) : never;

export function subjectOf(event: KnownEvent): string {
  if (event.type === "template.approved") return event.data.template.name;
  // @ts-expect-error -- an audit event has no message
  return event.type === "audit.created" ? event.data.message : event.id;
}

/** Code that must not compile. Never runs. */
export async function misuse(): Promise<void> {
  // @ts-expect-error -- there is no such path
  await api.GET("/v1/nothing");
  // @ts-expect-error -- nor such a channel
  await api.POST("/v1/messages", { body: { ...body, channel: "fax" } });
  // @ts-expect-error -- a message needs a recipient
  await api.POST("/v1/messages", { body: { channel: "sms", body: "Hello" } });
  // @ts-expect-error -- a path with an id needs one
  await api.GET("/v1/messages/{id}");
}

process.stdout.write("arrived\n");
