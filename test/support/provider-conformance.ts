/** Tests of the contract that every provider must keep, on links that the test of the provider opens. The provider is the real one; its
 *  carrier may be a fake. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { within } from "../../src/lib/wait.ts";
import {
  RECEIPT_STATUSES,
  type Connection,
  type Host,
  type Outgoing,
  type Receipt,
  type SendOutcome,
} from "../../src/providers/provider.ts";
import { until } from "./expect.ts";
import { has, mayLeave, outgoing, RecordingHost, settled } from "./recording-host.ts";

type Channel = Outgoing["channel"];

export type ProviderUnderTest = {
  name: string;
  /** The channels of the provider; each is tested. */
  channels: readonly Channel[];
  /** Opens a link to a carrier that responds and sends receipts within about a second. Each test opens a new link. */
  open: (host: Host) => Promise<Connection>;
  /** Opens a link to a carrier that accepts messages and does not respond within the limits of this suite. */
  openMute: (host: Host) => Promise<Connection>;
  /** The recipient for each outcome of the first attempt. */
  recipients: {
    /** Accepted, then a receipt `delivered`. */
    delivered: string;
    /** Accepted, then a receipt `undelivered` with an error. */
    undelivered: string;
    /** Refused permanently. */
    refused: string;
    throttled: string;
    /** Outcome `unknown`, without an abort. */
    unknown: string;
    /** Accepted; then the recipient replies, and the carrier passes the reply on. Absent if the channel has no replies. */
    replies?: string;
  };
  /** The receipts of the carrier contain our reference, so that a receipt `delivered` resolves an outcome `unknown`. */
  givesReferenceBack: boolean;
};

// Longer than the pause between two attempts to pass the same receipts.
const QUIET_MS = 1_500;
// The time without a response after which a carrier counts as silent.
const SILENCE_MS = 50;
const FEW = 10;
const MANY = 500;

/** Opens a link for a test, and closes it also when the test fails, because an open link would keep the process alive. */
async function onLink(open: ProviderUnderTest["open"], host: Host, run: (connection: Connection) => Promise<void>): Promise<void> {
  const connection = await settled(open(host), "open");
  try {
    await run(connection);
  } finally {
    await settled(connection.close(), "close");
  }
}

async function send(connection: Connection, message: Outgoing, signal = new AbortController().signal): Promise<SendOutcome> {
  const outcome = await settled(connection.send(message, signal, mayLeave), "a send");
  assertOutcome(outcome);
  return outcome;
}

const isText = (value: unknown): boolean => typeof value === "string" && value !== "";
const isTextOrNull = (value: unknown): boolean => value === null || isText(value);

function assertError({ code, message, providerCode, isPermanent }: NonNullable<Receipt["error"]>): void {
  assert.match(code, /^[a-z][a-z0-9_]*$/);
  assert.ok(isText(message));
  assert.ok(isTextOrNull(providerCode));
  assert.equal(typeof isPermanent, "boolean");
}

function assertOutcome(outcome: SendOutcome): void {
  switch (outcome.kind) {
    case "accepted":
      return assert.ok(isText(outcome.providerMessageId));
    case "refused":
      return assertError(outcome);
    case "throttled":
      assert.ok(["link", "recipient"].includes(outcome.scope));
      assert.ok(isTextOrNull(outcome.providerCode));
      return assert.ok(outcome.retryAfterMs === null || (Number.isFinite(outcome.retryAfterMs) && outcome.retryAfterMs >= 0));
    case "unknown":
      return assert.ok(isText(outcome.detail));
    case "withdrawn":
      return undefined;
    default:
      assert.fail(`unknown kind of outcome: ${JSON.stringify(outcome satisfies never)}`);
  }
}

function assertReceipt({ providerMessageId, reference, status, error, raw }: Receipt, body: string): void {
  assert.ok(RECEIPT_STATUSES.includes(status), `the status ${status}`);
  assert.ok(isTextOrNull(providerMessageId) && isTextOrNull(reference));
  assert.ok(providerMessageId !== null || reference !== null, "a receipt identifies its message");
  if (error !== null) assertError(error);
  for (const value of Object.values(raw)) assert.equal(typeof value, "string");
  assert.ok(!JSON.stringify(raw).includes(body), "the raw receipt for the timeline does not contain the text of the message");
}

