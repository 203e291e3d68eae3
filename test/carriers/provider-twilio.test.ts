import assert from "node:assert/strict";
import { test } from "node:test";
import { pause, poll } from "../../src/lib/wait.ts";
import type { Connection, SendOutcome } from "../../src/providers/provider.ts";
import { twilio, TWILIO_DEFAULTS, type TwilioSettings } from "../../src/providers/twilio/twilio.ts";
import { LIMIT_MS } from "../support/expect.ts";
import type { CarrierBehavior } from "../support/fakes/http-carrier.ts";
import { RecordingHost, mayLeave, outgoing, settled, type OutgoingFields } from "../support/recording-host.ts";
import { FakeTwilio, twilioError, TWILIO_SECRETS } from "../support/fakes/twilio.ts";

const never = new AbortController().signal;
const TO = "+4915112345678";
const CALLBACK = "https://godwit.example/providers/twilio/main";

type Rig = { carrier: FakeTwilio; connection: Connection; host: RecordingHost };

async function onLink(run: (rig: Rig) => Promise<void>, fields: Partial<TwilioSettings> = {}): Promise<void> {
  const carrier = await new FakeTwilio().listen();
  const host = new RecordingHost();
  const base = {
    ...TWILIO_DEFAULTS,
    ...TWILIO_SECRETS,
    baseUrl: carrier.url,
    messagingServiceSid: null,
    statusCallbackUrl: null,
    partsPerSecond: 1_000,
  };
  const connection = await twilio.open({ ...base, ...fields }, host);
  try {
    await run({ carrier, connection, host });
  } finally {
    await settled(connection.close(), "close");
    await carrier.close();
  }
}

const send = (connection: Connection, fields: OutgoingFields = {}): Promise<SendOutcome> =>
  settled(connection.send(outgoing({ recipient: TO, sender: "+14155550100", ...fields }), never, mayLeave), "a send");

/** The request that the carrier received for a message. */
async function formOf(fields: OutgoingFields, settings: Partial<TwilioSettings> = {}): Promise<Record<string, string>> {
  let form: Record<string, string> = {};
  await onLink(async ({ carrier, connection }) => {
    assert.equal((await send(connection, fields)).kind, "accepted");
    [form = {}] = carrier.messages;
  }, settings);
  return form;
}

test("a message is sent as a form, with our id in the callback URL", async () => {
  // The port is closed, so reports are lost.
  const statusCallbackUrl = "http://127.0.0.1:1/providers/twilio/main";
  await onLink(
    async ({ carrier, connection }) => {
      carrier.behaviors.set(TO, { kind: "responds", status: 201, body: '{"sid":"SM1"}' });
      assert.deepEqual(await send(connection, { id: "msg_1", body: "Hello & good-bye 👋" }), {
        kind: "accepted",
        providerMessageId: "SM1",
      });
      const [seen] = carrier.seen;
      assert.equal(seen?.path, `/2010-04-01/Accounts/${TWILIO_SECRETS.accountSid}/Messages.json`);
      assert.equal(seen.headers["content-type"], "application/x-www-form-urlencoded");
      const { ValidityPeriod: seconds, ...form } = carrier.messages[0] ?? {};
      assert.ok(Number(seconds) > 3_500 && Number(seconds) <= 3_600);
      assert.deepEqual(form, {
        To: TO,
        From: "+14155550100",
        Body: "Hello & good-bye 👋",
        StatusCallback: `${statusCallbackUrl}?reference=msg_1#rc=5&rp=5xx,ct,rt`,
      });
    },
    { statusCallbackUrl },
  );
});

test("a message without a sender is sent through the messaging service, if one is configured", async () => {
  const service = { messagingServiceSid: "MG01" };
  assert.deepEqual(
    [await formOf({ sender: null }, service), await formOf({}, service), await formOf({ sender: null })].map((form) => [
      form["From"],
      form["MessagingServiceSid"],
    ]),
    [
      [undefined, "MG01"],
      ["+14155550100", undefined],
      [undefined, undefined],
    ],
  );
});

for (const [what, afterMs, seconds] of [
  ["has ended", -1_000, "1"],
  ["ends in days", 200_000_000, "36000"],
] as const)
  test(`a message whose time to live ${what} is valid for ${seconds} s`, async () => {
    assert.equal((await formOf({ expiresAtMs: Date.now() + afterMs }))["ValidityPeriod"], seconds);
  });

