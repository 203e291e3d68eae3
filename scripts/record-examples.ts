/** Records the examples of the OpenAPI document: npm run record-examples. Starts a service with an embedded database, a carrier and a
 *  receiver of webhooks, calls every operation over HTTP, and writes docs/openapi-examples.json. A second run writes the same file. */
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { poll } from "../src/lib/wait.ts";
import { Smsc, type SmscSession, type Submit } from "../test/support/fakes/smsc.ts";
import { receiptSm } from "../test/support/fakes/smsc-scripts.ts";
import type { Examples, OperationExample } from "./openapi/document.ts";
import { stable } from "./openapi/stable.ts";
import { startOwnService } from "./own-service.ts";

const OUT = join(import.meta.dirname, "..", "docs", "openapi-examples.json");
// `stable.ts` tells the times of two requests apart by the pause between them.
const PAUSE_MS = 500;
const WAIT_MS = 30_000;
const DAY_MS = 86_400_000;

const RECIPIENT = "+14155550123";
const SENDER = "+14155550100";
const OPTED_OUT = "+14155550125";
const LINK_SETTINGS = { host: "smpp.acme.example", port: 2776, tls: true };
const SCOPES = ["messages:send", "messages:read"];

type Json = Record<string, unknown>;
type Sent = Omit<OperationExample, "response"> & { form?: Record<string, string>; authorization?: string };

const carrier = await Smsc.start({ submit: (submit, session) => void deliver(submit, session) });
async function deliver(submit: Submit, session: SmscSession): Promise<void> {
  const id = session.accept(submit, `7b2f01${(carrier.submits.length + 0xc0).toString(16)}`);
  await sleep(PAUSE_MS);
  await session.deliverUntilAccepted(receiptSm(id));
}

const webhooks: Json[] = [];
const CARD = "BEGIN:VCARD\r\nVERSION:3.0\r\nFN:Acme Support\r\nTEL:+14155550100\r\nEND:VCARD\r\n";
const receiver = createServer((request, response) => {
  if (request.method === "GET") {
    response.end(CARD);
    return;
  }
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    webhooks.push(JSON.parse(Buffer.concat(chunks).toString()) as Json);
    // The first attempt fails, so that the example of a delivery has two.
    if (webhooks.length === 1) response.writeHead(503).end("Service Unavailable");
    else response.writeHead(204).end();
  });
}).listen(0, "127.0.0.1");
await once(receiver, "listening");
const receiverUrl = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`;

const service = await startOwnService("live", "admin");
const examples: Examples = {};
// Apart from the creation of the key.
await sleep(PAUSE_MS);

/** Calls an operation, and keeps the request and the response as its example. */
async function record(operation: string, sent: Sent = {}): Promise<Json> {
  const response = await call(operation, sent);
  const { path, query, request, form } = sent;
  examples[operation] = {
    ...(path === undefined ? {} : { path }),
    ...(query === undefined ? {} : { query }),
    ...(request === undefined && form === undefined ? {} : { request: request ?? form }),
    response,
  };
  await sleep(PAUSE_MS);
  return response as Json;
}

async function call(operation: string, { path = {}, query = {}, request, form, authorization }: Sent): Promise<unknown> {
  const [method = "", template = ""] = operation.split(" ");
  const url = new URL(
    template.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(path[name] ?? "")),
    service.url,
  );
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, String(value));
  const response = await fetch(url, {
    method,
    headers: {
      authorization: authorization ?? `Bearer ${service.key}`,
      ...(request === undefined ? {} : { "content-type": "application/json" }),
    },
    ...(request === undefined ? {} : { body: JSON.stringify(request) }),
    ...(form === undefined ? {} : { body: new URLSearchParams(form) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${operation}: ${response.status} ${text}`);
  return (response.headers.get("content-type") ?? "").startsWith("application/json") ? (JSON.parse(text) as unknown) : text;
}

/** Waits until a record has this value in the field. */
async function until(operation: string, sent: Sent, name: string, value: unknown): Promise<void> {
  const found = await poll(async () => ((await call(operation, sent)) as Json)[name] === value || undefined, {
    timeoutMs: WAIT_MS,
    everyMs: 50,
  });
  if (found === undefined) throw new Error(`${operation}: ${name} is not ${String(value)} within ${WAIT_MS} ms`);
  await sleep(PAUSE_MS);
}

