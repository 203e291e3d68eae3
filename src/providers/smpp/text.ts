/** Encodes a text into the bytes of its parts, and decodes inbound texts. */
import { fromGsm7, toGsm7, type Shifts } from "../../model/gsm7.ts";
import { NATIONAL_LANGUAGES, type NationalLanguage } from "../../model/national-alphabets.ts";
import { codingOf, HEADER_BYTES, partsOf, type Alphabet, type Coding, type SegmentRules } from "../../model/segments.ts";
import { TLV, type Tlvs } from "./pdu.ts";
import type { LongText } from "./settings.ts";

/** The fields of a submit_sm that depend on its text. */
export type Part = { esmClass: number; dataCoding: number; text: Buffer; tlvs: Tlvs };

const CODING = {
  standard: 0,
  ascii: 1,
  latin1: 3,
  jis: 5,
  cyrillic: 6,
  hebrew: 7,
  ucs2: 8,
  iso2022: 10,
  extendedKanji: 13,
  korean: 14,
} as const;
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

function chooseCoding(text: string, { encoding, shifts }: Coding, { alphabet, isFlash = false }: TextSettings): TextCoding {
  if (encoding === "ucs2") return { dataCoding: isFlash ? FLASH_CODING.ucs2 : CODING.ucs2, toBytes: ucs2Bytes };
  const gsm7Bytes = (part: string): Buffer => toGsm7(part, shifts);
  if (isFlash) return { dataCoding: FLASH_CODING.standard, toBytes: gsm7Bytes };
  if (alphabet === "gsm7") return { dataCoding: CODING.standard, toBytes: gsm7Bytes };
  const isStandard = alphabet === "latin1" || isAscii(text);
  return { dataCoding: isStandard ? CODING.standard : CODING.latin1, toBytes: latin1Bytes };
}

/** The rules by which texts on the link are counted and split. */
export const segmentRules = ({ alphabet, longText, languages }: TextSettings): SegmentRules => ({
  headerBytes: longText === "udh16" ? HEADER_BYTES + 1 : HEADER_BYTES,
  alphabet,
  languages,
});

type TextSettings = { alphabet: Alphabet; longText: LongText; languages?: readonly NationalLanguage[] | undefined; isFlash?: boolean };

/** Encodes a text. The parts share `reference`. Undefined when there would be too many parts. */
export function encodeText(text: string, link: TextSettings, reference: number): Part[] | undefined {
  const coding = codingOf(text, segmentRules(link));
  const { dataCoding, toBytes } = chooseCoding(text, coding, link);
  const texts = partsOf(text, coding);
  const plain = { esmClass: 0, dataCoding, tlvs: new Map<number, Buffer>() };
  const elements = shiftElements(coding.shifts ?? {});
  if (texts.length === 1) return [{ ...plain, ...(elements.length === 0 ? { text: toBytes(text) } : withHeader(elements, toBytes(text))) }];
  if (link.longText === "payload") {
    const bytes = toBytes(text);
    return bytes.length > MAX_PAYLOAD_BYTES ? undefined : [{ ...plain, text: bytes, tlvs: new Map([[TLV.messagePayload, bytes]]) }];
  }
  if (texts.length > MAX_PARTS) return undefined;
  const addHeader = PART_HEADERS[link.longText];
  return texts.map((each, index) => ({ ...plain, ...addHeader(toBytes(each), reference, [texts.length, index + 1], elements) }));
}

/** The elements of a user data header that name national tables. */
const SHIFT_ELEMENT = { single: 0x24, locking: 0x25 } as const;

const shiftElements = (shifts: Shifts): number[] =>
  (["single", "locking"] as const).flatMap((kind) => {
    const language = shifts[kind];
    return language === undefined ? [] : [SHIFT_ELEMENT[kind], 1, NATIONAL_LANGUAGES.indexOf(language) + 1];
  });

