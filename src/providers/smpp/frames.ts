/** Splits a stream into PDUs, which TCP may split and join. */
import { HEADER_BYTES, MAX_PDU_BYTES } from "./pdu.ts";

/** The peer sent a length that no PDU has, so the rest of the stream cannot be split. */
export class BadFrame extends Error {
  override name = "BadFrame";
}

// A peer that sends single bytes makes a chunk of each. More chunks are joined, since small buffers take mostly overhead.
const MAX_CHUNKS = 64;

export class Frames {
  #chunks: Buffer[] = [];
  #length = 0;

  /** Adds a chunk. Yields the PDUs that are complete; those that are not taken stay for the next call. Throws a BadFrame for an invalid length. */
  *push(chunk?: Buffer): Generator<Buffer> {
    if (chunk !== undefined) this.#add(chunk);
    for (let size = this.#nextSize(); size !== undefined && this.#length >= size; size = this.#nextSize()) yield this.#take(size);
  }

  #add(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#length += chunk.length;
    if (this.#chunks.length > MAX_CHUNKS) this.#chunks = [Buffer.concat(this.#chunks)];
  }

  /** The length of the next PDU; undefined while the length field is incomplete. */
  #nextSize(): number | undefined {
    if (this.#length < 4) return undefined;
    const size = this.#head(4).readUInt32BE(0);
    if (size < HEADER_BYTES || size > MAX_PDU_BYTES) throw new BadFrame(`a PDU of ${size} bytes`);
    return size;
  }

  /** The first chunk, joined with others if it has fewer bytes than `least`. */
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
