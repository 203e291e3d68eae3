/** Sends recorded spans to the collector: many spans in a request, one request at a time. The number of waiting spans is limited. If the
 *  collector is unavailable, slow or refuses, spans are dropped, and nothing else is affected. */
import { backoffMs } from "../lib/backoff.ts";
import type { Log } from "../model/log.ts";
import { causeOf } from "../outbound/failure.ts";
import { HttpClient } from "../outbound/http-client.ts";
import type { EndedSpan } from "./otlp.ts";

/** Counts spans. */
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
const EXPORT_EVERY_MS = 1_000;
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
  readonly #stopping = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #exporting: Promise<void> | undefined;
  #failures = 0;
  /** Logged once, until a request succeeds again. */
  #isFailing = false;
  #isDropping = false;

  constructor(parts: ExporterParts) {
    this.#parts = parts;
    this.#url = new URL(parts.url);
  }

  add(span: EndedSpan): void {
    if (this.#waiting.length >= MAX_WAITING || this.#stopping.signal.aborted) return this.#drop(1);
    this.#waiting.push(span);
    if (this.#waiting.length >= MAX_BATCH && this.#failures === 0) this.#exportAfter(0);
    else this.#exportAfter(EXPORT_EVERY_MS);
  }

  /** Sends the waiting spans within the time limit; the rest is dropped. */
  async stop(): Promise<void> {
    clearTimeout(this.#timer);
    this.#stopping.abort();
    await this.#exporting;
    const until = performance.now() + (this.#parts.flushMs ?? FLUSH_MS);
    while (this.#waiting.length > 0) {
      const leftMs = Math.floor(until - performance.now());
      if (leftMs <= 0 || (await this.#export(AbortSignal.timeout(leftMs))) === "retry") break;
    }
    if (this.#waiting.length > 0) this.#drop(this.#waiting.splice(0).length);
    await this.#client.close();
  }

  #exportAfter(ms: number): void {
    if (this.#exporting !== undefined || this.#stopping.signal.aborted) return;
    if (this.#timer !== undefined) {
      if (ms > 0) return;
      clearTimeout(this.#timer);
    }
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#exporting = this.#exportOnce();
    }, ms);
    this.#timer.unref();
  }

  async #exportOnce(): Promise<void> {
    const outcome = await this.#export(this.#stopping.signal);
    this.#exporting = undefined;
    if (this.#waiting.length === 0) return;
    if (outcome === "retry") this.#exportAfter(backoffMs(this.#failures, FIRST_RETRY_MS, MAX_RETRY_MS));
    else this.#exportAfter(this.#waiting.length >= MAX_BATCH ? 0 : EXPORT_EVERY_MS);
  }

  /** Sends the oldest waiting spans. They count as waiting until the collector has accepted them. */
  async #export(signal: AbortSignal): Promise<ExportResult["kind"]> {
    const batch = this.#waiting.slice(0, MAX_BATCH);
    const result = await this.#post(this.#parts.write(batch), signal);
    if (result.kind !== "retry") this.#waiting.splice(0, batch.length);
    if (result.kind === "exported") {
      this.#failures = 0;
      this.#isDropping = false;
      this.#parts.watch.exported(batch.length);
      if (this.#isFailing) this.#parts.log.info("traces are exported again");
      this.#isFailing = false;
      return result.kind;
    }
    this.#failures += 1;
    if (result.kind === "refused") this.#drop(batch.length);
    const isStopping = this.#stopping.signal.aborted;
    if (!this.#isFailing && !isStopping)
      this.#parts.log.warn({ event: "tracing.export_failed", reason: result.reason }, "traces cannot be exported; logged once");
    this.#isFailing ||= !isStopping;
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
