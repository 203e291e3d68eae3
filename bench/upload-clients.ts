/** Clients that upload at once, in a process of their own: `upload-clients.ts URL KEY COUNT BYTES`. Each uploads a file of its own, and repeats it
 *  after a 503. Prints the outcome as JSON. */
import { randomBytes, randomUUID } from "node:crypto";
import { request } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";

const [url = "", key = "", count = "", bytes = ""] = process.argv.slice(2);
const [clients, size] = [Number(count), Number(bytes)];

const PIECE_BYTES = 65_536;
const HEAD = Buffer.from("%PDF-1.7\n");
const rest = randomBytes(PIECE_BYTES);

const headers = {
  authorization: `Bearer ${key}`,
  "content-type": "application/pdf",
  "content-length": String(size),
};

type Response = { status: number; retryMs: number; text: string };

/** Sends one file as fast as the server reads it. The first piece differs from those of all other files. */
const upload = (idempotencyKey: string, first: Buffer): Promise<Response> =>
  new Promise((resolve, reject) => {
    const sent = request(`${url}/v1/media`, { method: "POST", agent: false, headers: { ...headers, "idempotency-key": idempotencyKey } });
    sent.on("error", reject).on("response", (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (part: string) => (text += part));
      response.on("error", reject).on("end", () => {
        const retryMs = Number(response.headers["retry-after"] ?? 1) * 1_000;
        resolve({ status: response.statusCode ?? 0, retryMs, text });
        sent.destroy();
      });
    });
    let at = 0;
    const write = (): void => {
      while (at < size && !sent.destroyed) {
        const piece = at === 0 ? first : rest.subarray(0, Math.min(PIECE_BYTES, size - at));
        at += piece.length;
        if (!sent.write(piece)) return void sent.once("drain", write);
      }
      if (at >= size) sent.end();
    };
    write();
  });

// The service has ended.
const MAX_BROKEN = 100;

let refused = 0;
let broken = 0;
const others: string[] = [];

async function client(): Promise<void> {
  const idempotencyKey = randomUUID();
  const first = Buffer.concat([HEAD, randomBytes(PIECE_BYTES - HEAD.length)]);
  for (;;) {
    const response = await upload(idempotencyKey, first).catch(() => undefined);
    if (response?.status === 201) return;
    if (broken > MAX_BROKEN) return;
    if (response === undefined) broken += 1;
    else if (response.status === 503) refused += 1;
    else return void others.push(`${response.status} ${response.text}`);
    await sleep((response?.retryMs ?? 1_000) * (1 + Math.random()));
  }
}

const startedAt = performance.now();
await Promise.all(Array.from({ length: clients }, client));
process.stdout.write(`${JSON.stringify({ tookMs: performance.now() - startedAt, refused, broken, others: others.slice(0, 3) })}\n`);
