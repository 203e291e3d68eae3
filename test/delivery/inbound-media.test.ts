/** The files of inbound messages from the webhook of the carrier to the bytes in the API: WhatsApp, Twilio and the simulator, and files that cannot be
 *  had. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, before, beforeEach, describe, test } from "node:test";
import { firstUuidAt } from "../../src/lib/uuid.ts";
import { decodeId, encodeId, toId } from "../../src/model/id.ts";
import { until } from "../support/expect.ts";
import { FakeGraph, graphCall, GRAPH_SECRETS, graphSignature, OUR_NUMBER, PHONE_NUMBER_ID } from "../support/fakes/graph.ts";
import { FakeTwilio, TWILIO_SECRETS, twilioSignature } from "../support/fakes/twilio.ts";
import { startGodwit, type Godwit } from "../support/harness.ts";
import { content, pdf, picture } from "../support/media.ts";

const PERSON = "15551234567";
const TWILIO_NUMBER = "+14155550200";

type Json = Record<string, unknown>;

let graph: FakeGraph;
let twilio: FakeTwilio;
let godwit: Godwit;
let key: string;
before(async () => {
  graph = await new FakeGraph().listen();
  twilio = await new FakeTwilio().listen();
  const sender = (number: string, link: string): string =>
    `[[sender]]\nnumber = "${number}"\nlink = "${link}"\naccount = "default"\nenvironment = "live"\n`;
  const links =
    `[[link]]\nname = "wa"\nprovider = "whatsapp"\nbase_url = "${graph.url}"\nphone_number_id = "${PHONE_NUMBER_ID}"\n` +
    `access_token_env = "TOKEN"\napp_secret_env = "APP"\nverify_token_env = "VERIFY"\n` +
    `[[link]]\nname = "mms"\nprovider = "twilio"\nbase_url = "${twilio.url}"\naccount_sid = "${TWILIO_SECRETS.accountSid}"\nauth_token_env = "AUTH"\npublic_url = "https://godwit.example"\n`;
  godwit = await startGodwit({
    roles: "api,dispatch,webhooks",
    config: links + sender(OUR_NUMBER, "wa") + sender(TWILIO_NUMBER, "mms"),
    env: {
      TOKEN: GRAPH_SECRETS.accessToken,
      APP: GRAPH_SECRETS.appSecret,
      VERIFY: GRAPH_SECRETS.verifyToken,
      AUTH: TWILIO_SECRETS.authToken,
      GODWIT_MEDIA_QUOTA: "1",
    },
    simulatorSpeed: 100,
  });
  await godwit.unlimited();
  key = await godwit.key({ environment: "live" });
});
after(async () => {
  await godwit.stop();
  await graph.close();
  await twilio.close();
});

let ids = 0;
beforeEach(() => (ids += 1));

/** Delivers a message of a person on WhatsApp, and returns it as the API shows it. */
async function receive(type: string, fields: object, more: object = {}): Promise<Json> {
  const id = `wamid.${(ids += 1)}-${type}`;
  const message = { from: PERSON, id, timestamp: String(Math.floor(Date.now() / 1_000)), type, [type]: fields, ...more };
  const body = graphCall({ contacts: [{ wa_id: PERSON, profile: { name: "A" } }], messages: [message] });
  const headers = { "content-type": "application/json", "x-hub-signature-256": graphSignature(body) };
  const response = await fetch(`${godwit.url}/providers/whatsapp/wa`, { method: "POST", headers, body });
  assert.equal(response.status, 200);
  return newestInbound();
}

/** The message is stored before the carrier has its response. */
async function newestInbound(by = key): Promise<Json> {
  const { json } = await godwit.request("GET", "/v1/messages?direction=inbound&limit=1", { key: by });
  return (json["data"] as Json[])[0] ?? assert.fail("no inbound message");
}

const mediaOf = async (id: unknown, by = key): Promise<Json> => (await godwit.request("GET", `/v1/media/${String(id)}`, { key: by })).json;

const settled = (id: unknown, by = key): Promise<Json> =>
  until(`${String(id)} to be downloaded, or given up`, async () => {
    const media = await mediaOf(id, by);
    return media["status"] === "pending" ? undefined : media;
  });

const eventsOf = async (type: string, by = key): Promise<{ data: { media: Json } }[]> =>
  (await godwit.request("GET", `/v1/events?type=${type}&limit=100`, { key: by })).json["data"] as { data: { media: Json } }[];

