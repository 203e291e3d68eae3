/** The Kannel API: sendsms, reports and inbound messages by URL, and the status pages. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, test } from "node:test";
import { recordOf } from "../support/client.ts";
import { until } from "../support/expect.ts";
import { startGodwit, type Godwit, type Reply } from "../support/harness.ts";
import { bodyServer } from "../support/hook-server.ts";
import { readMetrics, seriesOf } from "../support/metrics-text.ts";
import { RECIPIENTS } from "../support/recipient.ts";
import { WITH_WEBHOOKS } from "../support/webhook-customer.ts";

type Called = { method: string; url: URL; headers: Record<string, unknown>; body: string };

const USER = { username: "playsms", password: "a-password-of-playsms" };
const REPLIES = "+15005550008";

let godwit: Godwit;
let key: string;
let receiver: Server;
const calls: Called[] = [];
before(async () => {
  receiver = bodyServer((request, body, response) => {
    calls.push({ method: request.method ?? "", url: new URL(request.url ?? "", "http://localhost"), headers: request.headers, body });
    response.end("Sent.");
  }).listen(0, "127.0.0.1");
  [godwit] = await Promise.all([startGodwit({ ...WITH_WEBHOOKS, isOneProcess: true }), once(receiver, "listening")]);
  key = await godwit.key();
  recordOf(await create({ user_name: "playsms", secret: USER.password }), 201);
});
after(async () => {
  await godwit.stop();
  receiver.close();
});

const callback = (path: string): string => `http://127.0.0.1:${(receiver.address() as AddressInfo).port}${path}`;

const create = (body: object): Promise<Reply> =>
  godwit.request("POST", "/v1/compatible_credentials", { key, body: { source: "kannel", ...body } });

const SMS = { from: "12345", to: "14155550123", text: "Hello" };

const sendsms = (parameters: Record<string, string>, user: Record<string, string> = USER): Promise<Reply> =>
  godwit.request("GET", `/cgi-bin/sendsms?${new URLSearchParams({ ...user, ...parameters }).toString()}`, { isDeclared: false });

const shown = ({ status, text }: Reply): string => `${status} ${text}`;

const messages = async (): Promise<Record<string, unknown>[]> =>
  recordOf(await godwit.request("GET", "/v1/messages", { key }), 200)["data"] as Record<string, unknown>[];

/** Waits for the calls of a path with the escape `%p` or another mark in their query. */
const called = (path: string, count = 1): Promise<Called[]> =>
  until(`${count} calls of ${path}`, () => {
    const found = calls.filter(({ url }) => url.pathname === path);
    return found.length >= count ? found : undefined;
  });