const idOf = (made: Json): { id: string } => ({ id: String(made["id"]) });
const midnight = new Date(Math.trunc(Date.now() / DAY_MS) * DAY_MS);
/** A full hour, some days from the day of the recording. */
const inDays = (days: number, hour = 0): string =>
  new Date(midnight.getTime() + days * DAY_MS + hour * 3_600_000).toISOString().replace(".000Z", "Z");

async function setUpLink(): Promise<{ link: { id: string }; route: { id: string }; sender: { id: string } }> {
  const link = idOf(
    await record("POST /v1/links", {
      request: {
        name: "Acme",
        provider: "smpp",
        rate: 50,
        settings: { host: "127.0.0.1", port: carrier.port, tls: false, system_id: "godwit", password: "example" },
      },
    }),
  );
  await until("GET /v1/links/{id}", { path: link }, "state", "connected");
  await record("GET /v1/links/{id}", { path: link });
  await record("GET /v1/links");
  await record("POST /v1/links/{id}/test", { path: link });
  await record("PATCH /v1/links/{id}", { path: link, request: { rate: 100 } });
  const sender = idOf(await record("POST /v1/senders", { request: { number: SENDER, link_id: link.id, countries: ["US"] } }));
  await record("GET /v1/senders/{id}", { path: sender });
  await record("GET /v1/senders");
  await record("PATCH /v1/senders/{id}", { path: sender, request: { countries: ["US", "CA"] } });
  const route = idOf(await record("POST /v1/routes", { request: { channel: "sms", links: [link.id], countries: ["US"] } }));
  await record("GET /v1/routes/{id}", { path: route });
  await record("GET /v1/routes");
  await record("PATCH /v1/routes/{id}", { path: route, request: { priority: 10 } });
  await until("GET /v1/links/{id}", { path: link }, "state", "connected");
  return { link, sender, route };
}

async function sendMessages(): Promise<{ id: string }> {
  const frames = readStream();
  const body = "Hello Ada, your order 1815 is on its way.";
  const message = idOf(
    await record("POST /v1/messages", {
      request: { recipient: RECIPIENT, channel: "sms", body, client_reference: "order-1815", metadata: { customer: "cus_42" } },
    }),
  );
  examples["GET /v1/events/stream"] = { query: { type: "message.*" }, response: await frames };
  await until("GET /v1/messages/{id}", { path: message }, "status", "delivered");
  // Meanwhile there are no requests, so that the second attempt always happens between the same two.
  const found = await poll(async () => webhooks.length > 1 || undefined, { timeoutMs: WAIT_MS, everyMs: 50 });
  if (found === undefined) throw new Error("the webhook was not repeated");
  await sleep(PAUSE_MS);
  await record("GET /v1/messages/{id}", { path: message });
  await record("GET /v1/messages", { query: { limit: 20, status: "delivered" } });
  await record("GET /v1/messages/{id}/events", { path: message });
  await record("GET /v1/messages/{id}/parts", { path: message });
  const scheduled = { recipient: RECIPIENT, channel: "sms", body, send_at: inDays(1, 8) };
  const [edited, canceled] = [
    await call("POST /v1/messages", { request: scheduled }),
    await call("POST /v1/messages", { request: scheduled }),
  ];
  await sleep(PAUSE_MS);
  await record("PATCH /v1/messages/{id}", { path: idOf(edited as Json), request: { send_at: inDays(1, 10) } });
  await record("POST /v1/messages/{id}/cancel", { path: idOf(canceled as Json) });
  await record("POST /v1/messages/validate", {
    request: { recipient: RECIPIENT, channel: "sms", body: "Your order “1815” is on its way." },
  });
  return message;
}

/** The first frames of the stream, up to the first event. */
async function readStream(): Promise<string> {
  const leaving = new AbortController();
  const response = await fetch(`${service.url}/v1/events/stream?type=message.*`, {
    headers: { authorization: `Bearer ${service.key}` },
    signal: leaving.signal,
  });
  let text = "";
  for await (const chunk of response.body ?? []) {
    text += Buffer.from(chunk as Uint8Array).toString();
    if (/\ndata: .*\n\n/.test(text)) break;
  }
  leaving.abort();
  const frames = text.split("\n\n").filter((frame) => frame !== "" && !frame.startsWith(":"));
  return frames
    .slice(0, 2)
    .map((frame) => `${frame}\n\n`)
    .join("");
}

