/** What an inbound part says of the message it is of: in a header before its text, or in the `sar_` parameters. */
import { TLV, type Short } from "./pdu.ts";
import { HAS_HEADER } from "./text.ts";

/** `reference` is one for all parts of a message, together with who sent it to whom. */
export type Place = { reference: string; total: number; number: number };
export type InboundPart = { place: Place | null; text: Buffer };

const CONCATENATED_8 = 0x00;
const CONCATENATED_16 = 0x08;

export function partOf(short: Short): InboundPart {
  const header = headerOf(short);
  if (header === undefined) return { place: sarPlace(short), text: short.text };
  return { place: headerPlace(header) ?? sarPlace(short), text: short.text.subarray(header.length + 1) };
}

/** Undefined where there is none, and where its length is beyond the text: then the flag is a slip, and it is all text. */
function headerOf({ esmClass, text }: Short): Buffer | undefined {
  const length = text[0];
  if ((esmClass & HAS_HEADER) === 0 || length === undefined || length + 1 > text.length) return undefined;
  return text.subarray(1, 1 + length);
}

function headerPlace(header: Buffer): Place | null {
  for (let at = 0; at + 2 <= header.length;) {
    const [tag, length] = [header.readUInt8(at), header.readUInt8(at + 1)];
    const value = header.subarray(at + 2, at + 2 + length);
    if (tag === CONCATENATED_8 && value.length === 3) return placeOf(`8:${value.readUInt8(0)}`, value.readUInt8(1), value.readUInt8(2));
    if (tag === CONCATENATED_16 && value.length === 4)
      return placeOf(`16:${value.readUInt16BE(0)}`, value.readUInt8(2), value.readUInt8(3));
    at += 2 + length;
  }
  return null;
}

function sarPlace({ tlvs }: Short): Place | null {
  const [reference, total, number] = [tlvs.get(TLV.sarReference), tlvs.get(TLV.sarTotal)?.at(-1), tlvs.get(TLV.sarNumber)?.at(-1)];
  if (reference === undefined || reference.length > 4 || total === undefined || number === undefined) return null;
  return placeOf(`sar:${reference.toString("hex")}`, total, number);
}

/** One of one is no part, and one of nothing neither. */
const placeOf = (reference: string, total: number, number: number): Place | null =>
  total > 1 && number >= 1 && number <= total ? { reference, total, number } : null;
