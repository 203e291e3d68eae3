/** The next link of a message when its link refuses it or is down, and the sender that the message has there. */
import { decodeId } from "../model/id.ts";
import { chooseLinks } from "../links/choose-links.ts";
import type { LinkDirectory } from "../links/directory.ts";
import { isFixed, senderOn } from "../links/choose-sender.ts";
import type { Link } from "../links/link.ts";
import { needOfStored } from "../messages/check-content.ts";
import type { Chosen } from "../messages/change.ts";
import type { Message } from "../messages/message.ts";

/** Returns the link that the message may use next, or undefined if an attempt of it may have left. */
export function nextLink(
  linkDirectory: LinkDirectory,
  message: Message,
  current: string,
  isFit: (link: Link) => boolean = () => true,
): Link | undefined {
  if (message.hasUnknown) return undefined;
  // A sender that was chosen for a link does not bind the message to that link.
  const sender = keepsSender(message) ? message.sender : null;
  const need = message.content === null ? undefined : needOfStored(message);
  const choice = chooseLinks(linkDirectory.current, { ...message, sender, isNamed: message.senderReason === "named", need });
  if (choice.kind !== "chosen") return undefined;
  const at = choice.links.findIndex(({ name }) => name === current);
  // The links of the operator are no replacement for a link of the account, even if its last link was deleted.
  const isOwn = decodeId("lnk", current) !== undefined;
  const mayTake = (link: Link): boolean => link.name !== current && (!isOwn || link.accountId !== null) && isFit(link);
  return [...choice.links.slice(at + 1), ...choice.links.slice(0, Math.max(at, 0))].find(mayTake);
}

/** Whether the message keeps its sender on every link: its request names it, or its person wrote to it. A message of 0.1 has no reason, and
 *  keeps its sender. */
export const keepsSender = ({ sender, senderReason }: Message): boolean =>
  sender !== null && (senderReason === null || isFixed(senderReason));

/** The sender of a message on another link: its own, or one that is chosen for that link. */
export const chosenAfter = (linkDirectory: LinkDirectory, message: Message, to: Link): Chosen => ({
  ...(keepsSender(message) ? { sender: message.sender, senderReason: message.senderReason } : senderOn(linkDirectory, to, message)),
  linkReason: "failover",
});
