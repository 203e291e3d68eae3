/** The body of an upload: the bytes of a file, from whatever a program has them in. */
import { StreamConsumedError } from "./errors.ts";

/** A stream of bytes, such as `fs.createReadStream` of Node returns, or the body of a response. It can be read once. */
export type ByteStream = ReadableStream<Uint8Array> | AsyncIterable<Uint8Array>;

/** The file of an upload. A stream can be sent once; all others can be sent again when an attempt fails. A function opens the stream for each attempt. */
export type UploadSource = Blob | ArrayBuffer | ArrayBufferView | ByteStream | (() => ByteStream | Promise<ByteStream>);

type Body = NonNullable<RequestInit["body"]>;

export type UploadBody = {
  /** Returns the body of the next attempt. */
  open: () => Promise<Body>;
  /** Whether it cannot be sent again. */
  readonly isConsumed: boolean;
  /** The error of the source, if it failed. */
  readonly failure: { error: unknown } | undefined;
  /** Closes the source. */
  end: () => void;
};

export const isUploadBody = (body: string | UploadBody | undefined): body is UploadBody => typeof body === "object";

/** Throws a `TypeError` for a value that is no file. */
export function toUploadBody(source: UploadSource): UploadBody {
  if (source instanceof Blob || source instanceof ArrayBuffer || ArrayBuffer.isView(source))
    return { open: () => Promise.resolve(source as Body), isConsumed: false, failure: undefined, end: () => undefined };
  return new StreamedBody(source);
}

type Part = { done?: boolean | undefined; value?: unknown };
type Reader = { next: () => Promise<Part>; close: () => Promise<unknown> };

function readerOf(source: unknown): Reader {
  if (typeof source === "object" && source !== null && "getReader" in source) {
    const reader = (source as ReadableStream<Uint8Array>).getReader();
    return { next: () => reader.read(), close: () => reader.cancel() };
  }
  if (typeof source === "object" && source !== null && Symbol.asyncIterator in source) {
    const iterator = (source as AsyncIterable<unknown>)[Symbol.asyncIterator]();
    return { next: () => iterator.next(), close: async () => iterator.return?.() };
  }
  const hint = typeof source === "string" ? "; for the path of a file, open it: () => createReadStream(path)" : "";
  throw new TypeError(`a file must be a Blob, bytes, a stream of bytes, or a function that opens such a stream${hint}`);
}

/** The parts of a stream. The first one is read at once: a stream of Node whose file does not exist would end the program if it had no reader. */
class Parts {
  readonly #reader: Reader;
  #first: Promise<Part> | undefined;
  isRead = false;

  constructor(source: unknown) {
    this.#reader = readerOf(source);
    this.#first = this.#reader.next();
    this.#first.catch(() => undefined);
  }

  next(): Promise<Part> {
    const part = this.#first ?? this.#reader.next();
    this.#first = undefined;
    this.isRead = true;
    return part;
  }

  close(): void {
    // A stream that fails while it is closed has no bytes to give.
    this.#reader.close().catch(() => undefined);
  }
}

class StreamedBody implements UploadBody {
  readonly #reopen: (() => ByteStream | Promise<ByteStream>) | undefined;
  #parts: Parts | undefined;
  failure: { error: unknown } | undefined;

  constructor(source: ByteStream | (() => ByteStream | Promise<ByteStream>)) {
    this.#reopen = typeof source === "function" ? source : undefined;
    this.#parts = typeof source === "function" ? undefined : new Parts(source);
  }

  get isConsumed(): boolean {
    return this.#reopen === undefined && this.#parts?.isRead !== false;
  }

  async open(): Promise<Body> {
    if (this.isConsumed) throw new StreamConsumedError();
    if (this.#reopen !== undefined) {
      this.end();
      this.#parts = new Parts(await this.#reopen());
    }
    const parts = this.#parts;
    // fetch asks for the first part when the connection is established. Until then, even a stream can be sent again.
    return new ReadableStream({ pull: (controller) => this.#pull(parts, controller) }, { highWaterMark: 0 });
  }

  async #pull(parts: Parts | undefined, controller: ReadableStreamDefaultController<unknown>): Promise<void> {
    try {
      const { done = true, value } = (await parts?.next()) ?? {};
      if (done) controller.close();
      else if (value instanceof Uint8Array) controller.enqueue(value);
      else throw new TypeError("the stream of a file must yield bytes (Uint8Array)");
    } catch (error) {
      this.failure = { error };
      throw error;
    }
  }

  end(): void {
    this.#parts?.close();
    this.#parts = undefined;
  }
}
