/** Encodes PDUs as bytes. */
import { assert } from "../../lib/assert.ts";
import { COMMAND, HEADER_BYTES, STATUS, TLV, type Address, type Body, type Pdu, type ShortMessage, type Tlvs } from "./pdu.ts";

export function encode(pdu: Pdu): Buffer {
  const body = Buffer.concat(encodeBody(pdu));
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUInt32BE(HEADER_BYTES + body.length, 0);
  header.writeUInt32BE(COMMAND[pdu.command], 4);
  header.writeUInt32BE(pdu.status, 8);
  header.writeUInt32BE(pdu.sequence, 12);
  return Buffer.concat([header, body]);
}

// A zero ends a text, so a zero inside the text would shift all following fields.
const text = (value: string): Buffer => Buffer.from(`${value.replaceAll("\0", "")}\0`, "latin1");
const int8s = (...values: number[]): Buffer => Buffer.from(values);
const address = ({ ton, npi, text: value }: Address): Buffer[] => [int8s(ton, npi), text(value)];

function encodeBody(pdu: Body & { status: number }): Buffer[] {
  if ("bind" in pdu) {
    const { systemId, password, systemType, interfaceVersion, range } = pdu.bind;
    return [text(systemId), text(password), text(systemType), int8s(interfaceVersion), ...address(range)];
  }
  if ("short" in pdu) return pdu.command === "data_sm" ? encodeData(pdu.short) : encodeShort(pdu.short);
  if ("id" in pdu) return pdu.status === STATUS.ok || pdu.id !== "" ? [text(pdu.id)] : [];
  return [];
}

// The length of a text has one byte. A longer text is sent as a parameter.
const MAX_TEXT = 254;

function encodeShort(short: ShortMessage): Buffer[] {
  const isLong = short.text.length > MAX_TEXT || short.tlvs.has(TLV.messagePayload);
  const inline = isLong ? Buffer.alloc(0) : short.text;
  return [
    ...encodeHead(short),
    int8s(short.esmClass, short.protocolId, short.priority),
    text(short.scheduledFor),
    text(short.validFor),
    int8s(short.registeredDelivery, 0, short.dataCoding, 0, inline.length),
    inline,
    ...encodeTlvs(isLong ? withPayload(short) : short.tlvs),
  ];
}

const encodeData = (short: ShortMessage): Buffer[] => [
  ...encodeHead(short),
  int8s(short.esmClass, short.registeredDelivery, short.dataCoding),
  ...encodeTlvs(withPayload(short)),
];

const encodeHead = ({ serviceType, source, destination }: ShortMessage): Buffer[] => [
  text(serviceType),
  ...address(source),
  ...address(destination),
];

const withPayload = ({ tlvs, text: bytes }: ShortMessage): Tlvs => new Map([...tlvs, [TLV.messagePayload, bytes] as const]);

const encodeTlvs = (tlvs: Tlvs): Buffer[] =>
  [...tlvs].map(([tag, value]) => {
    assert(value.length <= 0xffff, "an optional parameter is too long");
    const head = Buffer.alloc(4);
    head.writeUInt16BE(tag, 0);
    head.writeUInt16BE(value.length, 2);
    return Buffer.concat([head, value]);
  });