const withHeader = (elements: readonly number[], bytes: Buffer): { esmClass: number; text: Buffer } => ({
  esmClass: HAS_HEADER,
  text: Buffer.concat([Buffer.from([elements.length, ...elements]), bytes]),
});

/** The national tables that the elements of a header name. Unknown languages are left out. */
export function shiftsIn(header: Uint8Array): Shifts {
  const shifts: Shifts = {};
  for (let at = 0; at + 2 < header.length; at += 2 + (header[at + 1] ?? 0)) {
    const language = NATIONAL_LANGUAGES[(header[at + 2] ?? 0) - 1];
    if (header[at] === SHIFT_ELEMENT.single) shifts.single = language;
    if (header[at] === SHIFT_ELEMENT.locking) shifts.locking = language;
  }
  return shifts;
}

type PartHeader = (
  bytes: Buffer,
  reference: number,
  position: readonly [total: number, number: number],
  elements: readonly number[],
) => Partial<Part> & { text: Buffer };

const PART_HEADERS: Readonly<Record<Exclude<LongText, "payload">, PartHeader>> = {
  udh8: (bytes, reference, position, elements) => withHeader([0, 3, reference & 0xff, ...position, ...elements], bytes),
  udh16: (bytes, reference, position, elements) =>
    withHeader([8, 4, (reference >> 8) & 0xff, reference & 0xff, ...position, ...elements], bytes),
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
export function decodeText(bytes: Buffer, dataCoding: number, alphabet: Alphabet, shifts: Shifts = {}): string {
  switch (dataCoding) {
    case CODING.standard:
      return alphabet === "gsm7" ? fromGsm7(bytes, shifts) : bytes.toString("latin1");
    case CODING.jis:
      return new TextDecoder("shift_jis").decode(bytes);
    case CODING.cyrillic:
      return new TextDecoder("iso-8859-5").decode(bytes);
    case CODING.hebrew:
      return new TextDecoder("iso-8859-8").decode(bytes);
    case CODING.ucs2:
      return ucs2Text(bytes);
    case CODING.iso2022:
      return new TextDecoder("iso-2022-jp").decode(bytes);
    case CODING.extendedKanji:
      return new TextDecoder("euc-jp").decode(bytes);
    case CODING.korean:
      return new TextDecoder("euc-kr").decode(bytes);
    default:
      return decodeByScheme(bytes, dataCoding, shifts);
  }
}

/** Some carriers pass on the data coding scheme of GSM 03.38, whose bits above 0x0F name the alphabet. Other values mean bytes, which
 *  Latin-1 keeps unchanged. */
function decodeByScheme(bytes: Buffer, dataCoding: number, shifts: Shifts): string {
  const alphabet = schemeAlphabet(dataCoding);
  if (alphabet === "ucs2") return ucs2Text(bytes);
  return alphabet === "gsm7" ? fromGsm7(bytes, shifts) : bytes.toString("latin1");
}

function schemeAlphabet(dataCoding: number): "gsm7" | "ucs2" | "bytes" {
  const group = dataCoding >> 4;
  // The general groups, without and with the mark for deletion, have the alphabet in two bits. Compressed texts cannot be read.
  if (group >= 1 && group <= 7) return (["gsm7", "bytes", "ucs2", "bytes"] as const)[group & 2 ? 1 : (dataCoding >> 2) & 3] ?? "bytes";
  // Indications of waiting messages, whose text is to be dropped or kept, or kept in UCS-2.
  if (group === 0xc || group === 0xd) return "gsm7";
  if (group === 0xe) return "ucs2";
  return group === 0xf && (dataCoding & 4) === 0 ? "gsm7" : "bytes";
}

const MARK = "\ufeff";

/** Decodes UTF-16BE, without an odd byte at the end and a byte order mark at the begin. */
function ucs2Text(bytes: Buffer): string {
  const text = Buffer.from(bytes.subarray(0, bytes.length - (bytes.length % 2)))
    .swap16()
    .toString("utf16le");
  return text.startsWith(MARK) ? text.slice(1) : text;
}
