/** Claims of webhook deliveries: an outcome settles only the claim that it belongs to. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { newId, type EndpointId } from "../../src/model/id.ts";
import { uuidFromText } from "../../src/lib/uuid.ts";
import type { Database } from "../../src/database/database.ts";
import type { Endpoint as EndpointFields } from "../../src/webhooks/endpoint.ts";
import { queueAgain, storeSettlements, type Settlement } from "../../src/webhooks/queries.ts";
import { claimShares, FRESH, queuedEndpoint, releaseRows, RETRY, type ClaimedRow } from "../../src/webhooks/queue.ts";
import { until } from "../support/expect.ts";
import { startGodwit, type Godwit } from "../support/harness.ts";
import { ALLOW_LOOPBACK, Hook } from "../support/hook-server.ts";
import { Customer, type DeliveryRecord, type Endpoint } from "../support/webhook-customer.ts";

const LEASE_MS = 600_000;
// A lease that has ended when the next claim begins.
const SHORT_LEASE_MS = 1;

let godwit: Godwit;
let hook: Hook;
let db: Database;
before(async () => {
  // No node calls the endpoints: the tests claim and settle.
  [godwit, hook] = await Promise.all([startGodwit({ roles: "api", env: ALLOW_LOOPBACK }), Hook.listen()]);
  db = godwit.db as Database;
});
after(async () => {
  await godwit.stop();
  await hook[Symbol.asyncDispose]();
});

/** Claims the only delivery of the endpoint once it is due. */
const claim = ({ uuid }: Endpoint, isRetry: boolean, leaseMs = LEASE_MS): Promise<ClaimedRow> => {
  const group = queuedEndpoint(newId("acct", 1), "test", uuidFromText(uuid) as EndpointId);
  const share = { rank: isRetry ? RETRY : FRESH, group, fromMs: 0, most: 10 };
  return until("the delivery to be due", async () => {
    const nowMs = Date.now();
    return (await claimShares(db, [{ ...share, untilMs: nowMs, leasedUntilMs: nowMs + leaseMs }]))[0];
  });
};

/** Stores the outcome of an attempt of this claim. */
const settle = (row: ClaimedRow, outcome: Settlement["outcome"], status: number): Promise<unknown> =>
  storeSettlements(
    db,
    [
      {
        row,
        outcome,
        delayMs: outcome === "later" ? 0 : null,
        attempts: row.attempts + 1,
        attempt: JSON.stringify([
          { attempted_at: "2030-01-31T09:00:00Z", duration_ms: 1, response_status: status, response_body: "", error: null },
        ]),
      },
    ],
    Date.now(),
  );

/** A delivery whose first attempt failed, and whose second attempt is due. */
async function attemptedOnce(): Promise<Endpoint> {
  const customer = await Customer.of(godwit);
  const endpoint = await customer.endpoint(hook, ["message.queued"]);
  await customer.send();
  await settle(await claim(endpoint, false), "later", 500);
  return endpoint;
}

const deliveryOf = async (endpoint: Endpoint): Promise<DeliveryRecord> => (await endpoint.deliveries())[0] ?? assert.fail();

/** The status of the delivery, and the responses to its attempts. */
async function shown(endpoint: Endpoint): Promise<unknown[]> {
  const { status, attempts } = await deliveryOf(endpoint);
  return [status, ...attempts.map(({ response_status: each }) => each)];
}

for (const [when, leaseMs] of [
  ["during a call", LEASE_MS],
  ["after the lease of a call has ended", SHORT_LEASE_MS],
] as const) {
  for (const [outcome, status] of [
    ["succeeded", 200],
    ["later", 503],
    ["failed", 410],
  ] as const) {
    test(`a retry that is requested ${when} is made, although the call then has the outcome ${outcome}`, async () => {
      const endpoint = await attemptedOnce();
      const called = await claim(endpoint, true, leaseMs);
      await endpoint.retry(await deliveryOf(endpoint));
      await settle(called, outcome, status);
      assert.deepEqual(await shown(endpoint), ["pending", 500, status]);
      const requested = await claim(endpoint, true);
      await settle(requested, "succeeded", 204);
      assert.deepEqual(await shown(endpoint), ["succeeded", 500, status, 204]);
      assert.deepEqual(await endpoint.queue(), []);
    });
  }
}

test("a retry that commits while the outcome of a call waits for it is made, and the attempt is stored", async () => {
  const endpoint = await attemptedOnce();
  const called = await claim(endpoint, true);
  let settling: Promise<unknown> | undefined;
  await db.transaction(async (tx) => {
    const fields = { accountId: called.account_id, environment: called.environment, id: called.endpoint_id } as EndpointFields;
    await queueAgain(tx, fields, called.id, Date.now());
    settling = settle(called, "succeeded", 200);
    await until("the settlement to wait", async () => {
      const waiting = await godwit.rows("select from pg_locks where not granted and locktype = 'transactionid'");
      return waiting.length > 0 || undefined;
    });
  });
  await settling;
  assert.deepEqual(await shown(endpoint), ["pending", 500, 200]);
  assert.equal((await claim(endpoint, true)).id.equals(called.id), true);
});

test("a call whose lease ended leaves the claim of another node unchanged, and both attempts are stored once", async () => {
  const endpoint = await attemptedOnce();
  const late = await claim(endpoint, true, SHORT_LEASE_MS);
  const current = await claim(endpoint, true);
  const dueAt = async (): Promise<number[]> => (await endpoint.queue()).map(({ due_at_ms: at }) => at);
  const leased = await dueAt();
  for (let count = 0; count < 2; count += 1) await settle(late, "later", 503);
  assert.deepEqual(await dueAt(), leased);
  for (let count = 0; count < 2; count += 1) await settle(current, "later", 502);
  assert.deepEqual(await shown(endpoint), ["pending", 500, 503, 502]);
  await settle(await claim(endpoint, true), "succeeded", 200);
  assert.deepEqual(await shown(endpoint), ["succeeded", 500, 503, 502, 200]);
});

test("a call that outlasts its lease settles the delivery if no other node has claimed it", async () => {
  const endpoint = await attemptedOnce();
  const late = await claim(endpoint, true, SHORT_LEASE_MS);
  await settle(late, "succeeded", 200);
  assert.deepEqual(await shown(endpoint), ["succeeded", 500, 200]);
  assert.deepEqual(await endpoint.queue(), []);
});

test("a claim that is returned does not end the claim of another node", async () => {
  const endpoint = await attemptedOnce();
  const late = await claim(endpoint, true, SHORT_LEASE_MS);
  const current = await claim(endpoint, true);
  await releaseRows(db, [late], Date.now());
  assert.ok((await endpoint.queue()).every(({ due_in_ms: ms }) => ms > 0));
  await releaseRows(db, [current], Date.now());
  assert.equal((await claim(endpoint, true)).id.equals(late.id), true);
});
