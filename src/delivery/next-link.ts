/** Where a message may go when its link cannot have it, and who it comes from there. */
import type { Message } from "../messages/message.ts";
import type { Link } from "../links/link.ts";
import type { LinkChooser } from "../links/choose-links.ts";

/** The link that a message may take next; none where a try of it may have left. */
export function nextLink(
  linkChooser: LinkChooser,
  message: Message,
  current: string,
  isFit: (link: Link) => boolean = () => true,
): Link | undefined {
  if (message.hasUnknown) return undefined;
  // A sender that only came with the link does not keep the message there.
  const choice = linkChooser.choose(hasOwnSender(linkChooser, message, current) ? message : { ...message, sender: null });
  if (choice.kind !== "chosen") return undefined;
  const at = choice.links.findIndex(({ name }) => name === current);
  return [...choice.links.slice(at + 1), ...choice.links.slice(0, Math.max(at, 0))].find((link) => link.name !== current && isFit(link));
}

/** Whether it names who it comes from. One that names whom it would have come from anyway cannot be told from one that does not. */
function hasOwnSender(linkChooser: LinkChooser, message: Message, current: string): boolean {
  const link = linkChooser.find(current);
  return link === undefined || message.sender !== linkChooser.senderOn(link, message);
}

/** Who a message comes from on another link: the one it names, or that link's own where it came from the first one's. */
export const senderAfter = (linkChooser: LinkChooser, message: Message, { from, to }: { from: string; to: Link }): string | null =>
  hasOwnSender(linkChooser, message, from) ? message.sender : linkChooser.senderOn(to, message);
