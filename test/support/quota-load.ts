/** A load of requests that use an environment's quota and nothing else. */
import assert from "node:assert/strict";
import { Agent, get } from "node:http";
import type { Godwit } from "./harness.ts";

// The response is 404, after the check of the quota and before any query to the database.
export const CHEAP = "/v1/messages/none";

export type Load = { admitted: number; requests: number };

/** Sends requests continuously on several connections until the given time. */
export async function hammer(server: Godwit, key: string, untilMs: number, connections: number): Promise<Load> {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  let admitted = 0;
  let requests = 0;
  const once = (): Promise<number> =>
    new Promise((resolve, reject) => {
      const sent = get(`${server.url}${CHEAP}`, { agent, headers: { authorization: `Bearer ${key}` } }, (response) => {
        response.resume();
        response.on("end", () => resolve(response.statusCode ?? 0));
      });
      sent.on("error", reject);
    });
  const loop = async (): Promise<void> => {
    while (performance.now() < untilMs) {
      requests += 1;
      const status = await once();
      assert.ok(status === 404 || status === 429, `unexpected ${status}`);
      if (status === 404) admitted += 1;
    }
  };
  await Promise.all(Array.from({ length: connections }, loop));
  agent.destroy();
  return { admitted, requests };
}
