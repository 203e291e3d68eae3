/** Fetches the files behind URLs of customers, a few at a time for each account. The same guard as for webhooks decides which addresses are called. */
import { Problem } from "../http/problem.ts";
import { FairLimit } from "../lib/fair-limit.ts";
import { idKey } from "../model/id.ts";
import type { Owner } from "../model/owner.ts";
import type { AddressGate } from "../outbound/address-gate.ts";
import { download, DownloadFailed, downloadRefusal } from "../outbound/download.ts";
import type { MediaWatch } from "./metrics.ts";
import { MAX_FILE_BYTES } from "./receive-file.ts";

/** `name`: the file name in the URL, if it has one. */
export type FetchedFile = { pieces: AsyncIterable<Buffer>; contentType: string; name: string | null };

export type FetcherParts = {
  gate: AddressGate;
  /** Certificates to trust instead of the system's, for tests. */
  ca?: string | undefined;
  timeoutMs?: number;
  watch: Pick<MediaWatch, "fetched">;
};

// Each holds about a megabyte, as an upload does.
const FETCHES = { total: 8, alone: 4, shared: 2, maxWaiting: 50 };
// A file of the largest size, at one megabyte a second. The request of a message may wait for it.
const TIMEOUT_MS = 100_000;
const RETRY_SECONDS = 5;

export class MediaFetcher {
  readonly #parts: FetcherParts;
  readonly #turns = new FairLimit(FETCHES);

  constructor(parts: FetcherParts) {
    this.#parts = parts;
  }

  /** The problem of a URL that is never fetched. Connects to nothing. */
  refusal(url: string): Problem | undefined {
    const reason = downloadRefusal(url, this.#parts.gate);
    return reason === undefined ? undefined : notFetched(reason);
  }

  /** Runs `take` with the file. Throws a problem if the file cannot be fetched. */
  async fetch<T>({ accountId }: Owner, url: string, take: (file: FetchedFile) => Promise<T>): Promise<T> {
    const { gate, ca, timeoutMs = TIMEOUT_MS, watch } = this.#parts;
    const account = idKey(accountId);
    this.#turns.note(account);
    if (this.#turns.isFull(account))
      throw new Problem("rate_limit_exceeded", {
        detail: "too many files are being fetched for this account",
        headers: { "retry-after": String(RETRY_SECONDS) },
      });
    try {
      const taken = await this.#turns.run(account, () =>
        download(url, { gate, ca, timeoutMs, maxBytes: MAX_FILE_BYTES }, ({ pieces, contentType, url: last }) =>
          take({ pieces, contentType, name: nameIn(last) }),
        ),
      );
      watch.fetched("fetched");
      return taken;
    } catch (error) {
      watch.fetched("failed");
      if (error instanceof DownloadFailed) throw notFetched(error.message);
      throw error;
    }
  }
}

const notFetched = (reason: string): Problem => new Problem("media_fetch_failed", { detail: `the file could not be fetched: ${reason}` });

const NAME = /^[^\p{Cc}/\\]{1,100}\.\w{1,10}$/u;

/** The last part of the path, if it looks like the name of a file. */
function nameIn({ pathname }: URL): string | null {
  let name = pathname.slice(pathname.lastIndexOf("/") + 1);
  try {
    name = decodeURIComponent(name);
  } catch {
    return null;
  }
  return NAME.test(name) ? name : null;
}