describe("sendsms", () => {
  test("accepts a message, and the message shows the API", async () => {
    const counted = async (): Promise<number> =>
      seriesOf(await readMetrics(godwit), "godwit_compatible_messages_total")['{source="kannel"}'] ?? 0;
    const earlier = await counted();
    const reply = await sendsms({ ...SMS, text: "Grüße, €", account: "billing-7", priority: "3", validity: "10" });
    assert.equal(shown(reply), "202 0: Accepted for delivery");
    assert.equal(reply.headers.get("content-type"), "text/html");
    const [message] = await messages();
    const { source, body, sender, recipient, priority, metadata } = message ?? {};
    assert.deepEqual(
      { source, body, sender, recipient, priority, metadata },
      {
        source: "kannel",
        body: "Grüße, €",
        sender: "12345",
        recipient: "+14155550123",
        priority: "high",
        metadata: { account: "billing-7" },
      },
    );
    assert.equal(await counted(), earlier + 1);
    assert.equal(Date.parse(String(message?.["expires_at"])) - Date.parse(String(message?.["created_at"])), 600_000);
  });

  test("reads a POST by its headers and its body", async () => {
    const headers = {
      "content-type": 'text/plain; charset="ISO-8859-1"',
      "x-kannel-username": USER.username,
      "x-kannel-password": USER.password,
      "x-kannel-from": "12345",
      "x-kannel-to": "+14155550124",
    };
    const body = Buffer.from("Gr\xfc\xdfe", "latin1");
    const reply = await fetch(`${godwit.url}/cgi-bin/sendsms`, { method: "POST", headers, body });
    assert.equal(`${reply.status} ${await reply.text()}`, "202 0: Accepted for delivery");
    assert.equal((await messages())[0]?.["body"], "Grüße");
  });

  test("refuses with the texts of Kannel, and sends nothing", async () => {
    const count = (await messages()).length;
    const { from: _, ...withoutSender } = SMS;
    const { to: __, ...withoutReceiver } = SMS;
    const rows: [Record<string, string>, string, Record<string, string>?][] = [
      [SMS, "403 Authorization failed for sendsms", { username: "playsms", password: "wrong-password" }],
      [SMS, "403 Authorization failed for sendsms", {}],
      [withoutReceiver, "400 Missing receiver number, rejected"],
      [{ ...SMS, to: "" }, "400 Empty receiver number not allowed, rejected"],
      [{ ...SMS, to: "12ab" }, "400 Number(s) has/have been denied by white- and/or black-lists."],
      [withoutSender, "400 Sender missing and no global set, rejected"],
      [{ ...SMS, "dlr-mask": "67" }, "400 DLR-Mask field misformed, rejected"],
      [{ ...SMS, "dlr-url": "ftp://example.com/x" }, "400 DLR-URL field misformed, rejected"],
      [{ ...SMS, "dlr-url": "http://10.0.0.1/dlr", "dlr-mask": "31" }, "400 DLR-URL field not allowed, rejected"],
      [{ ...SMS, "dlr-url": "http://u%zz:p@example.com/x" }, "400 DLR-URL field misformed, rejected"],
      [{ ...SMS, validity: "0" }, "400 Validity must be 1 to 2880 minutes, rejected"],
      [{ ...SMS, coding: "3" }, "400 Coding field misformed, rejected"],
      [{ ...SMS, coding: "1" }, "400 Coding field not supported, rejected"],
      [{ ...SMS, udh: "\u0005\u0000\u0003" }, "400 UDH field misformed, rejected"],
      [{ ...SMS, udh: "\u0002\u0070\u0000" }, "400 UDH field not supported, rejected"],
      [{ ...SMS, mclass: "0" }, "400 MClass field not supported, rejected"],
      [{ ...SMS, mclass: "2" }, "400 MClass field not supported, rejected"],
      [{ ...SMS, smsc: "acme" }, "400 SMSC-ID field not supported, rejected"],
      [{ ...SMS, account: "[x]" }, "400 Account field misformed or too long, rejected"],
      [{ ...SMS, charset: "no-such-charset" }, "400 Charset or body misformed, rejected"],
      [{ ...SMS, text: "a\0b" }, "400 Charset or body misformed, rejected"],
      [{ ...SMS, "meta-data": "?own?x=\0&" }, "400 Charset or body misformed, rejected"],
      [{ ...SMS, deferred: "99999999999999" }, "400 Deferred must be at most 35 days ahead, rejected"],
      [{ ...SMS, text: "" }, "400 Text is empty, rejected"],
      [{ ...SMS, from: "a sender <b>" }, "400 Sender must be an E.164 number, a short code, or a name of up to 11 characters, rejected"],
    ];
    for (const [parameters, expected, user] of rows) assert.equal(shown(await sendsms(parameters, user)), expected);
    assert.equal((await messages()).length, count);
    await until("the refusal in the request log", async () => {
      const logged = JSON.stringify(await godwit.rows("select * from request_log"));
      return logged.includes("Coding field misformed, rejected") && !logged.includes(USER.password) ? logged : undefined;
    });
  });

  test("sends to several receivers, and names those that it denies", async () => {
    const reply = await sendsms({ ...SMS, to: "0014155550131 +14155550132 x<i>" });
    assert.equal(shown(reply), "202 Sent. Denied receivers are: x&lt;i&gt;");
    assert.deepEqual(
      (await messages())
        .slice(0, 2)
        .map(({ recipient }) => String(recipient))
        .toSorted((one, other) => (one < other ? -1 : 1)),
      ["+14155550131", "+14155550132"],
    );
  });

  test("repeats a request with an idempotency key without a second message", async () => {
    const path = `/cgi-bin/sendsms?${new URLSearchParams({ ...USER, ...SMS, text: "once" }).toString()}`;
    const idempotencyKey = "3f0c1a52-7d61-4f6c-9a51-6f0f0e9c9b11";
    for (const expected of ["0: Accepted for delivery", "0: Accepted for delivery"])
      assert.equal((await godwit.request("GET", path, { idempotencyKey, isDeclared: false })).text, expected);
    assert.equal((await messages()).filter(({ body }) => body === "once").length, 1);
  });

  test("sends nothing for HEAD", async () => {
    const count = (await messages()).length;
    const reply = await fetch(`${godwit.url}/cgi-bin/sendsms?${new URLSearchParams({ ...USER, ...SMS }).toString()}`, { method: "HEAD" });
    assert.equal(reply.status, 400);
    assert.equal((await messages()).length, count);
  });

  test("keeps passwords out of the log and out of the request log", async () => {
    await sendsms({ ...SMS, coding: "1" });
    await sendsms(SMS, { username: "playsms", password: "wrong-secret-1" });
    const path = "/v1/requests?limit=100";
    const listed = await until("the requests in the log", async () => {
      const { text } = await godwit.request("GET", path, { key: await godwit.key() });
      return text.includes("kannelSendsms") ? text : undefined;
    });
    const logged = JSON.stringify(godwit.logs);
    for (const secret of [USER.password, "wrong-secret-1"]) assert.ok(!listed.includes(secret) && !logged.includes(secret));
  });
});

