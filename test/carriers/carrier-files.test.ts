/** Opening the files of inbound messages at WhatsApp and Twilio: credentials, redirects, refusals and broken connections. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, afterEach, before, beforeEach, describe, test } from "node:test";
import { addressSet } from "../../src/lib/addresses.ts";
import { AddressGate } from "../../src/outbound/address-gate.ts";
import { openDownload } from "../../src/outbound/open-download.ts";
import type { FileFailure, OpenFile } from "../../src/providers/carrier-file.ts";
import { twilio, TWILIO_DEFAULTS } from "../../src/providers/twilio/twilio.ts";
import { whatsapp, WHATSAPP_DEFAULTS } from "../../src/providers/whatsapp/whatsapp.ts";
import { FakeGraph, GRAPH_SECRETS, PHONE_NUMBER_ID } from "../support/fakes/graph.ts";
import { graphError } from "../support/fakes/graph-templates.ts";
import { HttpCarrierServer, type CarrierBehavior } from "../support/fakes/http-carrier.ts";
import { HttpsStorage } from "../support/fakes/https-storage.ts";
import { FakeTwilio, TWILIO_SECRETS } from "../support/fakes/twilio.ts";
import { selfSigned } from "../support/certificate.ts";
import { settled } from "../support/recording-host.ts";

const never = new AbortController().signal;
const BYTES = randomBytes(300_000);
const ID = "2621233374848975";
const NONE = addressSet([]);
/** The addresses that links owned by accounts may call: no private ones. */
const PUBLIC_ONLY = new AddressGate({ allow: NONE, deny: NONE });

async function bytesOf(file: OpenFile): Promise<Buffer> {
  const pieces: Buffer[] = [];
  try {
    for await (const piece of file.read()) pieces.push(piece);
  } finally {
    file.close();
  }
  return Buffer.concat(pieces);
}

const opened = (file: OpenFile | FileFailure | undefined): OpenFile => (file?.kind === "open" ? file : assert.fail(JSON.stringify(file)));

async function refusal(opening: Promise<OpenFile | FileFailure> | undefined): Promise<[reason: string, isPermanent: boolean]> {
  const file = await settled(opening ?? assert.fail(), "the opening of a file");
  assert.ok(file.kind === "failed", "the file was opened");
  for (const secret of [GRAPH_SECRETS.accessToken, TWILIO_SECRETS.authToken]) assert.ok(!file.detail.includes(secret));
  return [file.reason, file.isPermanent];
}

const file = (body: Buffer): CarrierBehavior => ({ kind: "responds", status: 200, body, headers: { "content-type": "image/png" } });
const redirect = (location: string): CarrierBehavior => ({ kind: "responds", status: 307, body: "", headers: { location } });

describe("a file of WhatsApp", () => {
  let graph: FakeGraph;
  beforeEach(async () => {
    graph = await new FakeGraph().listen();
    graph.files.set(ID, { bytes: BYTES, mimeType: "image/jpeg" });
  });
  afterEach(() => graph.close());

  const open = (id = ID, fields: object = {}): Promise<OpenFile | FileFailure> | undefined =>
    whatsapp.openFile?.(
      { ...WHATSAPP_DEFAULTS, ...GRAPH_SECRETS, baseUrl: graph.url, phoneNumberId: PHONE_NUMBER_ID, wabaId: null, ...fields },
      id,
      never,
    );

  test("is read by its id, with the token of the link", async () => {
    const read = opened(await open());
    assert.equal(read.bytes, BYTES.length);
    assert.deepEqual(await bytesOf(read), BYTES);
    assert.deepEqual(
      graph.seen.map(({ method, path, headers }) => [method, path, headers["authorization"]]),
      [
        ["GET", `/v23.0/${ID}`, `Bearer ${GRAPH_SECRETS.accessToken}`],
        ["GET", `/whatsapp_business/attachments/?mid=${ID}`, `Bearer ${GRAPH_SECRETS.accessToken}`],
      ],
    );
  });

  test("that WhatsApp does not have any more has expired", async () => {
    assert.deepEqual(await refusal(open("404404")), ["media_expired", true]);
  });

  test("is asked for again if only its URL has expired", async () => {
    graph.files.set(ID, { bytes: BYTES, mimeType: "image/jpeg", behavior: graphError(100, 404) });
    assert.deepEqual(await refusal(open()), ["media_unreachable", false]);
  });

  test("is not shown to a wrong token, which the operator may replace", async () => {
    assert.deepEqual(await refusal(open(ID, { accessToken: "another" })), ["media_refused", false]);
  });

  for (const [what, behavior] of [
    ["closes the connection", { kind: "disconnects" }],
    ["sends no HTTP", { kind: "sends garbage" }],
    ["fails", { kind: "responds", status: 503, body: "" }],
  ] as const)
    test(`is tried again if WhatsApp ${what}`, async () => {
      graph.files.set(ID, { bytes: BYTES, mimeType: "image/jpeg", behavior });
      assert.deepEqual(await refusal(open()), ["media_unreachable", false]);
    });

  test("that ends early cannot be taken for a whole one", async () => {
    graph.files.set(ID, { bytes: BYTES, mimeType: "image/jpeg", behavior: { kind: "truncates", status: 200, body: BYTES } });
    const read = opened(await open());
    await assert.rejects(settled(bytesOf(read), "the bytes"));
  });

  test("is not read from an address without TLS that is not the link's, nor is the token sent there", async () => {
    const other = await new HttpCarrierServer(() => file(BYTES)).listen();
    graph.filesOrigin = other.url;
    assert.deepEqual(await refusal(open()), ["media_refused", true]);
    graph.filesOrigin = "https://graph.example@127.0.0.1:1";
    assert.deepEqual(await refusal(open()), ["media_refused", true]);
    assert.deepEqual(other.seen, []);
    await other.close();
  });

  test("is not read from a private address on the link of an account", async () => {
    assert.deepEqual(await refusal(open(ID, { gate: PUBLIC_ONLY })), ["media_unreachable", false], "the base URL itself is not allowed");
    assert.equal(graph.opened, 0);
  });
});

