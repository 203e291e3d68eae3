/** A TLS 1.3 server that writes records of its own choice after the handshake: those that no library lets its caller write. */
import { createCipheriv, createHmac } from "node:crypto";
import { once } from "node:events";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { duplexPair } from "node:stream";
import { TLSSocket } from "node:tls";

const [HANDSHAKE, DATA] = [22, 23];
const KEY_UPDATE = Buffer.from([24, 0, 0, 1, 1]);
// Node sends two tickets.
const FIRST_SEQUENCE = 2;

/** HKDF-Expand-Label of RFC 8446, for up to 32 bytes. */
function expand(secret: Buffer, name: string, length: number): Buffer {
  const label = Buffer.from(`tls13 ${name}`);
  const info = Buffer.concat([Buffer.from([0, length, label.length]), label, Buffer.from([0, 1])]);
  return createHmac("sha256", secret).update(info).digest().subarray(0, length);
}

const keysOf = (secret: Buffer): [Buffer, Buffer] => [expand(secret, "key", 16), expand(secret, "iv", 12)];

export class TlsRecords {
  #secret: Buffer;
  #key: Buffer;
  #iv: Buffer;
  #sequence = FIRST_SEQUENCE;

  constructor(secret: Buffer) {
    this.#secret = secret;
    [this.#key, this.#iv] = keysOf(secret);
  }

  data(bytes: Buffer): Buffer {
    return this.#record(DATA, bytes);
  }

  /** Requires new keys of both sides. */
  keyUpdate(): Buffer {
    const record = this.#record(HANDSHAKE, KEY_UPDATE);
    this.#secret = expand(this.#secret, "traffic upd", 32);
    [this.#key, this.#iv] = keysOf(this.#secret);
    this.#sequence = 0;
    return record;
  }

  #record(type: number, content: Buffer): Buffer {
    const nonce = Buffer.from(this.#iv);
    nonce.writeUInt32BE((nonce.readUInt32BE(8) ^ this.#sequence) >>> 0, 8);
    this.#sequence += 1;
    const header = Buffer.from([DATA, 3, 3, 0, 0]);
    header.writeUInt16BE(content.length + 17, 3);
    const cipher = createCipheriv("aes-128-gcm", this.#key, nonce).setAAD(header);
    return Buffer.concat([header, cipher.update(content), cipher.update(Buffer.of(type)), cipher.final(), cipher.getAuthTag()]);
  }
}

/** `serve` gets the TCP socket after each handshake. */
export async function listenWithRecords(
  pair: { cert: string; key: string },
  serve: (socket: Socket, records: TlsRecords) => void,
): Promise<{ port: number; connections: () => number; close: () => void }> {
  const open = new Set<Socket>();
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    open.add(socket.on("error", () => undefined).on("close", () => open.delete(socket)));
    const [inner, outer] = duplexPair();
    socket.on("data", (chunk) => outer.write(chunk));
    outer.on("data", (chunk: Buffer) => socket.write(chunk));
    const options = { isServer: true, ...pair, minVersion: "TLSv1.3", ciphers: "TLS_AES_128_GCM_SHA256" } as const;
    const secure = new TLSSocket(inner, options).on("error", () => undefined);
    let secret = Buffer.alloc(0);
    secure.on("keylog", (line: Buffer) => {
      const [name, , hex = ""] = line.toString().trim().split(" ");
      if (name === "SERVER_TRAFFIC_SECRET_0") secret = Buffer.from(hex, "hex");
    });
    // The tickets have been written by then.
    secure.on("secure", () => setImmediate(() => setImmediate(() => serve(socket, new TlsRecords(secret)))));
    secure.resume();
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const close = (): void => {
    for (const socket of open) socket.destroy();
    server.close();
  };
  return { port: (server.address() as AddressInfo).port, connections: () => connections, close };
}
