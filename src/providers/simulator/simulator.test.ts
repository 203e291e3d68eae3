import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { setImmediate as turn } from "node:timers/promises";
import { test } from "node:test";
import { LIMIT_MS } from "../../../test/support/expect.ts";
import { has, mayLeave, outgoing, RecordingHost, settled, type OutgoingFields } from "../../../test/support/recording-host.ts";
import { ManualTimers } from "../../../test/support/manual-timers.ts";
import { poll } from "../../lib/wait.ts";
import type { Connection, SendOutcome } from "../provider.ts";
import { SimulatedLink, simulator } from "./simulator.ts";

const FAST = 200;
// So slow that only closing the link passes receipts within a test.
const STANDSTILL = 1 / 1_000_000;

const never = new AbortController().signal;

type Run = (connection: Connection, host: RecordingHost, timers: ManualTimers) => Promise<void>;

/** Runs a test with a link whose time passes at once, and closes the link. */
async function onLink(speed: number, run: Run, host = new RecordingHost()): Promise<RecordingHost> {
  const timers = new ManualTimers();
  const connection = new SimulatedLink({ speed }, host, { timers });
  await timers.until(run(connection, host, timers));
  await timers.until(settled(connection.close(), "close"));
  return host;
}

/** Sends a message and closes the link. Returns the outcome and all receipts. */
async function play(fields: OutgoingFields & { recipient: string }, speed = FAST) {
  const message = outgoing(fields);
  let outcome: SendOutcome | undefined;
  const { receipts } = await onLink(speed, async (connection) => {
    outcome = await settled(connection.send(message, never, mayLeave), "a send");
  });
  assert.ok(outcome !== undefined);
  return { message, outcome, receipts, statuses: receipts.map(({ status }) => status) };
}

test("the receipts of an accepted message have the simulator's id of that message", async () => {
  const { outcome, receipts } = await play({ recipient: "+15005550006", channel: "whatsapp" });
  assert.ok(outcome.kind === "accepted");
  assert.match(outcome.providerMessageId, /^sim_[0-9A-Za-z]{20}$/);
  const about = { providerMessageId: outcome.providerMessageId, reference: null, error: null };
  assert.deepEqual(receipts, [
    { ...about, status: "delivered", raw: { id: outcome.providerMessageId, status: "DELIVRD" } },
    { ...about, status: "read", raw: { id: outcome.providerMessageId, status: "READ" } },
  ]);
});

test("a refusal is immediate and permanent, and no receipt follows it", async () => {
  const { outcome, receipts } = await play({ recipient: "+15005550002" });
  assert.deepEqual(outcome, {
    kind: "refused",
    code: "invalid_destination",
    message: "The number does not exist",
    providerCode: "sim-002",
    isPermanent: true,
  });
  assert.deepEqual(receipts, []);
  assert.equal((await play({ recipient: "+15005550003" })).outcome.kind, "refused");
});

test("the receipt of an undelivered message has our error and the carrier's own fields", async () => {
  const { receipts } = await play({ recipient: "+15005550005" });
  assert.equal(receipts.length, 1);
  assert.deepEqual(receipts[0]?.error, {
    code: "blocked_by_carrier",
    message: "The carrier blocked the message",
    providerCode: "sim-005",
    isPermanent: true,
  });
  assert.deepEqual(receipts[0]?.raw, { id: receipts[0]?.providerMessageId, status: "UNDELIV", error: "sim-005" });
  assert.equal((await play({ recipient: "+15005550009" })).receipts[0]?.error?.code, "landline_unreachable");
});

test("a message to the number without receipts is accepted and gets no receipt", async () => {
  const { outcome, receipts } = await play({ recipient: "+15005550007" });
  assert.equal(outcome.kind, "accepted");
  assert.deepEqual(receipts, []);
});

for (const [channel, order] of [
  ["sms", ["delivered", "sent", "delivered"]],
  ["whatsapp", ["read", "delivered", "read", "sent"]],
] as const) {
  for (const speed of [FAST, 1_000_000]) {
    test(`${channel}: the number with unordered receipts keeps their order at speed ${speed}`, async () => {
      const message = outgoing({ recipient: "+15005550011", channel });
      const { receipts } = await onLink(speed, async (connection, host) => {
        const outcome = await settled(connection.send(message, never, mayLeave), "a send");
        await host.until(message, outcome, ({ length }) => length >= order.length);
      });
      assert.deepEqual(
        receipts.map(({ status }) => status),
        order,
      );
    });
  }
}

