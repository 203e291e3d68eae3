/** The parts that all of delivery shares, and the counters that it calls. */
import type { DatabaseClock } from "../database/database-clock.ts";
import type { Database } from "../database/database.ts";
import type { WebhookHandover } from "../events/handover.ts";
import type { WakeWebhooks } from "../events/publish.ts";
import type { LinkDirectory } from "../links/directory.ts";
import type { Message } from "../messages/message.ts";
import type { Log } from "../model/log.ts";
import type { Announcer } from "../queue/announcer.ts";
import type { Tracing } from "../tracing/tracing.ts";

export type DeliveryContext = {
  db: Database;
  clock: DatabaseClock;
  announcer: Announcer;
  linkDirectory: LinkDirectory;
  /** Wakes the webhook workers when a change has queued a delivery. */
  wakeWebhooks: WakeWebhooks;
  /** The webhook worker of this process, if it has one. */
  webhookHandover?: WebhookHandover | undefined;
  /** The time in which a carrier reports about a message. */
  receiptWaitMs: number;
  watch: DeliveryWatch;
  log: Log;
  tracing?: Tracing | undefined;
};

export type DeliveryWatch = {
  /** The process may submit messages to a link from now on. */
  opened(link: string): void;
  submitted(link: string, message: Message, nowMs: number): void;
  attempted(link: string, outcome: string): void;
  advanced(after: Message): void;
  received(link: string, status: string, isIgnored: boolean): void;
  parked(link: string, count: number): void;
  inbound(link: string, outcome: InboundOutcome): void;
  /** A carrier reports too much. */
  refused(link: string, what: ReportKind, count: number): void;
};

export type ReportKind = "messages" | "receipts";

/** `unrouted`: received by the link's `inbound_account`. `kept`: for the operator. */
export type InboundOutcome = "received" | "repeated" | "unrouted" | "kept";
