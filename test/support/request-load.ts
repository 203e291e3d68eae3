/** A program that sends messages until its standard input ends, and repeats no request: REQUEST_LOAD_KEY=… request-load.ts URL [CA-FILE]. It prints one
 *  JSON object with the numbers. It is a program, because a test runs it in another network. */
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { Agent } from "undici";

export type LoadResult = { accepted: number; failed: Record<string, number> };

const CLIENTS = 4;
// About 15 requests per second of all clients together: the quota of a test environment is 25.
const PAUSE_MS = 250;
const MESSAGE = JSON.stringify({ recipient: "+14155550123", channel: "sms", body: "Hello from the load" });

const [url = "", caFile] = process.argv.slice(2);
const connect = caFile === undefined ? {} : { ca: readFileSync(caFile), servername: "localhost" };
const dispatcher = new Agent({ connect });
const result: LoadResult = { accepted: 0, failed: {} };
const ending = new AbortController();
process.stdin.resume().on("end", () => ending.abort());

/** The status and the code of the response, or the code of the error. */
async function sendOne(): Promise<string> {
  try {
    const { statusCode, body } = await dispatcher.request({
      origin: url,
      path: "/v1/messages",
      method: "POST",
      headers: {
        authorization: `Bearer ${process.env["REQUEST_LOAD_KEY"]}`,
        "idempotency-key": randomUUID(),
        "content-type": "application/json",
      },
      body: MESSAGE,
    });
    const text = await body.text();
    return statusCode === 202 ? "accepted" : `${statusCode} ${text.slice(0, 200)}`;
  } catch (error) {
    return String((error as { code?: string }).code ?? error);
  }
}

async function client(): Promise<void> {
  while (!ending.signal.aborted) {
    const outcome = await sendOne();
    if (outcome === "accepted") result.accepted += 1;
    else result.failed[outcome] = (result.failed[outcome] ?? 0) + 1;
    await sleep(PAUSE_MS);
  }
}

await Promise.all(Array.from({ length: CLIENTS }, client));
await dispatcher.close();
process.stdout.write(JSON.stringify(result));
