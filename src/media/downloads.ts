/** Downloads the files of inbound messages, in the background and from any node: claims files that are due, lets the provider open them with the
 *  credential of their link, and stores them. A file that cannot be had is tried again for a day. The change of the media and its event are one
 *  transaction. */
import type { Clock } from "../database/database-clock.ts";
import type { Database, Tx } from "../database/database.ts";
import { publishEvent, type WakeWebhooks } from "../events/publish.ts";
import { Problem } from "../http/problem.ts";
import { backoffMs } from "../lib/backoff.ts";
import { RepeatingJob } from "../lib/background-job.ts";
import { uuidTimeMs } from "../lib/uuid.ts";
import { within } from "../lib/wait.ts";
import type { LinkDirectory } from "../links/directory.ts";
import type { MediaKind } from "../model/content.ts";
import { idKey, newId, type AccountId, type MediaId } from "../model/id.ts";
import { errorFields, reportError, type Log } from "../model/log.ts";
import type { Owner } from "../model/owner.ts";
import type { OpenFile } from "../providers/carrier-file.ts";
import type { Provider } from "../providers/provider.ts";
import type { Announcer } from "../queue/announcer.ts";
import { ClaimLoop } from "../queue/claim-loop.ts";
import { typeAs } from "./content-type.ts";
import {
  claimDownloads,
  storeDue,
  storeFailed,
  storeReady,
  type DownloadedFile,
  type DueFile,
  type SettledRow,
} from "./download-queries.ts";
import { MEDIA_LANE } from "./inbound-media.ts";
import { mediaRecord, type Media } from "./media.ts";

/** Why a file could not be downloaded, as the record of the media shows it. */
type Failure = { reason: string; isPermanent: boolean; detail: string };

export type DownloadsParts = {
  db: Database;
  clock: Clock;
  announcer: Announcer;
  linkDirectory: LinkDirectory;
  providers: Readonly<Record<string, Provider<never>>>;
  files: InboundFiles;
  wakeWebhooks: WakeWebhooks;
  log: Log;
  /** How often a node looks for files of which no node has announced any, and how long a claim lasts without a renewal. */
  pollMs: number;
  leaseMs: number;
};

/** The part of the media store that takes inbound files. */
type InboundFiles = {
  /** Stores a file, and gives it to media by `keep`, in one transaction. Nothing is kept if `keep` returns false. Throws a `Problem`, or returns it,
   *  if the file cannot be stored. */
  storeInbound(
    owner: Owner,
    pieces: AsyncIterable<Buffer>,
    keep: (tx: Tx, file: DownloadedFile) => Promise<boolean>,
  ): Promise<Problem | undefined>;
};

// A download takes some hundred kilobytes of memory and a connection of the database at times. A link, and an account with several links, leaves
// room for others.
const MAX_RUNNING = 8;
const MAX_OF_LINK = 6;
const MAX_OF_ACCOUNT = 4;
// As much as the store takes of a file of any kind.
const MAX_BYTES = 100 * 1_048_576;
// The largest file at less than two megabits a second.
const DOWNLOAD_MS = 600_000;
// The id of a file lasts 30 days at WhatsApp. A day is enough for a carrier that is down, or for an operator who renews a token.
const GIVE_UP_AFTER_MS = 24 * 3_600_000;
const FIRST_RETRY_MS = 5_000;
const MAX_RETRY_MS = 1_800_000;
// A stop has seconds. A file that is not complete begins again.
const STOP_MS = 1_500;

type Running = Owner & { id: MediaId; link: string; done: Promise<void> };

export class Downloads {
  readonly #parts: DownloadsParts;
  readonly #running = new Map<string, Running>();
  readonly #stopping = new AbortController();
  readonly #loop: ClaimLoop;
  readonly #job: RepeatingJob;
  #mayBeDue = true;

