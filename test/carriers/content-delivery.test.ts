/** Contents from the request to the carrier: files of the media store on WhatsApp and as MMS, and what no link of a route carries. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, test } from "node:test";
import { clientOf, type Client, type Json } from "../support/client.ts";
import { assertProblem, faultsOf, until } from "../support/expect.ts";
import { FakeGraph, GRAPH_SECRETS, PHONE_NUMBER_ID } from "../support/fakes/graph.ts";
import { FakeTwilio, TWILIO_SECRETS } from "../support/fakes/twilio.ts";
import { startGodwit, type Godwit } from "../support/harness.ts";
import { PUBLISHED_TWILIO, readPublished } from "../support/published.ts";
import { content as bytesOf, pdf, picture, PNG, upload } from "../support/media.ts";

const SCOPES = ["messages:send", "messages:read", "events:read", "media:read", "media:write"] as const;

let graph: FakeGraph;
let carrier: FakeTwilio;
let godwit: Godwit;
let client: Client;
before(async () => {
  graph = await new FakeGraph().listen();
  carrier = await new FakeTwilio().listen();
  const config = `
[[link]]
name = "wa"
provider = "whatsapp"
base_url = "${graph.url}"
phone_number_id = "${PHONE_NUMBER_ID}"
access_token_env = "TOKEN"
app_secret_env = "APP"
verify_token_env = "VERIFY"
sender = "+14155550100"
[[link]]
name = "mms"
provider = "twilio"
base_url = "${carrier.url}"
account_sid = "${TWILIO_SECRETS.accountSid}"
auth_token_env = "AUTH"
sender = "+14155550101"
public_url = "https://messages.example"
`;
  const env = {
    TOKEN: GRAPH_SECRETS.accessToken,
    APP: GRAPH_SECRETS.appSecret,
    VERIFY: GRAPH_SECRETS.verifyToken,
    AUTH: TWILIO_SECRETS.authToken,
  };
  godwit = await startGodwit({ roles: "api,dispatch", config, env: { ...env, GODWIT_WEBHOOK_ALLOW: "127.0.0.0/8" } });
  await godwit.unlimited();
  client = clientOf(godwit, await godwit.key({ environment: "live", scopes: SCOPES }));
});
after(async () => {
  await godwit.stop();
  await graph.close();
  await carrier.close();
});

const stored = async (bytes: Buffer, query: Record<string, string> = {}): Promise<string> =>
  String((await upload(godwit, bytes, { key: client.key, query })).json["id"]);

const send = (fields: object): Promise<Json> => client.messages.send({ body: undefined, ...fields });
const lastUpload = async () => (await graph.uploads).at(-1);

describe("a file on WhatsApp", () => {
  test("is uploaded byte for byte, once for all messages with the same bytes", async () => {
    const bytes = picture(700_000);
    const uploadedBefore = (await graph.uploads).length;
    for (const recipient of ["+4915112345601", "+4915112345602"]) {
      const content = { type: "media", kind: "image", media_id: await stored(bytes), caption: "Your parcel" };
      const { id } = await send({ channel: "whatsapp", recipient, content });
      await client.messages.reached(id, "sent");
    }
    assert.deepEqual(await lastUpload(), { type: "image/jpeg", fileName: "file", bytes });
    assert.equal((await graph.uploads).length, uploadedBefore + 1);
    const [one, other] = graph.messages.slice(-2);
    assert.deepEqual([one?.["type"], one?.["image"]], ["image", other?.["image"]]);
  });

  test("is fetched from its URL before the message is accepted, and has its name", async () => {
    const bytes = pdf(5_000);
    const files = createServer((_, response) => response.setHeader("content-type", "text/html").end(bytes)).listen(0, "127.0.0.1");
    await once(files, "listening");
    const content = {
      type: "media",
      kind: "document",
      url: `http://127.0.0.1:${(files.address() as AddressInfo).port}/invoice`,
      file_name: "Invoice 7.pdf",
    };
    const sent = await send({ channel: "whatsapp", recipient: "+4915112345603", content });
    files.close();
    const { media_id: id, ...shown } = sent["content"] as { media_id: string };
    assert.deepEqual(shown, { type: "media", kind: "document", file_name: "Invoice 7.pdf", caption: null, is_voice: false });
    assert.deepEqual((await bytesOf(godwit, id, client.key)).bytes, bytes);
    await client.messages.reached(sent["id"], "sent");
    assert.deepEqual((await lastUpload())?.bytes, bytes);
    assert.partialDeepStrictEqual(graph.messages.at(-1), { type: "document", document: { filename: "Invoice 7.pdf" } });
  });

  test("that does not fit the channel, or cannot be fetched, refuses its message", async () => {
    const faults = async (content: object, fields: object = {}): Promise<string[]> => {
      const reply = await client.messages.post({ channel: "whatsapp", recipient: "+4915112345604", body: undefined, content, ...fields });
      assertProblem(reply, "invalid_request_payload");
      return faultsOf(reply).map(({ pointer, code, detail }) => `${String(pointer)} ${code} ${detail}`);
    };
    const text = await stored(Buffer.from("Hello"));
    assert.deepEqual(await faults({ type: "media", kind: "image", media_id: text }), [
      "/content/media_id not_supported cannot be sent on whatsapp: the file is text/plain: image may be image/jpeg, image/png",
    ]);
    const large = await stored(picture(5_300_000), { kind: "document" });
    assert.match((await faults({ type: "media", kind: "image", media_id: large })).join(), /has 5,300,000 bytes: image may have 5,242,880/);
    assert.match(
      (await faults({ type: "media", kind: "image", url: "http://127.0.0.1:1/a.png" })).join(),
      /^\/content\/url media_fetch_failed /,
    );
    const other = clientOf(godwit, await godwit.key({ environment: "live", account: "another", scopes: SCOPES }));
    const foreign = await upload(godwit, PNG, { key: other.key });
    assert.deepEqual(await faults({ type: "media", kind: "image", media_id: foreign.json["id"] }), [
      "/content/media_id not_found is no ready file of this environment",
    ]);
  });

  test("that was deleted before its message is sent fails the message", async () => {
    const id = await stored(picture());
    const inMs = (ms: number): string => new Date(Date.now() + ms).toISOString();
    const message = await send({
      channel: "whatsapp",
      recipient: "+4915112345605",
      send_at: inMs(3_600_000),
      content: { type: "media", kind: "image", media_id: id },
    });
    assert.equal((await client.request("DELETE", `/v1/media/${id}`)).status, 200);
    const moved = await client.request("PATCH", `/v1/messages/${String(message["id"])}`, { body: { send_at: inMs(5_000) } });
    assert.equal(moved.status, 200, moved.text);
    const failed = await client.messages.reached(message["id"], "failed");
    assert.partialDeepStrictEqual(failed, { error: { code: "media_missing", permanent: true } });
  });
});

/** The fields of a request to send, as Twilio describes them. */
function publishedFields(): string[] {
  type Published = { paths: Record<string, { post: { requestBody: { content: Record<string, { schema: { properties: object } }> } } }> };
  const { paths } = readPublished(PUBLISHED_TWILIO) as Published;
  const { requestBody } = paths["/2010-04-01/Accounts/{AccountSid}/Messages.json"]?.post ?? assert.fail();
  return Object.keys(requestBody.content["application/x-www-form-urlencoded"]?.schema.properties ?? {});
}