async function sendBatch(): Promise<void> {
  await record("POST /v1/suppressions", { request: { recipient: OPTED_OUT, note: "Asked by phone" } });
  const items = [RECIPIENT, "+14155550124", OPTED_OUT].map((recipient) => ({ recipient }));
  const batch = idOf(
    await record("POST /v1/batches", { request: { defaults: { channel: "sms", body: "Your parcel arrives today." }, items } }),
  );
  await until("GET /v1/batches/{id}", { path: batch }, "status", "completed");
  await record("GET /v1/batches", { query: { limit: 20, status: "completed" } });
  await record("GET /v1/batches/{id}", { path: batch });
}

async function useTemplates(): Promise<void> {
  const template = idOf(
    await record("POST /v1/templates", {
      request: {
        name: "order_shipped",
        language: "en-US",
        category: "utility",
        channels: ["sms"],
        body: "Hello {{name}}, your order {{order}} is on its way.",
        examples: { name: "Ada", order: "1815" },
      },
    }),
  );
  await until("GET /v1/templates/{id}", { path: template }, "status", "approved");
  await record("GET /v1/templates", { query: { limit: 20, status: "approved" } });
  await record("GET /v1/templates/{id}", { path: { id: "order_shipped" } });
  await record("POST /v1/templates/{id}/preview", { path: template, request: { template_variables: { name: "Ada", order: "1815" } } });
  await record("PATCH /v1/templates/{id}", { path: template, request: { body: "Hi {{name}}, your order {{order}} is on its way." } });
  await record("DELETE /v1/templates/{id}", { path: template });
}

async function useMedia(): Promise<void> {
  const media = idOf(
    await record("POST /v1/media", { request: { url: `${receiverUrl}/files/support.vcf`, file_name: "Acme Support.vcf" } }),
  );
  await record("GET /v1/media/{id}", { path: media });
  await record("GET /v1/media", { query: { limit: 20, kind: "document" } });
  await record("GET /v1/media/{id}/content", { path: media });
  await record("DELETE /v1/media/{id}", { path: media });
}

async function verify(): Promise<void> {
  const request = { recipient: "+14155550127", channel: "sms" };
  const sent = carrier.submits.length;
  const verification = idOf(await record("POST /v1/verifications", { request }));
  await poll(async () => carrier.submits.length > sent || undefined, { timeoutMs: WAIT_MS, everyMs: 50 });
  const [code = ""] = /\d{6}/.exec(carrier.submits.at(-1)?.short.text.toString("latin1") ?? "") ?? [];
  await record("GET /v1/verifications", { query: { limit: 20, status: "pending" } });
  await record("GET /v1/verifications/{id}", { path: verification });
  await record("POST /v1/verifications/{id}/check", { path: verification, request: { code } });
  examples["POST /v1/verifications/{id}/check"] = {
    ...examples["POST /v1/verifications/{id}/check"],
    request: { code: "123456" },
  } as OperationExample;
  const other = (await call("POST /v1/verifications", { request: { ...request, recipient: "+14155550128" } })) as Json;
  await sleep(PAUSE_MS);
  await record("POST /v1/verifications/{id}/cancel", { path: idOf(other) });
}

async function useWebhooks(): Promise<{ id: string }> {
  const endpoint = idOf(
    await record("POST /v1/webhook_endpoints", {
      request: { url: `${receiverUrl}/hooks/godwit`, event_types: ["message.delivered"], description: "Order service" },
    }),
  );
  await record("GET /v1/webhook_endpoints/{id}", { path: endpoint });
  await record("GET /v1/webhook_endpoints", { query: { limit: 20 } });
  return endpoint;
}

async function readDeliveries(endpoint: { id: string }, message: { id: string }): Promise<void> {
  examples["webhook"] = { request: webhooks[0] ?? {}, response: null };
  const event = { id: String(webhooks[0]?.["id"]) };
  await record("GET /v1/events", { query: { limit: 20, type: "message.delivered", message_id: message.id } });
  await record("GET /v1/events/{id}", { path: event });
  const { data } = await record("GET /v1/events/{id}/deliveries", { path: event });
  const delivery = { ...endpoint, delivery_id: String((data as Json[])[0]?.["id"]) };
  await record("GET /v1/webhook_endpoints/{id}/deliveries", { path: endpoint, query: { limit: 20, status: "succeeded" } });
  await record("GET /v1/webhook_endpoints/{id}/deliveries/{delivery_id}", { path: delivery });
  await record("POST /v1/webhook_endpoints/{id}/deliveries/{delivery_id}/retry", { path: delivery });
  await record("POST /v1/webhook_endpoints/{id}/test", { path: endpoint });
  await record("PATCH /v1/webhook_endpoints/{id}", { path: endpoint, request: { event_types: ["message.delivered", "message.failed"] } });
  await record("POST /v1/webhook_endpoints/{id}/rotate_secret", { path: endpoint });
  // Last, since later responses would show how far the recovery is.
  await record("POST /v1/webhook_endpoints/{id}/recover", { path: endpoint, request: { since: inDays(0) } });
  await record("DELETE /v1/webhook_endpoints/{id}", { path: endpoint });
}

