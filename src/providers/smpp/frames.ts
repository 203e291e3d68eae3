/** PDUs out of a stream: TCP splits and joins them as it likes. */
import { HEADER_BYTES, MAX_PDU_BYTES } from "./pdu.ts";

/** The peer says a length that no PDU has: what follows cannot be told apart any more. */
export class BadFrame extends Error {
  override name = "BadFrame";
}

// A peer that sends byte by byte makes a chunk of each; past this many they are joined, or their heads would be most of the memory.
const MAX_CHUNKS = 64;

export class Frames {
  #chunks: Buffer[] = [];
  #length = 0;

  /** The whole PDUs that are there with this chunk. Throws a BadFrame where the stream makes no sense. */
  push(chunk: Buffer): Buffer[] {
    this.#chunks.push(chunk);
    this.#length += chunk.length;
    if (this.#chunks.length > MAX_CHUNKS) this.#chunks = [Buffer.concat(this.#chunks)];
    const frames: Buffer[] = [];
    for (let size = this.#nextSize(); size !== undefined && this.#length >= size; size = this.#nextSize()) frames.push(this.#take(size));
    return frames;
  }

  /** Undefined while not even the length is there. */
  #nextSize(): number | undefined {
    if (this.#length < 4) return undefined;
    const size = this.#head(4).readUInt32BE(0);
    if (size < HEADER_BYTES || size > MAX_PDU_BYTES) throw new BadFrame(`a PDU of ${size} bytes`);
    return size;
  }

  /** The first chunk, with so many bytes at least. */
  #head(least: number): Buffer {
    const [first] = this.#chunks;
    if (first !== undefined && first.length >= least) return first;
    const joined = Buffer.concat(this.#chunks);
    this.#chunks = [joined];
    return joined;
  }

  #take(size: number): Buffer {
    const head = this.#head(size);
    this.#length -= size;
    if (head.length === size) this.#chunks.shift();
    else this.#chunks[0] = head.subarray(size);
    return head.subarray(0, size);
  }
}
