/** The customer's server for webhooks. It verifies every signature, and records the events that it acknowledged. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Webhook } from "standardwebhooks";
import type { Random } from "./random.ts";

/** One endpoint. The secret is set when the endpoint has been created. */
export type Receiver = {
  readonly path: string;
  /** The share of calls that fail in normal operation. */
  readonly failingShare: number;
  secret: string;
  readonly acknowledged: Set<string>;
  calls: number;
  readonly badSignatures: string[];
};

export class Receivers {
  /** Fails every call. */
  isFailing = false;
  readonly #random: Random;
  readonly #server: Server;
  readonly #receivers = new Map<string, Receiver>();

  private constructor(random: Random) {
    this.#random = random;
    this.#server = createServer((request, response) => void this.#take(request, response).catch(() => request.socket.destroy()));
  }

  static async listen(random: Random): Promise<Receivers> {
    const receivers = new Receivers(random);
    receivers.#server.listen(0, "127.0.0.1");
    await once(receivers.#server, "listening");
    return receivers;
  }

  add(path: string, failingShare: number): Receiver {
    const receiver: Receiver = { path, failingShare, secret: "", acknowledged: new Set(), calls: 0, badSignatures: [] };
    this.#receivers.set(path, receiver);
    return receiver;
  }

  urlOf({ path }: Receiver): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}${path}`;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const receiver = this.#receivers.get(request.url ?? "");
    if (receiver === undefined) return void response.writeHead(404).end();
    const id = String(request.headers["webhook-id"]);
    receiver.calls += 1;
    if (!isSigned(receiver.secret, id, request, Buffer.concat(chunks).toString())) {
      receiver.badSignatures.push(id);
      return void response.writeHead(400).end();
    }
    const isRefused = receiver.failingShare > 0 && (this.isFailing || this.#random.chance(receiver.failingShare));
    if (isRefused) return void (this.#random.chance(0.5) ? response.writeHead(500).end() : request.socket.destroy());
    receiver.acknowledged.add(id);
    response.writeHead(204).end();
  }
}

/** Whether a signature of the call is right. The timestamp may be off: the clock of the database is shifted on purpose. */
function isSigned(secret: string, id: string, { headers }: IncomingMessage, body: string): boolean {
  const seconds = Number(headers["webhook-timestamp"]);
  if (!Number.isSafeInteger(seconds)) return false;
  const expected = new Webhook(secret).sign(id, new Date(seconds * 1_000), body);
  return String(headers["webhook-signature"]).split(" ").includes(expected);
}
