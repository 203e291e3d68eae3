/** Opens the connections of HTTP clients, to allowed addresses only. */
import type { Socket } from "node:net";
import type { buildConnector } from "undici";
import type { AddressGate } from "./address-gate.ts";
import { openSocket } from "./open-socket.ts";

export type ConnectionOptions = {
  /** Undefined: every address may be connected to. */
  gate: AddressGate | undefined;
  /** Includes the look-up of the name. */
  connectMs: number;
  /** Certificates to trust instead of the system's, for tests. */
  ca: string | undefined;
};

type Origin = Pick<buildConnector.Options, "hostname" | "port" | "protocol">;

export class HttpConnections {
  readonly #gate: AddressGate | undefined;
  readonly #connectMs: number;
  readonly #ca: string | undefined;
  readonly #closed = new AbortController();

  constructor({ gate, connectMs, ca }: ConnectionOptions) {
    this.#gate = gate;
    this.#connectMs = connectMs;
    this.#ca = ca;
  }

  /** The connector of undici. */
  readonly connect: buildConnector.connector = (options, callback) => void this.#connect(options, callback);

  /** Resolves with the connected socket, or with the failure. */
  open({ hostname, port, protocol }: Origin): Promise<Socket | Error> {
    const isTls = protocol === "https:";
    const target = { host: hostname, port: Number(port) || (isTls ? 443 : 80), isTls, gate: this.#gate, ca: this.#ca };
    return openSocket(target, this.#connectMs, this.#closed.signal);
  }

  async #connect(options: Origin, callback: buildConnector.Callback): Promise<void> {
    const socket = await this.open(options);
    if (socket instanceof Error) callback(socket, null);
    else callback(null, socket);
  }

  /** Ends the connections that are being opened. */
  close(): void {
    this.#closed.abort();
  }
}
