/** Decodes PDUs. Accepts any bytes of a peer: an unreadable PDU is returned as malformed and never throws. */
import { unreachable } from "../../lib/assert.ts";
import { COMMAND, HEADER_BYTES, STATUS, TLV, type Address, type BindFields, type Body, type CommandName } from "./pdu.ts";
import type { Malformed, Pdu, ShortMessage, Tlvs } from "./pdu.ts";

const NAMES: ReadonlyMap<number, CommandName> = new Map(Object.entries(COMMAND).map(([name, id]) => [id, name as CommandName]));

class Unreadable extends Error {}

/** Reads the fields of a PDU one after the other. */
class Reader {
  readonly #bytes: Buffer;
  #at = HEADER_BYTES;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  int8(): number {
    this.#need(1);
    return this.#bytes.readUInt8(this.#at++);
  }

  /** Reads a text that ends with a zero and has at most `most` bytes with it. The limits are larger than the standard's, since peers
   *  exceed those. */
  text(most: number): string {
    const end = this.#bytes.indexOf(0, this.#at);
    if (end === -1) throw new Unreadable("a text does not end");
    if (end - this.#at >= most) throw new Unreadable(`a text is longer than ${most - 1}`);
    const text = this.#bytes.toString("latin1", this.#at, end);
    this.#at = end + 1;
    return text;
  }

  /** Reads the text at the end of a response. Some peers leave out its zero, and some the whole text. */
  lastText(most: number): string {
    const end = this.#bytes.indexOf(0, this.#at);
    const text = this.#bytes.toString("latin1", this.#at, end === -1 ? this.#bytes.length : end);
    if (text.length >= most) throw new Unreadable(`a text is longer than ${most - 1}`);
    return text;
  }

  bytes(length: number): Buffer {
    this.#need(length);
    const bytes = Buffer.from(this.#bytes.subarray(this.#at, this.#at + length));
    this.#at += length;
    return bytes;
  }

  /** Reads the optional parameters. Fewer bytes at the end than a parameter's head are ignored as a peer's mistake. */
  tlvs(): Tlvs {
    const tlvs = new Map<number, Buffer>();
    while (this.#bytes.length - this.#at >= 4) {
      const tag = this.#bytes.readUInt16BE(this.#at);
      const length = this.#bytes.readUInt16BE(this.#at + 2);
      this.#at += 4;
      tlvs.set(tag, this.bytes(length));
    }
    return tlvs;
  }

  #need(length: number): void {
    if (this.#at + length > this.#bytes.length) throw new Unreadable("it ends too soon");
  }
}

/** Decodes one complete PDU. `Frames` has checked its length. */
export function decode(bytes: Buffer): Pdu | Malformed {
  const commandId = bytes.readUInt32BE(4);
  const status = bytes.readUInt32BE(8);
  const sequence = bytes.readUInt32BE(12);
  const command = NAMES.get(commandId);
  if (command === undefined) return { command: "malformed", commandId, status, sequence, reason: "unknown command" };
  try {
    return { ...decodeBody(command, status, new Reader(bytes)), status, sequence };
  } catch (error) {
    if (error instanceof Unreadable) return { command: "malformed", commandId, status, sequence, reason: error.message };
    throw error;
  }
}

function decodeBody(command: CommandName, status: number, reader: Reader): Body {
  switch (command) {
    case "bind_receiver":
    case "bind_transmitter":
    case "bind_transceiver":
      return { command, bind: decodeBind(reader) };
    case "submit_sm":
    case "deliver_sm":
      return { command, short: decodeShort(reader) };
    case "data_sm":
      return { command, short: decodeData(reader) };
    case "bind_receiver_resp":
    case "bind_transmitter_resp":
    case "bind_transceiver_resp":
    case "submit_sm_resp":
    case "deliver_sm_resp":
    case "data_sm_resp":
      // The bytes after an error status are not an id.
      return { command, id: status === STATUS.ok ? reader.lastText(MAX_ID) : "" };
    case "unbind":
    case "unbind_resp":
    case "enquire_link":
    case "enquire_link_resp":
    case "generic_nack":
    case "outbind":
    case "alert_notification":
    case "query_sm":
    case "query_sm_resp":
      return { command };
    default:
      return unreachable(command);
  }
}

// The standard allows 65 bytes. Some carriers write more.
const MAX_ID = 256;
const MAX_ADDRESS = 66;

function decodeBind(reader: Reader): BindFields {
  const systemId = reader.text(64);
  const password = reader.text(64);
  const systemType = reader.text(64);
  const interfaceVersion = reader.int8();
  const range = { ton: reader.int8(), npi: reader.int8(), text: reader.lastText(MAX_ADDRESS) };
  return { systemId, password, systemType, interfaceVersion, range };
}

const decodeAddress = (reader: Reader): Address => ({ ton: reader.int8(), npi: reader.int8(), text: reader.text(MAX_ADDRESS) });

function decodeShort(reader: Reader): ShortMessage {
  const serviceType = reader.text(16);
  const source = decodeAddress(reader);
  const destination = decodeAddress(reader);
  const [esmClass, protocolId, priority] = [reader.int8(), reader.int8(), reader.int8()];
  const [scheduledFor, validFor] = [reader.text(32), reader.text(32)];
  const registeredDelivery = reader.int8();
  reader.int8();
  const dataCoding = reader.int8();
  reader.int8();
  const text = reader.bytes(reader.int8());
  const fields = {
    serviceType,
    source,
    destination,
    esmClass,
    protocolId,
    priority,
    scheduledFor,
    validFor,
    registeredDelivery,
    dataCoding,
  };
  const tlvs = reader.tlvs();
  return { ...fields, text: text.length > 0 ? text : (tlvs.get(TLV.messagePayload) ?? text), tlvs };
}

function decodeData(reader: Reader): ShortMessage {
  const serviceType = reader.text(16);
  const source = decodeAddress(reader);
  const destination = decodeAddress(reader);
  const [esmClass, registeredDelivery, dataCoding] = [reader.int8(), reader.int8(), reader.int8()];
  const tlvs = reader.tlvs();
  const rest = { protocolId: 0, priority: 0, scheduledFor: "", validFor: "" };
  const text = tlvs.get(TLV.messagePayload) ?? Buffer.alloc(0);
  return { serviceType, source, destination, esmClass, registeredDelivery, dataCoding, text, tlvs, ...rest };
}
