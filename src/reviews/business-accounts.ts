/** The desks there are: accounts at carriers that have templates reviewed, each with the links that lead to it. */
import type { Log } from "../lib/log.ts";
import type { LinkChooser } from "../links/choose-links.ts";
import type { Link } from "../links/link.ts";
import type { Provider } from "../providers/provider.ts";
import type { TemplateDesk } from "../providers/template-desk.ts";
import type { Owner } from "../storage/owner.ts";
import type { Reviewer } from "./review.ts";

/** The channel on which carriers want to see a template first. */
export const REVIEWED = "whatsapp";

export type BusinessAccount = { name: string; links: readonly [Link, ...Link[]] };

export type BusinessAccountsParts = { linkChooser: LinkChooser; providers: Readonly<Record<string, Provider<never>>> };

export class BusinessAccounts {
  readonly #parts: BusinessAccountsParts;

  constructor(parts: BusinessAccountsParts) {
    this.#parts = parts;
  }

  /** In the order of the configuration, which may be another each time. */
  get all(): readonly BusinessAccount[] {
    const linksByName = new Map<string, [Link, ...Link[]]>();
    for (const link of this.#parts.linkChooser.links) {
      const name = this.nameOf(link);
      if (name === undefined) continue;
      const known = linksByName.get(name);
      if (known === undefined) linksByName.set(name, [link]);
      else known.push(link);
    }
    return Array.from(linksByName, ([name, links]) => ({ name, links }));
  }

  nameOf(link: Link): string | undefined {
    return this.#parts.providers[link.provider]?.templateAccount?.(link.settings as never);
  }

  /** Whether messages of the owner may come to the desk's carrier. */
  serves({ links }: BusinessAccount, owner: Owner): boolean {
    return links.some(({ name }) => this.#parts.linkChooser.mayTake(name, { ...owner, channel: REVIEWED }));
  }

  /** Wherever templates of the owner are reviewed. */
  reviewersFor(owner: Owner): Reviewer[] {
    return this.all
      .filter((businessAccount) => this.serves(businessAccount, owner))
      .map(({ name, links: [{ name: link }] }) => ({ businessAccount: name, link }));
  }

  /** Whose the templates are that the carrier has and nobody here wrote: whose the numbers are, or else the only one who may send. */
  ownerOf(businessAccount: BusinessAccount, owners: readonly Owner[]): Owner | undefined {
    const { linkChooser } = this.#parts;
    const holders = businessAccount.links
      .flatMap(({ name }) => linkChooser.ownersOn(name))
      .filter(({ environment }) => environment === "live");
    const isSending = ({ accountId }: Owner): boolean => owners.some((owner) => owner.accountId.equals(accountId));
    const candidates = holders.length > 0 ? holders.filter(isSending) : owners;
    const [first] = candidates;
    return first !== undefined && candidates.every(({ accountId }) => accountId.equals(first.accountId)) ? first : undefined;
  }

  /** By its first link: they share the account. */
  open({ links: [link] }: BusinessAccount, log: Log): TemplateDesk {
    const client = this.#parts.providers[link.provider]?.templateDesk?.(link.settings as never, log);
    if (client === undefined) throw new Error(`the provider ${link.provider} names a business account and has no client for its templates`);
    return client;
  }
}
