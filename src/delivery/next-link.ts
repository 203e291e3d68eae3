/** The next link of a message when its link refuses it or is down, and the sender that the message has there. */
import type { LinkChooser } from "../links/choose-links.ts";
import type { Link } from "../links/link.ts";
import type { Message } from "../messages/message.ts";

/** Returns the link that the message may use next, or undefined where an attempt of it may have left. */
export function nextLink(
  linkChooser: LinkChooser,
  message: Message,
  current: string,
  isFit: (link: Link) => boolean = () => true,
): Link | undefined {
  if (message.hasUnknown) return undefined;
  // The default sender of a link does not bind the message to that link.
  const choice = linkChooser.choose(hasOwnSender(linkChooser, message, current) ? message : { ...message, sender: null });
  if (choice.kind !== "chosen") return undefined;
  const at = choice.links.findIndex(({ name }) => name === current);
  return [...choice.links.slice(at + 1), ...choice.links.slice(0, Math.max(at, 0))].find((link) => link.name !== current && isFit(link));
}

/** Whether the request named the sender. A request that names the default sender of the link looks like one that names none. */
function hasOwnSender(linkChooser: LinkChooser, message: Message, current: string): boolean {
  const link = linkChooser.find(current);
  return link === undefined || message.sender !== linkChooser.senderOn(link, message);
}

/** The sender of a message on another link: the sender that its request named, otherwise the default sender of that link. */
export const senderAfter = (linkChooser: LinkChooser, message: Message, { from, to }: { from: string; to: Link }): string | null =>
  hasOwnSender(linkChooser, message, from) ? message.sender : linkChooser.senderOn(to, message);