type Row = readonly [code: number, status: number, expected: string];

const ROWS: readonly Row[] = [
  [20429, 429, "throttled"],
  [99999, 429, "throttled"],
  [14107, 400, "throttled"],
  [21611, 400, "throttled"],
  [30001, 400, "throttled"],
  [20003, 401, "paused"],
  [99999, 401, "paused"],
  [20005, 403, "paused"],
  [20404, 404, "paused"],
  [30002, 400, "paused"],
  [21701, 400, "paused"],
  [21703, 400, "paused"],
  [21704, 400, "paused"],
  [21705, 400, "paused"],
  [21211, 400, "refused invalid_destination"],
  [21214, 400, "refused invalid_destination"],
  [21217, 400, "refused invalid_destination"],
  [21614, 400, "refused invalid_destination"],
  [21408, 400, "refused destination_not_permitted"],
  [21608, 400, "refused destination_not_permitted"],
  [21612, 400, "refused destination_unreachable"],
  [21610, 400, "refused recipient_opted_out"],
  [21606, 400, "refused invalid_sender"],
  [21617, 400, "refused rejected_by_carrier"],
  [99999, 400, "refused rejected_by_carrier"],
];

const summary = (outcome: SendOutcome, kind: string | undefined): string => {
  if (outcome.kind === "throttled") return kind === "paused" ? kind : outcome.kind;
  return outcome.kind === "refused" ? `refused ${outcome.code}${outcome.isPermanent ? "" : " temporarily"}` : outcome.kind;
};

for (const [code, status, expected] of ROWS)
  test(`code ${code} with HTTP ${status} is ${expected}`, () =>
    onLink(async ({ carrier, connection }) => {
      carrier.behaviors.set(TO, twilioError(code, status));
      const outcome = await send(connection);
      assert.equal(summary(outcome, connection.state?.kind), expected);
      assert.ok((outcome.kind === "refused" || outcome.kind === "throttled") && outcome.providerCode === String(code));
      assert.ok(!JSON.stringify(outcome).includes("as Twilio says it"), "Twilio's error text quotes numbers");
    }));

const UNKNOWN: readonly (readonly [what: string, behavior: CarrierBehavior])[] = [
  ["no response in time", { kind: "is silent" }],
  ["a response that is too slow", { kind: "responds", status: 201, body: '{"sid":"SM1"}', afterMs: 2_000 }],
  ["a connection that ends", { kind: "disconnects" }],
  ["a response that is not HTTP", { kind: "sends garbage" }],
  ["a truncated success response", { kind: "truncates", status: 201, body: '{"sid":' }],
  ["a success response without a SID", { kind: "responds", status: 201, body: '{"sid":null}' }],
  ["a success response that is not JSON", { kind: "responds", status: 201, body: "<html>" }],
  ["a gateway's 502", { kind: "responds", status: 502, body: "<html>Bad gateway</html>" }],
  ["an empty 500", { kind: "responds", status: 500, body: "" }],
  ["a 500 with Twilio's code", twilioError(20500, 500)],
  ["a 503 with Twilio's code", twilioError(20503, 503)],
  ["a 503 with a code that means a definite refusal with another status", twilioError(21211, 503)],
  ["a 500 without a code", { kind: "responds", status: 500, body: '{"message":"upstream"}' }],
];

for (const [what, behavior] of UNKNOWN)
  test(`${what} is an unknown outcome, and nothing is sent twice`, () =>
    onLink(
      async ({ carrier, connection }) => {
        carrier.behaviors.set(TO, behavior);
        assert.equal((await send(connection)).kind, "unknown");
        assert.equal(carrier.seen.length, 1);
      },
      { timeoutMs: 300 },
    ));

test("when the port is closed, nothing has left and the refusal is temporary", () =>
  onLink(
    async ({ connection }) => {
      const outcome = await send(connection);
      assert.ok(outcome.kind === "throttled" && outcome.scope === "link" && outcome.providerCode === "carrier_unreachable");
    },
    { baseUrl: "http://127.0.0.1:1" },
  ));

