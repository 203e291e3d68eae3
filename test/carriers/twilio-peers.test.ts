/** Twilio's API with the clients that Twilio publishes: the package for Node, call by call, and Debian's package for Python. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import { TWILIO_API } from "../../src/twilio-api/api.ts";
import { missingProgram } from "../support/debian-package.ts";
import { until } from "../support/expect.ts";
import { startGodwit, type Godwit } from "../support/harness.ts";
import { ALLOW_LOOPBACK } from "../support/hook-server.ts";
import { picture } from "../support/media.ts";
import { recipientNo } from "../support/recipient.ts";
import { refusal, twilioUser, type TwilioUser } from "../support/twilio-client.ts";

const FROM = "+15005550000";
const TO = "+15005550006";

let godwit: Godwit;
let files: Server;
let fileUrl: string;
before(async () => {
  files = createServer((_, response) => response.writeHead(200, { "content-type": "image/jpeg" }).end(picture())).listen(0, "127.0.0.1");
  await once(files, "listening");
  fileUrl = `http://127.0.0.1:${(files.address() as AddressInfo).port}/cat.jpg`;
  godwit = await startGodwit({ roles: "api,dispatch", simulatorSpeed: 20, env: ALLOW_LOOPBACK });
});
after(async () => {
  await godwit.stop();
  files.close();
});

/** A resource of the package, which has read every member from the response. */
type Instance = { toJSON: () => object };

function assertComplete(instance: Instance): void {
  for (const [name, value] of Object.entries(instance.toJSON())) {
    assert.notEqual(value, undefined, `${instance.constructor.name}.${name} is absent from the response`);
    if (value instanceof Date) assert.ok(Number.isFinite(value.getTime()), `${instance.constructor.name}.${name} is no date`);
  }
}

/** Counts the requests of a client. */
function counting({ client }: TwilioUser): { calls: () => number } {
  let calls = 0;
  const http = client.httpClient ?? assert.fail("the client has an HTTP client");
  const send = http.request.bind(http);
  http.request = (options) => {
    calls += 1;
    return send(options);
  };
  return { calls: () => calls };
}

