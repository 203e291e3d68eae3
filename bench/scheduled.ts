/** The delay of single scheduled messages of one account, on an idle service and beside a thousand messages of another account that become due together.
 *  The delay is `sent_at` − `send_at`; the simulator responds at once. */
import { randomInt } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { GodwitPeer } from "./godwit.ts";

const CAMPAIGN = 1_000;
// The single messages become due with the campaign and in the two seconds after it.
const SINGLES = 40;
const GAP_MS = 50;
const AHEAD_MS = 6_000;
const MAX_ATTEMPTS = 600;

const TEXT = "Your appointment is tomorrow at nine.";
const recipient = (): string => `+1${randomInt(2_000_000_000, 9_999_999_999)}`;

type SentMessage = { id: string; sent_at: string | null };

async function call(url: string, authorization: string, body?: object): Promise<SentMessage> {
  const headers = { authorization, "content-type": "application/json" };
  const response = await fetch(url, body === undefined ? { headers } : { method: "POST", headers, body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`${url} responded with ${response.status}`);
  return (await response.json()) as SentMessage;
}

/** One round. Returns the delays of the single messages, in milliseconds. */
export async function delayScheduled({ url, headers }: GodwitPeer, key: string, isBesideCampaign: boolean): Promise<number[]> {
  const [greedy, modest] = [headers["Authorization"] ?? "", `Bearer ${key}`];
  const dueMs = Date.now() + AHEAD_MS;
  const defaults = { channel: "sms", body: TEXT, send_at: new Date(dueMs).toISOString() };
  const items = Array.from({ length: CAMPAIGN }, () => ({ recipient: recipient() }));
  if (isBesideCampaign) await call(`${url}/v1/batches`, greedy, { defaults, items });
  const singles = await Promise.all(
    Array.from({ length: SINGLES }, async (_, index) => {
      const sendAtMs = dueMs + index * GAP_MS;
      const body = { recipient: recipient(), channel: "sms", body: TEXT, send_at: new Date(sendAtMs).toISOString() };
      return { sendAtMs, id: (await call(`${url}/v1/messages`, modest, body)).id };
    }),
  );
  await sleep(Math.max(0, dueMs + SINGLES * GAP_MS - Date.now()) + 1_500);
  return Promise.all(singles.map(async ({ id, sendAtMs }) => (await sentAt(`${url}/v1/messages/${id}`, modest)) - sendAtMs));
}

async function sentAt(url: string, authorization: string): Promise<number> {
  for (let attempts = 0; attempts < MAX_ATTEMPTS; attempts += 1) {
    const { sent_at: at } = await call(url, authorization);
    if (at !== null) return Date.parse(at);
    await sleep(100);
  }
  throw new Error("a scheduled message was not sent within a minute");
}