  constructor(parts: DownloadsParts) {
    this.#parts = parts;
    const onError = reportError(parts.log, "media.claim_failed", "files to download could not be claimed");
    this.#loop = new ClaimLoop({
      isAnyDue: () => this.#mayBeDue && this.#running.size < MAX_RUNNING,
      begin: () => this.#claim(),
      onError,
    });
    this.#job = new RepeatingJob({ onError });
  }

  start(): void {
    const { announcer, pollMs, leaseMs } = this.#parts;
    announcer.hear((lane) => {
      if (lane === MEDIA_LANE) this.#wake();
    });
    this.#job.repeat(async () => {
      this.#wake();
      return pollMs;
    });
    this.#job.repeat(async () => {
      await this.#renew();
      return leaseMs / 3;
    });
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all([this.#loop.stop(), this.#job.stop()]);
    await within(Promise.all(Array.from(this.#running.values(), ({ done }) => done)), STOP_MS);
  }

  #wake(): void {
    this.#mayBeDue = true;
    this.#loop.wake();
  }

  async #claim(): Promise<void> {
    const { db, clock, leaseMs } = this.#parts;
    this.#mayBeDue = false;
    const most = MAX_RUNNING - this.#running.size;
    const nowMs = clock.now();
    const busy = { busyAccounts: this.#busyAccounts(), busyLinks: this.#busyLinks() };
    const claimed = await claimDownloads(db, { nowMs, leasedUntilMs: nowMs + leaseMs, ...busy, most });
    // There may be more than those that had room.
    if (claimed.length > 0) this.#mayBeDue = true;
    for (const file of claimed) this.#begin(file);
  }

  #begin(file: DueFile): void {
    const { account_id: accountId, environment, id, link } = file;
    const key = idKey(id);
    const done = this.#download(file).finally(() => {
      this.#running.delete(key);
      this.#mayBeDue = true;
      this.#loop.claim();
    });
    this.#running.set(key, { accountId, environment, id, link, done });
  }

  #busyAccounts(): AccountId[] {
    const byAccount = Map.groupBy(this.#running.values(), ({ accountId }) => idKey(accountId));
    return Array.from(byAccount.values()).flatMap((files) => (files.length < MAX_OF_ACCOUNT ? [] : (files[0]?.accountId ?? [])));
  }

  #busyLinks(): string[] {
    const byLink = Map.groupBy(this.#running.values(), ({ link }) => link);
    return Array.from(byLink).flatMap(([link, files]) => (files.length < MAX_OF_LINK ? [] : [link]));
  }

  /** A node that dies leaves its files to the others when their leases end. */
  #renew(): Promise<void> {
    const { db, clock, leaseMs } = this.#parts;
    return storeDue(db, [...this.#running.values()], clock.now() + leaseMs);
  }

  /** Never rejects. */
  async #download(file: DueFile): Promise<void> {
    const { db, clock, log } = this.#parts;
    const owned = { accountId: file.account_id, environment: file.environment, id: file.id };
    try {
      const failure = await this.#attempt(file, owned);
      if (failure === undefined) return;
      // A node that stops leaves its files to the others at once.
      if (this.#stopping.signal.aborted) return await storeDue(db, [owned], clock.now());
      const isOver = failure.isPermanent || clock.now() - uuidTimeMs(file.id) > GIVE_UP_AFTER_MS;
      if (isOver) return await this.#giveUp(file, owned, failure);
      await storeDue(db, [owned], clock.now() + backoffMs(file.attempts, FIRST_RETRY_MS, MAX_RETRY_MS));
      log.info({ link: file.link, attempts: file.attempts, reason: failure.reason, detail: failure.detail }, "a download is tried again");
    } catch (error) {
      // The lease ends, and the file is claimed again.
      const facts = { event: "media.download_unsettled", link: file.link, ...errorFields(error) } as const;
      log.warn(facts, "a downloaded file could not be stored: it is downloaded again");
    }
  }

  /** Returns why the file was not stored; undefined if it was, or if its media were deleted. */
  async #attempt(file: DueFile, owned: Owner & { id: MediaId }): Promise<Failure | undefined> {
    const { linkDirectory, providers, files } = this.#parts;
    const link = linkDirectory.current.find(file.link);
    const provider = link && providers[link.provider];
    if (link === undefined || provider?.openFile === undefined)
      return { reason: "media_unreachable", isPermanent: false, detail: "the link of the message cannot be used" };
    const signal = AbortSignal.any([this.#stopping.signal, AbortSignal.timeout(DOWNLOAD_MS)]);
    const opened = await provider.openFile(link.settings as never, file.carrier_file, signal);
    if (opened.kind === "failed") return opened;
    const source = new CarrierSource(opened, signal);
    try {
      const problem = await files.storeInbound(owned, source.pieces(), (tx, stored) =>
        this.#settleReady(tx, owned, asKind(stored, file.kind)),
      );
      if (problem !== undefined) return failureOf(problem);
      this.#parts.wakeWebhooks();
      return undefined;
    } catch (error) {
      if (source.failure !== undefined) return source.failure;
      if (error instanceof Problem) return failureOf(error);
      throw error;
    } finally {
      opened.close();
    }
  }

  async #settleReady(tx: Tx, owned: Owner & { id: MediaId }, file: DownloadedFile & { kind: MediaKind }): Promise<boolean> {
    const row = await storeReady(tx, owned, file);
    if (row !== undefined) await this.#publish(tx, "media.ready", { ...mediaOf(owned, row), ...file, status: "ready" });
    return row !== undefined;
  }

  async #giveUp(file: DueFile, owned: Owner & { id: MediaId }, { reason, detail }: Failure): Promise<void> {
    const { db, wakeWebhooks, log } = this.#parts;
    await db.transaction(async (tx) => {
      const row = await storeFailed(tx, owned, reason);
      if (row !== undefined) await this.#publish(tx, "media.failed", { ...mediaOf(owned, row), status: "failed", error: reason });
    });
    wakeWebhooks();
    log.warn(
      { event: "media.download_failed", link: file.link, attempts: file.attempts, reason, detail },
      "a file of an inbound message could not be downloaded",
    );
  }

  #publish(tx: Tx, type: "media.ready" | "media.failed", media: Media): Promise<void> {
    const { accountId, environment, messageId } = media;
    const id = newId("evt", this.#parts.clock.now());
    return publishEvent(tx, { accountId, environment, id, type, messageId, record: JSON.stringify(mediaRecord(media)) });
  }
}

