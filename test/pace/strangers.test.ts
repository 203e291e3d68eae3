/** Clients without a valid credential, many at once: a tenant gets every response, and delivery goes on. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Agent, request } from "undici";
import { clientOf } from "../support/client.ts";
import { until } from "../support/expect.ts";
import { TIMINGS } from "../../src/timings.ts";
import { startGodwit } from "../support/harness.ts";
import { keyOfFirstForm, madeUpKey } from "../support/keys.ts";

// Other systems than Linux have one loopback address, whose connections are limited.
const ADDRESSES = process.platform === "linux" ? 30 : 1;
const CONNECTIONS_EACH = 50;
const MESSAGES = 20;

/** The service may close an idle connection while the client writes to it. */
function unlessReset(error: unknown): undefined {
  if (!["ECONNRESET", "EPIPE", "UND_ERR_SOCKET"].includes(String((error as NodeJS.ErrnoException).code))) throw error;
}

/** Sends requests with made-up keys from one address, over many connections at once, until the signal. Returns the statuses. */
async function intrude(url: string, localAddress: string, signal: AbortSignal): Promise<number[]> {
  const dispatcher = new Agent({ connections: CONNECTIONS_EACH, pipelining: 1, headersTimeout: 0, localAddress, connect: { timeout: 0 } });
  const statuses: number[] = [];
  const ask = async (): Promise<void> => {
    do {
      const authorization = `Bearer ${Math.random() < 0.5 ? madeUpKey() : keyOfFirstForm()}`;
      const headers = { authorization, "content-type": "application/json" };
      const reply = await request(`${url}/v1/messages`, { method: "POST", dispatcher, headers, body: "{}" }).catch(unlessReset);
      await reply?.body.dump();
      if (reply !== undefined) statuses.push(reply.statusCode);
    } while (!signal.aborted);
  };
  try {
    await Promise.all(Array.from({ length: CONNECTIONS_EACH }, ask));
    return statuses;
  } finally {
    await dispatcher.destroy();
  }
}

test("made-up keys on 1,500 connections cost a tenant no response, and delivery goes on", async () => {
  // A slow machine takes long to open this many connections.
  const timings = { failureDelayMs: TIMINGS.failureDelayMs, requestTimeoutMs: 600_000 };
  await using godwit = await startGodwit({ asProcess: true, roles: "api,dispatch", simulatorSpeed: 50, timings });
  await godwit.unlimited();
  const client = clientOf(godwit, await godwit.key());
  const over = new AbortController();
  const addresses = Array.from({ length: ADDRESSES }, (_, index) => `127.0.2.${index + 1}`);
  const intruders = Promise.all(addresses.map((address) => intrude(godwit.url, address, over.signal)));
  try {
    const ids: unknown[] = [];
    // The client throws for any other status than 202.
    for (let count = 0; count < MESSAGES; count += 1) ids.push((await client.messages.send())["id"]);
    await until("every message is delivered", async () => {
      const records = await Promise.all(ids.map((id) => client.messages.read(id)));
      return records.every(({ status }) => status === "delivered");
    });
  } finally {
    over.abort();
  }
  const statuses = (await intruders).flat();
  assert.deepEqual([...new Set(statuses)], [401]);
  assert.ok(statuses.length >= ADDRESSES * CONNECTIONS_EACH);
  const troubles = godwit.logs.filter(({ level }) => Number(level) >= 50);
  assert.deepEqual(troubles, []);
});
