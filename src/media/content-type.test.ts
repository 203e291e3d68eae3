import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { kindsOf, servedType, typeAs, TypeDetector, usualKind } from "./content-type.ts";

const latin1 = (text: string): Buffer => Buffer.from(text, "latin1");

function typeOf(bytes: Buffer, hint = "", pieceBytes = Infinity): string {
  const detector = new TypeDetector();
  for (let at = 0; at < bytes.length; at += pieceBytes) detector.push(bytes.subarray(at, at + pieceBytes));
  return detector.end(hint);
}

/** An archive with empty files of these names. */
function zipOf(names: readonly string[], first: Buffer = Buffer.alloc(0)): Buffer {
  const local = names.map((name) =>
    Buffer.concat([latin1("PK\x03\x04"), Buffer.alloc(22), uint16(name.length), uint16(0), latin1(name), first]),
  );
  const central = names.map((name) =>
    Buffer.concat([latin1("PK\x01\x02"), Buffer.alloc(24), uint16(name.length), Buffer.alloc(16), latin1(name)]),
  );
  return Buffer.concat([...local, ...central, latin1("PK\x05\x06"), Buffer.alloc(18)]);
}
const uint16 = (value: number): Buffer => {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16LE(value);
  return bytes;
};

/** Frames of MPEG audio, layer III, 128 kbit/s at 44.1 kHz. */
const mp3 = Buffer.concat(Array.from({ length: 3 }, () => Buffer.concat([latin1("\xff\xfb\x90\x00"), Buffer.alloc(413)])));
/** Frames of AAC with a length of 32 bytes. */
const aac = Buffer.concat(Array.from({ length: 3 }, () => Buffer.concat([latin1("\xff\xf1\x50\x80\x04\x1f\xfc"), Buffer.alloc(25)])));
const ftyp = (brand: string): Buffer => Buffer.concat([latin1(`\0\0\0\x18ftyp${brand}`), Buffer.alloc(40)]);
const ogg = (packet: string): Buffer =>
  Buffer.concat([latin1("OggS"), Buffer.alloc(22), latin1("\x01\x13"), latin1(packet), Buffer.alloc(20)]);
const OOXML = "application/vnd.openxmlformats-officedocument";

