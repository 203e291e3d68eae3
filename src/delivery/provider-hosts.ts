/** Where carriers speak to us: receipts, and what people write. Every process has them, also one that hands nothing over, since
 *  what comes over HTTP comes to any. */
import type { Log } from "../lib/log.ts";
import { Advancer } from "../messages/advance.ts";
import type { Host } from "../providers/provider.ts";
import type { TemplateVerdict } from "../providers/template-desk.ts";
import type { Link } from "../links/link.ts";
import type { LinkChooser } from "../links/choose-links.ts";
import type { Clock } from "../storage/database-clock.ts";
import type { Database } from "../storage/database.ts";
import type { Tracing } from "../tracing/tracing.ts";
import type { DeliveryWatch } from "./watch.ts";
import { Inbound } from "./inbound.ts";
import { Receipts } from "./receipts.ts";

export type ProviderHostsParts = {
  db: Database;
  clock: Clock;
  linkChooser: LinkChooser;
  /** Rung when a change is to be told to someone. */
  wakeWebhooks: () => void;
  receiptWaitMs: number;
  watch: DeliveryWatch;
  log: Log;
  tracing?: Tracing | undefined;
  /** Who hears what carriers say of templates; without, nobody asks them to review any. */
  reviews?: { hear(verdicts: readonly TemplateVerdict[]): Promise<void>; doubt(link: Link): void };
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

  /** After all that speaks through them has stopped, and before the database goes. */
  stop(): void {
    this.receipts.stop();
  }

  /** What the provider of a link may ask of us. */
  hostFor(link: Link, changed: () => void): Host {
    const { clock, log, reviews } = this.#parts;
    return {
      receive: (receipts) => this.receipts.receive(link.name, receipts),
      receiveMessages: (messages) => this.#inbound.receive(link, messages),
      receiveVerdicts: async (verdicts) => reviews?.hear(verdicts),
      templatesChanged: () => reviews?.doubt(link),
      changed,
      now: () => clock.now(),
      log: log.child({ link: link.name }),
    };
  }
}
