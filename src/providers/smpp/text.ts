/** Encodes a text into the bytes of its parts, and decodes inbound texts. */
import { fromGsm7, toGsm7 } from "../../model/gsm7.ts";
import { encodingOf, HEADER_BYTES, partsOf, type Alphabet, type SegmentRules } from "../../model/segments.ts";
import { TLV, type Tlvs } from "./pdu.ts";
import type { LongText } from "./settings.ts";

/** The fields of a submit_sm that depend on its text. */
export type Part = { esmClass: number; dataCoding: number; text: Buffer; tlvs: Tlvs };

const CODING = { standard: 0, ascii: 1, latin1: 3, cyrillic: 6, hebrew: 7, ucs2: 8 } as const;
/** Message class 0, which phones show at once and do not store: the coding groups of GSM 03.38 for its own alphabet, and for UCS-2. */
const FLASH_CODING = { standard: 0xf0, ucs2: 0x18 } as const;
/** The flag of esm_class for a user data header before the text. */
export const HAS_HEADER = 0x40;

// Both kinds of header and the parameter have one byte for the number of parts.
const MAX_PARTS = 255;
// An optional parameter has at most 65,535 bytes, and a character may take two.
const MAX_PAYLOAD_BYTES = 65_534;

type TextCoding = { dataCoding: number; toBytes: (text: string) => Buffer };

const latin1Bytes = (text: string): Buffer => Buffer.from(text, "latin1");
const ucs2Bytes = (text: string): Buffer => Buffer.from(text, "utf16le").swap16();
const isAscii = (text: string): boolean => latin1Bytes(text).every((byte) => byte < 0x80);

function chooseCoding(text: string, { alphabet, isFlash = false }: TextSettings): TextCoding {
  const isUcs2 = encodingOf(text, alphabet) === "ucs2";
  if (isUcs2) return { dataCoding: isFlash ? FLASH_CODING.ucs2 : CODING.ucs2, toBytes: ucs2Bytes };
  if (isFlash) return { dataCoding: FLASH_CODING.standard, toBytes: toGsm7 };
  if (alphabet === "gsm7") return { dataCoding: CODING.standard, toBytes: toGsm7 };
  const isStandard = alphabet === "latin1" || isAscii(text);
  return { dataCoding: isStandard ? CODING.standard : CODING.latin1, toBytes: latin1Bytes };
}

/** The rules by which texts on the link are counted and split. */
export const segmentRules = ({ alphabet, longText }: TextSettings): SegmentRules => ({
  headerBytes: longText === "udh16" ? HEADER_BYTES + 1 : HEADER_BYTES,
  alphabet,
});

type TextSettings = { alphabet: Alphabet; longText: LongText; isFlash?: boolean };

/** Encodes a text. The parts share `reference`. Undefined when there would be too many parts. */
export function encodeText(text: string, link: TextSettings, reference: number): Part[] | undefined {
  const { dataCoding, toBytes } = chooseCoding(text, link);
  const texts = partsOf(text, segmentRules(link));
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
