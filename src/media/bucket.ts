/** Where the bytes of files are: in a bucket with the API of S3. The key of an object is the id of its file, and says nothing about it. A file that is
 *  larger than a part is uploaded in parts, and one part at a time is in memory. */
import type * as Sdk from "@aws-sdk/client-s3";
import { uuidToText, type Uuid } from "../lib/uuid.ts";
import type { BucketSettings } from "./bucket-settings.ts";
import { CHUNK_BYTES, fileGone, PlaceFailed, type FilePlace, type FileWriter } from "./places.ts";

export type BucketParts = BucketSettings & {
  /** Records the progress of a file that is being received. Returns whether it is still wanted. */
  touch: (fileId: Uuid) => Promise<boolean>;
  onFailed: (error: unknown) => void;
  /** The time for a request with its repetitions, for tests. */
  timeoutMs?: number;
};

type Opened = { sdk: typeof Sdk; client: Sdk.S3Client };

// The least that S3 permits for a part that is not the last one: twenty chunks.
const PART_BYTES = 20 * CHUNK_BYTES;
const ATTEMPTS = 3;
const CONNECT_MS = 3_000;
// A part at three megabits a second.
const REQUEST_MS = 15_000;
// A client, and the turn of its account, wait for no longer.
const TIMEOUT_MS = 30_000;
// Requests beyond those of uploads, downloads and readers wait.
const MAX_SOCKETS = 64;

export class MediaBucket implements FilePlace {
  readonly name = "bucket";
  readonly #parts: BucketParts;
  #opened: Promise<Opened> | undefined;

  constructor(parts: BucketParts) {
    this.#parts = parts;
  }

