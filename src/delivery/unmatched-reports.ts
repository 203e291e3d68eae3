/** Reports of carriers about numbers without a link. A receipt that names a message of ours is applied. The rest is kept for the operator. */
import { decodeId, NO_ID } from "../model/id.ts";
import type { Link } from "../links/link.ts";
import type { UnmatchedReceipt, UnmatchedReports } from "../providers/provider.ts";
import type { DeliveryContext } from "./context.ts";
import type { Inbound } from "./inbound.ts";
import { keepNotifications } from "./kept-inbound.ts";
import { findLinksOf } from "./receipt-queries.ts";
import type { Receipts } from "./receipts.ts";

type UnmatchedParts = DeliveryContext & { receipts: Receipts; inbound: Inbound };

/** Stores the reports that came by the URL of a link. Resolves when all of them are committed. */
export async function receiveUnmatched(parts: UnmatchedParts, link: Link, reports: UnmatchedReports): Promise<void> {
  const { db, clock, receipts, inbound, log } = parts;
  const byLink = await linksOfReceipts(parts, reports, link.accountId !== null);
  const unknown = byLink.get(undefined) ?? [];
  for (const [name, found] of byLink)
    if (name !== undefined)
      await receipts.receive(
        name,
        found.map(({ receipt }) => receipt),
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