test("the link waits for the time in Retry-After", () =>
  onLink(async ({ carrier, connection }) => {
    carrier.behaviors.set(TO, twilioError(20429, 429, { "retry-after": "3" }));
    assert.deepEqual(await send(connection), { kind: "throttled", scope: "link", retryAfterMs: 3_000, providerCode: "20429" });
  }));

test("the rate counts segments", () =>
  onLink(
    async ({ carrier, connection }) => {
      const long = { body: "a".repeat(400) };
      const startedAt = performance.now();
      await Promise.all([send(connection, long), send(connection, long), send(connection, { body: "short" }), send(connection)]);
      const took = Math.max(...carrier.seen.map(({ atMs }) => atMs)) - startedAt;
      // Three segments, three segments and one before the last, at 20 per second.
      assert.ok(took >= 300, `took ${took} ms`);
    },
    { partsPerSecond: 20 },
  ));

test("no second has more messages than the rate, although slow commits end together", () =>
  onLink(
    async ({ connection }) => {
      const perSecond = 5;
      const startedAt = performance.now();
      const begins: { calledAt: number; endedAt: number }[] = [];
      const begin = async (): Promise<boolean> => {
        const calledAt = performance.now();
        // The database is slow in the first second.
        await pause(startedAt + 1_000 - calledAt, never);
        begins.push({ calledAt, endedAt: performance.now() });
        return true;
      };
      await Promise.all(Array.from({ length: 12 }, () => connection.send(outgoing({ recipient: TO }), never, begin)));
      for (const { calledAt } of begins) {
        // A message is written when its commit has ended, and not before.
        const count = begins.filter(({ endedAt }) => endedAt <= calledAt && endedAt > calledAt - 1_000).length;
        assert.ok(count < perSecond, `${count} messages in the second before the next one`);
      }
    },
    { partsPerSecond: 5 },
  ));

test("a message that waits for the rate when another node gets the link is not sent and not refused", () =>
  onLink(
    async ({ carrier, connection, host }) => {
      const sends = [send(connection), send(connection), send(connection)];
      await sends[0];
      host.isLeaseHeld = false;
      for (const outcome of (await Promise.all(sends)).slice(1))
        assert.deepEqual(outcome, { kind: "throttled", scope: "link", retryAfterMs: 1_000, providerCode: "link_elsewhere" });
      assert.equal(carrier.messages.length, 1);
    },
    { partsPerSecond: 5 },
  ));

test("nothing is open after close", () =>
  onLink(async ({ carrier, connection }) => {
    await Promise.all(Array.from({ length: 10 }, () => send(connection)));
    assert.ok(carrier.connections > 0);
    await connection.close();
    const areGone = await poll(async () => (carrier.connections === 0 ? true : undefined), { timeoutMs: LIMIT_MS, everyMs: 5 });
    assert.ok(areGone);
  }));

test("a message at the carrier gets its response also when its link is closed meanwhile, and then nothing is open", () =>
  onLink(async ({ carrier, connection }) => {
    const body = JSON.stringify({ sid: "SM1", status: "queued" });
    carrier.behaviors.set(TO, { kind: "responds", status: 201, body, afterMs: 300 });
    const outcome = send(connection);
    await poll(async () => carrier.seen[0], { timeoutMs: LIMIT_MS, everyMs: 5 });
    await connection.close();
    assert.equal((await outcome).kind, "accepted");
    assert.ok(await poll(async () => (carrier.connections === 0 ? true : undefined), { timeoutMs: LIMIT_MS, everyMs: 5 }));
  }));

test("the log contains no secret, text or number", () =>
  onLink(
    async ({ carrier, connection, host }) => {
      for (const behavior of [twilioError(21211), { kind: "disconnects" }, twilioError(20003, 401)] as const) {
        carrier.behaviors.set(TO, behavior);
        await send(connection, { body: "the secret text" });
      }
      assert.notEqual(host.lines, "");
      const secrets = [TWILIO_SECRETS.authToken, btoa(`${TWILIO_SECRETS.accountSid}:${TWILIO_SECRETS.authToken}`)];
      for (const word of [...secrets, "the secret text", TO.slice(1)]) assert.ok(!host.lines.includes(word), word);
    },
    { statusCallbackUrl: CALLBACK },
  ));
