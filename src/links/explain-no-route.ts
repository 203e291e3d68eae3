/** Explains why no link takes a message: which links there are, what each of them lacks, and where to add one. */
import { countryOf } from "../model/phone-number.ts";
import { chooseLinks, type RouteQuery } from "./choose-links.ts";
import type { Directory } from "./directory.ts";
import type { Link } from "./link.ts";

const MAX_LINKS_NAMED = 5;
const WHAT_TO_DO = "Create a link in the console under Carriers, with godwit links add, or with POST /v1/links: /docs/links shows how.";

export function explainNoRoute(directory: Directory, query: RouteQuery): string {
  const country = countryOf(query.recipient);
  const wanted = `No link takes a message on ${query.channel}${country === undefined ? "" : ` to ${country}`}.`;
  const all = directory.linksFor(query);
  // The links of the account hide those of the operator.
  const own = all.filter(({ accountId, channels }) => accountId !== null && channels.includes(query.channel));
  const links = own.length > 0 ? own : all;
  if (links.length === 0) return `${wanted} This environment has no links. ${WHAT_TO_DO}`;
  const reasons = links.slice(0, MAX_LINKS_NAMED).map((link) => `${link.name}: ${reasonOf(directory, link, query)}.`);
  const more = links.length > MAX_LINKS_NAMED ? ` And ${links.length - MAX_LINKS_NAMED} more.` : "";
  return `${wanted} ${reasons.join(" ")}${more} ${WHAT_TO_DO}`;
}

/** Why one link does not take the message. */
function reasonOf(directory: Directory, link: Link, query: RouteQuery): string {
  const { channel, sender } = query;
  if (!link.channels.includes(channel)) return link.channels.length === 0 ? "only receives" : `carries ${link.channels.join(" and ")} only`;
  if (directory.pauseOf(link.name) !== undefined) return "is paused";
  if (sender !== null && chooseLinks(directory, { ...query, sender: null }).kind === "chosen")
    return "does not have the sender of the message";
  return "no route for this recipient names it";
}
