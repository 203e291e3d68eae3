/** A modest client that sends messages at a steady rate, and counts what it gets. It has a thread of its own, which the attacks do not delay. */
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { Agent, request } from "undici";

const PER_SECOND = 20;
// A new thread is slow at first.
const WARM_UP_MS = 500;

// Fewer have no p99. A busy machine may not give this thread its turns.
const LEAST_MEASURED = 20;

export type Experience = { sent: number; refused: number; p99Ms: number };

/** Starts to send. The result ends it. */
export function sendModestly(url: string, key: string): () => Promise<Experience> {
  const worker = new Worker(new URL(import.meta.url), { workerData: { url, key } });
  worker.unref();
  return async () => {
    const answered = once(worker, "message");
    worker.postMessage("stop", []);
    const [experience] = (await answered) as [Experience];
    await worker.terminate();
    return experience;
  };
}

/** Sends until the signal. A request that fails or gets another status than 202 counts as refused. */
async function send(url: string, key: string, until: AbortSignal): Promise<Experience> {
  const options = { connections: PER_SECOND, pipelining: 1, headersTimeout: 60_000, localAddress: "127.0.9.9" };
  const dispatcher = new Agent({ ...options, connect: { rejectUnauthorized: false } });
  const beganAt = performance.now();
  const tookMs: number[] = [];
  let refused = 0;
  const sendOne = async (): Promise<void> => {
    const startedAt = performance.now();
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json", "idempotency-key": randomUUID() };
    const body = JSON.stringify({ recipient: "+14155550123", channel: "sms", body: "Your code is 123456" });
    const reply = await request(`${url}/v1/messages`, { method: "POST", dispatcher, headers, body }).catch(() => undefined);
    await reply?.body.dump();
    if (startedAt - beganAt > WARM_UP_MS) tookMs.push(performance.now() - startedAt);
    if (reply?.statusCode !== 202) refused += 1;
  };
  const running: Promise<void>[] = [];
  while (!until.aborted || tookMs.length < LEAST_MEASURED) {
    running.push(sendOne());
    await sleep(Math.max(0, beganAt + (running.length * 1_000) / PER_SECOND - performance.now()));
  }
  await Promise.all(running);
  await dispatcher.destroy();
  tookMs.sort((one, other) => one - other);
  return { sent: running.length, refused, p99Ms: tookMs[Math.floor(tookMs.length * 0.99)] ?? 0 };
}

if (!isMainThread) {
  const over = new AbortController();
  parentPort?.once("message", () => over.abort());
  const { url, key } = workerData as { url: string; key: string };
  parentPort?.postMessage(await send(url, key, over.signal), []);
}