/** The file with its kind by its content. A file that is not of the kind that the carrier names is a document. */
function asKind(file: DownloadedFile, kind: MediaKind): DownloadedFile & { kind: MediaKind } {
  const contentType = typeAs(file.contentType, kind);
  return contentType === undefined ? { ...file, kind: "document" } : { ...file, kind, contentType };
}

/** The bytes of an open file, at most as many as a file may have. */
class CarrierSource {
  readonly #file: OpenFile;
  readonly #signal: AbortSignal;
  /** Why reading ended early. An error of the store is none. */
  failure: Failure | undefined;

  constructor(file: OpenFile, signal: AbortSignal) {
    this.#file = file;
    this.#signal = signal;
  }

  async *pieces(): AsyncGenerator<Buffer> {
    const { bytes: named } = this.#file;
    let bytes = 0;
    if (named !== null && named > MAX_BYTES) throw this.#fail(TOO_LARGE);
    const pieces = this.#file.read()[Symbol.asyncIterator]();
    for (;;) {
      const next = await this.#next(pieces);
      if (next.done === true) break;
      bytes += next.value.length;
      if (bytes > MAX_BYTES) throw this.#fail(TOO_LARGE);
      yield next.value;
    }
    if (named !== null && bytes !== named) throw this.#fail(broken("the file has another size than the carrier named"));
  }

  async #next(pieces: AsyncIterator<Buffer>): Promise<IteratorResult<Buffer>> {
    try {
      this.#signal.throwIfAborted();
      return await pieces.next();
    } catch (error) {
      throw this.#fail(broken("the connection broke before the end"), error);
    }
  }

  #fail(failure: Failure, cause?: unknown): Error {
    this.failure = failure;
    return new Error(failure.detail, { cause });
  }
}

const broken = (detail: string): Failure => ({ reason: "media_unreachable", isPermanent: false, detail });
const TOO_LARGE: Failure = { reason: "media_too_large", isPermanent: true, detail: "the file has more than 100 MB" };

/** The refusals of the store. The account may delete files, and the database may be full for a while. */
function failureOf({ code, message }: Problem): Failure {
  if (code === "media_quota_exceeded") return { reason: "media_quota_exceeded", isPermanent: false, detail: message };
  if (code === "payload_too_large") return { reason: "media_too_large", isPermanent: true, detail: message };
  if (code === "invalid_request_payload") return { reason: "media_refused", isPermanent: true, detail: message };
  return { reason: "media_unreachable", isPermanent: false, detail: message };
}

const mediaOf = ({ accountId, environment, id }: Owner & { id: MediaId }, row: SettledRow): Media => ({
  accountId,
  environment,
  id,
  status: "pending",
  fileId: null,
  kind: row.kind,
  contentType: null,
  bytes: null,
  sha256: null,
  fileName: row.file_name,
  source: "inbound",
  messageId: row.message_id,
  error: null,
  keepUntilMs: row.keep_until.getTime(),
  createdBy: row.created_by,
});
