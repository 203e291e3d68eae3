/** The carrier file of AWS End User Messaging, against the requests, errors and signatures of the AWS SDK. Events have the form of the
 *  documentation of AWS, with the event types of the SDK. */
import assert from "node:assert/strict";
import { createHash, createHmac, type BinaryLike } from "node:crypto";
import { test } from "node:test";
import { parse as parseToml } from "smol-toml";
import {
  ConflictException,
  ConflictExceptionReason,
  EventType,
  PinpointSMSVoiceV2Client,
  SendTextMessageCommand,
  ThrottlingException,
  ValidationException,
  type SendTextMessageRequest,
  type SendTextMessageResult,
} from "@aws-sdk/client-pinpoint-sms-voice-v2";
import { SignatureV4 } from "@smithy/signature-v4";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { http } from "../../src/providers/http/http.ts";
import { signSigV4 } from "../../src/providers/http/sigv4.ts";
import { RECIPIENT_OPTED_OUT, type CarrierRequest } from "../../src/providers/provider.ts";
import { RECIPIENTS } from "../support/recipient.ts";
import {
  carrierSettings,
  carrierUnderTest,
  compareRequests,
  type Callback,
  type HttpApi,
  type ReportedStatus,
} from "../support/fakes/http-api.ts";
import { HttpCarrierServer } from "../support/fakes/http-carrier.ts";
import { describeProvider } from "../support/provider-conformance.ts";
import { mayLeave, outgoing, RecordingHost } from "../support/recording-host.ts";

const REGION = "eu-central-1";
const SECRETS = {
  AWS_ACCESS_KEY_ID: "AKIAIOSFODNN7EXAMPLE",
  AWS_SECRET_ACCESS_KEY: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
  AWS_SNS_USER: "sns",
  AWS_SNS_PASSWORD: "password-of-ours",
};
const AUTHORIZATION = `Basic ${btoa(`${SECRETS.AWS_SNS_USER}:${SECRETS.AWS_SNS_PASSWORD}`)}`;

const callback = (payload: object): Callback => ({
  headers: { authorization: AUTHORIZATION, "x-amz-sns-rawdelivery": "true" },
  body: JSON.stringify(payload),
});

const EVENTS: Readonly<Record<ReportedStatus, EventType>> = {
  sent: EventType.TEXT_SENT,
  delivered: EventType.TEXT_DELIVERED,
  undelivered: EventType.TEXT_CARRIER_UNREACHABLE,
};

const sentBody = (body: string): SendTextMessageRequest => JSON.parse(body) as SendTextMessageRequest;
const errorBody = (name: string): object => ({ __type: `com.amazonaws.pinpointsmsvoicev2#${name}`, Message: "…" });

const API: HttpApi = {
  carrier: "aws",
  link: { values: { region: REGION } },
  secrets: SECRETS,
  recipientOf: ({ body }) => sentBody(body).DestinationPhoneNumber ?? "",
  accepted: (id) => ({ status: 200, body: { MessageId: id } satisfies SendTextMessageResult }),
  refused: { status: 400, body: errorBody("ValidationException") },
  throttled: { status: 400, body: errorBody("ThrottlingException") },
  callbackUrlOf: (_, callbackUrl) => callbackUrl,
  receipt: ({ body }, id, status) =>
    callback({
      eventType: EVENTS[status],
      eventVersion: "1.0",
      eventTimestamp: 1_686_975_103_470,
      isFinal: status !== "sent",
      originationPhoneNumber: "+12065550152",
      destinationPhoneNumber: sentBody(body).DestinationPhoneNumber,
      messageId: id,
      messageEncoding: "GSM",
      messageType: "TRANSACTIONAL",
      context: sentBody(body).Context,
      totalMessageParts: 1,
    }),
  inbound: ({ id, from, to, text, inReplyTo }) =>
    callback({
      originationNumber: from,
      destinationNumber: to,
      messageKeyword: "KEYWORD",
      messageBody: text,
      inboundMessageId: id,
      previousPublishedMessageId: inReplyTo,
    }),
};

describeProvider(carrierUnderTest(API, true));

