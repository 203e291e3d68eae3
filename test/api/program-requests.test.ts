/** The compatible APIs with requests in the forms in which public programs write them, byte by byte: each program reads the response in its own way. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { clientOf, recordOf, type Client } from "../support/client.ts";
import { Wire } from "../support/expect.ts";
import { startGodwit, type Godwit, type Reply } from "../support/harness.ts";
import { twilioUser, type TwilioUser } from "../support/twilio-client.ts";

const USER = "username=gateway&password=a-password-of-programs";
const FROM = "+15005550000";

let godwit: Godwit;
let own: Client;
let twilio: TwilioUser;
let apiKey: TwilioUser;
before(async () => {
  godwit = await startGodwit({ roles: "api,dispatch" });
  twilio = await twilioUser(godwit, { account: "programs" });
  apiKey = await twilioUser(godwit, { account: "programs", settings: { type: "api_key" }, accountSid: twilio.sid });
  own = clientOf(godwit, twilio.key);
  // A program that names an SMSC needs a user for whom its name has no effect.
  const body = { source: "kannel", user_name: "gateway", secret: "a-password-of-programs", settings: { "forced-smsc": "true" } };
  recordOf(await godwit.request("POST", "/v1/compatible_credentials", { key: twilio.key, body }), 201);
});
after(() => godwit.stop());

/** The response to the lines of a request and its body. The server ends a connection that does not ask to be kept. */
async function ask(head: readonly string[], body = ""): Promise<Reply> {
  const wire = await Wire.open(godwit.url);
  wire.write(`${head.join("\r\n")}\r\n\r\n${body}`);
  const reply = await wire.reply();
  if (head[0]?.endsWith("HTTP/1.0") === true) await wire.closed();
  wire.close();
  return reply;
}

const newest = async (): Promise<Record<string, unknown>> => (await own.messages.list({})).data[0] ?? {};

const HOST = "Host: 127.0.0.1:13013";
const REPORTS = encodeURIComponent("https://example.com/index.php?app=call&type=%d&slid=7&uid=1");

/** `head`: the lines of the request. `body`: the text that must reach the person. */
type KannelCase = { head: readonly string[]; posted?: string; body: string };

describe("sendsms in the form of", () => {
  const CASES: Readonly<Record<string, KannelCase>> = {
    "playSMS: HTTP/1.0 without a host, a class and an SMSC": {
      head: [
        `GET /cgi-bin/sendsms?${USER}&from=12345&to=14155550123&dlr-mask=31&dlr-url=${REPORTS}&mclass=1&text=Hello+you&smsc=default HTTP/1.0`,
      ],
      body: "Hello you",
    },
    "playSMS: a text in UTF-16": {
      head: [
        `GET /cgi-bin/sendsms?${USER}&from=12345&to=14155550123&mclass=1&charset=UTF-16BE&coding=2&text=%04%1F%04%40%04%38&smsc=default HTTP/1.0`,
      ],
      body: "При",
    },
    "RapidPro: parameters in the order of their names": {
      head: [
        `GET /cgi-bin/sendsms?charset=utf8&coding=2&dlr-mask=27&dlr-url=${REPORTS}&from=2020&password=a-password-of-programs&priority=1&text=caf%C3%A9+%E2%98%BA&to=%2B14155550123&username=gateway HTTP/1.1`,
        HOST,
        "User-Agent: Go-http-client/1.1",
        "Accept-Encoding: gzip",
      ],
      body: "café ☺",
    },
    "NetSDS: a coding, a priority and a validity always": {
      head: [
        `GET /cgi-bin/sendsms?coding=0&validity=360&dlr-mask=19&priority=1&charset=UTF-8&${USER}&from=1234&to=14155550123&text=Wake%20up%21 HTTP/1.1`,
        HOST,
        "TE: deflate,gzip;q=0.3",
        "Connection: TE, close",
        "User-Agent: NetSDS Kannel API/1.200",
      ],
      body: "Wake up!",
    },
    "a shell script that escapes spaces only": {
      head: [
        `GET /cgi-bin/sendsms?${USER}&from=972523245068&to=+14155550123&text=Disk%20full:%2095%,%20host=db1 HTTP/1.1`,
        HOST,
        "Accept: */*",
      ],
      body: "Disk full: 95%, host=db1",
    },
    "a PHP script with a slash behind the mask": {
      head: [`GET /cgi-bin/sendsms?${USER}&to=14155550123&from=Shop&text=Thanks&dlr-mask=31/ HTTP/1.1`, HOST, "Connection: close"],
      body: "Thanks",
    },
    "a client in Go: headers, and a body without a type": {
      head: [
        "POST /cgi-bin/sendsms HTTP/1.1",
        HOST,
        "X-Kannel-Username: gateway",
        "X-Kannel-Password: a-password-of-programs",
        "X-Kannel-From: 12345",
        "X-Kannel-To: 14155550123",
        "X-Kannel-Coding: 0",
        "X-Kannel-Dlr-Mask: 19",
        "Content-Length: 5",
      ],
      posted: "Hello",
      body: "Hello",
    },
  };
  for (const [does, { head, posted, body }] of Object.entries(CASES))
    test(does, async () => {
      const reply = await ask(head, posted);
      // Programs compare this text, which ends with the connection or with its length.
      assert.equal(`${reply.status} ${reply.text}`, "202 0: Accepted for delivery");
      assert.equal(reply.headers.get("transfer-encoding"), null);
      const message = await newest();
      assert.deepEqual([message["body"], message["recipient"], message["source"]], [body, "+14155550123", "kannel"]);
    });
});

