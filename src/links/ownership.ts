/** The owners of the numbers of links, and of the inbound messages to them. */
import type { AccountId } from "../model/id.ts";
import type { Owner } from "../model/owner.ts";
import type { Channel } from "./channel.ts";
import { mayTake } from "./choose-links.ts";
import type { Directory } from "./directory.ts";
import { isSameAccount, type Link } from "./link.ts";

/** The owner of a number on a link. An inbound message to the number belongs to this owner, and every message on the link of an account
 *  belongs to that account. */
export function ownerOfNumber(
  directory: Directory,
  { name, accountId }: Pick<Link, "name" | "accountId">,
  number: string,
): Owner | undefined {
  if (accountId !== null) return { accountId, environment: "live" };
  const sender = directory.sendersOf(number).find(({ link, source }) => link === name && source === "file");
  return sender && { accountId: sender.accountId, environment: sender.environment };
}

/** The owners of all numbers on a link. */
export function ownersOn(directory: Directory, link: string): Owner[] {
  const accountId = directory.find(link)?.accountId ?? null;
  if (accountId !== null) return [{ accountId, environment: "live" }];
  return directory.senders.filter((sender) => sender.link === link && sender.source === "file");
}

/** The account whose live messages can be routed to a link, if it is the only one of these accounts. */
export function onlyOwnerOn(directory: Directory, link: string, channel: Channel, accounts: readonly AccountId[]): Owner | undefined {
  const owners = accounts.map((accountId) => ({ accountId, environment: "live" }) as const);
  const [only, ...others] = owners.filter((owner) => mayTake(directory, link, { ...owner, channel }));
  return others.length === 0 ? only : undefined;
}

/** The owner of a link's inbound messages that have no other owner. */
export function inboundOwner({ accounts }: Directory, { inboundAccount }: Link): Owner | undefined {
  const accountId = inboundAccount === null ? undefined : accounts.get(inboundAccount);
  return accountId && { accountId, environment: "live" };
}

/** Whether a number is a sender of a link: one that an account has there, or the link's own. */
export const hasNumber = (directory: Directory, link: string, number: string): boolean =>
  directory.find(link)?.sender === number || directory.sendersOf(number).some((each) => each.link === link);

/** The other links of the same owner with the same account at the carrier. */
export function siblingsOf(directory: Directory, name: string): readonly string[] {
  const { carrierAccount, accountId = null } = directory.find(name) ?? {};
  if (carrierAccount === undefined) return [];
  const isSibling = (link: Link): boolean => link.carrierAccount === carrierAccount && isSameAccount(link.accountId, accountId);
  return directory.links.filter((link) => isSibling(link) && link.name !== name).map((link) => link.name);
}
