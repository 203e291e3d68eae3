/** The outcomes of messages on links, counted in memory until they are stored. A crash loses the counts of some seconds, which does not matter. */
import { networkOf, type Network } from "./network.ts";
import { cohortOf, type Windows } from "./windows.ts";

/** `failed`: after the carrier had accepted the message. `refused`: the carrier did not accept it. */
export type LinkOutcome = "sent" | "delivered" | "failed" | "refused";

export type OutcomeCount = Network & {
  link: string;
  cohortMs: number;
  outcome: LinkOutcome;
  /** The error; empty without one. */
  code: string;
  messages: number;
  /** The sum of the times from sent to delivered. */
  waitMs: number;
};

/** The fields of a message that tell its outcome. */
export type SettledMessage = {
  environment: string;
  status: string;
  provider: { link: string } | null;
  recipient: string;
  error: { code: string } | null;
  updatedAtMs: number;
  sentAtMs: number | null;
  deliveredAtMs: number | null;
  failedAtMs: number | null;
};

// The prefixes of one process in one window. With 90 cohorts of three outcomes each, reading them takes tens of milliseconds.
const MAX_PREFIXES = 500;
// Counts that wait to be stored. The database takes them every few seconds; if it does not, the next ones are left out.
const MAX_COUNTS = 10_000;

/** The errors with which a message ends without a fault of its carrier. */
const NOT_OF_CARRIERS: ReadonlySet<string> = new Set([
  "ttl_expired",
  "recipient_opted_out",
  "service_window_closed",
  "content_unreadable",
  "no_route",
  "destination_not_permitted",
  "sender_not_allowed",
]);

export class OutcomeCounts {
  readonly #windows: Windows;
  readonly #prefixes = new Set<string>();
  #prefixesSinceMs = 0;
  #counts = new Map<string, OutcomeCount>();

  constructor(windows: Windows) {
    this.#windows = windows;
  }

  /** Counts a message whose status has just changed. */
  count(message: SettledMessage): void {
    if (message.environment !== "live" || message.provider === null) return;
    const { status, updatedAtMs, sentAtMs, deliveredAtMs, failedAtMs } = message;
    switch (status) {
      case "sent":
        return this.#add(message, "sent", sentAtMs ?? updatedAtMs);
      case "delivered":
      case "read":
        // A message that was read was counted before, unless no receipt of its delivery came. A late receipt after a failure changes nothing.
        if (deliveredAtMs !== updatedAtMs || failedAtMs !== null || sentAtMs === null) return undefined;
        if (sentAtMs === updatedAtMs) this.#add(message, "sent", sentAtMs);
        return this.#add(message, "delivered", sentAtMs, updatedAtMs - sentAtMs);
      case "undelivered":
      case "failed":
      case "expired":
        if (NOT_OF_CARRIERS.has(message.error?.code ?? "")) return undefined;
        return this.#add(message, sentAtMs === null ? "refused" : "failed", sentAtMs ?? updatedAtMs);
      default:
        return undefined;
    }
  }

  /** Returns the counts, and begins anew. */
  take(): OutcomeCount[] {
    const counts = [...this.#counts.values()];
    this.#counts = new Map();
    return counts;
  }

  #add({ provider, recipient, error, updatedAtMs }: SettledMessage, outcome: LinkOutcome, sentAtMs: number, waitMs = 0): void {
    if (sentAtMs < updatedAtMs - this.#windows.windowMs) return;
    const link = provider?.link ?? "";
    const { country, prefix: full } = networkOf(recipient);
    const prefix = this.#keptPrefix(link, full, updatedAtMs);
    const cohortMs = cohortOf(this.#windows, sentAtMs);
    const code = outcome === "failed" || outcome === "refused" ? (error?.code ?? "") : "";
    const key = `${link} ${country} ${prefix} ${cohortMs} ${outcome} ${code}`;
    const count = this.#counts.get(key);
    if (count !== undefined) {
      count.messages += 1;
      count.waitMs += waitMs;
    } else if (this.#counts.size < MAX_COUNTS)
      this.#counts.set(key, { link, country, prefix, cohortMs, outcome, code, messages: 1, waitMs });
  }

  /** The prefix, or none if this window has too many: such numbers count for their country. */
  #keptPrefix(link: string, prefix: string, nowMs: number): string {
    if (nowMs - this.#prefixesSinceMs >= this.#windows.windowMs) {
      this.#prefixes.clear();
      this.#prefixesSinceMs = nowMs;
    }
    const key = `${link} ${prefix}`;
    if (this.#prefixes.has(key)) return prefix;
    if (this.#prefixes.size >= MAX_PREFIXES) return "";
    this.#prefixes.add(key);
    return prefix;
  }
}
