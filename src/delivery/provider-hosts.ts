/** The hosts that providers call with receipts, inbound messages, choices of people and template reviews. Every node has them, also a node that delivers
 *  nothing, since a carrier's HTTP request may reach any node. */
import type { ConsentDefaults } from "../consent/consent-defaults.ts";
import { FairLimit } from "../lib/fair-limit.ts";
import { decodeId, idKey, NO_ID } from "../model/id.ts";
import type { Link } from "../links/link.ts";
import { announceFiles } from "../media/inbound-media.ts";
import { Advancer } from "../messages/advance.ts";
import {
  ACCOUNT_BLOCKED,
  type Host,
  type Provider,
  type Receipt,
  type UnmatchedReceipt,
  type UnmatchedReports,
} from "../providers/provider.ts";
import type { ReviewUpdate } from "../providers/business-account.ts";
import { announceReply } from "./announcements.ts";
import { CarrierConsent } from "./carrier-consent.ts";
import type { DeliveryContext } from "./context.ts";
import { Inbound } from "./inbound.ts";
import { InboundParts } from "./inbound-parts.ts";
import { keepNotifications } from "./kept-inbound.ts";
import { findLinksOf } from "./receipt-queries.ts";
import { Receipts, type AdmitUnmatched } from "./receipts.ts";
import { ReportLimits } from "./report-limits.ts";

export type ProviderHostsParts = DeliveryContext & {
  providers: Readonly<Record<string, Provider<never>>>;
  consentDefaults: ConsentDefaults;
  /** How long the files of inbound messages are kept. */
  mediaRetentionMs: number;
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
  readonly providers: ProviderHostsParts["providers"];
  readonly inboundParts: InboundParts;
  readonly #inbound: Inbound;
  readonly #parts: ProviderHostsParts;
  readonly #brought = new FairLimit(BROUGHT);
  readonly #limits: ReportLimits;

  constructor(parts: ProviderHostsParts) {
    this.#parts = parts;
    this.context = parts;
    this.providers = parts.providers;
    this.#limits = new ReportLimits(parts);
    this.advancer = new Advancer(parts);
    this.consent = new CarrierConsent(parts);
    this.receipts = new Receipts({ ...parts, advancer: this.advancer, consent: this.consent });
    this.#inbound = new Inbound({
      ...parts,
      queued: ({ queueEntry, message }) => announceReply(parts.announcer, queueEntry.lane, message),
      filesCame: (owner) => announceFiles(parts.announcer, owner, parts.clock.now()),
    });
    this.inboundParts = new InboundParts({ ...parts, inbound: this.#inbound, limits: this.#limits });
  }

  /** Call after all providers have stopped, and before the database is closed. */
  stop(): void {
    this.receipts.parked.stop();
  }

  hostFor(link: Link, changed: () => void): Host {
    const { db, clock, linkDirectory, log, reviews } = this.#parts;
    const isOfAccount = link.accountId !== null;
    const admit: AdmitUnmatched | undefined = isOfAccount ? (count) => this.#limits.admitUnmatched(db, link.name, count) : undefined;
    const unmatched = { ...this.#parts, receipts: this.receipts, inbound: this.#inbound, admit };
    const admitMessages = (messages: readonly unknown[]): void => {
      if (isOfAccount && messages.length > 0) this.#limits.admitMessages(link.name, messages.length);
    };
    // A link that stays open keeps its host when the country or the inbound account changes.
    const current = (): Link => linkDirectory.current.find(link.name) ?? link;
    // The operator's links are not limited.
    const inTurn = <T>(work: () => Promise<T>): Promise<T> =>
      link.accountId === null ? work() : this.#brought.run(idKey(link.accountId), work);
    // A repetition of the carrier is stored already, and changes nothing.
    const confirmed = (work: () => Promise<void>): Promise<void> => inTurn(() => work().then(() => db.confirmRead()));
    return {
      receive: (receipts) => inTurn(() => this.#receive(link, receipts, admit)),
      receiveMessages: async (messages) => {
        admitMessages(messages);
        await confirmed(() => this.#inbound.receive(current(), messages));
      },
      receivePart: async (part) => {
        admitMessages([part]);
        return this.inboundParts.receive(current(), part, inTurn);
      },
      receivePreferences: (preferences) => confirmed(() => this.consent.apply(current(), preferences)),
      receiveUnmatched: async (reports) => {
        admitMessages(reports.messages);
        await confirmed(() => receiveUnmatched(unmatched, current(), reports));
      },
      receiveReviews: (updates) => confirmed(async () => reviews?.apply(updates)),
      templatesChanged: () => reviews?.doubt(link),
      changed,
      now: () => clock.now(),
      log: log.child({ link: link.name }),
    };
  }

  /** Stores receipts. If the carrier blocks the account, the link is paused, so that no further message fails for it. */
  async #receive(link: Link, receipts: readonly Receipt[], admit: AdmitUnmatched | undefined): Promise<readonly Receipt[]> {
    const refused = await this.receipts.receive(link.name, receipts, admit);
    const [blocked] = receipts.flatMap(({ error }) => (error?.code === ACCOUNT_BLOCKED ? [error] : []));
    if (blocked !== undefined) await this.#parts.pauseLink(link.name, blocked.message);
    return refused;
  }
}

type UnmatchedParts = DeliveryContext & { receipts: Receipts; inbound: Inbound; admit: AdmitUnmatched | undefined };

/** Stores reports about numbers without a link, which came by the URL of a link. A receipt that names a message of ours is applied. The rest is kept
 *  for the operator. Resolves when all of them are committed. */
async function receiveUnmatched(parts: UnmatchedParts, link: Link, reports: UnmatchedReports): Promise<void> {
  const { db, clock, receipts, inbound, log, admit } = parts;
  const byLink = await linksOfReceipts(parts, reports, link.accountId !== null);
  const unknown = byLink.get(undefined) ?? [];
  for (const [name, found] of byLink)
    if (name !== undefined)
      await receipts.receive(
        name,
        found.map(({ receipt }) => receipt),
        admit,
      );
  if (link.accountId !== null) {
    // The list of the operator has nothing of an account's own link.
    await inbound.receive(link, reports.messages);
    return;
  }
  if (unknown.length > 0) {
    const [channel = "sms"] = link.channels;
    const origin = { link: link.name, provider: link.provider, channel };
    await db.transaction((tx) => keepNotifications(tx, clock.now(), origin, unknown));
    log.warn(
      { event: "delivery.notifications_kept", link: link.name, count: unknown.length },
      "receipts name neither a link nor a message of ours: they are kept",
    );
  }
  await inbound.keep(link, reports.messages);
}

/** Groups receipts by the link that sent their message; undefined: the message is not known here. A report changes only messages of links with
 *  its secret. */
async function linksOfReceipts(
  { db, linkDirectory }: UnmatchedParts,
  { receipts, links }: UnmatchedReports,
  isOfAccount: boolean,
): Promise<ReadonlyMap<string | undefined, UnmatchedReceipt[]>> {
  const ids = receipts.map(({ receipt }) => (receipt.reference === null ? undefined : decodeId("msg", receipt.reference)) ?? NO_ID);
  const found = receipts.length === 0 ? new Map<number, string>() : await findLinksOf(db, ids);
  return Map.groupBy(receipts, (_, index) => {
    const name = found.get(index);
    const isOther = name !== undefined && (isOfAccount || linkDirectory.current.find(name) !== undefined) && !links.includes(name);
    return isOther ? undefined : name;
  });
}
