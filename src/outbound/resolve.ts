/** Resolves the host names that customers supply, of webhooks and of carriers, and decides which URLs and addresses may be called. The look-up of the system runs in a pool of
 *  four threads, where a few names with dead servers would block all others; the resolver of Node needs no thread. The look-up of the
 *  system serves only names of one word and names that the resolver does not find (those of the hosts file), two at a time. Simultaneous
 *  requests for the same name share one look-up; no result is cached. */
import type { LookupAddress } from "node:dns";
import { lookup, Resolver } from "node:dns/promises";
import { isIP, type LookupFunction } from "node:net";
import { callbackify } from "node:util";
import type { AddressSet } from "../lib/addresses.ts";
import { ConcurrencyLimit } from "../lib/concurrency-limit.ts";
import { isPublicAddress } from "./public-address.ts";

/** Returns no address if the name has none, or if the look-up failed. */
export type Resolve = (name: string) => Promise<readonly string[]>;

// A name server that works responds within this time. A silent one costs about seven seconds with both tries, because the second one waits
// longer; that is half of the time limit of a call.
const TIMEOUT_MS = 2_000;
// A query is one packet, which can be lost.
const TRIES = 2;
const MAX_SYSTEM_LOOKUPS = 2;

export function createResolve(): Resolve {
  const resolver = new Resolver({ timeout: TIMEOUT_MS, tries: TRIES });
  const systemLookups = new ConcurrencyLimit(MAX_SYSTEM_LOOKUPS);
  const asSystem: Resolve = (name) => systemLookups.run(async () => (await lookup(name, { all: true })).map(({ address }) => address));
  // A failed look-up returns no address, and the attempt of the delivery is recorded as failed for that.
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

/** The operator's rules: addresses that may be called although they are not public, also without TLS, and addresses that are never called.
 *  A network with its own NAT64 prefix denies that prefix, since its addresses lead to private ones and look public. */
export type AddressRules = { allow: AddressSet; deny: AddressSet };

/** Returns why a URL may never be called, whatever its name resolves to; undefined when it may be. */
export function urlRefusal(url: URL, rules: AddressRules): string | undefined {
  const host = hostOf(url);
  if (isIP(host) !== 0 && !isAllowed(host, url.protocol, rules))
    return isAllowed(host, "https:", rules) ? "must be https" : "names an address that is not on the public internet";
  if (url.protocol === "http:" && rules.allow.isEmpty) return "must be https";
  return undefined;
}

const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[|\]$/g, "");

/** Public addresses may be called only with TLS, addresses that the operator allows also without. */
export const isAllowed = (address: string, protocol: string, { allow, deny }: AddressRules): boolean =>
  !deny.has(address) && (allow.has(address) || (protocol === "https:" && isPublicAddress(address)));

/** Returns why a host may never be connected to, whatever its name resolves to; undefined when it may be. */
export function hostRefusal(host: string, isTls: boolean, rules: AddressRules): string | undefined {
  const name = host.includes(":") ? `[${host}]` : host;
  const url = URL.parse(`${isTls ? "https" : "http"}://${name}`);
  if (url === null) return "is no host";
  const reason = urlRefusal(url, rules);
  return reason === "must be https" ? "must be reached with TLS" : reason;
}

/** The look-up of a socket that connects to allowed addresses only. The socket connects to the very address that was checked. It does not
 *  look up a host that is an address: `hostRefusal` checks that one. */
export function checkedLookup(rules: AddressRules, resolve: Resolve, protocol: "https:" | "http:"): LookupFunction {
  const find = async (name: string, family: number | string): Promise<LookupAddress[]> => {
    const found = (await resolve(name))
      .filter((address) => isAllowed(address, protocol, rules))
      .map((address) => ({ address, family: isIP(address) }))
      .filter((each) => family === 0 || `IPv${each.family}` === family || each.family === family);
    // A name without an address fails like one whose addresses are not allowed: the caller does not learn which names exist here.
    if (found.length === 0) throw Object.assign(new Error(`no allowed address of ${name}`), { code: NOT_ALLOWED });
    return found;
  };
  const lookupAll = callbackify(find);
  return (name, { all = false, family = 0 }, callback) =>
    lookupAll(name, family, (error: NodeJS.ErrnoException | null, found) => {
      const [first = { address: "", family: 0 }] = found ?? [];
      if (error === null && all) callback(null, found);
      else callback(error, first.address, first.family);
    });
}

/** The code of a connection that failed because its name has no allowed address. */
export const NOT_ALLOWED = "ADDRESS_NOT_ALLOWED";
