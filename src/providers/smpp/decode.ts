/** Decodes PDUs. Accepts any bytes of a peer: an unreadable PDU is returned as malformed and never throws. */
import { BINDS, COMMAND, HEADER_BYTES, SHORTS, STATUS, TLV, WITH_ID } from "./pdu.ts";
import type { Address, BindFields, Body, CommandName, Malformed, Pdu, ShortMessage, Tlvs } from "./pdu.ts";

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

const isOneOf = <T extends object>(command: PropertyKey, commands: T): command is keyof T => Object.hasOwn(commands, command);

function decodeBody(command: CommandName, status: number, reader: Reader): Body {
  if (isOneOf(command, BINDS)) return { command, bind: decodeBind(reader) };
  if (isOneOf(command, SHORTS)) return { command, short: command === "data_sm" ? decodeData(reader) : decodeShort(reader) };
  // The bytes after an error status are not an id.
  if (isOneOf(command, WITH_ID)) return { command, id: status === STATUS.ok ? reader.lastText(MAX_ID) : "" };
  return { command };
}

// The standard allows 65 bytes. Some carriers write more.
const MAX_ID = 256;
const MAX_ADDRESS = 66;

/** The members of each literal below are in the order of the bytes. */
const decodeBind = (reader: Reader): BindFields => ({
  systemId: reader.text(64),
  password: reader.text(64),
  systemType: reader.text(64),
  interfaceVersion: reader.int8(),
  range: { ton: reader.int8(), npi: reader.int8(), text: reader.lastText(MAX_ADDRESS) },
});

const decodeAddress = (reader: Reader): Address => ({ ton: reader.int8(), npi: reader.int8(), text: reader.text(MAX_ADDRESS) });

const decodeHead = (reader: Reader) => ({
  serviceType: reader.text(16),
  source: decodeAddress(reader),
  destination: decodeAddress(reader),
  esmClass: reader.int8(),
});

function decodeShort(reader: Reader): ShortMessage {
  const head = decodeHead(reader);
  const [protocolId, priority] = [reader.int8(), reader.int8()];
  const [scheduledFor, validFor] = [reader.text(32), reader.text(32)];
  const registeredDelivery = reader.int8();
  reader.int8();
  const dataCoding = reader.int8();
  reader.int8();
  const inline = reader.bytes(reader.int8());
  const tlvs = reader.tlvs();
  const text = inline.length > 0 ? inline : (tlvs.get(TLV.messagePayload) ?? inline);
  return { ...head, protocolId, priority, scheduledFor, validFor, registeredDelivery, dataCoding, text, tlvs };
}

function decodeData(reader: Reader): ShortMessage {
  const head = decodeHead(reader);
  const [registeredDelivery, dataCoding] = [reader.int8(), reader.int8()];
  const tlvs = reader.tlvs();
  const text = tlvs.get(TLV.messagePayload) ?? Buffer.alloc(0);
  return { ...head, protocolId: 0, priority: 0, scheduledFor: "", validFor: "", registeredDelivery, dataCoding, text, tlvs };
}