describe("reports", () => {
  const report = async (to: string, mask: string, path: string): Promise<void> => {
    const url = callback(`${path}?type=%d&to=%p&from=%P&id=%F&text=%a&smsc=%i&data=%D&percent=%%`);
    const reply = await sendsms({ ...SMS, to, from: "Godwit", "dlr-url": url, "dlr-mask": mask, "meta-data": "?own?order=7&" });
    assert.equal(reply.status, 202);
  };

  test("call the URL of the message for the bits of its mask", async () => {
    await report(RECIPIENTS.delivered.slice(1), "25", "/delivered");
    const found = await called("/delivered", 2);
    // Reports arrive in any order.
    const byType = Object.fromEntries(found.map(({ url }) => [url.searchParams.get("type"), Object.fromEntries(url.searchParams)]));
    assert.deepEqual(Object.keys(byType), ["1", "8"]);
    const { 1: delivered } = byType;
    assert.equal(delivered?.["to"], RECIPIENTS.delivered.slice(1));
    assert.equal(delivered["from"], "Godwit");
    assert.equal(delivered["smsc"], "simulator");
    assert.equal(delivered["data"], "?own?order=7&?orig_msg?dlr_mask=25&");
    assert.match(String(delivered["text"]), /^id:\S+ sub:001 dlvrd:001 stat:DELIVRD err:000 text:$/);
    assert.equal(delivered["id"], /^id:(\S+)/.exec(String(delivered["text"]))?.[1]);
  });

  test("say why a message failed, and leave out what the mask does not name", async () => {
    await report(RECIPIENTS.undelivered.slice(1), "3", "/undelivered");
    await report(RECIPIENTS.refused.slice(1), "16", "/refused");
    const [[undelivered], [refused]] = await Promise.all([called("/undelivered"), called("/refused")]);
    assert.equal(undelivered?.url.searchParams.get("type"), "2");
    assert.equal(refused?.url.searchParams.get("type"), "16");
    assert.match(refused.url.searchParams.get("text") ?? "", /^NACK\/sim-002\//);
    assert.equal(calls.filter(({ url }) => url.pathname === "/undelivered").length, 1);
  });

  test("are recorded as deliveries of the endpoint of their user", async () => {
    const credentials = recordOf(await godwit.request("GET", "/v1/compatible_credentials", { key }), 200)["data"] as Record<
      string,
      unknown
    >[];
    const user = credentials.find(({ user_name: name }) => name === "playsms");
    const path = `/v1/webhook_endpoints/${String(user?.["endpoint_id"])}`;
    const endpoint = recordOf(await godwit.request("GET", path, { key }), 200);
    assert.deepEqual([endpoint["source"], endpoint["url"]], ["kannel", ""]);
    await until("a recorded delivery", async () => {
      const { data } = recordOf(await godwit.request("GET", `${path}/deliveries?status=succeeded`, { key }), 200);
      return (data as unknown[]).length > 0 ? true : undefined;
    });
    assert.equal((await godwit.request("PATCH", path, { key, body: { url: "https://example.com/" } })).status, 400);
  });
});

describe("inbound messages", () => {
  test("are passed to the get-url and the post-url of users", async () => {
    const other = await godwit.key({ account: "inbound" });
    const settings = {
      "get-url": callback("/get?from=%p&to=%P&text=%a&word=%k&rest=%r&service=%n&coding=%c&charset=%C"),
      "max-messages": "0",
    };
    const post = { "post-url": callback("/post"), "max-messages": "0", name: "sports" };
    const users = [
      { user_name: "getter", secret: "a-password-1", settings },
      { user_name: "poster", secret: "a-password-2", settings: post },
    ];
    for (const user of users)
      recordOf(await godwit.request("POST", "/v1/compatible_credentials", { key: other, body: { source: "kannel", ...user } }), 201);
    const reply = await sendsms({ ...SMS, to: REPLIES.slice(1) }, { username: "getter", password: "a-password-1" });
    assert.equal(reply.status, 202);
    const [[get], [posted]] = await Promise.all([called("/get"), called("/post")]);
    assert.deepEqual(Object.fromEntries(get?.url.searchParams ?? []), {
      from: REPLIES,
      to: "12345",
      text: "Thank you, got it.",
      word: "Thank",
      rest: "you, got it.",
      service: "default",
      coding: "0",
      charset: "UTF-8",
    });
    assert.equal(posted?.body, "Thank you, got it.");
    assert.equal(posted.headers["x-kannel-from"], REPLIES);
    assert.equal(posted.headers["x-kannel-service"], "sports");
    assert.equal(posted.headers["x-kannel-coding"], "0");
  });
});

describe("credentials", () => {
  test("are refused with the faults of their settings", async () => {
    const faults = async (body: object): Promise<unknown> => {
      const { json } = await create(body);
      return (json["errors"] as { pointer: string; code: string }[]).map(({ pointer, code }) => `${pointer} ${code}`);
    };
    assert.deepEqual(await faults({}), ["/user_name required"]);
    assert.deepEqual(await faults({ user_name: "x1", settings: { "get-url": "https://example.com/" } }), [
      "/settings/max-messages required",
    ]);
    assert.deepEqual(await faults({ user_name: "x1", settings: { color: "red" } }), ["/settings/color unknown_field"]);
    const refused = await create({ user_name: "x1", settings: { "get-url": "http://10.1.1.1/", "max-messages": "0" } });
    assert.equal(refused.json["code"], "endpoint_url_refused");
    assert.equal((await create({ user_name: "playsms" })).json["code"], "already_exists");
  });

  test("stop working when they are revoked, and free their user name", async () => {
    const created = recordOf(await create({ user_name: "leaving" }), 201);
    const user = { username: "leaving", password: String(created["secret"]) };
    assert.equal((await sendsms(SMS, user)).status, 202);
    const path = `/v1/compatible_credentials/${String(created["id"])}`;
    const revoked = recordOf(await godwit.request("DELETE", path, { key }), 200);
    assert.notEqual(revoked["revoked_at"], null);
    assert.deepEqual(recordOf(await godwit.request("DELETE", path, { key }), 200), revoked);
    assert.equal((await sendsms(SMS, user)).status, 403);
    recordOf(await create({ user_name: "leaving" }), 201);
    const audited = recordOf(await godwit.request("GET", "/v1/audit_events", { key }), 200)["data"] as { action: string }[];
    assert.ok(audited.some(({ action }) => action === "compatible_credential.revoked"));
  });
});

describe("the status pages", () => {
  test("have a password that sends nothing, and that its user name does not reveal", async () => {
    const secret = "a-status-password";
    const { user_name: username, scopes } = recordOf(await create({ secret, settings: { status: "true" } }), 201);
    assert.deepEqual(scopes, ["usage:read", "links:read"]);
    assert.equal(shown(await sendsms(SMS, { username: String(username), password: secret })), "403 Authorization failed for sendsms");
    const digest = createHash("sha256").update(`godwit kannel status ${secret}`).digest("hex");
    assert.ok(!digest.startsWith(String(username).replace("status-", "")));
    const refused = await create({ settings: { status: "true" }, scopes: ["messages:send"] });
    assert.deepEqual([refused.status, refused.json["code"]], [400, "invalid_request_payload"]);
  });

  test("have the lines and elements that monitoring scripts read", async () => {
    const created = recordOf(await create({ settings: { status: "true" } }), 201);
    const page = (path: string, password = String(created["secret"])): Promise<Reply> =>
      godwit.request("GET", `${path}?password=${password}`, { isDeclared: false });
    const text = await page("/status.txt");
    assert.equal(text.headers.get("content-type"), "text/plain");
    assert.match(text.text, /^Status: running, uptime \d+d \d+h \d+m \d+s$/m);
    assert.match(text.text, /^SMS: received \d+ \(\d+ queued\), sent [1-9]\d* \(\d+ queued\), store size \d+$/m);
    assert.match(text.text, /^SMSC connections:\n {4}simulator\[simulator\] {4}simulator \(online \d+s, rcvd: sms 0 /m);
    const { text: xml } = await page("/status.xml");
    assert.match(xml, /<gateway>[^]*<sms>[^]*<sent><total>\d+<\/total><queued>\d+<\/queued><\/sent>[^]*<smscs><count>1<\/count>/);
    assert.match((await page("/status.html")).text, /<p>SMS: received/);
    assert.equal((await page("/status")).headers.get("content-type"), "text/html");
    assert.equal((await page("/status.txt", "wrong-password-of-16")).status, 403);
  });
});
