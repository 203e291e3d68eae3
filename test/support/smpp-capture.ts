/** The traffic of SMPP links, as a capture file that tshark reads. */
import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { writeFileSync } from "node:fs";
import { Frames } from "../../src/providers/smpp/frames.ts";

// The file has PDUs and no packets: each record names the protocol and has one PDU.
const LINK_TYPE_PDU = 252;
const TAG_PROTOCOL = 12;
const TAG_END = 0;
const MAX_RECORD = 262_144;

/** Writes a capture file with one record for each PDU. */
export function writeCapture(path: string, pdus: readonly Buffer[]): void {
  const header = Buffer.alloc(24);
  header.writeUInt32LE(0xa1b2c3d4, 0);
  header.writeUInt16LE(2, 4);
  header.writeUInt16LE(4, 6);
  header.writeUInt32LE(MAX_RECORD, 16);
  header.writeUInt32LE(LINK_TYPE_PDU, 20);
  writeFileSync(path, Buffer.concat([header, ...pdus.map(toRecord)]));
}

function toRecord(pdu: Buffer, index: number): Buffer {
  const name = Buffer.from("smpp");
  const tags = Buffer.alloc(4);
  tags.writeUInt16BE(TAG_PROTOCOL, 0);
  tags.writeUInt16BE(name.length, 2);
  const end = Buffer.alloc(4);
  end.writeUInt16BE(TAG_END, 0);
  const body = Buffer.concat([tags, name, end, pdu]);
  const header = Buffer.alloc(16);
  header.writeUInt32LE(index, 0);
  header.writeUInt32LE(body.length, 8);
  header.writeUInt32LE(body.length, 12);
  return Buffer.concat([header, body]);
}

/** Stands between links and their carrier, and records the PDUs of the links. */
export class RecordingProxy {
  readonly pdus: Buffer[] = [];
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(carrierPort: number) {
    this.#server = createServer((client) => {
      const carrier = connect(carrierPort, "127.0.0.1");
      const frames = new Frames();
      client.on("data", (chunk: Buffer) => this.pdus.push(...frames.push(Buffer.from(chunk))));
      for (const socket of [client, carrier]) this.#sockets.add(socket.on("error", () => undefined));
      client.pipe(carrier).pipe(client);
    });
  }

  static async start(carrierPort: number): Promise<RecordingProxy> {
    const proxy = new RecordingProxy(carrierPort);
    await new Promise<void>((resolve) => proxy.#server.listen(0, "127.0.0.1", resolve));
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
