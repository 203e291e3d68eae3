/** Names → addresses. The system's own look-up waits in a pool of four threads, where a handful of names whose servers are dead
 *  would hold up all others; the resolver beside it needs none. Only names of one word and names it does not find (those of the
 *  hosts file) are looked up in the system's way, two at a time. Who asks for the same name at the same time shares the answer;
 *  none is kept. */
import { lookup, Resolver } from "node:dns/promises";

/** No address: none is known, or nobody knows. */
export type Resolve = (name: string) => Promise<readonly string[]>;

const TIMEOUT_MS = 2_000;
const TRIES = 2;
const MAX_SYSTEM_LOOKUPS = 2;

export function createResolve(): Resolve {
  const resolver = new Resolver({ timeout: TIMEOUT_MS, tries: TRIES });
  const asSystem = inLine(MAX_SYSTEM_LOOKUPS, async (name) => (await lookup(name, { all: true })).map(({ address }) => address));
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

function inLine(most: number, resolve: Resolve): Resolve {
  const waiting: (() => void)[] = [];
  let running = 0;
  return async (name) => {
    if (running >= most) await new Promise<void>((go) => waiting.push(go));
    else running += 1;
    try {
      return await resolve(name);
    } finally {
      const next = waiting.shift();
      if (next === undefined) running -= 1;
      else next();
    }
  };
}
