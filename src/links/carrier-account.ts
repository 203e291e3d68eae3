/** The links that share an account at their carrier. A carrier may send the receipts of an account on any of its binds, and ids are unique within
 *  an account only. So two links are one account only if their settings leave no doubt. */
import { idKey } from "../model/id.ts";
import type { Link } from "./link.ts";

/** The other links of the same owner with the same account at the carrier, by the name of each link that has any. */
export function findSiblings(links: readonly Link[]): ReadonlyMap<string, readonly string[]> {
  const owned = Map.groupBy(links, ({ accountId }) => (accountId === null ? "" : idKey(accountId)));
  const groups = [...owned.values()].flatMap((each) => [...Map.groupBy(each, (link) => accountOf(link, each))]);
  return new Map(
    groups.flatMap(([account, members]) =>
      account === undefined || members.length === 1
        ? []
        : members.map(({ name }) => [name, members.flatMap((other) => (other.name === name ? [] : [other.name]))] as const),
    ),
  );
}

/** A link that only receives may have a port of its own. It belongs to the links that send with the same user on the same hosts, unless these
 *  have several ports: behind a tunnel or a proxy, each port may be another carrier. */
function accountOf({ carrierAccount: own, channels }: Link, links: readonly Link[]): string | undefined {
  if (own?.hosts === undefined || channels.length > 0) return own?.name;
  const senders = links.filter((each) => each.channels.length > 0 && each.carrierAccount?.hosts === own.hosts);
  const names = new Set(senders.flatMap(({ carrierAccount }) => carrierAccount?.name ?? []));
  const [only = own.name] = names;
  return names.size === 1 ? only : own.name;
}
