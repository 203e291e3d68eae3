/** The owners of the numbers of links, and of the inbound messages to them. */
import type { AccountId } from "../model/id.ts";
import type { Owner } from "../model/owner.ts";
import type { Channel } from "./channel.ts";
import { mayTake } from "./choose-links.ts";
import type { Directory } from "./directory.ts";
import type { Link } from "./link.ts";

/** A link, and the others with the same account at the carrier: an inbound message may come on any of them. */
export const linksOfAccount = (directory: Directory, link: string): readonly string[] => [link, ...directory.siblingsOf(link)];

/** The owner of a number on the links of an account at the carrier. An inbound message to the number belongs to this owner, and every message on the link of an account
 *  belongs to that account. */
export function ownerOfNumber(
  directory: Directory,
  { name, accountId }: Pick<Link, "name" | "accountId">,
  number: string,
): Owner | undefined {
  if (accountId !== null) return { accountId, environment: "live" };
  const links = linksOfAccount(directory, name);
  const sender = directory.sendersOf(number).find(({ link, source }) => links.includes(link) && source === "file");
  return sender && { accountId: sender.accountId, environment: sender.environment };
}

export function ownersOn(directory: Directory, link: string): Owner[] {
  const accountId = directory.find(link)?.accountId ?? null;
  if (accountId !== null) return [{ accountId, environment: "live" }];
  return directory.senders.filter((sender) => sender.link === link && sender.source === "file");
}

/** The account whose live messages can be routed to a link, or to another one of the same account at the carrier, if it is the only one of
 *  these accounts. */
export function onlyOwnerOn(directory: Directory, link: string, channel: Channel, accounts: readonly AccountId[]): Owner | undefined {
  const owners = accounts.map((accountId) => ({ accountId, environment: "live" }) as const);
  const links = linksOfAccount(directory, link);
  const [only, ...others] = owners.filter((owner) => links.some((each) => mayTake(directory, each, { ...owner, channel })));
  return others.length === 0 ? only : undefined;
}

/** The owner of a link's inbound messages that have no other owner. */
export function inboundOwner({ accounts }: Directory, { inboundAccount }: Link): Owner | undefined {
  const accountId = inboundAccount === null ? undefined : accounts.get(inboundAccount);
  return accountId && { accountId, environment: "live" };
}

/** Whether a number is a sender of a link, or of another one of the same account at the carrier: one that an account has there, or the
 *  link's own. */
export function hasNumber(directory: Directory, link: string, number: string): boolean {
  const links = linksOfAccount(directory, link);
  return (
    links.some((each) => directory.find(each)?.sender === number) || directory.sendersOf(number).some((each) => links.includes(each.link))
  );
}
