/** The picture with which a simulated recipient replies: a PNG of one color, made when it is opened. */
import { crc32, deflateSync } from "node:zlib";
import type { FileFailure, OpenFile } from "../carrier-file.ts";

/** The id of the picture at the simulated carrier. */
export const PICTURE_FILE = "sim-picture";

const SIDE = 64;
const BLUE = [0x2b, 0x6c, 0xb0];

export async function openPicture(carrierFile: string): Promise<OpenFile | FileFailure> {
  if (carrierFile !== PICTURE_FILE)
    return { kind: "failed", reason: "media_expired", isPermanent: true, detail: "the simulated carrier has no such file" };
  const bytes = picture();
  return { kind: "open", bytes: bytes.length, read: () => onePiece(bytes), close: () => undefined };
}

async function* onePiece(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes;
}

function picture(): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(SIDE, 0);
  header.writeUInt32BE(SIDE, 4);
  // Eight bits for each of three colors.
  header.set([8, 2], 8);
  // A line is a byte for its filter, none, and its pixels.
  const line = Buffer.from([0, ...Array.from({ length: SIDE }, () => BLUE).flat()]);
  const lines = deflateSync(Buffer.concat(Array.from({ length: SIDE }, () => line)));
  const signature = Buffer.from("\x89PNG\r\n\x1a\n", "latin1");
  return Buffer.concat([signature, chunk("IHDR", header), chunk("IDAT", lines), chunk("IEND", Buffer.alloc(0))]);
}

function chunk(type: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const [length, checksum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  checksum.writeUInt32BE(crc32(named));
  return Buffer.concat([length, named, checksum]);
}