test("throttling concerns the recipient, has a wait, and ends with the third attempt", async () => {
  const recipient = "+15005550012";
  const throttled = { kind: "throttled", scope: "recipient", retryAfterMs: 5, providerCode: "sim-012" };
  assert.deepEqual((await play({ recipient, attempt: 1 })).outcome, throttled);
  assert.deepEqual((await play({ recipient, attempt: 2 })).outcome, throttled);
  const third = await play({ recipient, attempt: 3 });
  assert.equal(third.outcome.kind, "accepted");
  assert.deepEqual(third.statuses, ["delivered"]);
});

test("a receipt with our reference and the carrier id resolves an unknown outcome", async () => {
  const { message, outcome, receipts } = await play({ recipient: "+15005550013" });
  assert.equal(outcome.kind, "unknown");
  assert.equal(receipts.length, 1);
  assert.equal(receipts[0]?.status, "delivered");
  assert.equal(receipts[0]?.reference, message.id);
  assert.match(receipts[0]?.providerMessageId ?? "", /^sim_/);
});

for (const channel of ["sms", "whatsapp"] as const) {
  test(`${channel}: a reply goes to the sender of the message, refers to the message, and follows its receipts`, async () => {
    const message = outgoing({ recipient: "+15005550008", sender: "+14155550100", channel });
    let outcome: SendOutcome | undefined;
    const order: string[] = [];
    const host = new RecordingHost();
    const [receive, receiveMessages] = [host.receive.bind(host), host.receiveMessages.bind(host)];
    host.receive = async (receipts) => {
      await receive(receipts);
      order.push(...receipts.map(({ status }) => status));
      return [];
    };
    host.receiveMessages = (messages) => receiveMessages(messages).then(() => void order.push(...messages.map(() => "reply")));
    await onLink(FAST, async (connection) => void (outcome = await connection.send(message, never, mayLeave)), host);
    assert.ok(outcome?.kind === "accepted");
    assert.deepEqual(order, channel === "sms" ? ["delivered", "reply"] : ["delivered", "read", "reply"]);
    const [reply, ...more] = host.messages;
    assert.deepEqual(more, []);
    const { providerMessageId, ...fields } = reply ?? assert.fail("no reply");
    assert.match(providerMessageId ?? "", /^sim_[0-9A-Za-z]{20}$/);
    assert.notEqual(providerMessageId, outcome.providerMessageId);
    assert.deepEqual(fields, {
      channel,
      from: "+15005550008",
      to: "+14155550100",
      text: "Thank you, got it.",
      inReplyTo: outcome.providerMessageId,
    });
  });
}

test("replies that the host refused are passed again, none twice and none lost, and receipts do not wait for them", async () => {
  const host = new RecordingHost();
  const take = host.receiveMessages.bind(host);
  let refusals = 0;
  host.receiveMessages = async (messages) => {
    if (refusals < 3) {
      refusals += 1;
      throw new Error("the database is unavailable");
    }
    await take(messages);
  };
  let ids: string[] = [];
  const send = async (connection: Connection): Promise<void> => {
    const messages = Array.from({ length: 150 }, () => outgoing({ recipient: "+15005550010" }));
    const outcomes = await Promise.all(messages.map((message) => connection.send(message, never, mayLeave)));
    ids = outcomes.map((outcome) => (outcome.kind === "accepted" ? outcome.providerMessageId : ""));
    const isDone = await poll(async () => (host.messages.length >= 150 ? true : undefined), { timeoutMs: LIMIT_MS, everyMs: 1 });
    assert.ok(isDone, `${host.messages.length} replies`);
  };
  await onLink(FAST, send, host);
  assert.equal(refusals, 3);
  assert.deepEqual(host.messages.map(({ inReplyTo }) => inReplyTo ?? "").toSorted(), ids.toSorted());
  assert.equal(new Set(host.messages.map(({ providerMessageId }) => providerMessageId)).size, 150);
  assert.equal(host.receipts.length, 150);
});

