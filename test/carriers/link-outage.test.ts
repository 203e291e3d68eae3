/** Outages of a carrier with an HTTP API: what the link, the queue and the timelines of messages show until it can be reached again. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import { describe, test } from "node:test";
import { EMPTY_PLAN } from "../../src/links/plan.ts";
import { LinkDirectory } from "../../src/links/directory.ts";
import type { Link } from "../../src/links/link.ts";
import type { Connection, Provider, SendOutcome } from "../../src/providers/provider.ts";
import { twilio, TWILIO_DEFAULTS, type TwilioSettings } from "../../src/providers/twilio/twilio.ts";
import { LINK, linkTo, Rig } from "../support/delivery-rig.ts";
import { recipientNo } from "../support/recipient.ts";
import { until } from "../support/expect.ts";
import { RecordingHost, mayLeave, outgoing, settled } from "../support/recording-host.ts";
import { FakeTwilio, twilioError, TWILIO_SECRETS } from "../support/fakes/twilio.ts";
import { ScriptedCarrier } from "../support/scripted-carrier.ts";

// An address of its own: another test cannot take the port while the carrier is down.
const ADDRESS = "127.83.17.1";
const RECONNECT = { firstMs: 5, maxMs: 20 };
const TO = "+4915112345678";
const never = new AbortController().signal;

const settingsFor = (baseUrl: string): TwilioSettings => ({
  ...TWILIO_DEFAULTS,
  ...TWILIO_SECRETS,
  baseUrl,
  messagingServiceSid: null,
  statusCallbackUrl: null,
  partsPerSecond: 1_000,
  reconnect: RECONNECT,
});

async function withCarrier(run: (carrier: FakeTwilio) => Promise<void>): Promise<void> {
  const carrier = await new FakeTwilio().listen(ADDRESS);
  try {
    await run(carrier);
  } finally {
    await carrier.close();
  }
}

async function onLink(baseUrl: string, run: (connection: Connection, host: RecordingHost) => Promise<void>): Promise<void> {
  const host = new RecordingHost();
  const connection = await twilio.open(settingsFor(baseUrl), host);
  try {
    await run(connection, host);
  } finally {
    await settled(connection.close(), "close");
  }
}

const send = (connection: Connection, begin = mayLeave): Promise<SendOutcome> =>
  settled(connection.send(outgoing({ recipient: TO }), never, begin), "a send");

const UNREACHABLE = { kind: "throttled", scope: "link", retryAfterMs: RECONNECT.firstMs, providerCode: "carrier_unreachable" };

describe("a link whose carrier cannot be reached", () => {
  test("begins no message, and tries to connect without one", async () => {
    let attempts = 0;
    // The handshake fails each time, so the attempts can be counted.
    const server = createServer((socket) => {
      attempts += 1;
      socket.on("error", () => undefined).destroy();
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    let begun = 0;
    const begin = async (): Promise<boolean> => (begun += 1) > 0;
    await onLink(`https://127.0.0.1:${(server.address() as AddressInfo).port}`, async (connection) => {
      assert.deepEqual(await Promise.all([send(connection, begin), send(connection, begin)]), [UNREACHABLE, UNREACHABLE]);
      assert.equal(connection.isReady, false);
      assert.equal(connection.state?.kind, "connecting");
      await until("twenty attempts to connect", () => attempts >= 20);
      assert.equal(connection.isReady, false);
    });
    server.close();
    assert.equal(begun, 0);
  });

  test("sends one message at a time when it is connected again, until the carrier responds", () =>
    withCarrier(async (carrier) => {
      const comeBack = await carrier.goDown();
      await onLink(carrier.url, async (connection, host) => {
        const before = connection.window;
        assert.deepEqual(await send(connection), UNREACHABLE);
        await comeBack();
        await until("the link to be ready", () => connection.isReady);
        assert.deepEqual([connection.window, connection.state?.kind], [1, "connected"]);
        const changes = host.changes;
        assert.equal((await send(connection)).kind, "accepted");
        assert.equal(connection.window, before);
        assert.ok(host.changes > changes, "the lane is notified");
      });
      assert.equal(carrier.opened, 1, "the connection that showed the carrier to be there carries the message");
    }));

  test("sends one message at a time while the carrier throttles it", () =>
    withCarrier((carrier) =>
      onLink(carrier.url, async (connection) => {
        const before = connection.window;
        carrier.behaviors.set(TO, twilioError(20429, 429, { "retry-after": "0" }));
        assert.equal((await send(connection)).kind, "throttled");
        assert.equal(connection.window, 1);
        carrier.behaviors.delete(TO);
        await until("a message to be accepted", async () => (await send(connection)).kind === "accepted");
        assert.equal(connection.window, before);
      }),
    ));
});

const linkAt = (carrier: FakeTwilio, name = LINK): Link => ({ ...linkTo(name), settings: settingsFor(carrier.url) });
const carriers = { [LINK]: twilio as Provider<unknown> };

const untilState = (rig: Rig, link: string, state: string): Promise<unknown> =>
  until(
    `${link} to be ${state}`,
    async () => (await rig.rows("select from link_states where link = $1 and state = $2", [link, state])).length,
  );

const eventTypes = (rig: Rig): Promise<{ type: string; count: number }[]> =>
  rig.rows("select type, count(*) from events group by type order by type");

describe("an outage", () => {
  test("adds nothing to the timelines of queued messages, and all are sent after it", () =>
    withCarrier(async (carrier) => {
      await using rig = await Rig.open();
      const comeBack = await carrier.goDown();
      const messages = await rig.acceptMany(150, (index) => ({ recipient: recipientNo(index) }));
      await rig.deliver(carriers, { links: [linkAt(carrier)] });
      await untilState(rig, LINK, "connecting");
      assert.deepEqual(await eventTypes(rig), [{ type: "message.queued", count: messages.length }]);
      await comeBack();
      await until("all to be sent", async () => (await rig.count("sent")) === messages.length);
      assert.deepEqual(await eventTypes(rig), [
        { type: "message.queued", count: messages.length },
        { type: "message.sending", count: messages.length },
        { type: "message.sent", count: messages.length },
      ]);
      assert.equal(new Set(carrier.messages.map(({ To }) => To)).size, messages.length);
      await untilState(rig, LINK, "connected");
    }));

  test("ends the messages whose time to live passes", () =>
    withCarrier(async (carrier) => {
      await using rig = await Rig.open();
      await carrier.goDown();
      await rig.deliver(carriers, { links: [linkAt(carrier)] });
      const message = await rig.accept({ ttl_seconds: 1 });
      assert.equal((await rig.untilStatus(message, "expired")).attempts, 0);
    }));

  test("moves the messages to the next link of their route", () =>
    withCarrier(async (carrier) => {
      await using rig = await Rig.open();
      await carrier.goDown();
      const links = [linkAt(carrier, "a"), linkTo("b")];
      const linkDirectory = new LinkDirectory(linkTo("simulator"), { ...EMPTY_PLAN, links });
      const b = new ScriptedCarrier();
      const simulator = new ScriptedCarrier();
      await rig.deliver({ simulator, a: twilio, b }, { linkDirectory, downAfterMs: 300 });
      const message = await rig.accept({}, { linkDirectory, environment: "live" });
      const sent = await rig.untilStatus(message, "sent");
      assert.deepEqual([sent.provider?.link, sent.attempts], ["b", 1]);
    }));
});
