/** Texts to the bytes of their parts, and back. */
import { fromGsm7, isGsm7, toGsm7 } from "../../lib/gsm7.ts";
import { HEADER_BYTES, partsOf } from "../../lib/segments.ts";
import { TLV, type Tlvs } from "./pdu.ts";
import type { Alphabet, LongText } from "./settings.ts";

/** What a submit_sm says of its text. */
export type Part = { esmClass: number; dataCoding: number; text: Buffer; tlvs: Tlvs };

const CODING = { standard: 0, ascii: 1, latin1: 3, cyrillic: 6, hebrew: 7, ucs2: 8 } as const;
/** The flag of esm_class that a header stands before the text. */
export const HAS_HEADER = 0x40;

// Both headers and the parameter count parts in one byte.
const MAX_PARTS = 255;
// An optional parameter has 65,535 bytes at most, and a character may take two.
const MAX_PAYLOAD_BYTES = 65_534;

type Coded = { encoding: "gsm7" | "ucs2"; dataCoding: number; toBytes: (text: string) => Buffer };

const latin1Bytes = (text: string): Buffer => Buffer.from(text, "latin1");
const ucs2Bytes = (text: string): Buffer => Buffer.from(text, "utf16le").swap16();
const isLatin1 = (text: string): boolean => latin1Bytes(text).toString("latin1") === text;
const isAscii = (text: string): boolean => isLatin1(text) && latin1Bytes(text).every((byte) => byte < 0x80);

/** Only what the GSM alphabet can say travels as bytes: phones are sent that alphabet whatever the carrier speaks, and would get
 *  the rest of Latin-1 changed. So the count of parts is the one that `segmentsOf` gives, but where the carrier's alphabet
 *  lacks a letter of GSM's. */
function codedFor(text: string, alphabet: Alphabet): Coded {
  const bytes = { encoding: "gsm7", dataCoding: CODING.standard, toBytes: latin1Bytes } as const;
  if (isGsm7(text)) {
    if (alphabet === "gsm7") return { ...bytes, toBytes: toGsm7 };
    if (alphabet === "latin1" ? isLatin1(text) : isAscii(text)) return bytes;
    if (isLatin1(text)) return { ...bytes, dataCoding: CODING.latin1 };
  }
  return { encoding: "ucs2", dataCoding: CODING.ucs2, toBytes: ucs2Bytes };
}

/** What each part of a long text gives to its header. */
export const partHeaderBytes = ({ longText }: { longText: LongText }): number => (longText === "udh16" ? HEADER_BYTES + 1 : HEADER_BYTES);

/** `reference` ties the parts together; undefined when there would be too many of them. */
export function encodeText(text: string, link: { alphabet: Alphabet; longText: LongText }, reference: number): Part[] | undefined {
  const { encoding, dataCoding, toBytes } = codedFor(text, link.alphabet);
  const texts = partsOf(text, encoding, partHeaderBytes(link));
  const plain = { esmClass: 0, dataCoding, tlvs: new Map<number, Buffer>() };
  if (texts.length === 1) return [{ ...plain, text: toBytes(text) }];
  if (link.longText === "payload") {
    const bytes = toBytes(text);
    return bytes.length > MAX_PAYLOAD_BYTES ? undefined : [{ ...plain, text: bytes, tlvs: new Map([[TLV.messagePayload, bytes]]) }];
  }
  if (texts.length > MAX_PARTS) return undefined;
  const tie = TIES[link.longText];
  return texts.map((each, index) => ({ ...plain, ...tie(toBytes(each), reference, [texts.length, index + 1]) }));
}

type Tie = (bytes: Buffer, reference: number, place: readonly [total: number, number: number]) => Partial<Part> & { text: Buffer };

const TIES: Readonly<Record<Exclude<LongText, "payload">, Tie>> = {
  udh8: (bytes, reference, place) => ({
    esmClass: HAS_HEADER,
    text: Buffer.concat([Buffer.from([5, 0, 3, reference & 0xff, ...place]), bytes]),
  }),
  udh16: (bytes, reference, place) => ({
    esmClass: HAS_HEADER,
    text: Buffer.concat([Buffer.from([6, 8, 4, (reference >> 8) & 0xff, reference & 0xff, ...place]), bytes]),
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

/** What someone wrote. Never fails: bytes that make no sense become what they can. */
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
      return decodeByGroup(bytes, dataCoding);
  }
}

/** Some carriers hand the data coding scheme of GSM 03.38 through: above 0x0F its bits say the alphabet. The rest is bytes, which
 *  Latin-1 keeps as they are. */
function decodeByGroup(bytes: Buffer, dataCoding: number): string {
  const isGeneral = dataCoding >= 0x10 && dataCoding < 0x40;
  const isClass = dataCoding >= 0xf0;
  if (isGeneral && (dataCoding & 0x0c) === 0x08) return ucs2Text(bytes);
  if ((isGeneral && (dataCoding & 0x0c) === 0) || (isClass && (dataCoding & 0x04) === 0)) return fromGsm7(bytes);
  return bytes.toString("latin1");
}

/** UTF-16BE; an odd byte at the end is half of nothing. */
const ucs2Text = (bytes: Buffer): string =>
  Buffer.from(bytes.subarray(0, bytes.length - (bytes.length % 2)))
    .swap16()
    .toString("utf16le");
