/** The media store: stores files once for each hash of an environment, and the media that have them. */
import type { Clock } from "../database/database-clock.ts";
import type { Database, Tx } from "../database/database.ts";
import { jsonResponse } from "../http/json-response.ts";
import { Problem } from "../http/problem.ts";
import { Once, type AuditedCall, type Executed, type Replay, type WriteResponse } from "../idempotency/once.ts";
import { recordChange } from "../audit/record-change.ts";
import type { IdempotencyClaim } from "../idempotency/key.ts";
import { assert } from "../lib/assert.ts";
import { groupDigits } from "../lib/group-digits.ts";
import { uuidToText, type Uuid } from "../lib/uuid.ts";
import type { MediaKind } from "../model/content.ts";
import { encodeId, newId, type MediaId } from "../model/id.ts";
import { actorText } from "../model/origin.ts";
import type { Owner } from "../model/owner.ts";
import type { OutgoingMedia } from "../providers/carrier-file.ts";
import { releaseFilesOf } from "./delete-media.ts";
import type { DownloadedFile } from "./download-queries.ts";
import type { MediaFetcher } from "./fetch-file.ts";
import type { MediaLibrary } from "./library.ts";
import { isReady, mediaRecord, type Media, type ReadyMedia } from "./media.ts";
import type { MediaWatch } from "./metrics.ts";
import { fileGone, type FilePlaces } from "./places.ts";
import {
  countBytes,
  deleteMedia,
  findMedia,
  findUpload,
  findUsableMedia,
  insertMedia,
  keepMedia,
  lockFileByHash,
  storeFile,
  storePerson,
  storeUpload,
  usedBytes,
} from "./queries.ts";
import type { FileReceiver, ReceivedFile } from "./receive-file.ts";
import type { MediaUrls } from "./signed-url.ts";

export type MediaStoreParts = {
  db: Database;
  clock: Clock;
  receiver: FileReceiver;
  places: FilePlaces;
  fetcher: MediaFetcher;
  urls: MediaUrls;
  /** The time for which media are kept after their last use. */
  retentionMs: number;
  /** The bytes that the files of an environment may have. */
  quotaBytes: number;
  watch: Pick<MediaWatch, "stored">;
};

/** The properties of a file that a request gives. */
type Named = { fileName: string | null; kind: MediaKind | undefined };

type NewMedia = Pick<Media, "fileName" | "source" | "createdBy"> & { keptMs?: number };

type Insert = (tx: Tx) => Promise<ReadyMedia | Problem>;

// A file of a request that is refused later ends after this time.
const UNUSED_MS = 3_600_000;
// The time by which media are kept longer than necessary, so that a use a little later changes nothing.
const SPARE_MS = 24 * 3_600_000;

export class MediaStore implements MediaLibrary {
  readonly #parts: MediaStoreParts;
  readonly #once: Once;

  constructor(parts: MediaStoreParts) {
    this.#parts = parts;
    this.#once = new Once(parts.db, parts.clock);
  }

