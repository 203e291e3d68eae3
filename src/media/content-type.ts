/** The type of a file by its content. A declared type is only a hint among plain texts. A file with none of the known types is a
 *  document of any bytes. Archives and documents are never unpacked here. */
import { isUtf8 } from "node:buffer";
import { MEDIA_KINDS, type MediaKind } from "../model/content.ts";

const ANY_BYTES = "application/octet-stream";
const TEXT = "text/plain";

const ZIP_DOCUMENTS = {
  "word/document.xml": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
  "xl/workbook.xml": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
  "ppt/presentation.xml": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
} as const;
const OPEN_DOCUMENTS = [
  "application/vnd.oasis.opendocument.text",
  "application/vnd.oasis.opendocument.spreadsheet",
  "application/vnd.oasis.opendocument.presentation",
] as const;

/** The kinds that a type can be sent as, besides a document. The first is the usual one. */
const KINDS: Readonly<Record<string, readonly MediaKind[]>> = {
  "image/jpeg": ["image"],
  "image/png": ["image"],
  "image/gif": ["image"],
  "image/webp": ["image", "sticker"],
  "audio/mpeg": ["audio"],
  "audio/aac": ["audio"],
  "audio/amr": ["audio"],
  "audio/ogg": ["audio"],
  "audio/mp4": ["audio"],
  "video/mp4": ["video"],
  "video/3gpp": ["video"],
};

/** The types that a browser may show from this service: none of them has active content. */
export const isShown = (contentType: string): boolean => Object.hasOwn(KINDS, contentType);

const DOCUMENTS: ReadonlySet<string> = new Set([
  ANY_BYTES,
  TEXT,
  "text/csv",
  "text/vcard",
  "text/calendar",
  "application/pdf",
  ...Object.values(ZIP_DOCUMENTS),
  ...OPEN_DOCUMENTS,
]);

/** The `Content-Type` of a response with the file. */
export function servedType(contentType: string): string {
  if (contentType.startsWith("text/")) return `${TEXT}; charset=utf-8`;
  return isShown(contentType) || DOCUMENTS.has(contentType) ? contentType : ANY_BYTES;
}

export const usualKind = (contentType: string): MediaKind => KINDS[contentType]?.[0] ?? "document";

/** The type of a file that is used as this kind. A recording can have the container of a video. Undefined if the file cannot be of this kind. */
export function typeAs(contentType: string, kind: MediaKind): string | undefined {
  if (kind === "document" || KINDS[contentType]?.includes(kind) === true) return contentType;
  return kind === "audio" && contentType === "video/mp4" ? "audio/mp4" : undefined;
}

/** The kinds that a file can be sent as. */
export const kindsOf = (contentType: string): MediaKind[] => MEDIA_KINDS.filter((kind) => typeAs(contentType, kind) !== undefined);

// The magic numbers, and the first frames of MP3 and AAC without an ID3 tag.
const HEAD_BYTES = 4_096;
// The list of the files in an archive is at its end. Documents have some dozens.
const TAIL_BYTES = 65_536;
// The bytes of a character in UTF-8 that another piece may complete.
const MAX_PENDING = 3;

/** Follows the pieces of a file, and names its type at the end. */
export class TypeDetector {
  #head = Buffer.alloc(0);
  #tail = Buffer.alloc(0);
  #pending = Buffer.alloc(0);
  #bytes = 0;
  #isText = true;
  #isZip = false;

