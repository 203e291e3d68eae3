/** Waits until the system has finished its work. A wait that reaches its limit is reported, and the verification shows the rest. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Clients } from "./clients.ts";
import { countWaiting, type Cluster, type Endpoint } from "./cluster.ts";

type SettleOptions = { limitMs: number; signal: AbortSignal; say: (line: string) => void };

/** `left`: a text for the progress line, or undefined when nothing is left. */
type Condition = { what: string; left: () => Promise<string | undefined> };

const POLL_MS = 250;
const SAY_EVERY_MS = 10_000;
// Twice the longest freeze, and some.
const RECEIPT_SECONDS = 75;

export async function settle(cluster: Cluster, clients: Clients, { limitMs, signal, say }: SettleOptions): Promise<void> {
  for (const { what, left } of conditionsOf(cluster, clients)) {
    say(`waiting for ${what}`);
    // Each wait has its own limit, so that work that never ends does not take the time of the work after it.
    const deadline = performance.now() + limitMs;
    let saidAt = performance.now();
    for (let rest = await left(); rest !== undefined; rest = await left()) {
      signal.throwIfAborted();
      const now = performance.now();
      if (now > deadline) {
        say(`gave up waiting for ${what}: ${rest}`);
        break;
      }
      if (now - saidAt > SAY_EVERY_MS) {
        say(`waiting for ${what}: ${rest}`);
        saidAt = now;
      }
      await sleep(POLL_MS, undefined, { signal });
    }
  }
}

const conditionsOf = (cluster: Cluster, clients: Clients): Condition[] => {
  const { nodes, api, carrier, steady, recovered } = cluster;
  const none = (count: number, what: string): string | undefined => (count === 0 ? undefined : `${count} ${what}`);
  return [
    {
      what: "both nodes to be ready",
      left: async () => none((await Promise.all(nodes.map((node) => node.isReady()))).filter((isReady) => !isReady).length, "nodes"),
    },
    { what: "the clients to have a final response to every request", left: async () => none(clients.openCount, "clients") },
    {
      what: "the delivery queue to be empty",
      left: async () => {
        const { scheduled, queued, sending } = await api.require({ method: "GET", path: "/v1/queue" });
        return none(Number(scheduled) + Number(queued) + Number(sending), "messages");
      },
    },
    { what: "the carrier's receipts to be acknowledged", left: async () => none(carrier.openReceipts, "messages") },
    { what: "the parked receipts to be applied", left: async () => none(await countKnowableReceipts(cluster), "receipts") },
    { what: "the batches to be completed", left: async () => none(await countIncomplete(cluster, clients), "batches") },
    ...[steady, recovered].map((endpoint) => ({
      what: `the webhooks to ${endpoint.receiver.path}`,
      left: async () => none(await retryPending(cluster, endpoint), "deliveries"),
    })),
    { what: "the event streams", left: async () => none(await countUnstreamed(cluster), "events") },
  ];
};

/** The number of parked receipts that may still find their message: the only message to the phone, of one segment. A receipt is tried again
 *  whenever its age has doubled. */
async function countKnowableReceipts({ database }: Cluster): Promise<number> {
  const rows = await database.rows(
    `select from parked_receipts p
      where received_at > now() - make_interval(secs => $1)
        and (select count(*) = 1 and bool_and(m.segments_count = 1)
               from messages m
              where m.recipient = '+' || (p.receipt #>> '{addresses,0}'))`,
    [RECEIPT_SECONDS],
  );
  return rows.length;
}

async function countIncomplete({ api }: Cluster, { requests }: Clients): Promise<number> {
  const accepted = requests.filter(({ kind, replies }) => kind === "batch" && replies.some(({ status }) => status === 202));
  const completed = await Array.fromAsync(api.list("/v1/events?type=batch.completed"), ({ id }) => id);
  return Math.max(0, accepted.length - completed.length);
}

/** Asks for another attempt of every delivery that failed, because the pauses of the schedule grow to hours. Returns the number of
 *  deliveries that wait. */
async function retryPending(cluster: Cluster, endpoint: Endpoint): Promise<number> {
  const path = `/v1/webhook_endpoints/${endpoint.id}/deliveries`;
  for await (const delivery of cluster.api.list(`${path}?status=pending`))
    await cluster.api.send({ method: "POST", path: `${path}/${String(delivery["id"])}/retry` });
  return countWaiting(cluster, endpoint);
}

/** The number of events that a reader has not received. Waits only for events of the last page, so that events that were skipped earlier
 *  do not keep the run waiting. */
async function countUnstreamed({ api, readers }: Cluster): Promise<number> {
  const { data } = await api.require({ method: "GET", path: "/v1/events?limit=20" });
  const ids = (data as { id: string }[]).map(({ id }) => id);
  return Math.max(...readers.map((reader) => ids.filter((id) => !reader.ids.has(id)).length));
}
