/** Responses with the bytes of a file: in a type that no browser runs, and as a download unless it is a picture, a recording or a video. */
import { Problem, unavailable } from "../http/problem.ts";
import { SharedBudget } from "../lib/shared-budget.ts";
import { idKey } from "../model/id.ts";
import { isShown, servedType } from "./content-type.ts";
import { isReady, type Media } from "./media.ts";
import type { FilePlaces } from "./places.ts";

type FileResponse = { status: 200; contentType: string; headers: Readonly<Record<string, string>>; frames: AsyncGenerator<Buffer> };

// Each holds a chunk, and a second one until its client has read the first. A page of the console shows some dozens of pictures, six at a time.
const READERS = { total: 64, share: 32 };
const RETRY_SECONDS = 1;

export class FileServer {
  readonly #places: FilePlaces;
  readonly #readers = new SharedBudget(READERS);

  constructor(places: FilePlaces) {
    this.#places = places;
  }

  /** `isOwner`: the response names the hash of the file. */
  serve(media: Media, isOwner: boolean): FileResponse {
    if (!isReady(media))
      throw new Problem("media_not_ready", {
        detail: media.status === "pending" ? "the file is still being downloaded" : "the file could not be downloaded from the carrier",
      });
    const { contentType, bytes, sha256, fileName } = media;
    const account = idKey(media.accountId);
    if (this.#readers.take(account, 1) !== undefined) throw unavailable("too many files are being read", RETRY_SECONDS);
    const headers = {
      "content-length": String(bytes),
      "content-disposition": dispositionOf(isShown(contentType), fileName),
      "content-security-policy": "sandbox; default-src 'none'",
      "cross-origin-resource-policy": "same-origin",
      ...(isOwner ? { etag: `"${sha256.toString("hex")}"` } : {}),
    };
    const frames = this.#frames(account, this.#places.read(media.fileId, bytes));
    return { status: 200, contentType: servedType(contentType), headers, frames };
  }

  async *#frames(account: string, pieces: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
    try {
      yield* pieces;
    } finally {
      this.#readers.release(account, 1);
    }
  }
}

function dispositionOf(isInline: boolean, fileName: string | null): string {
  const disposition = isInline ? "inline" : "attachment";
  if (fileName === null) return disposition;
  const encoded = encodeURIComponent(fileName.toWellFormed()).replaceAll(/['()*]/g, (char) => `%${char.charCodeAt(0).toString(16)}`);
  return `${disposition}; filename*=UTF-8''${encoded}`;
}