test("the request of AWS is the one that its SDK makes", async () => {
  const message = outgoing({ recipient: RECIPIENTS.delivered, sender: "+14155550100", body: 'He said "hello" 👋' });
  const credentials = { accessKeyId: SECRETS.AWS_ACCESS_KEY_ID, secretAccessKey: SECRETS.AWS_SECRET_ACCESS_KEY };
  const { ours, theirs } = await compareRequests(
    API,
    (connection) => connection.send(message, new AbortController().signal, mayLeave),
    (endpoint) =>
      new PinpointSMSVoiceV2Client({ endpoint, region: REGION, credentials }).send(
        new SendTextMessageCommand({
          DestinationPhoneNumber: message.recipient,
          OriginationIdentity: "+14155550100",
          MessageBody: message.body,
          MessageType: "TRANSACTIONAL",
          TimeToLive: 3_599,
          Context: { reference: message.id },
        }),
      ),
  );
  assert.deepEqual([ours.method, ours.path], [theirs.method, theirs.path]);
  const [{ TimeToLive: seconds = 0, ...ourBody }, { TimeToLive: _, ...theirBody }] = [sentBody(ours.body), sentBody(theirs.body)];
  assert.deepEqual(ourBody, theirBody);
  assert.ok(seconds > 3_000 && seconds <= 3_600);
  for (const name of ["content-type", "x-amz-target"]) assert.equal(ours.headers[name], theirs.headers[name]);
  const credentialOf = (header = ""): string => header.replace(/, SignedHeaders=.*$/, "");
  assert.equal(credentialOf(ours.headers["authorization"]), credentialOf(theirs.headers["authorization"]));
});

test("a message to a person who has opted out at AWS has the code that suppresses the person, and other conflicts have not", async () => {
  const outcomeFor = async (reason: ConflictExceptionReason | undefined): Promise<unknown[]> => {
    const { name, Reason } = new ConflictException({ message: "", $metadata: {}, ...(reason === undefined ? {} : { Reason: reason }) });
    const body = JSON.stringify({ ...errorBody(name), Reason });
    const carrier = await new HttpCarrierServer(() => ({ kind: "responds", status: 400, body })).listen();
    const connection = await http.open(carrierSettings(API, carrier.url, "https://godwit.example"), new RecordingHost());
    try {
      const outcome = await connection.send(outgoing({ recipient: RECIPIENTS.delivered }), new AbortController().signal, mayLeave);
      return outcome.kind === "refused" ? [outcome.code, outcome.providerCode, outcome.isPermanent] : [outcome.kind];
    } finally {
      await connection.close();
      await carrier.close();
    }
  };
  const { DESTINATION_PHONE_NUMBER_OPTED_OUT: optedOut, DESTINATION_COUNTRY_BLOCKED_BY_PROTECT_CONFIGURATION: blocked } =
    ConflictExceptionReason;
  assert.deepEqual(await outcomeFor(optedOut), [RECIPIENT_OPTED_OUT, optedOut, true]);
  for (const reason of [blocked, undefined])
    assert.deepEqual(await outcomeFor(reason), ["destination_not_permitted", "ConflictException", true]);
});

/** SHA-256 and HMAC of Node, in the form that the signer of the SDK wants. */
class Sha256 {
  readonly #hash: ReturnType<typeof createHash> | ReturnType<typeof createHmac>;
  constructor(secret?: BinaryLike) {
    this.#hash = secret === undefined ? createHash("sha256") : createHmac("sha256", secret);
  }
  update(data: BinaryLike): void {
    this.#hash.update(data);
  }
  async digest(): Promise<Uint8Array> {
    return this.#hash.digest();
  }
}

