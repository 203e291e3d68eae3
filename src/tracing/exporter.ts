/** Sends what was recorded to the collector: many spans a call, one call at a time. What waits is bounded, and a collector that is away,
 *  slow or unwilling costs spans and nothing else. */
import { backoffMs } from "../lib/backoff.ts";
import type { Log } from "../lib/log.ts";
import type { EndedSpan } from "./otlp.ts";

/** Told of everything that is counted. */
export type SpanWatch = { exported(count: number): void; dropped(count: number): void };

export type ExporterParts = {
  url: string;
  headers: Readonly<Record<string, string>>;
  write: (spans: readonly EndedSpan[]) => string;
  watch: SpanWatch;
  log: Log;
};

// Some seconds of a busy node; about four megabytes.
const MAX_WAITING = 8_192;
const MAX_BATCH = 512;
const EVERY_MS = 1_000;
const TIMEOUT_MS = 10_000;
const FIRST_RETRY_MS = 1_000;
const MAX_RETRY_MS = 30_000;
// Within what a stop may take, after all that records has stopped.
const FLUSH_MS = 2_000;

// These say: come again (OTLP over HTTP). Any other refusal would be repeated.
const COME_AGAIN: ReadonlySet<number> = new Set([429, 502, 503, 504]);

type Posted = { kind: "taken" } | { kind: "later" | "refused"; reason: string };

export class Exporter {
  readonly #parts: ExporterParts;
  readonly #waiting: EndedSpan[] = [];
  readonly #stopping = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #exporting: Promise<void> | undefined;
  #failures = 0;
  /** Told once, until a call succeeds again. */
  #isInTrouble = false;
  #isDropping = false;

  constructor(parts: ExporterParts) {
    this.#parts = parts;
  }

  add(span: EndedSpan): void {
    if (this.#waiting.length >= MAX_WAITING || this.#stopping.signal.aborted) return this.#drop(1);
    this.#waiting.push(span);
    if (this.#waiting.length >= MAX_BATCH && this.#failures === 0) this.#exportAfter(0);
    else this.#exportAfter(EVERY_MS);
  }

  /** What waits is sent while there is time; the rest is lost. */
  async stop(): Promise<void> {
    clearTimeout(this.#timer);
    this.#stopping.abort();
    await this.#exporting;
    const until = performance.now() + FLUSH_MS;
    while (this.#waiting.length > 0) {
      const leftMs = Math.floor(until - performance.now());
      if (leftMs <= 0 || (await this.#export(AbortSignal.timeout(leftMs))) === "later") break;
    }
    if (this.#waiting.length > 0) this.#drop(this.#waiting.splice(0).length);
  }

  #exportAfter(ms: number): void {
    if (this.#exporting !== undefined || this.#stopping.signal.aborted) return;
    if (this.#timer !== undefined) {
      if (ms > 0) return;
      clearTimeout(this.#timer);
    }
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#exporting = this.#turn();
    }, ms);
    this.#timer.unref();
  }

  async #turn(): Promise<void> {
    const outcome = await this.#export(AbortSignal.any([this.#stopping.signal, AbortSignal.timeout(TIMEOUT_MS)]));
    this.#exporting = undefined;
    if (this.#waiting.length === 0) return;
    if (outcome === "later") this.#exportAfter(backoffMs(this.#failures, FIRST_RETRY_MS, MAX_RETRY_MS));
    else this.#exportAfter(this.#waiting.length >= MAX_BATCH ? 0 : EVERY_MS);
  }

  /** The oldest that wait. They count as waiting until the collector has them. */
  async #export(signal: AbortSignal): Promise<Posted["kind"]> {
    const batch = this.#waiting.slice(0, MAX_BATCH);
    const posted = await this.#post(this.#parts.write(batch), signal);
    if (posted.kind !== "later") this.#waiting.splice(0, batch.length);
    if (posted.kind === "taken") {
      this.#failures = 0;
      this.#isDropping = false;
      this.#parts.watch.exported(batch.length);
      if (this.#isInTrouble) this.#parts.log.info("traces are exported again");
      this.#isInTrouble = false;
      return posted.kind;
    }
    this.#failures += 1;
    if (posted.kind === "refused") this.#drop(batch.length);
    const isOurs = this.#stopping.signal.aborted;
    if (!this.#isInTrouble && !isOurs)
      this.#parts.log.warn({ event: "tracing.export_failed", reason: posted.reason }, "traces cannot be exported; logged once");
    this.#isInTrouble ||= !isOurs;
    return posted.kind;
  }

  /** Never throws. */
  async #post(body: string, signal: AbortSignal): Promise<Posted> {
    const { url, headers } = this.#parts;
    try {
      const response = await fetch(url, {
        method: "POST",
        headers: { ...headers, "content-type": "application/json" },
        body,
        signal,
        redirect: "manual",
      });
      // What it says beyond the status is of no use here; unread it would hold the connection.
      await response.body?.cancel();
      if (response.ok) return { kind: "taken" };
      return { kind: COME_AGAIN.has(response.status) ? "later" : "refused", reason: `the collector answered ${response.status}` };
    } catch (error) {
      const { cause } = error as Error;
      return { kind: "later", reason: String(cause instanceof Error ? ((cause as NodeJS.ErrnoException).code ?? cause.message) : error) };
    }
  }

  #drop(count: number): void {
    this.#parts.watch.dropped(count);
    if (!this.#isDropping)
      this.#parts.log.warn({ event: "tracing.spans_dropped", waiting: this.#waiting.length }, "spans are dropped; logged once");
    this.#isDropping = true;
  }
}
