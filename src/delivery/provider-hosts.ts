/** The hosts that providers call with receipts, inbound messages and template reviews. Every node has them, also a node that delivers
 *  nothing, since a carrier's HTTP request may reach any node. */
import type { Log } from "../lib/log.ts";
import type { LinkChooser } from "../links/choose-links.ts";
import type { Link } from "../links/link.ts";
import { Advancer } from "../messages/advance.ts";
import type { Host } from "../providers/provider.ts";
import type { ReviewUpdate } from "../providers/business-account.ts";
import type { Clock } from "../storage/database-clock.ts";
import type { Database } from "../storage/database.ts";
import type { Tracing } from "../tracing/tracing.ts";
import { Inbound } from "./inbound.ts";
import { Receipts } from "./receipts.ts";
import type { DeliveryWatch } from "./watch.ts";

export type ProviderHostsParts = {
  db: Database;
  clock: Clock;
  linkChooser: LinkChooser;
  /** Wakes the webhook workers when a change has queued a delivery. */
  wakeWebhooks: () => void;
  receiptWaitMs: number;
  watch: DeliveryWatch;
  log: Log;
  tracing?: Tracing | undefined;
  /** Receives the template reviews of carriers. Absent where this installation submits no templates. */
  reviews?: { apply(updates: readonly ReviewUpdate[]): Promise<void>; doubt(link: Link): void };
};

export class ProviderHosts {
  readonly advancer: Advancer;
  readonly receipts: Receipts;
  readonly #inbound: Inbound;
  readonly #parts: ProviderHostsParts;

  constructor(parts: ProviderHostsParts) {
    const { db, clock, linkChooser, wakeWebhooks, watch, receiptWaitMs, log, tracing } = parts;
    this.#parts = parts;
    this.advancer = new Advancer({ db, clock, wakeWebhooks, watch });
    this.receipts = new Receipts({ db, advancer: this.advancer, wakeWebhooks, watch, receiptWaitMs, log, tracing });
    this.#inbound = new Inbound({ db, clock, linkChooser, wakeWebhooks, watch, log });
  }

  /** Call after all providers have stopped, and before the database is closed. */
  stop(): void {
    this.receipts.stop();
  }

  /** Creates the host for the provider of a link. */
  hostFor(link: Link, changed: () => void): Host {
    const { clock, log, reviews } = this.#parts;
    return {
      receive: (receipts) => this.receipts.receive(link.name, receipts),
      receiveMessages: (messages) => this.#inbound.receive(link, messages),
      receiveReviews: async (updates) => reviews?.apply(updates),
      templatesChanged: () => reviews?.doubt(link),
      changed,
      now: () => clock.now(),
      log: log.child({ link: link.name }),
    };
  }
}