function describeOutcomes({ open, recipients, givesReferenceBack }: ProviderUnderTest, channel: Channel): void {
  const to = (recipient: string): Outgoing => outgoing({ channel, recipient });

  async function receiptsOf(message: Outgoing, kind: SendOutcome["kind"], status: Receipt["status"]): Promise<Receipt[]> {
    const host = new RecordingHost();
    let receipts: Receipt[] = [];
    await onLink(open, host, async (connection) => {
      const outcome = await send(connection, message);
      assert.equal(outcome.kind, kind);
      receipts = await host.until(message, outcome, has(status));
    });
    for (const receipt of receipts) assertReceipt(receipt, message.body);
    return receipts;
  }

  test(`${channel}: an accepted message has a carrier id, and its receipts are passed to the host`, async () => {
    await receiptsOf(to(recipients.delivered), "accepted", "delivered");
  });

  test(`${channel}: an undeliverable message has a receipt with the status undelivered and the reason`, async () => {
    const receipts = await receiptsOf(to(recipients.undelivered), "accepted", "undelivered");
    assert.ok(receipts.find(({ status }) => status === "undelivered")?.error);
  });

  test(`${channel}: a permanent refusal, throttling and an unknown outcome are distinguished`, () =>
    onLink(open, new RecordingHost(), async (connection) => {
      const refused = await send(connection, to(recipients.refused));
      assert.ok(refused.kind === "refused" && refused.isPermanent, JSON.stringify(refused));
      assert.equal((await send(connection, to(recipients.throttled))).kind, "throttled");
      assert.equal((await send(connection, to(recipients.unknown))).kind, "unknown");
    }));

  if (!givesReferenceBack) return;
  test(`${channel}: a receipt resolves an unknown outcome by our reference`, async () => {
    await receiptsOf(to(recipients.unknown), "unknown", "delivered");
  });
}

/** Asserts that a closed link passes neither receipts nor messages. */
async function assertQuiet({ calls, messageCalls }: RecordingHost): Promise<void> {
  const before = [calls.length, messageCalls.length];
  await sleep(QUIET_MS);
  assert.deepEqual([calls.length, messageCalls.length], before, "the link passed something after close");
}

/** Messages of the right type that a carrier may refuse. */
const ODD_MESSAGES: readonly (readonly [what: string, fields: Partial<Outgoing>])[] = [
  ["no text", { body: "" }],
  ["a very long text", { body: "a".repeat(100_000) }],
  ["emoji", { body: "👩‍👩‍👧‍👦🏳️‍🌈".repeat(300) }],
  ["an unpaired surrogate", { body: "a\ud83d" }],
  ["control characters", { body: "\u0000\u001b\r\n\u2028" }],
  ["an alphanumeric sender", { sender: "Godwit" }],
  ["an invalid sender", { sender: "\u0000".repeat(100) }],
  ["many earlier attempts", { attempt: 100 }],
  ["an expired time to live", { expiresAtMs: 0 }],
];

function describeSending({ open, openMute, recipients }: ProviderUnderTest, channel: Channel): void {
  const message = (fields: Partial<Outgoing> = {}): Outgoing => outgoing({ channel, recipient: recipients.delivered, ...fields });

  for (const [what, fields] of ODD_MESSAGES) {
    test(`${channel}: a message with ${what} has an outcome`, () =>
      onLink(open, new RecordingHost(), async (connection) => {
        await send(connection, message(fields));
      }));
  }

  test(`${channel}: a full window of concurrent messages has an outcome for each message, and different carrier ids`, () =>
    onLink(open, new RecordingHost(), async (connection) => {
      assert.ok(Number.isSafeInteger(connection.window) && connection.window > 0);
      const outcomes: SendOutcome[] = [];
      while (outcomes.length < MANY) {
        const sends = Array.from({ length: connection.window }, () => send(connection, message()));
        outcomes.push(...(await Promise.all(sends)));
      }
      const ids = outcomes.flatMap((outcome) => (outcome.kind === "accepted" ? [outcome.providerMessageId] : []));
      assert.ok(ids.length > 0, "no message was accepted");
      assert.equal(new Set(ids).size, ids.length);
    }));

  for (const [what, openOne] of [
    ["responding", open],
    ["silent", openMute],
  ] as const) {
    test(`${channel}: a send to a ${what} carrier that is aborted before its start does not begin`, () =>
      onLink(openOne, new RecordingHost(), async (connection) => {
        const begin = async (): Promise<boolean> => assert.fail("the message begins");
        const { kind } = await settled(connection.send(message(), AbortSignal.abort(), begin), "a send aborted before its start");
        assert.ok(["throttled", "unknown"].includes(kind), kind);
      }));
  }

  test(`${channel}: an accepted message begins once`, () =>
    onLink(open, new RecordingHost(), async (connection) => {
      let begun = 0;
      const begin = async (): Promise<boolean> => (begun += 1) > 0;
      const outcome = await settled(connection.send(message(), new AbortController().signal, begin), "a send");
      assert.deepEqual([outcome.kind, begun], ["accepted", 1]);
    }));

  test(`${channel}: a message that may not begin is withdrawn, and the carrier does not receive it`, async () => {
    const host = new RecordingHost();
    await onLink(open, host, async (connection) => {
      const begin = async (): Promise<boolean> => false;
      const outcome = await settled(connection.send(message(), new AbortController().signal, begin), "a send");
      assert.equal(outcome.kind, "withdrawn");
      // By the time another message is delivered the carrier would have sent a receipt for this one too.
      const other = message();
      await host.until(other, await send(connection, other), has("delivered"));
    });
    assert.equal(host.receipts.filter(({ status }) => status === "delivered").length, 1);
  });

  test(`${channel}: a send that is aborted while the carrier is silent has an unknown outcome at once`, () =>
    onLink(openMute, new RecordingHost(), async (connection) => {
      const limit = new AbortController();
      let begun = 0;
      const begin = async (): Promise<boolean> => (begun += 1) > 0;
      const sends = Array.from({ length: Math.min(connection.window, FEW) }, () => connection.send(message(), limit.signal, begin));
      await until("all messages to begin", () => begun === sends.length);
      assert.equal(await within(Promise.race(sends), SILENCE_MS), undefined, "the carrier is silent");
      limit.abort();
      const outcomes = await settled(Promise.all(sends), "an aborted send");
      for (const { kind } of outcomes) assert.equal(kind, "unknown");
    }));
}