describe("a message by Twilio's API in the form of", () => {
  const CASES: Readonly<Record<string, { headers: readonly string[]; form: () => string; user?: () => TwilioUser }>> = {
    "curl with fields in the order of the documentation": {
      headers: ["User-Agent: curl/7.88.1", "Accept: */*", "Content-Type: application/x-www-form-urlencoded"],
      form: () => `To=%2B15005550006&From=%2B15005550000&Body=Hi%20there`,
    },
    "Uptime Kuma: a charset without a space": {
      headers: [
        "Accept: application/json, text/plain, */*",
        "Content-Type: application/x-www-form-urlencoded;charset=utf-8",
        "User-Agent: axios/0.28.1",
      ],
      form: () => new URLSearchParams({ To: "+15005550006", From: FROM, Body: "Hi there" }).toString(),
    },
    "Apprise: an API key below the SID of the account": {
      headers: [
        "User-Agent: Apprise",
        "Accept-Encoding: gzip, deflate",
        "Accept: application/json",
        "Content-Type: application/x-www-form-urlencoded",
      ],
      form: () => "Body=Hi+there&From=%2B15005550000&To=%2B15005550006",
      user: () => apiKey,
    },
    "RapidPro: a status callback, through a messaging service": {
      headers: ["User-Agent: Go-http-client/1.1", "Accept: application/json", "Content-Type: application/x-www-form-urlencoded"],
      form: () =>
        `Body=Hi+there&MessagingServiceSid=MG${twilio.sid.slice(2)}&StatusCallback=${encodeURIComponent("https://example.com/c/t/status?id=7&action=callback")}&To=%2B15005550006`,
    },
    "RapidPro: WhatsApp": {
      headers: ["Accept: application/json", "Content-Type: application/x-www-form-urlencoded"],
      form: () => "Body=Hi+there&From=whatsapp%3A%2B15005550000&To=whatsapp%3A%2B15005550006",
    },
    "a PHP script that writes headers without spaces": {
      headers: ["Accept:*/*", "content-type:application/x-www-form-urlencoded"],
      form: () => "From=%2B15005550000&To=%2B15005550006&Body=Hi there",
    },
  };
  for (const [does, { headers, form, user = () => twilio }] of Object.entries(CASES))
    test(does, async () => {
      const body = form();
      const { sid, token } = user();
      const reply = await ask(
        [
          `POST /twilio/2010-04-01/Accounts/${twilio.sid}/Messages.json HTTP/1.1`,
          "Host: api.twilio.test",
          `Authorization: Basic ${Buffer.from(`${sid}:${token}`).toString("base64")}`,
          `Content-Length: ${Buffer.byteLength(body)}`,
          ...headers,
        ],
        body,
      );
      assert.equal(reply.status, 201, reply.text);
      assert.match(String(reply.json["sid"]), /^[SM]M[0-9a-f]{32}$/);
      assert.deepEqual([reply.json["status"], reply.json["error_code"]], ["queued", null]);
      const message = await newest();
      assert.deepEqual([message["body"], message["recipient"], message["source"]], ["Hi there", "+15005550006", "twilio"]);
    });

  test("RapidPro, which reads the number of the error of a person who has opted out", async () => {
    const body = "Body=Hi&From=%2B15005550000&To=%2B15005550004";
    const reply = await ask(
      [
        `POST /twilio/2010-04-01/Accounts/${twilio.sid}/Messages.json HTTP/1.1`,
        "Host: api.twilio.test",
        `Authorization: Basic ${Buffer.from(`${twilio.sid}:${twilio.token}`).toString("base64")}`,
        "Content-Type: application/x-www-form-urlencoded",
        `Content-Length: ${body.length}`,
      ],
      body,
    );
    assert.deepEqual([reply.status, reply.json["code"]], [400, 21610]);
  });
});
