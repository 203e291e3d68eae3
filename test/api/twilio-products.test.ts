/** Media, messaging services, Verify and Lookup of Twilio, with Twilio's own package as the client. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, test } from "node:test";
import { clientOf } from "../support/client.ts";
import { until } from "../support/expect.ts";
import { FakeTwilio, TWILIO_SECRETS } from "../support/fakes/twilio.ts";
import { startGodwit, type Godwit } from "../support/harness.ts";
import { ALLOW_LOOPBACK } from "../support/hook-server.ts";
import { picture } from "../support/media.ts";
import { recipientNo } from "../support/recipient.ts";
import { refusal, twilioUser, type TwilioUser } from "../support/twilio-client.ts";

const FROM = "+15005550000";
const OTHER = "+15005550006";
const FILE = picture();

const sender = (number: string, more = ""): string =>
  `[[sender]]\nnumber = "${number}"\nlink = "carrier"\naccount = "default"\nenvironment = "live"\n${more}`;
const SENDERS = [
  sender("+14155550100", 'pool = "alerts"\n'),
  sender("+14155550101", 'pool = "alerts"\n'),
  sender("+14155550102"),
  sender("55555"),
  sender("Shop"),
].join("");

let carrier: FakeTwilio;
let godwit: Godwit;
let files: Server;
let fileUrl: string;
let user: TwilioUser;
let live: TwilioUser;
before(async () => {
  files = createServer((_, response) => response.writeHead(200, { "content-type": "image/jpeg" }).end(FILE)).listen(0, "127.0.0.1");
  await once(files, "listening");
  fileUrl = `http://127.0.0.1:${(files.address() as AddressInfo).port}/cat.jpg`;
  carrier = await new FakeTwilio().listen();
  const link = `[[link]]\nname = "carrier"\nprovider = "twilio"\nbase_url = "${carrier.url}"\naccount_sid = "${TWILIO_SECRETS.accountSid}"\nauth_token_env = "AUTH"\npublic_url = "https://godwit.example"\n`;
  const env = { ...ALLOW_LOOPBACK, AUTH: TWILIO_SECRETS.authToken };
  godwit = await startGodwit({ roles: "api,dispatch", simulatorSpeed: 20, config: link + SENDERS, env });
  user = await twilioUser(godwit);
  live = await twilioUser(godwit, { environment: "live" });
});
after(async () => {
  await godwit.stop();
  await carrier.close();
  files.close();
});

describe("media", () => {
  let sid: string;
  before(async () => {
    const created = await user.client.messages.create({ to: OTHER, from: FROM, body: "A cat", mediaUrl: [fileUrl] });
    assert.deepEqual([created.numMedia, created.body], ["1", "A cat"]);
    sid = created.sid;
  });

  test("of a message are listed, fetched and downloaded", async () => {
    assert.match(sid, /^MM/);
    const [media, ...others] = await user.client.messages(sid).media.list();
    assert.deepEqual([others, media?.contentType, media?.parentSid, media?.accountSid], [[], "image/jpeg", sid, user.sid]);
    const fetched = await user.client
      .messages(sid)
      .media(media?.sid ?? "")
      .fetch();
    assert.deepEqual([fetched.sid, fetched.uri], [media?.sid, media?.uri]);
    const authorization = `Basic ${Buffer.from(`${user.sid}:${user.token}`).toString("base64")}`;
    const url = `${godwit.url}/twilio${fetched.uri.replace(/\.json$/, "")}`;
    const response = await fetch(url, { headers: { authorization } });
    assert.deepEqual([response.status, response.headers.get("content-type")], [200, "image/jpeg"]);
    assert.ok(Buffer.from(await response.arrayBuffer()).equals(FILE));
    assert.equal((await fetch(url)).status, 401);
  });

  test("are deleted", async () => {
    const [media] = await user.client.messages(sid).media.list();
    const found = user.client.messages(sid).media(media?.sid ?? "");
    assert.equal(await found.remove(), true);
    for (const work of [() => found.fetch(), () => found.remove()]) assert.equal((await refusal(work())).code, 20404);
    assert.deepEqual(await user.client.messages(sid).media.list(), []);
  });

  test("of another message are unknown, and so are those of a message without", async () => {
    const { sid: other } = await user.client.messages.create({ to: OTHER, from: FROM, body: "No file" });
    assert.deepEqual(await user.client.messages(other).media.list(), []);
    const [media] = await user.client.messages(sid).media.list();
    assert.equal(
      (
        await refusal(
          user.client
            .messages(other)
            .media(media?.sid ?? `ME${"0".repeat(32)}`)
            .fetch(),
        )
      ).code,
      20404,
    );
  });
});

describe("messaging services", () => {
  test("are all senders of the environment, and each pool", async () => {
    const services = await live.client.messaging.v1.services.list();
    assert.deepEqual(
      services.map(({ friendlyName }) => friendlyName),
      ["All senders", "alerts"],
    );
    const [all, pool] = services;
    assert.equal(all?.sid, `MG${live.sid.slice(2)}`);
    const fetched = await live.client.messaging.v1.services(pool?.sid ?? "").fetch();
    assert.deepEqual([fetched.sid, fetched.stickySender, fetched.accountSid], [pool?.sid, true, live.sid]);
    const numbers = await fetched.phoneNumbers().list();
    assert.deepEqual(
      numbers.map(({ phoneNumber, countryCode }) => [phoneNumber, countryCode]),
      [
        ["+14155550100", "US"],
        ["+14155550101", "US"],
      ],
    );
    const [number] = numbers;
    assert.equal(
      (
        await fetched
          .phoneNumbers()
          .get(number?.sid ?? "")
          .fetch()
      ).phoneNumber,
      "+14155550100",
    );
    const service = live.client.messaging.v1.services(all?.sid ?? "");
    assert.equal((await service.phoneNumbers.list()).length, 3);
    const [code] = await service.shortCodes.list();
    assert.equal((await service.shortCodes(code?.sid ?? "").fetch()).shortCode, "55555");
    const [name] = await service.alphaSenders.list();
    assert.equal((await service.alphaSenders(name?.sid ?? "").fetch()).alphaSender, "Shop");
    assert.equal((await service.phoneNumbers.list({ pageSize: 2 })).length, 3);
  });

  test("of a pool send with its numbers, and to a recipient with the same one", async () => {
    const [, pool] = await live.client.messaging.v1.services.list();
    const to = recipientNo(5);
    const froms = new Set<string>();
    for (let count = 0; count < 3; count += 1) {
      const { from, messagingServiceSid } = await live.client.messages.create({ to, messagingServiceSid: pool?.sid ?? "", body: "Hello" });
      assert.equal(messagingServiceSid, pool?.sid);
      froms.add(from);
    }
    assert.equal(froms.size, 1);
    assert.match([...froms].join(), /^\+1415555010[01]$/);
    const named = { to, messagingServiceSid: pool?.sid ?? "", body: "Hello" };
    assert.equal((await live.client.messages.create({ ...named, from: "+14155550101" })).from, "+14155550101");
    assert.equal((await refusal(live.client.messages.create({ ...named, from: "+14155550102" }))).code, 21606);
  });

  test("cannot be changed", async () => {
    const { services } = live.client.messaging.v1;
    const { sid } = (await services.list())[0] ?? assert.fail("there is a service");
    for (const work of [() => services.create({ friendlyName: "Mine" }), () => services(sid).update({}), () => services(sid).remove()]) {
      const { status, code } = await refusal(work());
      assert.deepEqual([status, code], [405, 20004]);
    }
    assert.equal((await refusal(services(`MG${"0".repeat(32)}`).fetch())).code, 20404);
  });
});

describe("Verify", () => {
  const service = (of = user) => of.client.verify.v2.services(`VA${of.sid.slice(2)}`);
  // In `test` the code is always this one.
  const CODE = "123456";
  let number = 100;
  const recipient = (): string => recipientNo((number += 1));

  test("has one service", async () => {
    const [only, ...others] = await user.client.verify.v2.services.list();
    assert.deepEqual([others, only?.sid, only?.codeLength], [[], `VA${user.sid.slice(2)}`, 6]);
    assert.equal((await service().fetch()).sid, only?.sid);
    assert.equal((await refusal(user.client.verify.v2.services(`VA${"0".repeat(32)}`).fetch())).code, 20404);
    assert.equal((await refusal(user.client.verify.v2.services.create({ friendlyName: "Mine" }))).code, 20004);
  });

  test("sends a code, which is approved once", async () => {
    const to = recipient();
    const created = await service().verifications.create({ to, channel: "sms" });
    assert.match(created.sid, /^VE[0-9a-f]{32}$/);
    assert.deepEqual([created.status, created.valid, created.to, created.channel], ["pending", false, to, "sms"]);
    assert.equal((await service().verifications(created.sid).fetch()).status, "pending");
    assert.equal((await service().verifications(to).fetch()).sid, created.sid);
    const wrong = await service().verificationChecks.create({ to, code: "000000" });
    assert.deepEqual([wrong.status, wrong.valid], ["pending", false]);
    const right = await service().verificationChecks.create({ to, code: CODE });
    assert.deepEqual([right.status, right.valid, right.sid], ["approved", true, created.sid]);
    assert.equal((await service().verifications(created.sid).fetch()).status, "approved");
    assert.equal((await refusal(service().verificationChecks.create({ to, code: CODE }))).code, 20404);
  });

  test("checks a code by the SID, and ends after five wrong codes", async () => {
    const { sid } = await service().verifications.create({ to: recipient(), channel: "sms" });
    const wrong = () => service().verificationChecks.create({ verificationSid: sid, code: "000000" });
    for (let count = 0; count < 4; count += 1) assert.equal((await wrong()).status, "pending");
    assert.equal((await wrong()).status, "max_attempts_reached");
    const { status, code } = await refusal(wrong());
    assert.deepEqual([status, code], [429, 60202]);
  });

  test("cancels a verification", async () => {
    const { sid } = await service().verifications.create({ to: recipient(), channel: "sms" });
    assert.equal((await service().verifications(sid).update({ status: "canceled" })).status, "canceled");
    assert.equal((await refusal(service().verificationChecks.create({ verificationSid: sid, code: CODE }))).code, 20404);
  });

  test("refuses a second code at once, and what it does not support", async () => {
    const to = recipient();
    const { sid } = await service().verifications.create({ to, channel: "sms" });
    assert.equal((await refusal(service().verifications.create({ to, channel: "sms" }))).code, 60203);
    const refused: (() => Promise<unknown>)[] = [
      () => service().verifications.create({ to: "123", channel: "sms" }),
      () => service().verifications.create({ to: recipient(), channel: "call" }),
      () => service().verifications.create({ to: recipient(), channel: "sms", customCode: "1234" }),
      () => service().verifications(sid).update({ status: "approved" }),
      () => service().verificationChecks.create({ to, code: "x" }),
      () => service().verificationChecks.create({ code: CODE }),
    ];
    for (const work of refused) {
      const { status, code } = await refusal(work());
      assert.deepEqual([status, code], [400, 60200], String(work));
    }
  });
});

describe("Lookup", () => {
  const lookUp = (number: string, options: object = {}) => user.client.lookups.v2.phoneNumbers(number).fetch(options);

  test("knows the format and the country of a number", async () => {
    const found = await lookUp("+14155552671");
    assert.deepEqual(
      [found.valid, found.phoneNumber, found.countryCode, found.callingCountryCode, found.nationalFormat, found.validationErrors],
      [true, "+14155552671", "US", "1", "(415) 555-2671", []],
    );
    assert.equal((await lookUp("04155 2671", { countryCode: "DE" })).phoneNumber, "+4941552671");
    assert.deepEqual((await lookUp("+1415")).validationErrors, ["TOO_SHORT"]);
    assert.deepEqual((await lookUp("hello")).validationErrors, ["NOT_A_NUMBER"]);
  });

  test("says that it does not know the type, and refuses the rest", async () => {
    const { lineTypeIntelligence } = await lookUp("+14155552671", { fields: "line_type_intelligence" });
    const { type, errorCode, carrierName } = lineTypeIntelligence;
    assert.deepEqual([type, errorCode, carrierName], [null, 60600, null]);
    assert.equal((await refusal(lookUp("+14155552671", { fields: "caller_name" }))).code, 20001);
    assert.equal((await refusal(lookUp("+14155552671", { firstName: "A" }))).code, 20001);
  });
});

test("a message with a file is delivered", async () => {
  const { sid } = await user.client.messages.create({ to: OTHER, from: FROM, mediaUrl: [fileUrl] });
  await until("the message to be delivered", async () => (await user.client.messages(sid).fetch()).status === "delivered" || undefined);
  const [record] = (await clientOf(godwit, user.key).messages.list({ recipient: OTHER, limit: "1" })).data;
  assert.match(JSON.stringify(record?.["content"]), /"kind":"image"/);
});
