/** The hosts that providers call with receipts, inbound messages, choices of people and template reviews. Every node has them, also a node that delivers
 *  nothing, since a carrier's HTTP request may reach any node. */
import type { ConsentDefaults } from "../consent/consent-defaults.ts";
import { FairLimit } from "../lib/fair-limit.ts";
import { idKey } from "../model/id.ts";
import type { Link } from "../links/link.ts";
import { Advancer } from "../messages/advance.ts";
import { ACCOUNT_BLOCKED, type Host, type Receipt } from "../providers/provider.ts";
import type { ReviewUpdate } from "../providers/business-account.ts";
import { announceReply } from "./announcements.ts";
import { CarrierConsent } from "./carrier-consent.ts";
import type { DeliveryContext } from "./context.ts";
import { Inbound } from "./inbound.ts";
import { Receipts } from "./receipts.ts";
import { receiveUnmatched } from "./unmatched-reports.ts";

export type ProviderHostsParts = DeliveryContext & {
  consentDefaults: ConsentDefaults;
  /** Pauses a link whose carrier blocks the account, on all nodes. */
  pauseLink: (link: string, reason: string) => Promise<void>;
  /** Receives the template reviews of carriers. Absent if this installation submits no templates. */
  reviews?: { apply(updates: readonly ReviewUpdate[]): Promise<void>; doubt(link: Link): void };
};

// Receipts and messages on the links of accounts use a few connections of the database at a time, and accounts take turns. Each connection
// to a carrier bounds how many wait.
const BROUGHT = { total: 5, alone: 4, shared: 2, maxWaiting: Infinity };

export class ProviderHosts {
  readonly advancer: Advancer;
  readonly consent: CarrierConsent;
  readonly receipts: Receipts;
  readonly context: DeliveryContext;
  readonly #inbound: Inbound;
  readonly #parts: ProviderHostsParts;
  readonly #brought = new FairLimit(BROUGHT);

  constructor(parts: ProviderHostsParts) {
    this.#parts = parts;
    this.context = parts;
    this.advancer = new Advancer(parts);
    this.consent = new CarrierConsent(parts);
    this.receipts = new Receipts({ ...parts, advancer: this.advancer, consent: this.consent });
    this.#inbound = new Inbound({
      ...parts,
      queued: ({ queueEntry, message }) => announceReply(parts.announcer, queueEntry.lane, message),
    });
  }

  /** Call after all providers have stopped, and before the database is closed. */
  stop(): void {
    this.receipts.parked.stop();
  }

  /** Creates the host for the provider of a link. */
  hostFor(link: Link, changed: () => void): Host {
    const { db, clock, linkDirectory, log, reviews } = this.#parts;
    const unmatched = { ...this.#parts, receipts: this.receipts, inbound: this.#inbound };
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

  /** Stores receipts. If the carrier blocks the account, the link is paused, so that no further message fails for it. */
  async #receive(link: Link, receipts: readonly Receipt[]): Promise<readonly Receipt[]> {
    const refused = await this.receipts.receive(link.name, receipts);
    const [blocked] = receipts.flatMap(({ error }) => (error?.code === ACCOUNT_BLOCKED ? [error] : []));
    if (blocked !== undefined) await this.#parts.pauseLink(link.name, blocked.message);
    return refused;
  }
}
