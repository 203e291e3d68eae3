/** The pace of the service beside something that stands still: a locked message, and a stopped worker. */
import assert from "node:assert/strict";
import { connect } from "node:net";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { childProcesses } from "../support/child-processes.ts";
import { afterSeconds, clientOf, clientOfAccount, type Client } from "../support/client.ts";
import { until } from "../support/expect.ts";
import { startGodwit, type Godwit } from "../support/harness.ts";
import { Lock, lockMessage } from "../support/locks.ts";
import { rowId } from "../support/tables.ts";

const LOCKED_MS = 30_000;
const MOST_LATE_MS = 1_000;
const SEND_EVERY_MS = 200;

/** The times from the acceptance of messages to their `sending`, of a message every moment while the lock lasts. */
async function waitsBeside(clients: readonly Client[], lastsMs: number): Promise<number[]> {
  const sent: { client: Client; id: unknown }[] = [];
  const endsAt = performance.now() + lastsMs;
  for (let index = 0; performance.now() < endsAt; index += 1) {
    const client = clients[index % clients.length] as Client;
    const { id } = await client.messages.send();
    sent.push({ client, id });
    await sleep(SEND_EVERY_MS);
  }
  const waits: number[] = [];
  for (const { client, id } of sent) {
    const { created_at: createdAt } = await client.messages.reached(id, "delivered");
    const sending = (await client.messages.timeline(id)).find(({ type }) => type === "message.sending");
    waits.push(Date.parse(sending?.created_at ?? "") - Date.parse(String(createdAt)));
  }
  return waits;
}

const lockQueueRow = (databaseUrl: string | undefined, id: unknown): Promise<Lock> =>
  Lock.take(databaseUrl, `select from delivery_queue where message_id = '${rowId(id)}' for update`);

for (const [what, lock] of [
  ["row", lockMessage],
  ["queue entry", lockQueueRow],
] as const)
  test(`a message whose ${what} is locked for 30 seconds delays no other one by more than a second`, async (context) => {
    await using godwit = await startGodwit({ roles: "api,dispatch", simulatorSpeed: 20 });
    await godwit.unlimited();
    const owner = clientOf(godwit, await godwit.key());
    const other = await clientOfAccount(godwit, "other");
    const { id } = await owner.messages.send({ send_at: afterSeconds(3) });
    await using locked = await lock(godwit.databaseUrl, id);
    // The message is due soon, and is canceled as well.
    const canceled = owner.messages.cancel(id);
    const waits = await waitsBeside([owner, other], LOCKED_MS);
    const longestMs = Math.max(...waits);
    context.diagnostic(`${waits.length} messages, the longest wait: ${longestMs} ms`);
    assert.ok(longestMs < MOST_LATE_MS, `a message waited for ${longestMs} ms`);
    await locked.release();
    await canceled;
  });

const NO_CONNECTION_AFTER_MS = 3_000;
const REQUEST_ENDS_MS = 10_000;

type Probe = { atMs: number; endedMs: number; isServed: boolean };

/** A request on a new connection, and when and how it ended. */
function probe({ url }: Godwit): Promise<Probe> {
  const atMs = performance.now();
  return new Promise((resolve) => {
    const socket = connect(Number(new URL(url).port), "127.0.0.1");
    let text = "";
    socket.on("error", () => undefined).on("data", (chunk: Buffer) => (text += chunk.toString("latin1")));
    socket.once("close", () => resolve({ atMs, endedMs: performance.now(), isServed: text.startsWith("HTTP/1.1 200") }));
    socket.write("GET /readyz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
  });
}

test("a stopped worker gets no connection after three seconds, and its requests end within ten", async (context) => {
  await using godwit = await startGodwit({ asProcess: true, env: { GODWIT_WORKERS: "2" } });
  const [stopped = 0] = childProcesses(godwit.child.pid, "serve-node");
  process.kill(stopped, "SIGSTOP");
  const stoppedAt = performance.now();
  const probes: Promise<Probe>[] = [];
  await until("some probes after the limit", async () => {
    probes.push(probe(godwit));
    await sleep(20);
    return performance.now() - stoppedAt > 2 * NO_CONNECTION_AFTER_MS || undefined;
  });
  const ended = await Promise.all(probes);
  const unserved = ended.filter(({ isServed }) => !isServed);
  const lastMs = Math.max(...unserved.map(({ atMs }) => atMs - stoppedAt));
  const longestMs = Math.max(...ended.map(({ atMs, endedMs }) => endedMs - atMs));
  context.diagnostic(
    `${unserved.length} of ${ended.length} not served, the last after ${Math.round(lastMs)} ms; the longest took ${Math.round(longestMs)} ms`,
  );
  assert.ok(unserved.length > 0, "the worker had connections");
  assert.ok(lastMs < NO_CONNECTION_AFTER_MS, `a connection that was opened after ${lastMs} ms was not served`);
  assert.ok(longestMs < REQUEST_ENDS_MS, `a request took ${longestMs} ms`);
});