  push(piece: Buffer): void {
    if (this.#head.length < HEAD_BYTES) this.#head = Buffer.concat([this.#head, piece.subarray(0, HEAD_BYTES - this.#head.length)]);
    if (this.#bytes < ZIP.length) this.#isZip = startsWith(this.#head, ZIP);
    if (this.#isZip) this.#tail = lastBytes(this.#tail, piece);
    if (this.#isText) this.#checkText(piece);
    this.#bytes += piece.length;
  }

  /** The type, as soon as the first bytes show it. Undefined: it depends on the rest, and is a document in any case. */
  get early(): string | undefined {
    return this.#head.length < HEAD_BYTES ? undefined : typeOfHead(this.#head);
  }

  /** Whether `early` is final. */
  get hasHead(): boolean {
    return this.#head.length === HEAD_BYTES;
  }

  /** `hint`: the type that the client declares, or the name of the file. */
  end(hint: string): string {
    const known = typeOfHead(this.#head);
    if (known !== undefined) return known;
    if (this.#isZip) return typeOfZip(this.#head, this.#tail);
    return this.#isText && this.#pending.length === 0 ? typeOfText(this.#head, hint) : ANY_BYTES;
  }

  #checkText(piece: Buffer): void {
    const bytes = this.#pending.length === 0 ? piece : Buffer.concat([this.#pending, piece]);
    const whole = bytes.length - pendingBytes(bytes);
    this.#isText = isUtf8(bytes.subarray(0, whole)) && !piece.includes(0);
    this.#pending = Buffer.from(bytes.subarray(whole));
  }
}

function lastBytes(kept: Buffer, piece: Buffer): Buffer<ArrayBuffer> {
  if (piece.length >= TAIL_BYTES) return Buffer.from(piece.subarray(piece.length - TAIL_BYTES));
  return Buffer.concat([kept.subarray(Math.max(0, kept.length + piece.length - TAIL_BYTES)), piece]);
}

/** The bytes at the end that begin a character without its rest. */
function pendingBytes(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(MAX_PENDING, bytes.length); back += 1) {
    const byte = bytes.readUInt8(bytes.length - back);
    if (byte < 0x80) return 0;
    if (byte < 0xc0) continue;
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
    return back < length ? back : 0;
  }
  return 0;
}

const ZIP = Buffer.from("PK\x03\x04", "latin1");
const STARTS: readonly (readonly [start: Buffer, type: string])[] = (
  [
    ["\xff\xd8\xff", "image/jpeg"],
    ["\x89PNG\r\n\x1a\n", "image/png"],
    ["GIF87a", "image/gif"],
    ["GIF89a", "image/gif"],
    ["ID3", "audio/mpeg"],
    ["#!AMR\n", "audio/amr"],
    ["%PDF-", "application/pdf"],
  ] as const
).map(([start, type]) => [Buffer.from(start, "latin1"), type]);
const OGG_AUDIO = ["OpusHead", "\x01vorbis", "Speex   ", "\x7fFLAC"];
// The first packet of a stream follows the head of its page, with one segment.
const OGG_PACKET = 28;

const startsWith = (bytes: Buffer, start: Buffer): boolean => bytes.subarray(0, start.length).equals(start);
const textAt = (bytes: Buffer, at: number, length: number): string => bytes.toString("latin1", at, at + length);

function typeOfHead(head: Buffer): string | undefined {
  const found = STARTS.find(([start]) => startsWith(head, start));
  if (found !== undefined) return found[1];
  if (textAt(head, 0, 4) === "RIFF" && textAt(head, 8, 4) === "WEBP") return "image/webp";
  if (textAt(head, 0, 4) === "OggS" && OGG_AUDIO.some((codec) => textAt(head, OGG_PACKET, codec.length) === codec)) return "audio/ogg";
  if (textAt(head, 4, 4) === "ftyp") return typeOfBrand(textAt(head, 8, 4));
  if (isFramed(head, mp3FrameBytes)) return "audio/mpeg";
  return isFramed(head, aacFrameBytes) ? "audio/aac" : undefined;
}

const MP4_BRANDS = /^(?:isom|iso\d|mp4\d|avc1|dash|M4V |MSNV|mmp4|f4v )$/;

/** The type of a file of the ISO base media format. Pictures of this format, and QuickTime, are no media that carriers take. */
function typeOfBrand(brand: string): string {
  if (brand === "M4A " || brand === "M4B ") return "audio/mp4";
  if (brand.startsWith("3gp")) return "video/3gpp";
  return MP4_BRANDS.test(brand) ? "video/mp4" : ANY_BYTES;
}

/** Whether two frames follow each other. The mark of a frame is too short to recognize a file by one. */
function isFramed(head: Buffer, frameBytes: (head: Buffer, at: number) => number | undefined): boolean {
  const first = frameBytes(head, 0);
  return first !== undefined && frameBytes(head, first) !== undefined;
}

const MP3_KILOBITS_1 = [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320];
const MP3_KILOBITS_2 = [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160];
const MP3_HERTZ = [44_100, 48_000, 32_000];

/** The length of a frame of MPEG audio, layer III, with a fixed bit rate for the frame. */
function mp3FrameBytes(bytes: Buffer, at: number): number | undefined {
  if (at + 4 > bytes.length || bytes.readUInt8(at) !== 0xff || (bytes.readUInt8(at + 1) & 0xe6) !== 0xe2) return undefined;
  const version = (bytes.readUInt8(at + 1) >> 3) & 3;
  const rates = bytes.readUInt8(at + 2);
  const kilobits = (version === 3 ? MP3_KILOBITS_1 : MP3_KILOBITS_2)[rates >> 4];
  const hertz = MP3_HERTZ[(rates >> 2) & 3];
  if (version === 1 || kilobits === undefined || kilobits === 0 || hertz === undefined) return undefined;
  const [samples, divisor] = version === 3 ? [144, 1] : [72, version === 2 ? 2 : 4];
  return Math.floor((samples * kilobits * 1_000) / (hertz / divisor)) + ((rates >> 1) & 1);
}

const ADTS_HEAD_BYTES = 7;
const MAX_AAC_RATE = 12;

function aacFrameBytes(bytes: Buffer, at: number): number | undefined {
  if (at + ADTS_HEAD_BYTES > bytes.length || (bytes.readUInt16BE(at) & 0xfff6) !== 0xfff0) return undefined;
  if (((bytes.readUInt8(at + 2) >> 2) & 15) > MAX_AAC_RATE) return undefined;
  const length = (bytes.readUIntBE(at + 3, 3) >> 5) & 0x1fff;
  return length > ADTS_HEAD_BYTES ? length : undefined;
}

const CENTRAL_ENTRY = 0x02014b50;
const CENTRAL_ENTRY_BYTES = 46;
// The first file of an OpenDocument file is its type, which is not packed.
const MIMETYPE = /^mimetype(application\/vnd\.oasis\.opendocument\.[a-z]+)(?:PK|$)/;

function typeOfZip(head: Buffer, tail: Buffer): string {
  const [, declared] = MIMETYPE.exec(textAt(head, 30, 80)) ?? [];
  const open = OPEN_DOCUMENTS.find((type) => type === declared);
  if (open !== undefined) return open;
  const has = (name: string): boolean => {
    for (let at = tail.indexOf(name); at !== -1; at = tail.indexOf(name, at + 1))
      if (at >= CENTRAL_ENTRY_BYTES && tail.readUInt32LE(at - CENTRAL_ENTRY_BYTES) === CENTRAL_ENTRY) return true;
    return false;
  };
  // Documents with macros have other types, which phones do not open.
  if (!has("[Content_Types].xml") || tail.includes("vbaProject.bin")) return ANY_BYTES;
  return Object.entries(ZIP_DOCUMENTS).find(([name]) => has(name))?.[1] ?? ANY_BYTES;
}

/** HTML, SVG and XML are plain text here, and are served as such. */
function typeOfText(head: Buffer, hint: string): string {
  const start = head.toString("utf8", 0, 64).replace(/^\uFEFF/, "");
  if (/^BEGIN:VCARD\r?\n/i.test(start)) return "text/vcard";
  if (/^BEGIN:VCALENDAR\r?\n/i.test(start)) return "text/calendar";
  return /\bcsv$/i.test(hint.split(";")[0] ?? "") ? "text/csv" : TEXT;
}
