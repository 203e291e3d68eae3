/** The servers of a DATABASE_URL. A URL may name several, of which one is the primary; after a failover another one is. The driver knows one
 *  server only (decision 0050). */
import { setTimeout as sleep } from "node:timers/promises";

/** The values of libpq's target_session_attrs with which a connection can write. */
const WRITABLE = ["read-write", "primary"];

/** Returns one URL for each server, in libpq's notation of several: `host1:port1,host2:port2` in front of the path, or lists in the
 *  parameters `host` and `port`. A parameter takes precedence. Throws where the URL cannot be read. */
export function serverUrls(url: string): [string, ...string[]] {
  const [, scheme = "", user = "", authority = "", path = ""] = /^([a-z]+:\/\/)([^/?]*@)?([^/?]*)([^?]*)/.exec(url) ?? [];
  const parameters = new URLSearchParams(url.slice(url.indexOf("?") + 1 || url.length));
  const target = parameters.get("target_session_attrs");
  if (target !== null && !WRITABLE.includes(target)) throw new Error(`target_session_attrs=${target} is not ${WRITABLE.join(" or ")}`);
  const inParameters = parameters.get("host");
  const hosts = (inParameters ?? authority).split(",");
  const ports = parameters.get("port")?.split(",") ?? [];
  if (hosts.length === 1 && ports.length <= 1) return [url];
  if (hosts.some((host) => host === "" || /\s/.test(host))) throw new Error("a host of the list is empty or contains a space");
  if (ports.length > 1 && ports.length !== hosts.length) throw new Error(`hosts: ${hosts.length}, but ports: ${ports.length}`);
  parameters.delete("target_session_attrs");
  return hosts.map((host, index) => {
    if (inParameters !== null) parameters.set("host", host);
    const port = ports[index] ?? ports[0];
    if (port !== undefined) parameters.set("port", port);
    return `${scheme}${user}${inParameters === null ? host : authority}${path}?${parameters.toString()}`;
  }) as [string, ...string[]];
}

// The next probe of a server, and the next search, begin this long after one in vain, however many requests wait for a connection.
const SEARCH_PAUSE_MS = 100;

/** Where the server of a session is in the history of the database. `number`: of the timeline; zero if the server does not tell. `mark`: a random id that the first session
 *  on the timeline has stored. */
export type Timeline = { number: number; mark: string | null };

/** Knows which server is the primary. A promotion begins a new timeline, so a server on an earlier timeline than one seen before is a former
 *  primary, and must not be used. A former primary that was promoted by itself has a timeline of the same number with another mark. */
export class DatabaseServers {
  readonly #count: number;
  readonly #probe: (position: number) => Promise<void>;
  #current = 0;
  #timeline: Timeline = { number: 0, mark: null };
  #isLost = false;
  #search: Promise<void> | undefined;

  /** `probe` throws if the server at the position cannot be used as the primary. */
  constructor(count: number, probe: (position: number) => Promise<void>) {
    this.#count = count;
    this.#probe = probe;
  }

  /** The position of the server that new connections use. */
  get current(): number {
    return this.#current;
  }

  get areSeveral(): boolean {
    return this.#count > 1;
  }

  /** Whether the last search found no primary. */
  get isLost(): boolean {
    return this.#isLost;
  }

  /** The latest timeline that a session has had; zero if the server does not tell. */
  get timeline(): number {
    return this.#timeline.number;
  }

  noteTimeline({ number, mark }: Timeline): void {
    const known = this.#timeline;
    if (number < known.number)
      throw new Error(
        `the server is on timeline ${number}, and timeline ${known.number} has begun: it was the primary before a failover, and must not run as one`,
      );
    if (number === known.number && known.mark !== null && mark !== null && mark !== known.mark)
      throw new Error(
        `the server is on timeline ${number} with another history: it was the primary before a failover, and must not run as one`,
      );
    this.#timeline = { number, mark: mark ?? (number === known.number ? known.mark : null) };
  }

  /** Finds the primary by probes of all servers at the same time, so that one that does not respond delays nothing. One search runs at a time.
   *  Throws the errors of all servers if none can be used. */
  find(): Promise<void> {
    this.#search ??= this.#findNow().finally(() => (this.#search = undefined));
    return this.#search;
  }

  /** Probes a server again while another one has not responded: a standby may be promoted in the meantime. */
  async #findNow(): Promise<void> {
    const failed = new Set<number>();
    let isFound = false;
    const find = async (position: number): Promise<number> => {
      for (;;) {
        try {
          await this.#probe(position);
          return position;
        } catch (error) {
          failed.add(position);
          if (isFound || failed.size === this.#count) throw error;
          await sleep(SEARCH_PAUSE_MS);
        }
      }
    };
    try {
      this.#current = await Promise.any(Array.from({ length: this.#count }, (_, position) => find(position)));
      this.#isLost = false;
    } catch (error) {
      this.#isLost = true;
      await sleep(SEARCH_PAUSE_MS);
      throw error;
    } finally {
      isFound = true;
    }
  }
}
