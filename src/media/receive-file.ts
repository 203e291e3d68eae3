/** Receives the bytes of one file: stores them as they arrive, and finds their hash, their number and their type. Never a whole file in memory. */
import { createHash } from "node:crypto";
import type { Clock } from "../database/database-clock.ts";
import type { Database } from "../database/database.ts";
import { Problem } from "../http/problem.ts";
import { groupDigits } from "../lib/group-digits.ts";
import { newUuid, type Uuid } from "../lib/uuid.ts";
import { largestFile } from "../links/content-support.ts";
import type { MediaKind } from "../model/content.ts";
import type { Owner } from "../model/owner.ts";
import { kindsOf, typeAs, TypeDetector, usualKind } from "./content-type.ts";
import { CHUNK_BYTES, PlaceFailed, type FilePlace } from "./places.ts";
import { deleteFile, giveUpFile, insertFile } from "./queries.ts";

/** A file whose bytes are stored, and which no media have yet. */
export type ReceivedFile = { id: Uuid; kind: MediaKind; contentType: string; bytes: number; sha256: Buffer };

/** `kind`: the kind as which the file is used. Undefined: the usual one of its type. `hint`: the type that its sender declares, or its name. */
export type ExpectedFile = { kind: MediaKind | undefined; hint: string };

export type ReceiverParts = { db: Database; clock: Clock; place: FilePlace; onError: (error: unknown) => void };

/** The most bytes of a file of any kind. */
export const MAX_FILE_BYTES = largestFile("document");

// A chunk for each file that arrives. They live long enough to stay in memory as garbage for a while.
const MAX_SPARE = 16;

export class FileReceiver {
  readonly #parts: ReceiverParts;
  readonly #spare: Buffer[] = [];

  constructor(parts: ReceiverParts) {
    this.#parts = parts;
  }

  /** The caller makes the file that of some media, or gives it up. A file that cannot be received is given up. */
  async receive(owner: Owner, pieces: AsyncIterable<Buffer>, expected: ExpectedFile): Promise<ReceivedFile> {
    const { db, clock, place } = this.#parts;
    const id = newUuid(clock.now());
    await insertFile(db, owner, { id, place: place.name, nowMs: clock.now() });
    const chunk = this.#spare.pop() ?? Buffer.allocUnsafeSlow(CHUNK_BYTES);
    try {
      return { id, ...(await this.#write({ id, chunk }, pieces, expected)) };
    } catch (error) {
      await this.#giveUp(id, !(error instanceof PlaceFailed));
      throw error;
    } finally {
      if (this.#spare.length < MAX_SPARE) this.#spare.push(chunk);
    }
  }

  /** Deletes a file that no media have. Does nothing for any other. Upkeep deletes a file of which this fails. */
  giveUp(id: Uuid): Promise<void> {
    return this.#giveUp(id, true);
  }

  /** `isSettled`: no request that stores bytes is under way. Upkeep deletes the bytes of other files later. */
  async #giveUp(id: Uuid, isSettled: boolean): Promise<void> {
    const { db, place, onError } = this.#parts;
    try {
      if ((await giveUpFile(db, id)).length > 0 && isSettled) await removeFile(db, place, id);
    } catch (error) {
      // The place has reported its failure.
      if (!(error instanceof PlaceFailed)) onError(error);
    }
  }

  async #write(
    { id, chunk }: { id: Uuid; chunk: Buffer },
    pieces: AsyncIterable<Buffer>,
    { kind, hint }: ExpectedFile,
  ): Promise<Omit<ReceivedFile, "id">> {
    const hash = createHash("sha256");
    const detector = new TypeDetector();
    const writer = this.#parts.place.open(id);
    let limit = Math.min(MAX_FILE_BYTES, largestFile(kind ?? "document"));
    let isChecked = false;
    let bytes = 0;
    let filled = 0;
    for await (const piece of pieces) {
      bytes += piece.length;
      hash.update(piece);
      detector.push(piece);
      if (!isChecked && detector.hasHead) {
        // The bytes after the head do not make a document an image.
        isChecked = true;
        limit = largestFile(fit(detector.early ?? "", kind).kind);
      }
      if (bytes > limit) throw tooLarge(limit, kind ?? usualKind(detector.early ?? ""));
      for (let at = 0; at < piece.length;) {
        const copied = piece.copy(chunk, filled, at);
        filled += copied;
        at += copied;
        if (filled < chunk.length) continue;
        await writer.write(chunk);
        filled = 0;
      }
    }
    if (bytes === 0) throw new Problem("invalid_request_payload", { detail: "the file is empty" });
    const fitting = fit(detector.end(hint), kind);
    if (bytes > largestFile(fitting.kind)) throw tooLarge(largestFile(fitting.kind), fitting.kind);
    if (filled > 0) await writer.write(chunk.subarray(0, filled));
    await writer.end();
    return { ...fitting, bytes, sha256: hash.digest() };
  }
}

/** Deletes all bytes of a file that has the state deleted, and then the file. */
export async function removeFile(db: Database, place: FilePlace, id: Uuid): Promise<void> {
  while (await place.remove(id)) continue;
  await deleteFile(db, id);
}

/** The kind and the type of a file. Throws if the file cannot be of the kind. */
function fit(found: string, wanted: MediaKind | undefined): { kind: MediaKind; contentType: string } {
  const kind = wanted ?? usualKind(found);
  const contentType = typeAs(found, kind);
  if (contentType !== undefined) return { kind, contentType };
  throw new Problem("media_kind_mismatch", {
    detail: `the file is no ${kind} by its content: it can be sent as ${kindsOf(found).join(" or ")}`,
  });
}

const tooLarge = (limit: number, kind: MediaKind): Problem =>
  new Problem("payload_too_large", {
    detail: `a file of the kind ${kind} may have at most ${groupDigits(limit)} bytes${kind === "document" ? "" : "; larger ones can be sent as a document"}`,
  });
