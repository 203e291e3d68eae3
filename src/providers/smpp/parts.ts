/** The parts of inbound messages: their positions, and the text that they have together. */
import type { Shifts } from "../../model/gsm7.ts";
import type { PartContent } from "../provider.ts";
import { TLV, type ShortMessage } from "./pdu.ts";
import type { SmppSettings } from "./settings.ts";
import { decodeText, HAS_HEADER, shiftsIn } from "./text.ts";

/** Replaces the parts that never came. */
const MISSING_PARTS = "[…]";

/** The text of a message. Adjacent parts with the same coding and tables are decoded together: a sender may have cut a surrogate pair or an escape
 *  sequence in two. */
export function joinParts({ alphabet }: Pick<SmppSettings, "alphabet">, parts: readonly (PartContent | undefined)[]): string {
  const runs: ({ dataCoding: number; shifts: Shifts; text: Buffer } | undefined)[] = [];
  for (const part of parts) {
    const last = runs.at(-1);
    if (part === undefined) {
      if (runs.length === 0 || last !== undefined) runs.push(undefined);
      continue;
    }
    const { dataCoding } = part;
    const shifts = shiftsIn(headerOf(part) ?? NO_HEADER);
    const isSame = last?.dataCoding === dataCoding && last.shifts.single === shifts.single && last.shifts.locking === shifts.locking;
    if (isSame) last.text = Buffer.concat([last.text, textOf(part)]);
    else runs.push({ dataCoding, shifts, text: textOf(part) });
  }
  return runs.map((run) => (run === undefined ? MISSING_PARTS : decodeText(run.text, run.dataCoding, alphabet, run.shifts))).join("");
}

const NO_HEADER = Buffer.alloc(0);

/** The parts of a message have the same sender, recipient and `reference`. */
export type PartPosition = { reference: string; total: number; number: number };
const CONCATENATED_8 = 0x00;
const CONCATENATED_16 = 0x08;

/** The position of a part, or null for a message of a single part. It is in a user data header before the text, or in the `sar_` parameters. */
export function positionOf(short: ShortMessage): PartPosition | null {
  const header = headerOf(contentOf(short));
  return (header && positionInHeader(header)) ?? positionInTlvs(short);
}

export const contentOf = ({ esmClass, dataCoding, text }: ShortMessage): PartContent => ({
  dataCoding,
  hasHeader: (esmClass & HAS_HEADER) !== 0,
  userData: text,
});

/** Undefined if there is no header. A header longer than the text means that the flag is set by mistake, and everything is text. */
function headerOf({ hasHeader, userData }: PartContent): Buffer | undefined {
  const [length] = userData;
  return !hasHeader || length === undefined || length + 1 > userData.length ? undefined : userData.subarray(1, 1 + length);
}

function textOf(content: PartContent): Buffer {
  const header = headerOf(content);
  return header === undefined ? content.userData : content.userData.subarray(header.length + 1);
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
