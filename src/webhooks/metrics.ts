/** The Prometheus metrics of webhooks. */
import type { Registry } from "prom-client";
import { gaugesOfDatabase, metricsIn } from "../lib/metrics.ts";
import type { Database } from "../database/database.ts";
import type { HttpOutcome } from "../outbound/http-client.ts";
import { isSuccess } from "./attempt.ts";
import { DISABLED_REASONS, type DisabledReason } from "./endpoint.ts";
import { readQueueDepth } from "./queue.ts";

const SECONDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15];

/** Receives everything that the metrics count. */
export type WebhookWatch = ReturnType<typeof webhookWatch>;

export function webhookWatch(registry: Registry) {
  const { counter, histogram } = metricsIn(registry);
  const attempts = counter(
    "godwit_webhook_attempts_total",
    "Tries at endpoints, by what became of them: succeeded, refused (an answer that is not 2xx), or why there was no answer.",
    ["outcome"],
  );
  const seconds = histogram("godwit_webhook_seconds", "How long endpoints took to answer, or not to.", SECONDS);
  const disabled = counter("godwit_webhook_endpoints_disabled_total", "Endpoints that this process disabled, by why.", {
    reason: DISABLED_REASONS,
  });
  return {
    attempted(reply: HttpOutcome): void {
      attempts.inc({ outcome: isSuccess(reply) ? "succeeded" : reply.kind === "response" ? "refused" : reply.failure });
      seconds.observe(reply.durationMs / 1_000);
    },
    disabled: (reason: DisabledReason): void => disabled.inc({ reason }),
  };
}

export function watchOutbox(registry: Registry, db: Database): void {
  const gauge = gaugesOfDatabase(registry, async () => {
    const [found] = await readQueueDepth(db);
    if (found === undefined) return;
    depth.set({ kind: "new" }, found.rows - found.retries);
    depth.set({ kind: "retry" }, found.retries);
    oldest.set(found.oldest_due_seconds);
  });
  const depth = gauge("godwit_webhook_queue_depth", "Deliveries that wait, new ones and retries; counted up to 100,000.", ["kind"]);
  const oldest = gauge("godwit_webhook_queue_oldest_due_seconds", "For how long the oldest due delivery has waited.");
}