const referenceIn = (message: Json): Json => (message["content"] as Json | null) ?? assert.fail("the message has no content");

/** A file at WhatsApp. Returns what a notification says about it. */
function uploaded(
  bytes: Buffer,
  fields: Partial<Parameters<FakeGraph["files"]["set"]>[1]> = {},
): { id: string; mime_type: string; sha256: string } {
  const id = String(2_621_233_374_800_000 + (ids += 1));
  graph.files.set(id, { bytes, mimeType: "image/jpeg", ...fields });
  return { id, mime_type: "image/jpeg", sha256: "aGFzaA==" };
}

describe("a picture on WhatsApp", () => {
  test("is a message at once, and then a file that can be read byte for byte", async () => {
    const bytes = picture(700_000);
    const message = await receive("image", { ...uploaded(bytes), caption: "My cat" });
    const { media_id: id, ...reference } = referenceIn(message);
    assert.deepEqual(reference, { type: "media", kind: "image", file_name: null, caption: "My cat", is_voice: false });
    assert.equal(message["body"], "My cat");
    assert.deepEqual(message["metadata"], {});
    const media = await settled(id);
    assert.deepEqual(
      [media["status"], media["kind"], media["content_type"], media["bytes"], media["source"], media["message_id"], media["error"]],
      ["ready", "image", "image/jpeg", bytes.length, "inbound", message["id"], null],
    );
    const read = await content(godwit, String(id), key);
    assert.ok(read.bytes.equals(bytes));
    const [ready] = await eventsOf("media.ready");
    assert.deepEqual(ready?.data, { media });
    const { json } = await godwit.request("GET", `/v1/messages/${String(message["id"])}/events`, { key });
    const timeline = (json["data"] as Json[]).map(({ type, status }) => [type, status]);
    assert.deepEqual(
      timeline.toSorted(([one = ""], [other = ""]) => String(one).localeCompare(String(other))),
      [
        ["media.ready", null],
        ["message.received", "received"],
      ],
    );
  });

  test("that is of another kind than WhatsApp says is a document", async () => {
    const media = await settled(referenceIn(await receive("image", uploaded(pdf(2_000))))["media_id"]);
    assert.deepEqual([media["status"], media["kind"], media["content_type"]], ["ready", "document", "application/pdf"]);
  });

  test("that two people send is stored once", async () => {
    const bytes = picture(50_000);
    const media = [];
    for (let person = 0; person < 2; person += 1)
      media.push(await settled(referenceIn(await receive("image", uploaded(bytes)))["media_id"]));
    assert.notEqual(media[0]?.["id"], media[1]?.["id"]);
    const files = await godwit.rows("select id from media_files where state = 'stored' and sha256 = decode($1, 'hex')", [
      media[0]?.["sha256"],
    ]);
    assert.equal(files.length, 1);
  });

  test("is downloaded when the carrier is back", async () => {
    const bytes = picture(20_000);
    const file = uploaded(bytes, { behavior: { kind: "truncates", status: 200, body: bytes } });
    const id = referenceIn(await receive("image", file))["media_id"];
    await until("a first attempt", () => graph.seen.some(({ path }) => path.endsWith(`mid=${file.id}`)));
    assert.equal((await mediaOf(id))["status"], "pending");
    graph.files.set(file.id, { bytes, mimeType: "image/jpeg" });
    assert.equal((await settled(id))["status"], "ready");
    assert.ok((await content(godwit, String(id), key)).bytes.equals(bytes));
  });
});

