/** Names → addresses. The system's own look-up waits in a pool of four threads, where a handful of names whose servers are dead
 *  would hold up all others; the resolver beside it needs none. Only names of one word and names it does not find (those of the
 *  hosts file) are looked up in the system's way, two at a time. Who asks for the same name at the same time shares the answer;
 *  none is kept. */
import { lookup, Resolver } from "node:dns/promises";
import { isIP } from "node:net";
import type { AddressSet } from "../lib/addresses.ts";
import { ConcurrencyLimit } from "../lib/concurrency-limit.ts";
import { isPublicAddress } from "../lib/public-address.ts";

/** No address: none is known, or nobody knows. */
export type Resolve = (name: string) => Promise<readonly string[]>;

const TIMEOUT_MS = 2_000;
const TRIES = 2;
const MAX_SYSTEM_LOOKUPS = 2;

export function createResolve(): Resolve {
  const resolver = new Resolver({ timeout: TIMEOUT_MS, tries: TRIES });
  const systemLookups = new ConcurrencyLimit(MAX_SYSTEM_LOOKUPS);
  const asSystem: Resolve = (name) => systemLookups.run(async () => (await lookup(name, { all: true })).map(({ address }) => address));
  // A look-up that fails gives no address, and the delivery's attempt is recorded as failed for that.
  return shared(async (name) => {
    if (!name.includes(".")) return asSystem(name).catch(() => []);
    const found = await Promise.all([resolver.resolve4(name).catch(() => []), resolver.resolve6(name).catch(() => [])]);
    const addresses = found.flat();
    return addresses.length > 0 ? addresses : asSystem(name).catch(() => []);
  });
}

function shared(resolve: Resolve): Resolve {
  const pending = new Map<string, Promise<readonly string[]>>();
  return (name) => {
    let asked = pending.get(name);
    if (asked === undefined) {
      asked = resolve(name).finally(() => pending.delete(name));
      pending.set(name, asked);
    }
    return asked;
  };
}

/** Why a URL may never be called, whatever its name resolves to; undefined when it may be. */
export function urlRefusal(url: URL, allow: AddressSet): string | undefined {
  const host = hostOf(url);
  if (isIP(host) !== 0 && !isAllowed(host, url.protocol, allow))
    return isAllowed(host, "https:", allow) ? "must be https" : "names an address that is not on the public internet";
  if (url.protocol === "http:" && allow.isEmpty) return "must be https";
  return undefined;
}

const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[|\]$/g, "");

/** The clear is for what the operator allowed; the public internet is for TLS alone. */
export const isAllowed = (address: string, protocol: string, allow: AddressSet): boolean =>
  allow.has(address) || (protocol === "https:" && isPublicAddress(address));