describe("a file of Twilio", () => {
  const PATH = `/2010-04-01/Accounts/${TWILIO_SECRETS.accountSid}/Messages/MM1/Media/ME1`;
  let fake: FakeTwilio;
  let storage: HttpsStorage;
  const certificate = selfSigned({ address: "127.0.0.1" });
  before(async () => {
    storage = await HttpsStorage.listen(certificate);
  });
  after(() => storage.close());
  beforeEach(async () => {
    fake = await new FakeTwilio().listen();
    storage.seen.length = 0;
  });
  afterEach(() => fake.close());

  const open = (url = fake.url + PATH, fields: object = {}): Promise<OpenFile | FileFailure> | undefined =>
    twilio.openFile?.(
      { ...TWILIO_DEFAULTS, ...TWILIO_SECRETS, baseUrl: fake.url, statusCallbackUrl: null, ca: certificate.cert, ...fields },
      url,
      never,
    );

  test("is read by its URL with the credentials of the link", async () => {
    fake.files.set(PATH, file(BYTES));
    assert.deepEqual(await bytesOf(opened(await open())), BYTES);
  });

  test("is read from the storage that Twilio redirects to, without the credentials", async () => {
    fake.files.set(PATH, redirect(`${storage.url}/media/1?signature=x`));
    assert.deepEqual(await bytesOf(opened(await open())), HttpsStorage.BYTES);
    assert.deepEqual(storage.seen, [{ path: "/media/1?signature=x", authorization: undefined }]);
  });

  test("is not read from a storage at a private address on the link of an account", async () => {
    const gate = new AddressGate({ allow: addressSet([{ address: "127.0.0.1", bits: 32 }]), deny: NONE });
    fake.files.set(PATH, redirect("https://127.0.0.2:1/media/1"));
    assert.deepEqual(await refusal(open(fake.url + PATH, { gate })), ["media_refused", true]);
  });

  test("is not read by a redirect to an address without TLS", async () => {
    const other = await new HttpCarrierServer(() => file(BYTES)).listen();
    fake.files.set(PATH, redirect(`${other.url}/media/1`));
    assert.deepEqual(await refusal(open()), ["media_refused", true]);
    assert.deepEqual(other.seen, []);
    await other.close();
  });

  test("is given up for now after a few redirects", async () => {
    fake.files.set(PATH, redirect(PATH));
    assert.deepEqual(await refusal(open()), ["media_unreachable", false]);
    assert.equal(fake.seen.length, 4);
  });

  test("is not read from a URL that is not below the base URL of the link", async () => {
    const base = `${fake.url}/twilio`;
    for (const url of [
      fake.url + PATH,
      `${storage.url}/x`,
      "https://api.twilio.com/x",
      "file:///etc/passwd",
      "not a URL",
      `${fake.url}/twilio/../x`,
    ])
      assert.deepEqual(await refusal(open(url, { baseUrl: base })), ["media_refused", true], url);
    assert.deepEqual([fake.opened, storage.seen.length], [0, 0]);
  });

  for (const [status, expected] of [
    [404, ["media_expired", true]],
    [401, ["media_refused", false]],
    [500, ["media_unreachable", false]],
  ] as const)
    test(`for which Twilio responds with ${status} is ${expected[0]}`, async () => {
      fake.files.set(PATH, { kind: "responds", status, body: "{}" });
      assert.deepEqual(await refusal(open()), expected);
    });
});

test("a download that stalls fails, and the signal ends one that runs", async () => {
  const server = await new HttpCarrierServer(() => ({ kind: "is silent" })).listen();
  const url = new URL(server.url);
  const silent = await settled(openDownload({ gate: undefined, stallMs: 100 }, { url, headers: {} }, never), "a silent download");
  assert.equal(silent.kind, "failed");
  const stopped = await settled(openDownload({ gate: undefined }, { url, headers: {} }, AbortSignal.timeout(50)), "a stopped download");
  assert.equal(stopped.kind, "failed");
  await server.close();
});
