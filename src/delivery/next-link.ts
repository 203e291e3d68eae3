/** Where a message may go when its link cannot have it, and who it comes from there. */
import type { Message } from "../messages/message.ts";
import type { Link } from "../links/link.ts";
import type { Routes } from "../links/choose-links.ts";

/** The link that a message may take next; none where a try of it may have left. */
export function nextLink(routes: Routes, message: Message, current: string, isFit: (link: Link) => boolean = () => true): Link | undefined {
  if (message.hasUnknown) return undefined;
  // A sender that only came with the link does not keep the message there.
  const way = routes.wayFor(hasOwnSender(routes, message, current) ? message : { ...message, sender: null });
  if (way.kind !== "way") return undefined;
  const at = way.links.findIndex(({ name }) => name === current);
  return [...way.links.slice(at + 1), ...way.links.slice(0, Math.max(at, 0))].find((link) => link.name !== current && isFit(link));
}

/** Whether it names who it comes from. One that names whom it would have come from anyway cannot be told from one that does not. */
function hasOwnSender(routes: Routes, message: Message, current: string): boolean {
  const link = routes.find(current);
  return link === undefined || message.sender !== routes.senderOn(link, message);
}

/** Who a message comes from on another link: the one it names, or that link's own where it came from the first one's. */
export const senderAfter = (routes: Routes, message: Message, { from, to }: { from: string; to: Link }): string | null =>
  hasOwnSender(routes, message, from) ? message.sender : routes.senderOn(to, message);