test("a reply to a message of unknown outcome refers to the carrier id in its receipt", async () => {
  const message = outgoing({ recipient: "+15005550008" });
  const host = await onLink(1, async (connection) => {
    const limit = new AbortController();
    const sent = connection.send(message, limit.signal, mayLeave);
    limit.abort();
    assert.equal((await settled(sent, "an aborted send")).kind, "unknown");
  });
  assert.deepEqual(
    host.receipts.map(({ reference, status }) => [reference, status]),
    [[message.id, "delivered"]],
  );
  assert.deepEqual(
    host.messages.map(({ inReplyTo }) => inReplyTo),
    [host.receipts[0]?.providerMessageId],
  );
});

test("closing passes all pending replies at once", async () => {
  const host = new RecordingHost();
  const connection = await simulator.open({ speed: STANDSTILL }, host);
  const sent = connection.send(outgoing({ recipient: "+15005550008" }), never, mayLeave);
  await turn();
  await settled(connection.close(), "close");
  assert.equal((await sent).kind, "accepted");
  assert.deepEqual([host.receipts.length, host.messages.length], [1, 1]);
});

test("a send that is aborted before the response is unknown, and a receipt with our reference follows", async () => {
  const message = outgoing({ recipient: "+15005550006" });
  const host = await onLink(1, async (connection) => {
    const limit = new AbortController();
    const sent = connection.send(message, limit.signal, mayLeave);
    limit.abort();
    assert.equal((await settled(sent, "an aborted send")).kind, "unknown");
  });
  assert.deepEqual(
    host.receipts.map(({ reference, status }) => [reference, status]),
    [[message.id, "delivered"]],
  );
});

test("a send that is aborted before it starts never reaches the carrier", async () => {
  const host = await onLink(FAST, async (connection) => {
    const sent = connection.send(outgoing({ recipient: "+15005550006" }), AbortSignal.abort(), mayLeave);
    assert.equal((await settled(sent, "an aborted send")).kind, "throttled");
  });
  assert.deepEqual(host.receipts, []);
});

test("at full speed a response comes within two turns of the event loop", async () => {
  const connection = await simulator.open({ speed: 1_000_000 }, new RecordingHost());
  let hasResponse = false;
  void connection.send(outgoing({ recipient: "+15005550006" }), never, mayLeave).then(() => (hasResponse = true));
  assert.equal(hasResponse, false);
  await turn();
  await turn();
  assert.equal(hasResponse, true);
  await connection.close();
});

test("at speed 1 a response takes some milliseconds and a receipt about a second", async () => {
  await onLink(1, async (connection, host, timers) => {
    const message = outgoing({ recipient: "+15005550006" });
    const outcome = await settled(connection.send(message, never, mayLeave), "a send");
    const respondedAtMs = timers.now();
    assert.ok(respondedAtMs >= 15 && respondedAtMs <= 25, `${respondedAtMs} ms`);
    await host.until(message, outcome, has("delivered"));
    assert.ok(timers.now() >= 1_000 && timers.now() <= 1_025, `${timers.now()} ms`);
  });
});

test("a speed that is not a finite number above zero is refused", async () => {
  for (const speed of [0, -1, NaN, Infinity]) await assert.rejects(simulator.open({ speed }, new RecordingHost()), /speed/);
});

test("closing passes all pending responses and receipts at once and in order", async () => {
  const host = new RecordingHost();
  const connection = await simulator.open({ speed: STANDSTILL }, host);
  const messages = Array.from({ length: 3 }, () => outgoing({ recipient: "+15005550006", channel: "whatsapp" }));
  const sends = Promise.all(messages.map((message) => connection.send(message, never, mayLeave)));
  await turn();
  await settled(connection.close(), "close");
  for (const { kind } of await settled(sends, "the sends")) assert.equal(kind, "accepted");
  const statuses = host.receipts.map(({ status }) => status);
  assert.deepEqual(statuses, ["delivered", "delivered", "delivered", "read", "read", "read"]);
});

test("a closed link sends nothing and asks for a later attempt", async () => {
  const connection = await simulator.open({ speed: FAST }, new RecordingHost());
  await connection.close();
  const outcome = await connection.send(outgoing({ recipient: "+15005550006" }), never, mayLeave);
  assert.ok(outcome.kind === "throttled" && outcome.providerCode === "link_closed");
});

