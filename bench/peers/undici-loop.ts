/** The baseline for webhook deliveries: a bare loop in which undici posts one body repeatedly on several connections. */
import { Agent, request } from "undici";

const [url = "", seconds = "5", connections = "64", size = "1100"] = process.argv.slice(2);
const dispatcher = new Agent({ pipelining: 1 });
const body = JSON.stringify({ padding: "x".repeat(Number(size)) });
const headers = { "content-type": "application/json" };
const endAt = performance.now() + Number(seconds) * 1_000;
let count = 0;

async function loop(): Promise<void> {
  while (performance.now() < endAt) {
    const { body: response } = await request(url, { method: "POST", headers, body, dispatcher });
    await response.text();
    count += 1;
  }
}

const startedAt = performance.now();
await Promise.all(Array.from({ length: Number(connections) }, loop));
const rate = count / ((performance.now() - startedAt) / 1_000);
const { user, system } = process.cpuUsage();
process.stdout.write(`${JSON.stringify({ rate, cpuUs: (user + system) / count })}\n`);
await dispatcher.close();
