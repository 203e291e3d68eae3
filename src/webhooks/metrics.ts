/** The Prometheus metrics of webhooks. */
import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import { remembered } from "../lib/remembered.ts";
import type { Database } from "../database/database.ts";
import { isSuccess } from "./attempt.ts";
import { readQueueDepth } from "./queue.ts";
import type { WebhookWatch, WebhookWorker } from "./worker.ts";

const SECONDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15];

export function webhookWatch(registry: Registry): WebhookWatch {
  const registers = [registry];
  const attempts = new Counter({
    name: "godwit_webhook_attempts_total",
    help: "Tries at endpoints, by what became of them: succeeded, refused (an answer that is not 2xx), or why there was no answer.",
    labelNames: ["outcome"],
    registers,
  });
  const seconds = new Histogram({
    name: "godwit_webhook_seconds",
    help: "How long endpoints took to answer, or not to.",
    buckets: SECONDS,
    registers,
  });
  const disabled = new Counter({
    name: "godwit_webhook_endpoints_disabled_total",
    help: "Endpoints that this process disabled, by why.",
    labelNames: ["reason"],
    registers,
  });
  return {
    attempted(reply) {
      attempts.inc({ outcome: isSuccess(reply) ? "succeeded" : reply.kind === "response" ? "refused" : reply.failure });
      seconds.observe(reply.durationMs / 1_000);
    },
    disabled: (reason) => disabled.inc({ reason }),
  };
}

export function watchWorker(registry: Registry, worker: WebhookWorker): void {
  const inFlight: Gauge = new Gauge({
    name: "godwit_webhook_calls",
    help: "Calls to endpoints that are under way in this process.",
    registers: [registry],
    collect: () => inFlight.set(worker.inFlight),
  });
}

const TRUST_MS = 5_000;

/** The depth of the queue, read from the database on each scrape: the same on every node. */
export function watchOutbox(registry: Registry, db: Database): void {
  const registers = [registry];
  const gauge = (name: string, help: string, labelNames: string[]): Gauge =>
    new Gauge({ name, help, labelNames, registers, aggregator: "first", collect: () => refresh() });
  const depth = gauge("godwit_webhook_queue_depth", "Deliveries that wait, new ones and retries; counted up to 100,000.", ["kind"]);
  const oldest = gauge("godwit_webhook_queue_oldest_due_seconds", "For how long the oldest due delivery has waited.", []);
  const refresh = remembered(TRUST_MS, async () => {
    try {
      const [found] = await readQueueDepth(db);
      if (found === undefined) return;
      depth.set({ kind: "new" }, found.rows - found.retries);
      depth.set({ kind: "retry" }, found.retries);
      oldest.set(found.oldest_due_seconds);
    } catch {
      // Other metrics report that the database is unavailable. These keep their last value.
    }
  });
}
