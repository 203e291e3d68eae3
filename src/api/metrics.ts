/** The metrics of the HTTP server, of accepts and of traces, for Prometheus. */
import { Gauge, Registry, collectDefaultMetrics } from "prom-client";
import type { ErrorCode } from "../http/codes.ts";
import { metricsIn } from "../lib/metrics.ts";
import type { RejectionReason } from "./intake.ts";

// From a cache hit to a slow database.
const DURATION_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];

export type Metrics = ReturnType<typeof createMetrics>;

export function createMetrics(version: string) {
  const registry = new Registry();
  const { counter, histogram, gauge } = metricsIn(registry);
  collectDefaultMetrics({ register: registry });
  gauge("godwit_info", "The running version.", (info) => info.set({ version }, 1), { labelNames: ["version"], aggregator: "first" });
  const requests = counter("godwit_http_requests_total", "Requests that got a response.", ["route", "method", "status"]);
  const durations = histogram(
    "godwit_http_request_seconds",
    "Time from the first byte of a request to the last byte of its response.",
    DURATION_BUCKETS,
    ["route", "method"],
  );
  const refused = counter("godwit_quota_refusals_total", "Requests refused with 429.");
  const failures = counter("godwit_authentication_failures_total", "Requests without a valid credential, by error code.", {
    code: ["unauthorized_missing_token", "unauthorized_invalid_token"] satisfies ErrorCode[],
  });
  const rejections = counter(
    "godwit_http_rejected_total",
    "Connections and requests rejected before their work began, by the budget that they exceeded.",
    ["reason"],
  );
  const replays = counter("godwit_idempotent_replays_total", "Requests that got a stored response.");
  const heldBack = counter(
    "godwit_accept_held_back_total",
    "Requests that waited because this process had accepted more messages of their account than it could submit.",
  );
  const sizes = histogram("godwit_accept_batch_size", "Messages that shared one commit.", [1, 2, 5, 10, 20, 50, 100, 200]);
  const throughCompatible = counter("godwit_compatible_messages_total", "Messages that were accepted through a compatible API.", [
    "source",
  ]);
  const commits = histogram("godwit_accept_commit_seconds", "Duration of a commit.", DURATION_BUCKETS);
  const spans = counter(
    "godwit_spans_total",
    "Spans of traces: exported to the collector, or dropped because it was unreachable, slow or refused them.",
    ["outcome"],
  );
  const certificate = new Gauge({
    name: "godwit_tls_certificate_end_seconds",
    help: "Expiry of the first certificate of the chain, in seconds since 1970; absent if a proxy terminates TLS.",
    aggregator: "min",
    registers: [registry],
  });
  // A gauge without labels starts at zero, so it is removed until there is a certificate.
  certificate.remove();

  // The lookup of a label set costs more than the count itself. There are few label sets, so each is looked up once.
  const children = new Map<string, { count: { inc(): void }; time: { observe(seconds: number): void } }>();
  return {
    registry,
    responded(route: string, method: string, status: number, seconds: number): void {
      const name = `${method} ${status} ${route}`;
      let child = children.get(name);
      if (child === undefined) {
        child = { count: requests.labels(route, method, String(status)), time: durations.labels(route, method) };
        children.set(name, child);
      }
      child.count.inc();
      child.time.observe(seconds);
    },
    refusedByQuota: (): void => refused.inc(),
    failedToAuthenticate: (code: string): void => failures.inc({ code }),
    rejected: (reason: RejectionReason): void => rejections.inc({ reason }),
    replayed: (): void => replays.inc(),
    /** Counts a request that waits because delivery is behind. */
    heldBack: (): void => heldBack.inc(),
    committed(size: number, seconds: number): void {
      sizes.observe(size);
      commits.observe(seconds);
    },
    cameThrough: (source: string): void => throughCompatible.inc({ source }),
    /** Reports the expiry of the certificate that the server uses from now on. */
    certificateEnds: (at: Date): void => certificate.set(at.getTime() / 1_000),
    exported: (count: number): void => spans.inc({ outcome: "exported" }, count),
    dropped: (count: number): void => spans.inc({ outcome: "dropped" }, count),
  };
}