test("every method of the package for Node that the API has gets a complete resource, in 80 calls and more", async () => {
  const user = await twilioUser(godwit, { account: "node" }, [...TWILIO_API.defaultScopes({}), "recipients:erase"]);
  const { client, sid: account } = user;
  const { calls } = counting(user);
  const service = `MG${account.slice(2)}`;
  const scheduled = () => ({
    to: TO,
    messagingServiceSid: service,
    body: "Later",
    scheduleType: "fixed" as const,
    sendAt: new Date(Date.now() + 3_600_000),
  });
  const reached = (sid: string): Promise<unknown> =>
    until("the message to be delivered", async () => ((await client.messages(sid).fetch()).status === "delivered" ? true : undefined));

  assertComplete(await client.api.v2010.accounts(account).fetch());

  // Fourteen messages, listed in pages of five.
  const sids: string[] = [];
  for (let number = 0; number < 12; number += 1) {
    const created = await client.messages.create({ to: number % 3 === 0 ? TO : recipientNo(number), from: FROM, body: `No. ${number}` });
    assertComplete(created);
    sids.push(created.sid);
  }
  sids.push((await client.messages.create({ to: TO, from: FROM, body: "👋", validityPeriod: 60 })).sid);
  sids.push((await client.messages.create({ to: `whatsapp:${TO}`, from: `whatsapp:${FROM}`, body: "Hello" })).sid);
  const newest = sids.toReversed();
  const first = await client.messages.page({ pageSize: 5 });
  const second = (await first.nextPage()) ?? assert.fail("there is a second page");
  const third = (await second.nextPage()) ?? assert.fail("there is a third page");
  assert.deepEqual(
    [first, second, third].map(({ instances }) => instances.map(({ sid }) => sid)),
    [newest.slice(0, 5), newest.slice(5, 10), newest.slice(10)],
  );
  assert.equal(third.nextPageUrl, undefined);
  for (const { instances } of [first, second, third]) for (const each of instances) assertComplete(each);
  assert.equal((await client.messages.list({ pageSize: 6 })).length, 14);
  assert.equal((await client.messages.list({ limit: 3 })).length, 3);
  let seen = 0;
  for (const each of await client.messages.list({ to: TO, pageSize: 2 })) seen += Number(each.to === TO);
  assert.equal(seen, 5);
  assert.equal((await client.messages.list({ from: FROM, dateSentAfter: new Date(Date.now() - 60_000) })).length, 13);
  assert.deepEqual(await client.messages.list({ dateSentBefore: new Date(Date.now() - 86_400_000) }), []);
  assert.equal((await client.messages.list({ to: `whatsapp:${TO}` })).length, 1);

  const [redacted, deleted] = [sids[0] ?? "", sids[3] ?? ""];
  await reached(redacted);
  assertComplete(await client.messages(redacted).update({ body: "" }));
  await reached(deleted);
  assert.equal(await client.messages(deleted).remove(), true);
  assert.equal((await refusal(client.messages(deleted).fetch())).code, 20404);
  const later = await client.messages.create(scheduled());
  assert.equal((await client.messages(later.sid).update({ status: "canceled" })).status, "canceled");
  assert.equal((await refusal(client.messages((await client.messages.create(scheduled())).sid).remove())).code, 20009);

  const mms = await client.messages.create({ to: TO, from: FROM, body: "A cat", mediaUrl: [fileUrl] });
  const [media] = await client.messages(mms.sid).media.list();
  assert.ok(media !== undefined);
  assertComplete(media);
  const file = client.messages(mms.sid).media(media.sid);
  assertComplete(await file.fetch());
  assert.equal((await client.messages(mms.sid).media.page()).instances.length, 1);
  assert.equal(await file.remove(), true);
  assert.equal((await refusal(file.fetch())).code, 20404);

  const { services } = client.messaging.v1;
  for (const each of await services.list()) assertComplete(each);
  assertComplete(await services(service).fetch());
  assert.equal((await services.page()).instances.length, 1);
  const senders = services(service);
  assert.deepEqual([await senders.phoneNumbers.list(), await senders.shortCodes.list(), await senders.alphaSenders.list()], [[], [], []]);
  assert.equal((await refusal(services.create({ friendlyName: "Mine" }))).code, 20004);

  const verify = client.verify.v2.services(`VA${account.slice(2)}`);
  for (const each of await client.verify.v2.services.list()) assertComplete(each);
  assertComplete(await verify.fetch());
  const verification = await verify.verifications.create({ to: recipientNo(50), channel: "sms" });
  assertComplete(verification);
  assertComplete(await verify.verifications(verification.sid).fetch());
  assertComplete(await verify.verificationChecks.create({ to: recipientNo(50), code: "111111" }));
  assert.equal((await verify.verificationChecks.create({ verificationSid: verification.sid, code: "123456" })).status, "approved");
  const other = await verify.verifications.create({ to: recipientNo(51), channel: "whatsapp" });
  assert.equal((await verify.verifications(other.sid).update({ status: "canceled" })).status, "canceled");
  assert.equal((await refusal(verify.verifications.create({ to: recipientNo(52), channel: "call" }))).code, 60200);
  assert.equal((await refusal(verify.verificationChecks.create({ to: recipientNo(53), code: "123456" }))).code, 20404);

  assertComplete(await client.lookups.v2.phoneNumbers("+14155552671").fetch());
  assert.equal((await client.lookups.v2.phoneNumbers("+14155552671").fetch({ fields: "line_type_intelligence" })).valid, true);
  assert.equal((await client.lookups.v2.phoneNumbers("030 901820").fetch({ countryCode: "DE" })).phoneNumber, "+4930901820");

  const good = { to: TO, from: FROM, body: "Hello" };
  const refused: [number, object][] = [
    [21604, { to: "" }],
    [21211, { to: "+1415" }],
    [21603, { from: "" }],
    [21212, { from: "a very long name" }],
    [21602, { body: "" }],
    [21617, { body: "x".repeat(1_601) }],
    [21610, { to: "+15005550004" }],
    [21624, { validityPeriod: 40_000 }],
    [21609, { statusCallback: "nothing" }],
    [21620, { mediaUrl: ["nothing"] }],
    [21655, { contentSid: `HX${"0".repeat(32)}` }],
    [21701, { messagingServiceSid: `MG${"0".repeat(32)}` }],
    [21910, { to: `whatsapp:${TO}` }],
    [35111, { messagingServiceSid: service, scheduleType: "fixed" }],
    [35118, { scheduleType: "fixed", sendAt: new Date(Date.now() + 3_600_000) }],
    [20001, { persistentAction: ["geo:1,2"] }],
    [20001, { smartEncoded: true }],
  ];
  for (const [code, fields] of refused) {
    const error = await refusal(client.messages.create({ ...good, ...fields }));
    assert.deepEqual([error.code, error.moreInfo], [code, `https://www.twilio.com/docs/errors/${code}`], JSON.stringify(fields));
  }
  assert.equal((await refusal(client.calls.list({ limit: 1 }))).code, 20404);
  assert.ok(calls() >= 80, `${calls()} calls`);
});

