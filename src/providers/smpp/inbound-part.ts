/** The position of an inbound part in its message, from a user data header before the text, or from the `sar_` parameters. */
import { TLV, type ShortMessage } from "./pdu.ts";
import { HAS_HEADER } from "./text.ts";

/** The parts of a message have the same sender, recipient and `reference`. */
export type PartPosition = { reference: string; total: number; number: number };
export type InboundPart = { position: PartPosition | null; text: Buffer };

const CONCATENATED_8 = 0x00;
const CONCATENATED_16 = 0x08;

export function parsePart(short: ShortMessage): InboundPart {
  const header = userDataHeader(short);
  if (header === undefined) return { position: positionInTlvs(short), text: short.text };
  return { position: positionInHeader(header) ?? positionInTlvs(short), text: short.text.subarray(header.length + 1) };
}

/** Undefined if there is no header. A header longer than the text means that the flag is set by mistake, and everything is text. */
function userDataHeader({ esmClass, text }: ShortMessage): Buffer | undefined {
  const length = text[0];
  if ((esmClass & HAS_HEADER) === 0 || length === undefined || length + 1 > text.length) return undefined;
  return text.subarray(1, 1 + length);
}

function positionInHeader(header: Buffer): PartPosition | null {
  for (let at = 0; at + 2 <= header.length;) {
    const [tag, length] = [header.readUInt8(at), header.readUInt8(at + 1)];
    const value = header.subarray(at + 2, at + 2 + length);
    if (tag === CONCATENATED_8 && value.length === 3) return toPosition(`8:${value.readUInt8(0)}`, value.readUInt8(1), value.readUInt8(2));
    if (tag === CONCATENATED_16 && value.length === 4)
      return toPosition(`16:${value.readUInt16BE(0)}`, value.readUInt8(2), value.readUInt8(3));
    at += 2 + length;
  }
  return null;
}

function positionInTlvs({ tlvs }: ShortMessage): PartPosition | null {
  const [reference, total, number] = [tlvs.get(TLV.sarReference), tlvs.get(TLV.sarTotal)?.at(-1), tlvs.get(TLV.sarNumber)?.at(-1)];
  if (reference === undefined || reference.length > 4 || total === undefined || number === undefined) return null;
  return toPosition(`sar:${reference.toString("hex")}`, total, number);
}

/** Null for a message of a single part, and for numbers that make no sense. */
const toPosition = (reference: string, total: number, number: number): PartPosition | null =>
  total > 1 && number >= 1 && number <= total ? { reference, total, number } : null;
