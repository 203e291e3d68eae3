/** Limits of what a carrier reports on the link of an account. The account has chosen the carrier, which may be a program of its own, and every report
 *  that changes no known message is a new row. */
import type { Database } from "../database/database.ts";
import { BoundedMap } from "../lib/bounded-map.ts";
import { TokenBucket } from "../lib/token-bucket.ts";
import type { Log } from "../model/log.ts";
import { ReportsThrottled } from "../providers/provider.ts";
import type { DeliveryWatch, ReportKind } from "./context.ts";
import { hasParked } from "./receipt-queries.ts";

// For each link and node. A carrier that is refused sends the reports again, so a campaign with more replies gets them later.
const RATE = { perSecond: 100, burst: 2_000 };
/** Receipts whose messages are not known, for each link: far more than ever arrive before the response to their message. */
const MAX_PARKED = 10_000;
const MAX_LINKS = 10_000;
const WARN_EVERY_MS = 60_000;

type LinkLimits = { messages: TokenBucket; unmatched: TokenBucket; warnedAtMs: number };

export class ReportLimits {
  readonly #log: Log;
  readonly #watch: DeliveryWatch;
  readonly #links = new BoundedMap<string, LinkLimits>(MAX_LINKS);

  constructor({ log, watch }: { log: Log; watch: DeliveryWatch }) {
    this.#log = log;
    this.#watch = watch;
  }

  /** Throws if the link has no room for these messages. */
  admitMessages(link: string, count: number): void {
    if (!this.#of(link).messages.take(count)) throw this.refuse(link, "messages", count);
  }

  /** Rejects if the link has no room for these receipts, whose messages are not known. */
  async admitUnmatched(db: Database, link: string, count: number): Promise<void> {
    if (!this.#of(link).unmatched.take(count) || (await hasParked(db, link, MAX_PARKED))) throw this.refuse(link, "receipts", count);
  }

  /** Counts refused reports, and returns the error for them. Logs one line a minute: the carrier decides how often it is refused. */
  refuse(link: string, what: ReportKind, count: number): ReportsThrottled {
    this.#watch.refused(link, what, count);
    const limits = this.#of(link);
    if (performance.now() - limits.warnedAtMs >= WARN_EVERY_MS) {
      limits.warnedAtMs = performance.now();
      this.#log.warn({ event: "delivery.reports_refused", link, what }, "a carrier reports too much: it is asked to wait");
    }
    return new ReportsThrottled(`the link has brought too many ${what}`);
  }

  #of(link: string): LinkLimits {
    const limits = this.#links.get(link) ?? { messages: new TokenBucket(RATE), unmatched: new TokenBucket(RATE), warnedAtMs: -Infinity };
    this.#links.set(link, limits);
    return limits;
  }
}
