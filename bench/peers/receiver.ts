/** A receiver of webhooks. It responds at once, or never on paths that begin with /dead. /stats returns the count and the delays. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

let count = 0;
let firstAt = 0;
let lastAt = 0;
let latencies: number[] = [];

const TIMESTAMP = /"timestamp":"([^"]{24})"/;

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    if (request.url === "/stats") {
      response.end(JSON.stringify({ count, firstAt, lastAt, latencies }));
      return;
    }
    if (request.url === "/reset") {
      [count, firstAt, lastAt, latencies] = [0, 0, 0, []];
      response.end();
      return;
    }
    if (request.url?.startsWith("/dead") === true) return;
    const now = Date.now();
    if (count === 0) firstAt = now;
    lastAt = now;
    count += 1;
    if (request.url?.startsWith("/timed") === true) {
      const [, at] = TIMESTAMP.exec((chunks[0] ?? Buffer.alloc(0)).toString("latin1", 0, 200)) ?? [];
      if (at !== undefined) latencies.push(now - Date.parse(at));
    }
    response.end("ok");
  });
});
server.keepAliveTimeout = 60_000;
server.listen(0, "127.0.0.1", () => process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`));