async function manageConsent(): Promise<void> {
  const entries = [{ recipient: OPTED_OUT }, { recipient: "+14155550126", note: "From the previous provider" }];
  await record("POST /v1/suppressions/import", { request: { entries } });
  const { data } = await record("GET /v1/suppressions", { query: { limit: 20, recipient: OPTED_OUT } });
  const suppression = idOf((data as Json[])[0] ?? {});
  await record("GET /v1/suppressions/{id}", { path: suppression });
  await record("DELETE /v1/suppressions/{id}", { path: suppression });
  await record("GET /v1/suppressions/{id}/history", { path: suppression });
  const opt_out = "You will receive no more messages from Acme. Reply START to subscribe again.";
  await record("PATCH /v1/consent_settings", { request: { languages: ["es"], opt_out_words: ["Remove me"], replies: { opt_out } } });
  await record("GET /v1/consent_settings");
}

async function manageKeys(): Promise<void> {
  const made = await record("POST /v1/keys", { request: { name: "shop", scopes: SCOPES } });
  const [path, key] = [idOf(made), String(made["key"])];
  await record("GET /v1/credential", { authorization: `Bearer ${key}` });
  const basic = Buffer.from(`${path.id}:${key}`).toString("base64");
  await record("POST /v1/oauth/token", {
    form: { grant_type: "client_credentials", scope: SCOPES.join(" ") },
    authorization: `Basic ${basic}`,
  });
  await record("GET /.well-known/jwks.json");
  await record("GET /v1/keys/{id}", { path });
  await record("POST /v1/keys/{id}/rotate", { path, request: { overlap_seconds: 3_600 } });
  await record("GET /v1/keys", { query: { limit: 20 } });
  await record("DELETE /v1/keys/{id}", { path });
  const settings = { "get-url": "https://example.com/sms?from=%p&text=%a", "max-messages": "0" };
  const user = {
    path: idOf(await record("POST /v1/compatible_credentials", { request: { source: "kannel", user_name: "playsms", settings } })),
  };
  await record("GET /v1/compatible_credentials/{id}", user);
  await record("GET /v1/compatible_credentials", { query: { limit: 20 } });
  await record("DELETE /v1/compatible_credentials/{id}", user);
}

try {
  const { link, sender, route } = await setUpLink();
  const endpoint = await useWebhooks();
  const message = await sendMessages();
  await readDeliveries(endpoint, message);
  await sendBatch();
  await useTemplates();
  await useMedia();
  await verify();
  await manageConsent();
  await manageKeys();
  await record("GET /v1/queue");
  await record("GET /v1/usage", { query: { created_after: inDays(0), created_before: inDays(1), interval: "day" } });
  await record("POST /v1/recipients/export", { request: { recipient: "+14155550124" } });
  await record("POST /v1/messages/{id}/redact", { path: message });
  await record("POST /v1/recipients/erase", { request: { recipient: "+14155550124" } });
  await record("DELETE /v1/routes/{id}", { path: route });
  await record("DELETE /v1/senders/{id}", { path: sender });
  await record("DELETE /v1/links/{id}", { path: link });
  // Late, since an entry gets its hash about a second after the change.
  const logged = await record("GET /v1/requests", { query: { limit: 20, operation: "rotateKey" } });
  await record("GET /v1/requests/{id}", { path: idOf((logged["data"] as Json[])[0] ?? {}) });
  await record("GET /v1/audit_events", { query: { limit: 20, action: "key.rotated" } });
  const text = JSON.stringify(stable(examples), null, 2)
    .replaceAll(receiverUrl, "https://example.com")
    .replaceAll(
      /"host": "127\.0\.0\.1",(\s+)"port": \d+,(\s+)"tls": false/g,
      `"host": "${LINK_SETTINGS.host}",$1"port": ${LINK_SETTINGS.port},$2"tls": ${LINK_SETTINGS.tls}`,
    );
  writeFileSync(OUT, `${text}\n`);
} finally {
  await service.stop();
  receiver.closeAllConnections();
  receiver.close();
  await carrier.stop();
}