test("receipts that are due together are passed in few calls of limited size, each once", async () => {
  const count = 2_000;
  const host = await onLink(1_000_000, async (connection) => {
    const sends = Array.from({ length: count }, () => connection.send(outgoing({ recipient: "+15005550006" }), never, mayLeave));
    await settled(Promise.all(sends), "the sends");
  });
  assert.equal(new Set(host.receipts.map(({ providerMessageId }) => providerMessageId)).size, count);
  assert.equal(host.receipts.length, count);
  assert.ok(host.calls.length <= 20, `${host.calls.length} calls`);
  for (const call of host.calls) assert.ok(call.length <= 500);
});

test("receipts that the host refused are passed again in order, none twice and none lost", async () => {
  const host = await onLink(FAST, async (connection, recording) => {
    recording.behave("rejects");
    const message = outgoing({ recipient: "+15005550011", channel: "whatsapp" });
    const outcome = await settled(connection.send(message, never, mayLeave), "a send");
    await recording.untilCalled(3);
    recording.behave("accepts");
    await recording.until(message, outcome, has("sent"));
  });
  assert.deepEqual(
    host.receipts.map(({ status }) => status),
    ["read", "delivered", "read", "sent"],
  );
});

test("a link whose receipts the host does not take throttles in the end, and recovers when the host takes them", async () => {
  let release = (): void => undefined;
  const isAvailable = new Promise<void>((resolve) => (release = resolve));
  const host = new RecordingHost();
  const receive = host.receive.bind(host);
  host.receive = (receipts) => isAvailable.then(() => receive(receipts));
  const connection = new SimulatedLink({ speed: 1_000_000 }, host, { maxPending: 20_000 });
  // Each message has four receipts.
  const round = (): Promise<SendOutcome[]> =>
    Promise.all(
      Array.from({ length: connection.window }, () =>
        connection.send(outgoing({ recipient: "+15005550011", channel: "whatsapp" }), never, mayLeave),
      ),
    );
  let outcomes: SendOutcome[] = [];
  for (let rounds = 0; rounds < 60 && !outcomes.some(({ kind }) => kind === "throttled"); rounds += 1) outcomes = await round();
  assert.deepEqual(outcomes.at(-1), { kind: "throttled", scope: "link", retryAfterMs: 1_000, providerCode: "sim-busy" });
  release();
  const recovered = await poll(
    async () => ((await connection.send(outgoing({ recipient: "+15005550006" }), never, mayLeave)).kind === "accepted" ? true : undefined),
    { timeoutMs: LIMIT_MS, everyMs: 5 },
  );
  assert.ok(recovered, "the link did not recover");
  await settled(connection.close(), "close");
});

test("a closed link keeps nothing alive, even when its host hangs", async () => {
  const program = `
    import { RecordingHost, outgoing } from "./test/support/recording-host.ts";
    import { SimulatedLink } from "./src/providers/simulator/simulator.ts";
    const host = new RecordingHost().behave("hangs");
    const connection = new SimulatedLink({ speed: 100 }, host, { closeMs: 50 });
    await connection.send(outgoing({ recipient: "+15005550006" }), new AbortController().signal, async () => true);
    await host.untilCalled();
    await connection.close();`;
  const root = new URL("../../..", import.meta.url);
  const child = spawn(process.execPath, ["--input-type=module-typescript", "--eval", program], { cwd: root, stdio: "ignore" });
  const ended = new Promise<number | null>((resolve) => child.once("exit", resolve));
  try {
    assert.equal(await settled(ended, "the process"), 0);
  } finally {
    child.kill();
  }
});

test("the recipient who replies with a picture sends one that can be opened, a PNG", async () => {
  const { messages } = await onLink(FAST, async (connection) => {
    await settled(connection.send(outgoing({ recipient: "+15005550019", channel: "whatsapp" }), never, mayLeave), "a send");
  });
  const content = messages[0]?.content;
  assert.ok(content?.type === "media");
  const [{ kind, carrierFile }] = content.files;
  assert.equal(kind, "image");
  const file = (await simulator.openFile?.({ speed: 1 }, carrierFile, never)) ?? assert.fail();
  assert.ok(file.kind === "open");
  const pieces = await Array.fromAsync(file.read());
  const bytes = Buffer.concat(pieces);
  assert.equal(bytes.length, file.bytes);
  assert.equal(bytes.toString("latin1", 1, 4), "PNG");
  assert.equal((await simulator.openFile?.({ speed: 1 }, "another", never))?.kind, "failed");
});
