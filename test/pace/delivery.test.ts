/** The speed of message delivery: after a pause, at the scheduled time, after an announcement of another node, and beside other work. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import pino from "pino";
import { applyRetention } from "../../src/retention/drop-weeks.ts";
import { createPartitions } from "../../src/database/partitions.ts";
import { clientOf, type Client } from "../support/client.ts";
import { LINK, Rig } from "../support/delivery-rig.ts";
import { RECIPIENT, recipientNo } from "../support/recipient.ts";
import { until, untilListening } from "../support/expect.ts";
import { startGodwit, type Godwit } from "../support/harness.ts";
import { accepted, receipt, ScriptedCarrier, throttled } from "../support/scripted-carrier.ts";

const medianOf = (times: readonly number[]): number => times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? Infinity;

describe("a throttled link", () => {
  test("pauses for the time that the carrier requests, and not much longer", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier({ window: 1 });
    const PAUSE_MS = 1_200;
    carrier.responds(RECIPIENT, throttled("link", PAUSE_MS), accepted());
    const message = await rig.accept();
    await rig.deliver({ [LINK]: carrier });
    await rig.untilStatus(message, "sent");
    const [first = 0, second = 0] = carrier.sends.map(({ atMs }) => atMs);
    assert.ok(second - first >= PAUSE_MS - 10 && second - first < PAUSE_MS + 1_000, `${second - first} ms`);
  });

  test("pauses for about a second without a given time, and then for twice as long", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier();
    carrier.responds(RECIPIENT, throttled("link", null), throttled("link", null), accepted());
    const message = await rig.accept();
    await rig.deliver({ [LINK]: carrier });
    await rig.untilStatus(message, "sent");
    const [first = 0, second = 0, third = 0] = carrier.sends.map(({ atMs }) => atMs);
    assert.ok(second - first >= 490 && second - first < 2_500, `the first pause: ${second - first} ms`);
    assert.ok(third - second >= 990 && third - second < 3_500, `the second pause, doubled: ${third - second} ms`);
  });
});

test("a receipt that arrives before the response is applied at once by the process that stores the carrier id", async () => {
  await using rig = await Rig.open();
  const carrier = new ScriptedCarrier();
  carrier.responds(RECIPIENT, accepted("7"));
  carrier.onSend = () => carrier.receive([receipt("7", "delivered", { reference: null })]);
  const message = await rig.accept();
  await rig.deliver({ [LINK]: carrier });
  // A sweep applies parked receipts after two seconds.
  await rig.untilStatus(message, "delivered", 1_900);
});

describe("a service", () => {
  let godwit: Godwit;
  let client: Client;
  before(async () => {
    godwit = await startGodwit({ roles: "api,dispatch", simulatorSpeed: 20 });
    await godwit.unlimited();
    client = clientOf(godwit, await godwit.key());
  });
  after(() => godwit.stop());

  const timeOf = async (id: unknown, type: string): Promise<number> =>
    Date.parse((await client.messages.timeline(id)).find((each) => each.type === type)?.created_at ?? "");

  test("submits a scheduled message within seconds of its time", async () => {
    const sendAtMs = Date.now() + 2_000;
    const { id } = await client.messages.send({ send_at: new Date(sendAtMs).toISOString() });
    await client.messages.reached(id, "delivered");
    for (const type of ["message.queued", "message.sending"]) {
      const lateMs = (await timeOf(id, type)) - sendAtMs;
      assert.ok(lateMs < 2_500, `${type} is ${lateMs} ms late`);
    }
  });

  test("retries a throttled message within seconds of the time that the carrier requests", async () => {
    const { id } = await client.messages.send({ recipient: "+15005550012" });
    await client.messages.reached(id, "delivered");
    const attempts = (await client.messages.timeline(id)).filter(({ attempt }) => attempt !== null);
    const again = attempts.findIndex(({ attempt }) => attempt?.outcome === "throttled") + 1;
    const waitedMs = Date.parse(attempts[again]?.created_at ?? "") - Date.parse(attempts[again - 1]?.attempt?.retry_at ?? "");
    assert.ok(waitedMs < 2_000, `the retry is ${waitedMs} ms late`);
  });
});

test("a node that only accepts messages announces them: another node submits them long before its next poll of the queue", async () => {
  await using accepting = await startGodwit();
  await using dispatching = await startGodwit({ databaseUrl: accepting.databaseUrl, roles: "dispatch" });
  await accepting.unlimited();
  await untilListening(dispatching);
  const client = clientOf(accepting, await accepting.key());
  const waits: number[] = [];
  for (let count = 0; count < 9; count += 1) {
    const { id, created_at: createdAt } = await client.messages.send();
    await client.messages.reached(id, "delivered");
    const sending = (await client.messages.timeline(id)).find(({ type }) => type === "message.sending");
    waits.push(Date.parse(sending?.created_at ?? "") - Date.parse(String(createdAt)));
  }
  // The median delay of a node that polls once a second is half a second.
  assert.ok(medianOf(waits) < 300, waits.join(" "));
});

test("accepting a message is delayed by less than a second while partitions in use are dropped", async () => {
  await using rig = await Rig.open();
  const weekMs = Date.UTC(2024, 0, 1);
  await createPartitions(rig.db, weekMs);
  const reader = rig.connect("reader");
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  const reading = reader.transaction(async (tx) => {
    await tx.rows({ name: "read_all", text: "select count(*) from messages", values: [] });
    await ended;
  });
  const log = pino({ enabled: false });
  const state = { isDone: false };
  const retention = applyRetention(rig.db, { retentionDays: 90, nowMs: weekMs + 200 * 86_400_000, log }).finally(
    () => (state.isDone = true),
  );
  let longestMs = 0;
  for (let index = 0; !state.isDone; index += 1) {
    const sentAt = performance.now();
    await rig.accept({ recipient: recipientNo(index % 1_000) });
    longestMs = Math.max(longestMs, performance.now() - sentAt);
  }
  end();
  await Promise.all([retention, reading]);
  assert.ok(longestMs < 1_000, `an accept is delayed by ${longestMs} ms`);
});

test("a full page of messages is read quickly, also without statistics of the planner", async () => {
  await using godwit = await startGodwit();
  const key = await godwit.key({ account: "very many" });
  const insert = (count: number): Promise<unknown> =>
    godwit.rows(
      `insert into messages (account_id, environment, id, direction, channel, recipient, body, status, sequence, priority, updated_at)
       select a.id, 'test', (lpad(to_hex(extract(epoch from now())::bigint * 1000 - n), 12, '0') || '7000' || '8000' || lpad(to_hex(n), 12, '0'))::uuid,
              'outbound', 'sms', '+14155550123', 'many', 'queued', 1, 'normal', now()
         from accounts a, generate_series(1, ${count}) n
        where a.name = 'very many'
           on conflict do nothing`,
    );
  const pageMs = async (): Promise<number> => {
    const times: number[] = [];
    for (let index = 0; index < 11; index += 1) {
      const startedAt = performance.now();
      const { json } = await godwit.request("GET", "/v1/messages?limit=100", { key });
      times.push(performance.now() - startedAt);
      assert.equal((json["data"] as unknown[]).length, 100);
    }
    return medianOf(times);
  };
  await godwit.unlimited();
  await insert(100);
  const few = await pageMs();
  await insert(12_000);
  const many = await pageMs();
  assert.ok(many < 5 * few, `${Math.round(few)} ms for a hundred messages, ${Math.round(many)} ms for twelve thousand`);
});

test("a template change on one node is visible on another within about a second", async () => {
  await using godwit = await startGodwit();
  await using second = await startGodwit({ databaseUrl: godwit.databaseUrl });
  const key = await godwit.key();
  await godwit.unlimited();
  const { json } = await godwit.request("POST", "/v1/templates", {
    key,
    body: { name: "greeting", language: "en", category: "utility", channels: ["sms"], body: "Hello", examples: {} },
  });
  const send = async (): Promise<unknown> => (await second.send(key, { body: null, template_id: "greeting" })).json["body"];
  assert.equal(await send(), "Hello");
  await godwit.request("PATCH", `/v1/templates/${String(json["id"])}`, { key, body: { body: "Bye" } });
  const changedAt = performance.now();
  await until("the other node sends the new text", async () => (await send()) === "Bye" || undefined);
  assert.ok(performance.now() - changedAt < 3_000, `${performance.now() - changedAt} ms`);
});
