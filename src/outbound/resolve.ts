/** Resolves the host names that customers supply. The look-up of the system runs in a pool of four threads, where a few names with dead
 *  servers would block all others; the resolver of Node needs no thread. The look-up of the system serves only names of one word and names
 *  that the resolver does not find (those of the hosts file), two at a time. Simultaneous requests for the same name share one look-up; no
 *  result is cached. */
import { lookup, Resolver } from "node:dns/promises";
import { ConcurrencyLimit } from "../lib/concurrency-limit.ts";

/** Returns no address if the name has none, or if the look-up failed. */
export type Resolve = (name: string) => Promise<readonly string[]>;

// A name server that works responds within this time. A silent one costs about seven seconds with both tries, because the second one waits
// longer; that is half of the time limit of a webhook call.
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
