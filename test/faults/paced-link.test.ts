/** Messages that wait for their turn on a link with a low rate: they are `queued` until their bytes leave, so that an opt-out, a cancel
 *  and a crash find them as if they had never been claimed. */
import assert from "node:assert/strict";
import { after, before, beforeEach, describe, test } from "node:test";
import { clientOf, recipients, type Client, type Json } from "../support/client.ts";
import { until } from "../support/expect.ts";
import type { CarrierBehavior } from "../support/fakes/http-carrier.ts";
import { FakeTwilio, TWILIO_SECRETS } from "../support/fakes/twilio.ts";
import { startGodwit, type Godwit, type StartOptions } from "../support/harness.ts";

const PER_SECOND = 8;
// So many messages are on the link at a time, and nearly all of them wait for their turn.
const WINDOW = 20;
const COUNT = 40;

let carrier: FakeTwilio;
before(async () => {
  carrier = await new FakeTwilio().listen();
  // Without callbacks: these messages need no receipts.
  let sids = 0;
  const accept = (): CarrierBehavior => ({
    kind: "responds",
    status: 201,
    body: JSON.stringify({ sid: `SM${(sids += 1)}`, status: "queued" }),
  });
  for (const recipient of recipients(COUNT)) carrier.behaviors.set(recipient, accept);
});
beforeEach(() => carrier.seen.splice(0));
after(() => carrier.close());

const linkTable = (perSecond: number): string => `
[[link]]
name = "tw"
provider = "twilio"
base_url = "${carrier.url}"
account_sid = "${TWILIO_SECRETS.accountSid}"
auth_token_env = "TWILIO_TOKEN"
public_url = "https://sms.example"
sender = "+14155550100"
rate = ${perSecond}
window = ${WINDOW}
hold_seconds = 1
`;

const start = (perSecond: number, options: StartOptions = {}): Promise<Godwit> =>
  startGodwit({
    roles: "api,dispatch",
    config: linkTable(perSecond),
    env: { TWILIO_TOKEN: TWILIO_SECRETS.authToken },
    ...options,
  });

/** Sends one message to each recipient, and waits until the carrier has the first ones. */
async function sendSome(godwit: Godwit, to: readonly string[]): Promise<{ client: Client; ids: string[] }> {
  await godwit.unlimited();
  const client = clientOf(godwit, await godwit.key({ environment: "live" }));
  const sent = await Promise.all(to.map((recipient) => client.messages.send({ recipient })));
  await until("the carrier to have some messages", () => carrier.messages.length >= 3 || undefined);
  return { client, ids: sent.map(({ id }) => String(id)) };
}

const received = (): string[] => carrier.messages.map(({ To }) => String(To));

describe("messages that wait for their turn on a link", () => {
  test("are not sent after an opt-out has committed", async () => {
    await using godwit = await start(PER_SECOND);
    const to = recipients(COUNT);
    const { client, ids } = await sendSome(godwit, to);
    const reply = await client.suppressions.import(to.map((recipient) => ({ recipient })));
    assert.equal(reply.status, 200, reply.text);
    const count = received().length;
    const records = await until("all messages to end", async () => {
      const all = await Promise.all(ids.map((id) => client.messages.read(id)));
      return all.some(({ status }) => status === "queued" || status === "sending") ? undefined : all;
    });
    const failed = records.filter(({ status }) => status === "failed");
    for (const { error } of failed) assert.equal((error as Json)["code"], "recipient_opted_out");
    assert.equal(received().length, COUNT - failed.length);
    assert.ok(received().length - count <= Number(reply.json["in_flight"]), `${received().length - count} messages left after the opt-out`);
    assert.ok(failed.length > COUNT / 4, "most messages were waiting");
  });

  test("can be canceled", async () => {
    await using godwit = await start(PER_SECOND);
    const { client, ids } = await sendSome(godwit, recipients(COUNT));
    const last = ids.at(-1);
    const reply = await client.messages.request("POST", `/${String(last)}/cancel`);
    assert.equal(reply.status, 200, reply.text);
    assert.equal(reply.json["status"], "canceled");
  });

  test("are sent after the process was killed, and each once", async () => {
    // Short leases for the process that is killed only: a machine that stalls for seconds must not take messages from a node.
    const killed = await start(PER_SECOND, { asProcess: true, timings: { queueLeaseMs: 3_000, linkLeaseMs: 3_000 } });
    const to = recipients(COUNT);
    const { ids } = await sendSome(killed, to);
    await killed.stop("SIGKILL");
    const states = await statusesOf(killed.databaseUrl);
    assert.ok((states.get("sending") ?? 0) <= 3, "few messages are written at a time");
    await using godwit = await start(100, { databaseUrl: killed.databaseUrl });
    const client = clientOf(godwit, await godwit.key({ environment: "live" }));
    const records = await until("all messages to end", async () => {
      const all = await Promise.all(ids.map((id) => client.messages.read(id)));
      return all.some(({ status }) => status === "queued" || status === "sending") ? undefined : all;
    });
    const unknown = records.filter(({ status }) => status === "failed");
    assert.ok(unknown.length <= 3, `${unknown.length} messages of unknown outcome`);
    for (const { error } of unknown) assert.equal((error as Json)["code"], "outcome_unknown");
    const times = Map.groupBy(received(), (recipient) => recipient);
    assert.ok(
      [...times.values()].every(({ length }) => length === 1),
      "no message was sent twice",
    );
    assert.ok(times.size >= COUNT - unknown.length, "each other message was sent");
  });
});

/** The number of messages by status. */
async function statusesOf(databaseUrl: string | undefined): Promise<Map<string, number>> {
  await using godwit = await startGodwit({ databaseUrl });
  const rows = await godwit.rows<{ status: string; count: number }>("select status, count(*)::integer as count from messages group by 1");
  return new Map(rows.map(({ status, count }) => [status, count]));
}
