/** The metrics of the HTTP server and of accepts, for Prometheus. */
import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from "prom-client";
import type { RejectionReason } from "./intake.ts";

// From a cache hit to a slow database.
const DURATION_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];

export type Metrics = ReturnType<typeof createMetrics>;

export function createMetrics(version: string) {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  const info = { name: "godwit_info", help: "The running version.", labelNames: ["version"], aggregator: "first", registers } as const;
  new Gauge(info).set({ version }, 1);
  const requests = new Counter({
    name: "godwit_http_requests_total",
    help: "Requests that got a response.",
    labelNames: ["route", "method", "status"],
    registers,
  });
  const durations = new Histogram({
    name: "godwit_http_request_seconds",
    help: "Time from the first byte of a request to the last byte of its response.",
    labelNames: ["route", "method"],
    buckets: DURATION_BUCKETS,
    registers,
  });
  const refused = new Counter({ name: "godwit_quota_refusals_total", help: "Requests refused with 429.", registers });
  const failures = new Counter({
    name: "godwit_authentication_failures_total",
    help: "Requests without a valid credential, by error code.",
    labelNames: ["code"],
    registers,
  });
  const rejections = new Counter({
    name: "godwit_http_rejected_total",
    help: "Connections and requests rejected before their work began, by the budget that they exceeded.",
    labelNames: ["reason"],
    registers,
  });
  const replays = new Counter({ name: "godwit_idempotent_replays_total", help: "Requests that got a stored response.", registers });
  const heldBack = new Counter({
    name: "godwit_accept_held_back_total",
    help: "Requests that waited because this process had accepted more messages of their account than it could submit.",
    registers,
  });
  const sizes = new Histogram({
    name: "godwit_accept_batch_size",
    help: "Messages that shared one commit.",
    buckets: [1, 2, 5, 10, 20, 50, 100, 200],
    registers,
  });
  const commits = new Histogram({
    name: "godwit_accept_commit_seconds",
    help: "Duration of a commit.",
    buckets: DURATION_BUCKETS,
    registers,
  });

  const certificate = new Gauge({
    name: "godwit_tls_certificate_end_seconds",
    help: "Expiry of the first certificate of the chain, in seconds since 1970; absent if a proxy terminates TLS.",
    aggregator: "min",
    registers,
  });
  // A gauge without labels starts at zero, so it is removed until there is a certificate.
  certificate.remove();

  // The lookup of a label set costs more than the count itself. There are few label sets, so each is looked up once.
  const children = new Map<string, { count: { inc(): void }; time: { observe(seconds: number): void } }>();
  return {
    registry,
    /** Counts one request with its response. */
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
    /** Counts a request without a valid credential, by its error code. */
    failedToAuthenticate: (code: string): void => failures.inc({ code }),
    /** Counts a connection or a request that exceeded a budget. */
    rejected: (reason: RejectionReason): void => rejections.inc({ reason }),
    replayed: (): void => replays.inc(),
    /** Counts a request that waits because delivery is behind. */
    heldBack: (): void => heldBack.inc(),
    /** Counts one group commit of `size` messages. */
    committed(size: number, seconds: number): void {
      sizes.observe(size);
      commits.observe(seconds);
    },
    /** Reports the expiry of the certificate that the server uses from now on. */
    certificateEnds: (at: Date): void => certificate.set(at.getTime() / 1_000),
    /** Adds a gauge whose value is read at each scrape. */
    gauge(name: string, help: string, read: () => number | Promise<number>): void {
      const gauge: Gauge = new Gauge({ name, help, registers: [], collect: async () => gauge.set(await read()) });
      registry.registerMetric(gauge);
    },
  };
}