  /** Stores the body of a request. The claim depends on all its bytes. */
  async upload(
    call: AuditedCall & { claimOf: (sha256: Buffer) => IdempotencyClaim | undefined },
    pieces: AsyncIterable<Buffer>,
    { fileName, kind, contentType }: Named & { contentType: string },
  ): Promise<Executed | Replay> {
    // A type that says nothing leaves the word to the name.
    const hint = contentType === "" || /octet-stream|text\/plain/i.test(contentType) ? (fileName ?? "") : contentType;
    const received = await this.#parts.receiver.receive(call.credential, pieces, { kind, hint });
    const claim = call.claimOf(received.sha256);
    const media = { fileName, source: "upload", createdBy: actorText(call.origin().actor) } as const;
    return this.#keep(call.credential, received, media, (insert) =>
      this.#once.write({ ...call, claim }, async (tx) => {
        const stored = await insert(tx);
        return stored instanceof Problem ? stored : created(stored);
      }),
    );
  }

  /** Stores the file behind a URL that a request names. A repeated request does not fetch it again. */
  async uploadFrom(call: AuditedCall, url: string, { fileName, kind }: Named): Promise<Executed | Replay> {
    const { credential, claim, writeProblem } = call;
    return this.#once.run(credential, claim, async () => {
      if (await this.#once.isExecuted(credential, claim)) return "taken";
      const { file, name } = await this.#receiveFrom(credential, url, kind, fileName);
      const media = { fileName: name, source: "url", createdBy: actorText(call.origin().actor) } as const;
      return this.#keep(credential, file, media, (insert) =>
        this.#once.commit(credential, claim, async (tx): Promise<WriteResponse> => {
          const stored = await insert(tx);
          if (!(stored instanceof Problem)) return created(stored);
          return { status: stored.status, body: writeProblem(stored), headers: stored.headers };
        }),
      );
    });
  }

  fetchRefusal(url: string): Problem | undefined {
    return this.#parts.fetcher.refusal(url);
  }

  async fetch(owner: Owner, url: string, fileName: string | null): Promise<ReadyMedia | Problem> {
    try {
      const { file, name } = await this.#receiveFrom(owner, url, undefined, fileName);
      let stored: ReadyMedia | Problem | undefined;
      await this.#keep(owner, file, { fileName: name, source: "url", createdBy: null, keptMs: UNUSED_MS }, (insert) =>
        this.#once.transaction(owner, undefined, async (tx) => {
          stored = await insert(tx);
          return { status: 201, body: "" };
        }),
      );
      assert(stored !== undefined, "a transaction that was committed has stored the media");
      return stored;
    } catch (error) {
      if (error instanceof Problem) return error;
      throw error;
    }
  }

  async find(owner: Owner, id: MediaId): Promise<ReadyMedia | undefined> {
    const media = await findMedia(this.#parts.db, owner, id);
    return media !== undefined && isReady(media) ? media : undefined;
  }

  async keep(owner: Owner, id: MediaId, lastMs: number, tx?: Tx): Promise<boolean> {
    const { db, retentionMs } = this.#parts;
    const media = tx === undefined ? await this.find(owner, id) : undefined;
    if (media !== undefined && media.keepUntilMs >= lastMs + retentionMs) return true;
    return (await keepMedia(tx ?? db, owner, id, lastMs + retentionMs + SPARE_MS)).length > 0;
  }

  async outgoing(owner: Owner, id: MediaId, recipient: string): Promise<OutgoingMedia | undefined> {
    const { db, clock, places, urls } = this.#parts;
    const media = await findUsableMedia(db, owner, id);
    if (media === undefined || !isReady(media)) return undefined;
    const isTheirs = media.isShared || media.person === recipient;
    if (!isTheirs && (await storePerson(db, owner, id, recipient)).length === 0) return undefined;
    const { fileId, contentType, bytes, fileName } = media;
    return {
      file: uuidToText(fileId),
      contentType,
      bytes,
      fileName,
      read: () => places.read(fileId, bytes),
      urlBelow: (origin) => urls.urlBelow(origin, id, clock.now()),
      uploadedTo: (carrierAccount) => findUpload(db, fileId, carrierAccount, clock.now()),
      uploaded: async (carrierAccount, carrierFile, expiresAtMs) => {
        await storeUpload(db, fileId, { carrierAccount, carrierFile, expiresAtMs });
      },
    };
  }

  /** Stores the file of an inbound message for its media, which `keep` changes in the same transaction. Any type is taken, since a person has sent it.
   *  Nothing is stored if `keep` returns false. Returns why the file cannot be stored, or throws it. */
  async storeInbound(
    owner: Owner,
    pieces: AsyncIterable<Buffer>,
    keep: (tx: Tx, file: DownloadedFile) => Promise<boolean>,
  ): Promise<Problem | undefined> {
    const { db, receiver } = this.#parts;
    const received = await receiver.receive(owner, pieces, { kind: "document", hint: "" });
    try {
      return await db.transaction(async (tx) => {
        const fileId = await this.#fileOf(tx, owner, received);
        if (fileId instanceof Problem) return fileId;
        const { contentType, bytes, sha256 } = received;
        const isKept = await keep(tx, { fileId, contentType, bytes, sha256 });
        // The media were deleted meanwhile.
        if (!isKept) await releaseFilesOf(tx, [{ file_id: fileId }]);
        return undefined;
      });
    } finally {
      await receiver.giveUp(received.id);
    }
  }

  /** The bytes of an owner's files, and the most that they may have. */
  async usage(owner: Owner): Promise<{ bytes: number; quota_bytes: number }> {
    const { db, quotaBytes } = this.#parts;
    return { bytes: await usedBytes(db, owner), quota_bytes: quotaBytes };
  }

  /** Deletes media. Messages that still have to send them fail. */
  async remove({ credential, origin }: Pick<AuditedCall, "origin" | "credential">, id: MediaId): Promise<boolean> {
    const { db, clock } = this.#parts;
    return db.transaction(async (tx) => {
      const deleted = await deleteMedia(tx, credential, [id]);
      if (deleted.length === 0) return false;
      await releaseFilesOf(tx, deleted);
      const target = { type: "media", id: encodeId("media", id) } as const;
      await recordChange(tx, clock.now(), { ...credential, origin: origin() }, { action: "media.deleted", target });
      return true;
    });
  }

  async #receiveFrom(owner: Owner, url: string, kind: MediaKind | undefined, fileName: string | null) {
    const { fetcher, receiver } = this.#parts;
    return fetcher.fetch(owner, url, async ({ pieces, contentType, name }) => ({
      file: await receiver.receive(owner, pieces, { kind, hint: contentType }),
      name: fileName ?? name,
    }));
  }

  /** Runs a transaction that stores media with a received file, and gives the file up unless it became theirs. */
  async #keep<T>(owner: Owner, received: ReceivedFile, named: NewMedia, store: (insert: Insert) => Promise<T>): Promise<T> {
    const { receiver, watch } = this.#parts;
    const inserted: ReadyMedia[] = [];
    try {
      const result = await store(async (tx) => {
        const media = await this.#insert(tx, owner, received, named);
        if (!(media instanceof Problem)) inserted.push(media);
        return media;
      });
      for (const media of inserted) watch.stored(media, media.fileId.equals(received.id));
      return result;
    } finally {
      await receiver.giveUp(received.id);
    }
  }

  /** Stores media with a received file, or with the same file if it is stored already. */
  async #insert(tx: Tx, owner: Owner, received: ReceivedFile, { keptMs, ...named }: NewMedia): Promise<ReadyMedia | Problem> {
    const { clock, retentionMs } = this.#parts;
    const { accountId, environment } = owner;
    const { kind, contentType, bytes, sha256 } = received;
    const fileId = await this.#fileOf(tx, owner, received);
    if (fileId instanceof Problem) return fileId;
    const media: ReadyMedia = {
      accountId,
      environment,
      id: newId("media", clock.now()),
      status: "ready",
      fileId,
      kind,
      contentType,
      bytes,
      sha256,
      ...named,
      messageId: null,
      error: null,
      keepUntilMs: clock.now() + (keptMs ?? retentionMs + SPARE_MS),
    };
    await insertMedia(tx, media);
    return media;
  }

  async #fileOf(tx: Tx, owner: Owner, received: ReceivedFile): Promise<Uuid | Problem> {
    const { quotaBytes } = this.#parts;
    const known = await lockFileByHash(tx, owner, received.sha256);
    if (known !== undefined) return known;
    if (!(await countBytes(tx, owner, received.bytes, quotaBytes)))
      return new Problem("media_quota_exceeded", {
        detail: `the files of an environment may have ${groupDigits(quotaBytes)} bytes together: delete some first`,
      });
    if ((await storeFile(tx, received.id, received)).length === 0) throw fileGone();
    return received.id;
  }
}

const created = (media: Media): WriteResponse => ({
  ...jsonResponse(mediaRecord(media), 201),
  location: `/v1/media/${encodeId("media", media.id)}`,
});
