/** The business accounts of the configuration, each with its links. */
import type { Log } from "../model/log.ts";
import { mayTake } from "../links/choose-links.ts";
import type { LinkDirectory } from "../links/directory.ts";
import { ownersOn } from "../links/ownership.ts";
import type { Link } from "../links/link.ts";
import type { Provider } from "../providers/provider.ts";
import type { BusinessAccountClient } from "../providers/business-account.ts";
import type { Owner } from "../model/owner.ts";
import type { Reviewer } from "./review.ts";

/** The channel whose carriers review templates. */
export const REVIEWED_CHANNEL = "whatsapp";

export type BusinessAccount = { name: string; links: readonly [Link, ...Link[]] };

type BusinessAccountsParts = { linkDirectory: LinkDirectory; providers: Readonly<Record<string, Provider<never>>> };

export class BusinessAccounts {
  readonly #parts: BusinessAccountsParts;

  constructor(parts: BusinessAccountsParts) {
    this.#parts = parts;
  }

  /** In the order of the configuration, which may change at any time. */
  get all(): readonly BusinessAccount[] {
    const byName = Map.groupBy(this.#parts.linkDirectory.current.links, (link) => this.nameOf(link));
    return Array.from(byName).flatMap(([name, [first, ...others]]) =>
      name === undefined || first === undefined ? [] : [{ name, links: [first, ...others] as const }],
    );
  }

  nameOf(link: Link): string | undefined {
    return this.#parts.providers[link.provider]?.businessAccountName?.(link.settings as never);
  }

  /** Whether messages of the owner may be sent by a link of the account. */
  serves({ links }: BusinessAccount, owner: Owner): boolean {
    return links.some(({ name }) => mayTake(this.#parts.linkDirectory.current, name, { ...owner, channel: REVIEWED_CHANNEL }));
  }

  /** The business accounts that review templates of the owner. */
  reviewersFor(owner: Owner): Reviewer[] {
    return this.all
      .filter((businessAccount) => this.serves(businessAccount, owner))
      .map(({ name, links: [{ name: link }] }) => ({ businessAccount: name, link }));
  }

  /** Finds the owner of templates that were not written here: the owner of the numbers, or else the only account that may send. */
  ownerOf(businessAccount: BusinessAccount, owners: readonly Owner[]): Owner | undefined {
    const { linkDirectory } = this.#parts;
    const holders = businessAccount.links
      .flatMap(({ name }) => ownersOn(linkDirectory.current, name))
      .filter(({ environment }) => environment === "live");
    const isSending = ({ accountId }: Owner): boolean => owners.some((owner) => owner.accountId.equals(accountId));
    const candidates = holders.length > 0 ? holders.filter(isSending) : owners;
    const [first] = candidates;
    return first !== undefined && candidates.every(({ accountId }) => accountId.equals(first.accountId)) ? first : undefined;
  }

  /** Opens the account with the settings of its first link, because all links share it. */
  open({ links: [link] }: BusinessAccount, log: Log): BusinessAccountClient {
    const client = this.#parts.providers[link.provider]?.openBusinessAccount?.(link.settings as never, log);
    if (client === undefined) throw new Error(`the provider ${link.provider} names a business account and has no client for its templates`);
    return client;
  }
}
