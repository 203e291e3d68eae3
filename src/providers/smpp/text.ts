/** Encodes a text into the bytes of its parts, and decodes inbound texts. */
import { fromGsm7, isGsm7, toGsm7 } from "../../lib/gsm7.ts";
import { HEADER_BYTES, partsOf } from "../../lib/segments.ts";
import { TLV, type Tlvs } from "./pdu.ts";
import type { Alphabet, LongText } from "./settings.ts";

/** The fields of a submit_sm that depend on its text. */
export type Part = { esmClass: number; dataCoding: number; text: Buffer; tlvs: Tlvs };

const CODING = { standard: 0, ascii: 1, latin1: 3, cyrillic: 6, hebrew: 7, ucs2: 8 } as const;
/** The flag of esm_class for a user data header before the text. */
export const HAS_HEADER = 0x40;

// Both kinds of header and the parameter have one byte for the number of parts.
const MAX_PARTS = 255;
// An optional parameter has at most 65,535 bytes, and a character may take two.
const MAX_PAYLOAD_BYTES = 65_534;

type TextCoding = { encoding: "gsm7" | "ucs2"; dataCoding: number; toBytes: (text: string) => Buffer };

const latin1Bytes = (text: string): Buffer => Buffer.from(text, "latin1");
const ucs2Bytes = (text: string): Buffer => Buffer.from(text, "utf16le").swap16();
const isLatin1 = (text: string): boolean => latin1Bytes(text).toString("latin1") === text;
const isAscii = (text: string): boolean => isLatin1(text) && latin1Bytes(text).every((byte) => byte < 0x80);

/** Only a text in the GSM alphabet is sent as single bytes: phones receive that alphabet, whatever the carrier's own, and would show
 *  other characters of Latin-1 wrongly. So the number of parts is the count of `segmentsOf`, unless the carrier's alphabet lacks a
 *  character of GSM's. */
function chooseCoding(text: string, alphabet: Alphabet): TextCoding {
  const bytes = { encoding: "gsm7", dataCoding: CODING.standard, toBytes: latin1Bytes } as const;
  if (isGsm7(text)) {
    if (alphabet === "gsm7") return { ...bytes, toBytes: toGsm7 };
    if (alphabet === "latin1" ? isLatin1(text) : isAscii(text)) return bytes;
    if (isLatin1(text)) return { ...bytes, dataCoding: CODING.latin1 };
  }
  return { encoding: "ucs2", dataCoding: CODING.ucs2, toBytes: ucs2Bytes };
}

/** The bytes of the header in each part of a long text. */
export const partHeaderBytes = ({ longText }: { longText: LongText }): number => (longText === "udh16" ? HEADER_BYTES + 1 : HEADER_BYTES);

/** Encodes a text. The parts share `reference`. Undefined when there would be too many parts. */
export function encodeText(text: string, link: { alphabet: Alphabet; longText: LongText }, reference: number): Part[] | undefined {
  const { encoding, dataCoding, toBytes } = chooseCoding(text, link.alphabet);
  const texts = partsOf(text, encoding, partHeaderBytes(link));
  const plain = { esmClass: 0, dataCoding, tlvs: new Map<number, Buffer>() };
  if (texts.length === 1) return [{ ...plain, text: toBytes(text) }];
  if (link.longText === "payload") {
    const bytes = toBytes(text);
    return bytes.length > MAX_PAYLOAD_BYTES ? undefined : [{ ...plain, text: bytes, tlvs: new Map([[TLV.messagePayload, bytes]]) }];
  }
  if (texts.length > MAX_PARTS) return undefined;
  const addHeader = PART_HEADERS[link.longText];
  return texts.map((each, index) => ({ ...plain, ...addHeader(toBytes(each), reference, [texts.length, index + 1]) }));
}

type PartHeader = (
  bytes: Buffer,
  reference: number,
  position: readonly [total: number, number: number],
) => Partial<Part> & { text: Buffer };

const PART_HEADERS: Readonly<Record<Exclude<LongText, "payload">, PartHeader>> = {
  udh8: (bytes, reference, position) => ({
    esmClass: HAS_HEADER,
    text: Buffer.concat([Buffer.from([5, 0, 3, reference & 0xff, ...position]), bytes]),
  }),
  udh16: (bytes, reference, position) => ({
    esmClass: HAS_HEADER,
    text: Buffer.concat([Buffer.from([6, 8, 4, (reference >> 8) & 0xff, reference & 0xff, ...position]), bytes]),
  }),
  sar: (bytes, reference, [total, number]) => ({
    text: bytes,
    tlvs: new Map([
      [TLV.sarReference, Buffer.from([(reference >> 8) & 0xff, reference & 0xff])],
      [TLV.sarTotal, Buffer.from([total])],
      [TLV.sarNumber, Buffer.from([number])],
    ]),
  }),
};

/** Decodes an inbound text. Never fails: invalid bytes are decoded as well as possible. */
export function decodeText(bytes: Buffer, dataCoding: number, alphabet: Alphabet): string {
  switch (dataCoding) {
    case CODING.standard:
      return alphabet === "gsm7" ? fromGsm7(bytes) : bytes.toString("latin1");
    case CODING.cyrillic:
      return new TextDecoder("iso-8859-5").decode(bytes);
    case CODING.hebrew:
      return new TextDecoder("iso-8859-8").decode(bytes);
    case CODING.ucs2:
      return ucs2Text(bytes);
    default:
      return decodeByScheme(bytes, dataCoding);
  }
}

/** Some carriers pass on the data coding scheme of GSM 03.38, whose bits above 0x0F name the alphabet. Other values mean bytes, which
 *  Latin-1 keeps unchanged. */
function decodeByScheme(bytes: Buffer, dataCoding: number): string {
  const isGeneral = dataCoding >= 0x10 && dataCoding < 0x40;
  const isClass = dataCoding >= 0xf0;
  if (isGeneral && (dataCoding & 0x0c) === 0x08) return ucs2Text(bytes);
  if ((isGeneral && (dataCoding & 0x0c) === 0) || (isClass && (dataCoding & 0x04) === 0)) return fromGsm7(bytes);
  return bytes.toString("latin1");
}

/** Decodes UTF-16BE, without an odd byte at the end. */
const ucs2Text = (bytes: Buffer): string =>
  Buffer.from(bytes.subarray(0, bytes.length - (bytes.length % 2)))
    .swap16()
    .toString("utf16le");