const FILES: readonly (readonly [what: string, bytes: Buffer, type: string, hint?: string])[] = [
  ["JPEG", latin1("\xff\xd8\xff\xdb\x00"), "image/jpeg"],
  ["PNG", latin1("\x89PNG\r\n\x1a\n\x00"), "image/png"],
  ["GIF", latin1("GIF89a\x01\x00"), "image/gif"],
  ["WebP", latin1("RIFF\x24\x00\x00\x00WEBPVP8 "), "image/webp"],
  ["a RIFF file that is no WebP", latin1("RIFF\x24\x00\x00\x00WAVEfmt "), "application/octet-stream"],
  ["MP3", mp3, "audio/mpeg"],
  ["MP3 with ID3", latin1("ID3\x04\x00\x00\x00\x00\x00\x00"), "audio/mpeg"],
  ["the mark of one frame", Buffer.concat([mp3.subarray(0, 4), Buffer.alloc(500, 1)]), "application/octet-stream"],
  ["AAC", aac, "audio/aac"],
  ["AMR", latin1("#!AMR\n\x3c"), "audio/amr"],
  ["Ogg with Opus", ogg("OpusHead"), "audio/ogg"],
  ["Ogg with Vorbis", ogg("\x01vorbis"), "audio/ogg"],
  ["Ogg with a film", ogg("\x80theora"), "application/octet-stream"],
  ["M4A", ftyp("M4A "), "audio/mp4"],
  ["MP4", ftyp("isom"), "video/mp4"],
  ["3GP", ftyp("3gp4"), "video/3gpp"],
  ["HEIC", ftyp("heic"), "application/octet-stream"],
  ["QuickTime", ftyp("qt  "), "application/octet-stream"],
  ["PDF", latin1("%PDF-1.4\n\xe2\xe3"), "application/pdf"],
  ["a PDF after other bytes", latin1("\n%PDF-1.4\n\xe2\xe3"), "application/octet-stream"],
  ["Word", zipOf(["[Content_Types].xml", "_rels/.rels", "word/document.xml"]), `${OOXML}.wordprocessingml.document`],
  ["Excel", zipOf(["docProps/app.xml", "xl/workbook.xml", "[Content_Types].xml"]), `${OOXML}.spreadsheetml.sheet`],
  ["PowerPoint", zipOf(["[Content_Types].xml", "ppt/presentation.xml"]), `${OOXML}.presentationml.presentation`],
  ["Word with macros", zipOf(["[Content_Types].xml", "word/document.xml", "word/vbaProject.bin"]), "application/octet-stream"],
  ["an archive", zipOf(["a.txt", "b.txt"]), "application/octet-stream"],
  ["OpenDocument", zipOf(["mimetype"], latin1("application/vnd.oasis.opendocument.text")), "application/vnd.oasis.opendocument.text"],
  ["vCard", latin1("BEGIN:VCARD\r\nVERSION:3.0\r\nEND:VCARD\r\n"), "text/vcard"],
  ["a calendar", latin1("BEGIN:VCALENDAR\r\nEND:VCALENDAR\r\n"), "text/calendar"],
  ["text", Buffer.from("Grüße, 你好 🎉"), "text/plain"],
  ["text in Latin-1", latin1("Gr\xfc\xdfe"), "application/octet-stream"],
  ["text with NUL", Buffer.from("a\0b"), "application/octet-stream"],
  ["text that ends within a character", Buffer.from("Grü").subarray(0, 3), "application/octet-stream"],
  ["CSV by its type", Buffer.from("a,b\n1,2\n"), "text/csv", "text/csv; charset=utf-8"],
  ["CSV by its name", Buffer.from("a,b\n1,2\n"), "text/csv", "list.CSV"],
  ["bytes that are declared as CSV", Buffer.from("a\0b"), "application/octet-stream", "text/csv"],
  ["HTML", Buffer.from("<!doctype html>"), "text/plain", "text/html"],
  ["SVG", Buffer.from("<svg/>"), "text/plain", "image/svg+xml"],
  ["JSON", Buffer.from("{}"), "text/plain", "application/json"],
  ["one byte", Buffer.from("\xff", "latin1"), "application/octet-stream"],
];

for (const [what, bytes, type, hint] of FILES)
  test(`${what} is ${type}, in pieces of any size`, () => {
    for (const pieceBytes of [Infinity, 1, 2, 3, 7, 100]) assert.equal(typeOf(bytes, hint, pieceBytes), type);
  });

test("the type of any bytes does not depend on their pieces", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 6_000 }), fc.integer({ min: 1, max: 5_000 }), fc.string(), (array, pieceBytes, hint) => {
      const bytes = Buffer.from(array);
      assert.equal(typeOf(bytes, hint, pieceBytes), typeOf(bytes, hint));
    }),
  );
});

test("the type of any text does not depend on its pieces", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme", maxLength: 500 }), fc.integer({ min: 1, max: 9 }), (text, pieceBytes) => {
      const bytes = Buffer.from(text);
      assert.equal(typeOf(bytes, "", pieceBytes), typeOf(bytes));
    }),
  );
});

test("the early type of a file is its type", () => {
  for (const [, bytes, type] of FILES) {
    const detector = new TypeDetector();
    detector.push(Buffer.concat([bytes, Buffer.alloc(5_000, 1)]));
    assert.ok(detector.hasHead);
    if (detector.early !== undefined) assert.equal(detector.early, type);
  }
});

test("a file can be of the kinds of its type", () => {
  assert.deepEqual(kindsOf("image/webp"), ["image", "document", "sticker"]);
  assert.deepEqual(kindsOf("text/plain"), ["document"]);
  assert.equal(typeAs("video/mp4", "audio"), "audio/mp4");
  assert.equal(typeAs("image/png", "sticker"), undefined);
  assert.equal(usualKind("audio/ogg"), "audio");
  assert.equal(usualKind("application/octet-stream"), "document");
});

test("only known types are served as they are", () => {
  assert.equal(servedType("text/csv"), "text/plain; charset=utf-8");
  assert.equal(servedType("image/svg+xml"), "application/octet-stream");
  assert.equal(servedType("constructor"), "application/octet-stream");
  assert.equal(servedType("application/pdf"), "application/pdf");
});