const MODULE = "/usr/lib/python3/dist-packages/twilio/__init__.py";

const SCRIPT = `
import json, sys
from datetime import datetime, timedelta
from twilio.rest import Client
from twilio.base.exceptions import TwilioRestException

url, sid, token, to, sender, recipient = sys.argv[1:]
client = Client(sid, token)
for product in (client.api, client.messaging, client.verify, client.lookups):
    product.base_url = url + "/twilio"

result = {}
result["account"] = client.api.accounts(sid).fetch().friendly_name
sids = [client.messages.create(to=to, from_=sender, body="No. %d" % number).sid for number in range(5)]
result["listed"] = [message.sid for message in client.messages.list(page_size=2)] == sids[::-1]
result["fetched"] = client.messages(sids[0]).fetch().body
later = client.messages.create(
    to=to, messaging_service_sid="MG" + sid[2:], body="Later", schedule_type="fixed",
    send_at=datetime.utcnow() + timedelta(hours=1))
result["scheduled"] = later.status
result["canceled"] = client.messages(later.sid).update(status="canceled").status
result["services"] = [service.friendly_name for service in client.messaging.services.list()]
verify = client.verify.services("VA" + sid[2:])
result["verification"] = verify.verifications.create(to=recipient, channel="sms").status
result["check"] = verify.verification_checks.create(to=recipient, code="123456").status
result["refused"] = []
# The package has only the first version of Lookup, which the service does not.
for work in (
    lambda: client.messages.create(to="+1", from_=sender, body="x"),
    lambda: client.lookups.phone_numbers("+14155552671").fetch(),
):
    try:
        work()
    except TwilioRestException as error:
        result["refused"].append([error.status, error.code])
print(json.dumps(result))
`;

test("Debian's package for Python sends, lists, cancels and verifies", async (t) => {
  const missing = missingProgram("python3-twilio", MODULE);
  if (missing !== undefined) return t.skip(missing);
  const { sid, token } = await twilioUser(godwit, { account: "python" });
  const args = ["-W", "ignore", "-c", SCRIPT, godwit.url, sid, token, TO, FROM, recipientNo(60)];
  const { stdout } = await promisify(execFile)("/usr/bin/python3", args, { timeout: 120_000 });
  assert.deepEqual(JSON.parse(stdout), {
    account: "python",
    listed: true,
    fetched: "No. 0",
    scheduled: "scheduled",
    canceled: "canceled",
    services: ["All senders"],
    verification: "pending",
    check: "approved",
    refused: [
      [400, 21211],
      [404, 20404],
    ],
  });
});
