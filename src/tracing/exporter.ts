/** Sends recorded spans to the collector: many spans in a request, one request at a time. The number of waiting spans is limited. If the
 *  collector is unavailable, slow or refuses, spans are dropped, and nothing else is affected. */
import { RepeatingJob } from "../lib/background-job.ts";
import { backoffMs } from "../lib/backoff.ts";
import { requireUrl } from "../lib/urls.ts";
import type { Log } from "../model/log.ts";
import { causeOf } from "../outbound/failure.ts";
import { HttpClient } from "../outbound/http-client.ts";
import type { EndedSpan } from "./otlp.ts";

export type SpanWatch = { exported(count: number): void; dropped(count: number): void };

export type ExporterParts = {
  url: string;
  headers: Readonly<Record<string, string>>;
  write: (spans: readonly EndedSpan[]) => string;
  watch: SpanWatch;
  log: Log;
  /** Part of the time that a stop may take, after nothing records any more. */
  flushMs?: number;
};

// Some seconds of a busy node, about 4 MB.
const MAX_WAITING = 8_192;
const MAX_BATCH = 512;
// Even a node with 30,000 spans a second does not fill the list of waiting spans in this time.
const EXPORT_EVERY_MS = 250;
const TIMEOUT_MS = 10_000;
const FIRST_RETRY_MS = 1_000;
const MAX_RETRY_MS = 30_000;
const FLUSH_MS = 2_000;

// The statuses that OTLP over HTTP defines as retryable. Any other refusal would be repeated.
const RETRYABLE_STATUSES: ReadonlySet<number> = new Set([429, 502, 503, 504]);

type ExportResult = { kind: "exported" } | { kind: "retry" | "refused"; reason: string };

export class Exporter {
  readonly #parts: ExporterParts;
  readonly #url: URL;
  readonly #client = new HttpClient({ connections: 1, timeoutMs: TIMEOUT_MS });
  readonly #waiting: EndedSpan[] = [];
  readonly #job: RepeatingJob;
  #isStopping = false;
  /** Requests that have failed in a row. The first is logged. */
  #failures = 0;
  #isDropping = false;

  constructor(parts: ExporterParts) {
    this.#parts = parts;
    this.#url = requireUrl(parts.url);
    const onError = (error: unknown): void =>
      parts.log.warn({ event: "tracing.export_failed", reason: String(error) }, "traces cannot be exported");
    this.#job = new RepeatingJob({ turns: [(stopping) => this.#exportAll(stopping)], onError });
    this.#job.start();
  }

  add(span: EndedSpan): void {
    if (this.#waiting.length >= MAX_WAITING || this.#isStopping) return this.#drop(1);
    this.#waiting.push(span);
  }

  /** Sends the waiting spans within the time limit; the rest is dropped. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#job.stop();
    const until = performance.now() + (this.#parts.flushMs ?? FLUSH_MS);
    while (this.#waiting.length > 0) {
      const leftMs = Math.floor(until - performance.now());
      if (leftMs <= 0 || (await this.#export(AbortSignal.timeout(leftMs))) === "retry") break;
    }
    if (this.#waiting.length > 0) this.#drop(this.#waiting.splice(0).length);
    await this.#client.close();
  }

  /** Sends what waits, and then full batches that have come meanwhile. Returns the pause until the next turn. */
  async #exportAll(stopping: AbortSignal): Promise<number> {
    if (this.#waiting.length === 0) return EXPORT_EVERY_MS;
    do {
      if ((await this.#export(stopping)) === "retry") return backoffMs(this.#failures, FIRST_RETRY_MS, MAX_RETRY_MS);
    } while (this.#waiting.length >= MAX_BATCH && !stopping.aborted);
    return EXPORT_EVERY_MS;
  }

  /** Sends the oldest waiting spans. They count as waiting until the collector has accepted them. */
  async #export(signal: AbortSignal): Promise<ExportResult["kind"]> {
    const batch = this.#waiting.slice(0, MAX_BATCH);
    const result = await this.#post(this.#parts.write(batch), signal);
    if (result.kind !== "retry") this.#waiting.splice(0, batch.length);
    if (result.kind === "exported") {
      if (this.#failures > 0) this.#parts.log.info("traces are exported again");
      this.#failures = 0;
      this.#isDropping = false;
      this.#parts.watch.exported(batch.length);
      return result.kind;
    }
    if (this.#failures === 0 && !this.#isStopping)
      this.#parts.log.warn({ event: "tracing.export_failed", reason: result.reason }, "traces cannot be exported; logged once");
    this.#failures += 1;
    if (result.kind === "refused") this.#drop(batch.length);
    return result.kind;
  }

  /** Never rejects. */
  async #post(body: string, signal: AbortSignal): Promise<ExportResult> {
    const { origin, pathname, search } = this.#url;
    const headers = { ...this.#parts.headers, "content-type": "application/json" };
    const outcome = await this.#client.call({ origin, path: pathname + search, method: "POST", headers, body }, signal);
    if (outcome.kind !== "response") return { kind: "retry", reason: causeOf(outcome.error) };
    const { status } = outcome;
    if (status >= 200 && status < 300) return { kind: "exported" };
    return { kind: RETRYABLE_STATUSES.has(status) ? "retry" : "refused", reason: `the collector answered ${status}` };
  }

  #drop(count: number): void {
    this.#parts.watch.dropped(count);
    if (!this.#isDropping)
      this.#parts.log.warn({ event: "tracing.spans_dropped", waiting: this.#waiting.length }, "spans are dropped; logged once");
    this.#isDropping = true;
  }
}