  open(fileId: Uuid): FileWriter {
    return new ObjectWriter(fileId, this, this.#parts.touch);
  }

  async *read(fileId: Uuid, bytes: number): AsyncGenerator<Buffer> {
    // A request for each piece: a reader may take as long as it wants, and no more than a piece is in memory.
    for (let at = 0; at < bytes; at += CHUNK_BYTES) {
      const range = `bytes=${at}-${Math.min(at + CHUNK_BYTES, bytes) - 1}`;
      yield await this.call(async ({ sdk, client }, options) => {
        const { Body: body } = await client.send(new sdk.GetObjectCommand({ ...this.object(fileId), Range: range }), options);
        return Buffer.from((await body?.transformToByteArray()) ?? []);
      });
    }
  }

  /** Deletes the object, and ends the uploads that would make it. */
  async remove(fileId: Uuid): Promise<false> {
    const { Bucket: name, Key: key } = this.object(fileId);
    await this.call(async ({ sdk, client }, options) => {
      const { Uploads: uploads = [] } = await client.send(new sdk.ListMultipartUploadsCommand({ Bucket: name, Prefix: key }), options);
      for (const { UploadId: id, Key: each } of uploads)
        if (each === key)
          await client.send(new sdk.AbortMultipartUploadCommand({ Bucket: name, Key: key, UploadId: id }), options).catch(ifGone);
      await client.send(new sdk.DeleteObjectCommand({ Bucket: name, Key: key }), options).catch(ifGone);
    });
    return false;
  }

  /** Throws if the bucket cannot be used. */
  async check(): Promise<void> {
    await this.call(({ sdk, client }, options) =>
      client.send(new sdk.ListMultipartUploadsCommand({ Bucket: this.#parts.name, MaxUploads: 1 }), options),
    );
  }

  async close(): Promise<void> {
    const opened = await this.#opened?.catch(() => undefined);
    opened?.client.destroy();
  }

  /** Makes calls. A failure is reported, and becomes a refusal of the request. */
  async call<T>(work: (opened: Opened, options: { abortSignal: AbortSignal }) => Promise<T>): Promise<T> {
    const { onFailed, timeoutMs = TIMEOUT_MS } = this.#parts;
    try {
      return await work(await (this.#opened ??= this.#open()), { abortSignal: AbortSignal.timeout(timeoutMs) });
    } catch (error) {
      onFailed(error);
      throw new PlaceFailed(error);
    }
  }

  object(fileId: Uuid): { Bucket: string; Key: string } {
    return { Bucket: this.#parts.name, Key: uuidToText(fileId) };
  }

  /** The client is loaded only where it is used: it takes some dozens of megabytes. */
  async #open(): Promise<Opened> {
    const { endpoint, region, credentials } = this.#parts;
    const sdk = await import("@aws-sdk/client-s3");
    const client = new sdk.S3Client({
      endpoint,
      region,
      ...(credentials === undefined ? {} : { credentials }),
      // Other servers have no host name for each bucket.
      forcePathStyle: !/\.amazonaws\.com(\.cn)?$/.test(endpoint),
      // The signature covers the bytes. Not every server knows the additional checksums.
      requestChecksumCalculation: "WHEN_REQUIRED",
      responseChecksumValidation: "WHEN_REQUIRED",
      maxAttempts: ATTEMPTS,
      requestHandler: {
        connectionTimeout: CONNECT_MS,
        requestTimeout: REQUEST_MS,
        throwOnRequestTimeout: true,
        httpAgent: { maxSockets: MAX_SOCKETS },
        httpsAgent: { maxSockets: MAX_SOCKETS },
      },
    });
    return { sdk, client };
  }
}

const GONE: ReadonlySet<string> = new Set(["NoSuchKey", "NoSuchUpload"]);

function ifGone(error: unknown): void {
  if (!(error instanceof Error) || !GONE.has(error.name)) throw error;
}

class ObjectWriter implements FileWriter {
  readonly #fileId: Uuid;
  readonly #bucket: MediaBucket;
  readonly #touch: BucketParts["touch"];
  readonly #stored: Sdk.CompletedPart[] = [];
  #uploadId: string | undefined;
  #part = Buffer.alloc(0);
  #filled = 0;

  constructor(fileId: Uuid, bucket: MediaBucket, touch: BucketParts["touch"]) {
    this.#fileId = fileId;
    this.#bucket = bucket;
    this.#touch = touch;
  }

  async write(bytes: Buffer): Promise<void> {
    if (this.#filled + bytes.length > PART_BYTES) await this.#storePart();
    if (this.#part.length < this.#filled + bytes.length) this.#grow();
    this.#filled += bytes.copy(this.#part, this.#filled);
  }

  async end(): Promise<void> {
    const object = this.#bucket.object(this.#fileId);
    if (this.#uploadId === undefined) {
      const body = this.#part.subarray(0, this.#filled);
      await this.#bucket.call(({ sdk, client }, options) => client.send(new sdk.PutObjectCommand({ ...object, Body: body }), options));
    } else {
      await this.#storePart();
      const named = { ...object, UploadId: this.#uploadId, MultipartUpload: { Parts: this.#stored } };
      await this.#bucket.call(({ sdk, client }, options) => client.send(new sdk.CompleteMultipartUploadCommand(named), options));
    }
    this.#part = Buffer.alloc(0);
    // A process that was frozen for hours may have stored an object that upkeep had deleted.
    if (await this.#touch(this.#fileId)) return;
    await this.#bucket.remove(this.#fileId);
    throw fileGone();
  }

  /** Most files are small: a part begins with a chunk, and has its whole size from the second one on. */
  #grow(): void {
    const larger = Buffer.allocUnsafeSlow(this.#filled === 0 ? CHUNK_BYTES : PART_BYTES);
    this.#part.copy(larger, 0, 0, this.#filled);
    this.#part = larger;
  }

  async #storePart(): Promise<void> {
    const object = this.#bucket.object(this.#fileId);
    if (!(await this.#touch(this.#fileId))) throw fileGone();
    await this.#bucket.call(async ({ sdk, client }, options) => {
      this.#uploadId ??= (await client.send(new sdk.CreateMultipartUploadCommand(object), options)).UploadId;
      const number = this.#stored.length + 1;
      const body = this.#part.subarray(0, this.#filled);
      const named = { ...object, UploadId: this.#uploadId, PartNumber: number, Body: body };
      const { ETag: tag } = await client.send(new sdk.UploadPartCommand(named), options);
      this.#stored.push({ PartNumber: number, ETag: tag });
    });
    this.#filled = 0;
  }
}
