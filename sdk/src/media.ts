/** Media: `/v1/media`. Files to send, and files that people have sent. */
import { CALL_OPTIONS, type BodyOf, type CallOptions, type QueryOf, type WriteOptions } from "./operation.ts";
import { checkOptions, type OptionNames } from "./option-names.ts";
import { listPages, type PagesOf } from "./pages.ts";
import type { Call } from "./response.ts";
import type { DeletedMedia, Media as MediaRecord } from "./schema.ts";
import type { Transport } from "./transport.ts";
import { toUploadBody, type UploadSource } from "./upload-body.ts";

/** Options of an upload. `timeoutMs` is 15 minutes by default, and `totalTimeoutMs` 30 minutes. */
export type UploadOptions = WriteOptions & {
  /** The name of the file, which the recipient of a document sees. Default: the name of a `File`. */
  fileName?: string | undefined;
  /** How the file is sent. Default: by its content. */
  kind?: QueryOf<"createMedia">["kind"];
  /** The media type, as a hint: the service finds the type by the content. Default: the type of a `Blob`. */
  contentType?: string | undefined;
};

const OPTIONS: OptionNames<UploadOptions> = { ...CALL_OPTIONS, fileName: true, kind: true, contentType: true };
const LIMITS = { timeoutMs: 900_000, totalTimeoutMs: 1_800_000 };
const BYTES = "application/octet-stream";

export class Media {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Uploads a file. A stream is sent as it is read, and never whole in memory. An attempt that fails is repeated if the file can be read again: a
   *  `Blob`, bytes, or a function that opens a stream. A stream that was read cannot be sent again; the call then throws a `StreamConsumedError`. */
  upload(source: UploadSource, options: UploadOptions = {}): Call<MediaRecord> {
    checkOptions(options, OPTIONS, "an upload");
    const { fileName = nameOf(source), kind, contentType = typeOf(source), ...rest } = options;
    const query = { file_name: fileName, kind };
    return this.#transport.upload("createMedia", { query, file: toUploadBody(source), contentType }, { ...LIMITS, ...rest });
  }

  /** Stores the file behind a URL, which the service fetches. */
  uploadFromUrl(file: BodyOf<"createMedia">, options?: WriteOptions): Call<MediaRecord> {
    return this.#transport.call("createMedia", { body: file }, options);
  }

  /** Retrieves the record of a file: its type, its size and its source. */
  get(id: string, options?: CallOptions): Call<MediaRecord> {
    return this.#transport.call("getMedia", { path: { id } }, options);
  }

  /** Lists the records of files, newest first. */
  list(query?: QueryOf<"listMedia">, options?: CallOptions): PagesOf<"listMedia"> {
    return listPages(this.#transport, "listMedia", { query }, options);
  }

  /** Downloads a file as a stream. Attempts are repeated until the response begins. Read the stream to its end, or cancel it. `timeoutMs` is the
   *  time limit of each wait for bytes. */
  download(id: string, options?: CallOptions): Call<ReadableStream<Uint8Array<ArrayBuffer>>> {
    return this.#transport.download("getMediaContent", { path: { id } }, options);
  }

  /** Deletes a file. Messages that still have to send it fail. There is no idempotency key: `not_found` after an attempt without a response means that
   *  it is deleted. */
  delete(id: string, options?: CallOptions): Call<DeletedMedia> {
    return this.#transport.call("deleteMedia", { path: { id } }, options);
  }
}

const nameOf = (source: UploadSource): string | undefined =>
  source instanceof Blob && "name" in source && typeof source.name === "string" && source.name !== "" ? source.name : undefined;

// A body of JSON would be the request to fetch a file.
const typeOf = (source: UploadSource): string =>
  source instanceof Blob && source.type !== "" && !source.type.startsWith("application/json") ? source.type : BYTES;
