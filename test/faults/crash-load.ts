/** Load on a service that is killed or stopped meanwhile. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Database } from "../../src/database/database.ts";
import { until } from "../support/expect.ts";
import type { Godwit } from "../support/harness.ts";
import { sendUntil, type Sent } from "../support/sending.ts";

export const withStatus = (sent: readonly Sent[], status: number | undefined): Sent[] => sent.filter((one) => one.status === status);

/** Sends load during the work, which starts when messages are accepted. Returns all requests. */
export async function loadWhile(godwit: Godwit, apiKey: string, work: () => Promise<unknown>): Promise<Sent[]> {
  const stop = new AbortController();
  let isUnderWay = false;
  const load = sendUntil(stop.signal, { godwit, apiKey }, ({ status }) => (isUnderWay ||= status === 202));
  try {
    await until("messages to be accepted", () => isUnderWay || undefined);
    await work();
  } finally {
    stop.abort();
  }
  return load;
}

/** Sends load until the service is killed at that moment and every connection has broken. Returns all requests. */
export const loadUntilKilled = (godwit: Godwit, apiKey: string, moment: () => Promise<unknown>): Promise<Sent[]> =>
  loadWhile(godwit, apiKey, async () => {
    await moment();
    await godwit.stop("SIGKILL");
  });

const query = (text: string, values: readonly unknown[] = []) => ({ name: `crash_${randomUUID()}`, text, values });

/** A moment during the traffic: messages are delivered, and more arrive all the time. */
export async function inTraffic(db: Database | undefined, random: () => number): Promise<void> {
  assert.ok(db !== undefined);
  const count = async (): Promise<number> => (await db.rows(query("select from messages where status = 'delivered'"))).length;
  const already = await count();
  await until("messages to be delivered", async () => (await count()) > already || undefined);
  await sleep(random() * 500);
}

export const simulatorSpeed = 20;
// Another node takes the messages of a dead one when their lease has expired. Messages that may have left are then held for
// three seconds, at twenty times the simulator's speed.
export const delivering = { roles: "api,dispatch", simulatorSpeed, timings: { queueLeaseMs: 3_000 } };

// Enough for thousands of messages on a busy machine.
export const SETTLE_MS = 240_000;
// The difference between the clocks of a node and the database.
const CLOCK_MARGIN_MS = 100;

/** Waits until every message has its last possible status. The simulator of a process dies with it: messages that it had accepted
 *  stay `sent`, and messages that were sent later do not. */
export async function settledAfter(db: Database, diedAtMs: number): Promise<void> {
  const isNone = async (text: string, ...values: unknown[]): Promise<true | undefined> =>
    (await db.rows(query(`${text} limit 1`, values))).length === 0 || undefined;
  // A row is held as soon as its unknown outcome is stored.
  await until("every waiting message to be taken", () => isNone("select from delivery_queue where state = 0"), SETTLE_MS);
  await until("every held message to end", () => isNone("select from delivery_queue"), SETTLE_MS);
  const since = new Date(diedAtMs + CLOCK_MARGIN_MS);
  await until("the receipts of living carriers", () => isNone("select from messages where status = 'sent' and sent_at > $1", since));
}