for (const [what, path, query, headers] of [
  ["no query", "/", {}, {}],
  ["a query that must be sorted and escaped", "/v1/a b", { b: "2 + 2", a: "x/y", "a-b": "'*'" }, {}],
  ["headers with similar names", "/", {}, { "x-amz-date-of": "1", "x-amz": "a   b" }],
] as const)
  test(`a signature over a request with ${what} is that of the SDK's signer`, async () => {
    const nowMs = Date.parse("2030-01-31T09:00:00Z");
    const host = "sms-voice.eu-central-1.amazonaws.com";
    const body = JSON.stringify({ MessageBody: "Grüße 👋" });
    const [accessKeyId, secretAccessKey] = [SECRETS.AWS_ACCESS_KEY_ID, SECRETS.AWS_SECRET_ACCESS_KEY];
    const all = { "content-type": "application/x-amz-json-1.0", ...headers };
    const signer = new SignatureV4({
      credentials: { accessKeyId, secretAccessKey },
      region: REGION,
      service: "sms-voice",
      sha256: Sha256 as never,
      applyChecksum: false,
    });
    const theirs = await signer.sign(
      { method: "POST", protocol: "https:", hostname: host, path, query, headers: { ...all, host }, body },
      { signingDate: new Date(nowMs) },
    );
    const search = new URLSearchParams(query).toString();
    const ours = signSigV4(
      { accessKeyId, secretAccessKey, region: REGION, service: "sms-voice" },
      { method: "POST", host, path: search === "" ? path : `${path}?${search}`, headers: all, body, nowMs },
    );
    assert.equal(ours["authorization"], theirs.headers["authorization"]);
    assert.equal(ours["x-amz-date"], theirs.headers["x-amz-date"]);
  });

test("the lists of the file have the names that the SDK has", () => {
  const file = readFileSync(join(import.meta.dirname, "..", "..", "packaging", "carriers", "aws.toml"), "utf8");
  const { receipts } = parseToml(file) as { receipts: { statuses: Record<string, string[]> } };
  const known = new Set<string>(Object.values(EventType));
  for (const word of Object.values(receipts.statuses).flat()) assert.ok(known.has(word), word);
  assert.deepEqual(
    [ThrottlingException, ValidationException].map((kind) => new kind({ message: "", $metadata: {} }).name),
    ["ThrottlingException", "ValidationException"],
  );
});

const toRequest = ({ headers, body }: Callback): CarrierRequest => ({
  method: "POST",
  url: "https://godwit.example/providers/http/main",
  query: {},
  headers,
  body: Buffer.from(body),
});

test("a subscription is confirmed at the host of the region, and nowhere else", async () => {
  const topic = await new HttpCarrierServer(() => ({ kind: "responds", status: 200, body: "<ConfirmSubscriptionResponse/>" })).listen();
  const host = new RecordingHost();
  const { callbacks } = carrierSettings(API, "https://x.example", "https://godwit.example").definition;
  const confirm = { path: callbacks?.confirm?.path, host: new URL(topic.url).host };
  const settings = carrierSettings(
    { ...API, link: { ...API.link, callbacks: { confirm } } },
    "https://x.example",
    "https://godwit.example",
  );
  try {
    const confirmation = (url: string): Callback => callback({ Type: "SubscriptionConfirmation", Token: "t", SubscribeURL: url });
    const url = `${topic.url}/?Action=ConfirmSubscription&Token=t`;
    assert.equal((await http.handleRequest?.(settings, toRequest(confirmation(url)), host))?.status, 200);
    assert.deepEqual([topic.seen[0]?.method, topic.seen[0]?.path], ["GET", "/?Action=ConfirmSubscription&Token=t"]);
    const elsewhere = carrierSettings(API, "https://x.example", "https://godwit.example");
    assert.equal((await http.handleRequest?.(elsewhere, toRequest(confirmation(url)), host))?.status, 200);
    assert.equal(topic.seen.length, 1, "the host is another one");
    const stranger = { ...confirmation(url), headers: { authorization: "Basic eDp5" } };
    // SNS sends its credentials only in the second request, after a challenge.
    for (const headers of [stranger.headers, {}]) {
      const refused = await http.handleRequest?.(settings, toRequest({ ...stranger, headers }), host);
      assert.deepEqual([refused?.status, refused?.headers], [401, { "www-authenticate": 'Basic realm="godwit"' }]);
    }
    assert.equal(topic.seen.length, 1);
  } finally {
    await topic.close();
  }
});