describe("a file that cannot be had", () => {
  const failed = async (file: object, expected: string): Promise<void> => {
    const message = await receive("document", { ...file, filename: "c.pdf" });
    const media = await settled(referenceIn(message)["media_id"]);
    assert.deepEqual([media["status"], media["error"], media["bytes"], media["file_name"]], ["failed", expected, null, "c.pdf"]);
    const events = await eventsOf("media.failed");
    assert.deepEqual(events[0]?.data, { media });
    const line = godwit.logs.findLast(({ event }) => event === "media.download_failed");
    assert.deepEqual([line?.["link"], line?.["reason"]], ["wa", expected]);
  };

  test("because the carrier does not have it any more is given up at once", () =>
    failed({ id: "404404", mime_type: "application/pdf", sha256: "x" }, "media_expired"));

  test("because it is too large is given up before it is read", async () => {
    const file = uploaded(Buffer.alloc(10), {
      behavior: { kind: "responds", status: 200, body: "x", headers: { "content-length": String(100 * 1_048_576 + 1) } },
    });
    await failed(file, "media_too_large");
  });

  test("because it is empty is given up", () => failed(uploaded(Buffer.alloc(0)), "media_refused"));

  test("for a day, because the carrier refuses the token, is given up", async () => {
    const file = uploaded(pdf(1_000), { behavior: { kind: "responds", status: 401, body: "{}" } });
    const message = await receive("document", file);
    const id = decodeId("media", String(referenceIn(message)["media_id"])) ?? assert.fail();
    await until("a first attempt", () => graph.seen.some(({ path }) => path.endsWith(`mid=${file.id}`)));
    // The media are as if they had come 25 hours ago.
    const old = toId("media", firstUuidAt(Date.now() - 25 * 3_600_000));
    await godwit.rows("update media set id = $1, due_at = now() where id = $2", [old, id]);
    const media = await settled(encodeId("media", old));
    assert.deepEqual([media["status"], media["error"]], ["failed", "media_refused"]);
  });
});

describe("an MMS of Twilio", () => {
  test("has all its files, which are read with the credentials of the link", async () => {
    const files = [picture(30_000), pdf(1_000)];
    const base = `/2010-04-01/Accounts/${TWILIO_SECRETS.accountSid}/Messages/MM1/Media`;
    files.forEach((body, index) => twilio.files.set(`${base}/ME${index}`, { kind: "responds", status: 200, body }));
    const fields: Record<string, string> = {
      MessageSid: `MM${(ids += 1)}`,
      From: `+${PERSON}`,
      To: TWILIO_NUMBER,
      Body: "STOP",
      NumMedia: "2",
      MediaUrl0: `${twilio.url}${base}/ME0`,
      MediaContentType0: "image/jpeg",
      MediaUrl1: `${twilio.url}${base}/ME1`,
      MediaContentType1: "application/pdf",
    };
    const url = `${godwit.url}/providers/twilio/mms`;
    const headers = { "content-type": "application/x-www-form-urlencoded", "x-twilio-signature": twilioSignature(url, fields) };
    const response = await fetch(url, { method: "POST", headers, body: new URLSearchParams(fields).toString() });
    assert.equal(response.status, 200);
    const message = await newestInbound();
    const { media_id: first, further_media: further, kind } = referenceIn(message);
    const [second = assert.fail()] = further as Json[];
    assert.deepEqual([kind, second["kind"]], ["image", "document"]);
    for (const [index, id] of [first, second["media_id"]].entries()) {
      assert.equal((await settled(id))["status"], "ready");
      assert.ok((await content(godwit, String(id), key)).bytes.equals(files[index] ?? Buffer.alloc(0)));
    }
    const { json } = await godwit.send(key, { recipient: `+${PERSON}`, sender: TWILIO_NUMBER });
    assert.equal(json["code"], "recipient_opted_out", "a caption that is an opt-out word opts out");
  });
});

test("the title of a chosen button that is an opt-out word opts out", async () => {
  const person = `1555765${randomBytes(2).readUInt16BE() % 9_000}`.padEnd(11, "0");
  await receive("interactive", { type: "button_reply", button_reply: { id: "b-1", title: "STOP" } }, { from: person });
  const { json } = await godwit.send(key, { channel: "whatsapp", recipient: `+${person}`, sender: OUR_NUMBER });
  assert.equal(json["code"], "recipient_opted_out");
});

test("a simulated recipient replies with a picture", async () => {
  const testKey = await godwit.key();
  await godwit.send(testKey, { recipient: "+15005550019", channel: "whatsapp", body: "Hello" });
  const message = await until("the reply", async () => {
    const { json } = await godwit.request("GET", "/v1/messages?direction=inbound&limit=1", { key: testKey });
    return (json["data"] as Json[])[0];
  });
  const id = referenceIn(message)["media_id"];
  const media = await settled(id, testKey);
  assert.deepEqual([media["status"], media["content_type"]], ["ready", "image/png"]);
  assert.equal((await content(godwit, String(id), testKey)).bytes.toString("latin1", 1, 4), "PNG");
});

test("the files of inbound messages belong to their account", async () => {
  const id = referenceIn(await receive("image", uploaded(picture(1_000))))["media_id"];
  await settled(id);
  const other = await godwit.key({ account: "other", environment: "live" });
  assert.equal((await godwit.request("GET", `/v1/media/${String(id)}`, { key: other })).status, 404);
});
