/** The hosts that providers call with receipts, inbound messages, choices of people and template reviews. Every node has them, also a node that delivers
 *  nothing, since a carrier's HTTP request may reach any node. */
import type { ConsentDefaults } from "../consent/consent-defaults.ts";
import { FairLimit } from "../lib/fair-limit.ts";
import { idKey } from "../model/id.ts";
import type { Log } from "../model/log.ts";
import type { LinkDirectory } from "../links/directory.ts";
import { siblingsOf } from "../links/ownership.ts";
import type { Link } from "../links/link.ts";
import { Advancer } from "../messages/advance.ts";
import { ACCOUNT_BLOCKED, type Host, type Receipt } from "../providers/provider.ts";
import type { ReviewUpdate } from "../providers/business-account.ts";
import type { Clock } from "../database/database-clock.ts";
import type { Database } from "../database/database.ts";
import type { Announcer } from "../queue/announcer.ts";
import type { Tracing } from "../tracing/tracing.ts";
import { announceReply } from "./announcements.ts";
import { CarrierConsent } from "./carrier-consent.ts";
import { Inbound } from "./inbound.ts";
import { Receipts } from "./receipts.ts";
import { receiveUnmatched } from "./unmatched-reports.ts";
import type { DeliveryWatch } from "./watch.ts";

export type ProviderHostsParts = {
  db: Database;
  clock: Clock;
  announcer: Announcer;
  linkDirectory: LinkDirectory;
  consentDefaults: ConsentDefaults;
  /** Wakes the webhook workers when a change has queued a delivery. */
  wakeWebhooks: () => void;
  receiptWaitMs: number;
  watch: DeliveryWatch;
  log: Log;
  tracing?: Tracing | undefined;
  /** Pauses a link whose carrier blocks the account, on all nodes. */
  pauseLink: (link: string, reason: string) => Promise<void>;
  /** Receives the template reviews of carriers. Absent where this installation submits no templates. */
  reviews?: { apply(updates: readonly ReviewUpdate[]): Promise<void>; doubt(link: Link): void };
};

// Receipts and messages on the links of accounts use a few connections of the database at a time, and accounts take turns. Each connection
// to a carrier bounds how many wait.
const BROUGHT = { total: 5, alone: 4, shared: 2, maxWaiting: Infinity };

export class ProviderHosts {
  readonly advancer: Advancer;
  readonly consent: CarrierConsent;
  readonly receipts: Receipts;
  readonly #inbound: Inbound;
  readonly #parts: ProviderHostsParts;
  readonly #brought = new FairLimit(BROUGHT);

  constructor(parts: ProviderHostsParts) {
    const { db, clock, announcer, linkDirectory, consentDefaults, wakeWebhooks, watch, receiptWaitMs, log, tracing } = parts;
    this.#parts = parts;
    this.advancer = new Advancer({ db, clock, wakeWebhooks, watch });
    this.consent = new CarrierConsent({ db, clock, linkDirectory, wakeWebhooks, log });
    const { advancer, consent } = this;
    const siblings = (link: string): readonly string[] => siblingsOf(linkDirectory.current, link);
    this.receipts = new Receipts({ db, advancer, consent, wakeWebhooks, watch, receiptWaitMs, siblings, log, tracing });
    this.#inbound = new Inbound({
      db,
      clock,
      linkDirectory,
      consentDefaults,
      wakeWebhooks,
      queued: ({ queueEntry, message }) => announceReply(announcer, queueEntry.lane, message),
      watch,
      log,
    });
  }

  /** Call after all providers have stopped, and before the database is closed. */
  stop(): void {
    this.receipts.parked.stop();
  }

  /** Creates the host for the provider of a link. */
  hostFor(link: Link, changed: () => void): Host {
    const { db, clock, linkDirectory, log, reviews } = this.#parts;
    const unmatched = { db, clock, linkDirectory, receipts: this.receipts, inbound: this.#inbound, log };
    // A link that stays open keeps its host when the country or the inbound account changes.
    const current = (): Link => linkDirectory.current.find(link.name) ?? link;
    const inTurn = <T>(work: () => Promise<T>): Promise<T> => this.#inTurn(link, work);
    // A repetition of the carrier is stored already, and changes nothing.
    const confirmed = (work: () => Promise<void>): Promise<void> => inTurn(() => work().then(() => db.confirmRead()));
    return {
      receive: (receipts) => inTurn(() => this.#receive(link, receipts)),
      receiveMessages: (messages) => confirmed(() => this.#inbound.receive(current(), messages)),
      receivePreferences: (preferences) => confirmed(() => this.consent.apply(current(), preferences)),
      receiveUnmatched: (reports) => confirmed(() => receiveUnmatched(unmatched, current(), reports)),
      receiveReviews: (updates) => confirmed(async () => reviews?.apply(updates)),
      templatesChanged: () => reviews?.doubt(link),
      changed,
      now: () => clock.now(),
      log: log.child({ link: link.name }),
    };
  }

  /** The operator's links are not limited. */
  #inTurn<T>({ accountId }: Link, work: () => Promise<T>): Promise<T> {
    return accountId === null ? work() : this.#brought.run(idKey(accountId), work);
  }

  /** Stores receipts. Where the carrier blocks the account, the link is paused, so that no further message fails for it. */
  async #receive(link: Link, receipts: readonly Receipt[]): Promise<readonly Receipt[]> {
    const refused = await this.receipts.receive(link.name, receipts);
    const [blocked] = receipts.flatMap(({ error }) => (error?.code === ACCOUNT_BLOCKED ? [error] : []));
    if (blocked !== undefined) await this.#parts.pauseLink(link.name, blocked.message);
    return refused;
  }
}