function describeReceipts({ open, recipients }: ProviderUnderTest, channel: Channel): void {
  test(`${channel}: receipts that are not acknowledged are passed again`, async () => {
    const host = new RecordingHost().behave("rejects");
    await onLink(open, host, async (connection) => {
      const message = outgoing({ channel, recipient: recipients.delivered });
      const outcome = await send(connection, message);
      await host.untilCalled();
      assert.deepEqual(host.receipts, []);
      const refused = host.calls.flat();
      host.behave("accepts");
      for (const { status } of refused) await host.until(message, outcome, has(status));
      await host.until(message, outcome, has("delivered"));
    });
  });
}

const E164 = /^\+[1-9]\d{6,14}$/;

function describeInbound({ open, recipients: { replies: recipient } }: ProviderUnderTest, channel: Channel): void {
  if (recipient === undefined) return;
  const message = (): Outgoing => outgoing({ channel, recipient, sender: "+14155550100" });
  const idOf = (outcome: SendOutcome): string => (outcome.kind === "accepted" ? outcome.providerMessageId : assert.fail(outcome.kind));

  test(`${channel}: a reply is passed to the host, with its sender, its recipient and the message that it replies to`, async () => {
    const host = new RecordingHost();
    await onLink(open, host, async (connection) => {
      const id = idOf(await send(connection, message()));
      await host.untilReceived(1);
      for (const { providerMessageId, from, to, text, inReplyTo, channel: on } of host.messages) {
        assert.deepEqual([from, to, on, inReplyTo], [recipient, "+14155550100", channel, id]);
        assert.match(from, E164);
        assert.ok(isTextOrNull(providerMessageId) && typeof text === "string");
        assert.notEqual(providerMessageId, id, "the reply has a different id");
      }
    });
  });

  test(`${channel}: a reply that is not acknowledged is passed again with the same id`, async () => {
    const host = new RecordingHost();
    host.behave("rejects");
    await onLink(open, host, async (connection) => {
      await send(connection, message());
      await until("the first call", () => host.messageCalls.length > 0);
      assert.deepEqual(host.messages, []);
      const [refused = []] = host.messageCalls;
      await until("a second call", () => host.messageCalls.length > 1);
      host.behave("accepts");
      await host.untilReceived(1);
      for (const each of refused)
        assert.deepEqual(
          host.messages.filter(({ providerMessageId: id }) => id === each.providerMessageId),
          [each],
        );
    });
  });

  for (const behavior of ["rejects", "hangs"] as const) {
    test(`${channel}: close settles when the host ${behavior} on a reply, and no message is passed after it`, async () => {
      const host = new RecordingHost();
      await onLink(open, host, async (connection) => {
        host.behave(behavior);
        await send(connection, message());
        await host.untilCalled();
      });
      await assertQuiet(host);
    });
  }
}

function describeClosing({ open, recipients }: ProviderUnderTest, channel: Channel): void {
  const message = (): Outgoing => outgoing({ channel, recipient: recipients.delivered });

  test(`${channel}: a link that was never used closes`, () => onLink(open, new RecordingHost(), async () => undefined));

  test(`${channel}: close settles while receipts are outstanding, and no receipt is passed after it`, async () => {
    const host = new RecordingHost();
    await onLink(open, host, async (connection) => {
      await Promise.all(Array.from({ length: Math.min(connection.window, FEW) }, () => send(connection, message())));
    });
    await assertQuiet(host);
  });

  for (const behavior of ["rejects", "hangs"] as const) {
    test(`${channel}: close settles when the host ${behavior} on a receipt, and no receipt is passed after it`, async () => {
      const host = new RecordingHost().behave(behavior);
      await onLink(open, host, async (connection) => {
        await send(connection, message());
        await host.untilCalled();
      });
      await assertQuiet(host);
    });
  }
}

export function describeProvider(provider: ProviderUnderTest): void {
  // Each test has its own link, and waits most of the time.
  describe(`${provider.name} keeps the contract of a provider`, { concurrency: true }, () => {
    for (const channel of provider.channels) {
      describeOutcomes(provider, channel);
      describeSending(provider, channel);
      describeReceipts(provider, channel);
      describeInbound(provider, channel);
      describeClosing(provider, channel);
    }
  });
}