describe("a file as MMS", () => {
  test("is fetched by the carrier from an expiring URL that shows nothing else", async () => {
    const bytes = picture(20_000);
    const content = { type: "media", kind: "image", media_id: await stored(bytes), caption: "Your parcel" };
    const { id, segments } = await send({ channel: "sms", recipient: "+4915112345606", content });
    assert.equal(segments, null);
    await client.messages.reached(id, "sent");
    const form = new URLSearchParams(carrier.seen.at(-1)?.body);
    const url = new URL(form.get("MediaUrl") ?? "");
    assert.deepEqual([url.origin, form.get("Body")], ["https://messages.example", "Your parcel"]);
    if (PUBLISHED_TWILIO.skip === false)
      assert.deepEqual(
        [...form.keys()].filter((name) => !publishedFields().includes(name)),
        [],
      );
    const response = await fetch(`${godwit.url}${url.pathname}`);
    assert.deepEqual(Buffer.from(await response.arrayBuffer()), bytes);
    assert.equal(response.headers.get("content-type"), "image/jpeg");
    const changed = url.pathname.replace(/.$/, (last) => (last === "A" ? "B" : "A"));
    assert.equal((await fetch(`${godwit.url}${changed}`)).status, 404);
  });
});

describe("a fallback", () => {
  test("can send a picture on WhatsApp, and a text with a link by SMS", async () => {
    graph.behaviors.set("+4915112345607", { kind: "responds", status: 400, body: JSON.stringify({ error: { code: 131026 } }) });
    const content = { type: "media", kind: "image", media_id: await stored(picture()) };
    const message = await send({
      channel: "whatsapp",
      recipient: "+4915112345607",
      content,
      fallback: [{ channel: "sms", body: "See https://example.com/p", after_seconds: 600 }],
    });
    await client.messages.reached(message["id"], "failed");
    const next = await until("the fallback", async () => {
      const { data } = await client.messages.list({ recipient: "+4915112345607" });
      return data.find(({ fallback_of: of }) => of === message["id"]);
    });
    await client.messages.reached(next["id"], "sent");
    assert.equal(new URLSearchParams(carrier.seen.at(-1)?.body).get("MediaUrl"), null);
  });
});
