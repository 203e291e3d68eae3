/** The open connections of this process. Each belongs to its peer, and to an environment once a request has come with a valid credential. All
 *  others are those of strangers: if there are too many, the oldest of the peer with the most is closed, so that strangers hold little memory
 *  and take no connection from others. */
import type { Socket } from "node:net";
import { addressSet, parseCidr, peerOf, type AddressSet } from "../lib/addresses.ts";
import { SharedBudget } from "../lib/shared-budget.ts";

type ConnectionLimits = { maxConnections: number; maxConnectionsPerPeer: number; maxStrangers: number };

type Connection = { readonly socket: Socket; readonly peer: string; environmentKey: string | undefined };
type Rejected = (reason: "connections_of_peer" | "connections_of_strangers") => void;

// The part of all connections that one environment can have. Further ones stay those of strangers.
const ENVIRONMENT_SHARES = 2;
// Time for a new connection to send its request. Many that connect at the same time, such as after a restart, are strangers only until then.
const ENFORCE_MS = 100;
// Enough for all connections that can come in this time.
const MAX_CLOSED = 500;

export class OpenConnections {
  readonly #maxStrangers: number;
  readonly #perPeer: SharedBudget;
  readonly #ofEnvironments: SharedBudget;
  readonly #proxies: AddressSet;
  readonly #rejected: Rejected;
  /** By remote address and port, which the socket of a TLS connection shares with the one below it. */
  readonly #connections = new Map<string, Connection>();
  /** Connections in clear text that are not from a trusted proxy. */
  readonly #limited = new WeakSet<Socket>();
  readonly #known = new WeakMap<Socket, Connection>();
  /** By peer, each in the order of the last use. */
  readonly #strangers = new Map<string, Set<Connection>>();
  #strangerCount = 0;
  #isEnforced = true;

  constructor(
    { maxConnections, maxConnectionsPerPeer, maxStrangers }: ConnectionLimits,
    trustedProxies: readonly string[],
    rejected: Rejected,
  ) {
    this.#maxStrangers = maxStrangers;
    this.#perPeer = new SharedBudget({ total: Infinity, share: maxConnectionsPerPeer });
    this.#ofEnvironments = new SharedBudget({ total: Infinity, share: Math.ceil(maxConnections / ENVIRONMENT_SHARES) });
    this.#proxies = addressSet(trustedProxies.map(parseCidr).filter((block) => block !== undefined));
    this.#rejected = rejected;
  }

  /** Whether the address is that of a trusted proxy. */
  isProxy(address: string): boolean {
    return this.#proxies.has(address);
  }

  /** Counts a connection until it closes. Closes it at once if its peer has too many. The connections of a trusted proxy belong to many peers, and
   *  are limited in total only. */
  add(socket: Socket): void {
    const address = socket.remoteAddress ?? "";
    if (this.isProxy(address)) return;
    const peer = peerOf(address);
    if (this.#perPeer.take(peer, 1) !== undefined) {
      this.#rejected("connections_of_peer");
      socket.destroy();
      return;
    }
    const connection: Connection = { socket, peer, environmentKey: undefined };
    const name = nameOf(socket);
    this.#connections.set(name, connection);
    this.#addStranger(connection);
    socket.once("close", () => this.#remove(name, connection));
  }

  limitToProbes(socket: Socket): void {
    this.#limited.add(socket);
  }

  isLimitedToProbes(socket: Socket): boolean {
    return this.#limited.has(socket);
  }

  /** A request with a valid credential has come. */
  claim(socket: Socket, environmentKey: string): void {
    const connection = this.#find(socket);
    if (connection === undefined || connection.environmentKey !== undefined) return;
    if (this.#ofEnvironments.take(environmentKey, 1) !== undefined) return;
    this.#deleteStranger(connection);
    connection.environmentKey = environmentKey;
  }

  /** A request has ended: other strangers are closed before this one. */
  use(socket: Socket): void {
    const connection = this.#find(socket);
    if (connection === undefined || connection.environmentKey !== undefined) return;
    const ofPeer = this.#strangers.get(connection.peer);
    if (ofPeer?.delete(connection) === true) ofPeer.add(connection);
  }

  #find(socket: Socket): Connection | undefined {
    const known = this.#known.get(socket);
    if (known !== undefined) return known;
    const connection = this.#connections.get(nameOf(socket));
    if (connection !== undefined) this.#known.set(socket, connection);
    return connection;
  }

  #remove(name: string, connection: Connection): void {
    const { peer, environmentKey } = connection;
    if (this.#connections.get(name) === connection) this.#connections.delete(name);
    this.#perPeer.release(peer, 1);
    if (environmentKey === undefined) this.#deleteStranger(connection);
    else this.#ofEnvironments.release(environmentKey, 1);
  }

  #addStranger(connection: Connection): void {
    const ofPeer = this.#strangers.get(connection.peer);
    if (ofPeer === undefined) this.#strangers.set(connection.peer, new Set([connection]));
    else ofPeer.add(connection);
    this.#strangerCount += 1;
    if (this.#strangerCount > this.#maxStrangers) this.#enforceSoon();
  }

  #deleteStranger(connection: Connection): void {
    const ofPeer = this.#strangers.get(connection.peer);
    if (ofPeer?.delete(connection) !== true) return;
    if (ofPeer.size === 0) this.#strangers.delete(connection.peer);
    this.#strangerCount -= 1;
  }

  #enforceSoon(): void {
    if (!this.#isEnforced) return;
    this.#isEnforced = false;
    setTimeout(() => {
      this.#isEnforced = true;
      for (let closed = 0; closed < MAX_CLOSED && this.#strangerCount > this.#maxStrangers; closed += 1) this.#closeOne();
      if (this.#strangerCount > this.#maxStrangers) this.#enforceSoon();
    }, ENFORCE_MS).unref();
  }

  #closeOne(): void {
    let most = new Set<Connection>();
    for (const ofPeer of this.#strangers.values()) if (ofPeer.size > most.size) most = ofPeer;
    for (const oldest of most.values().take(1)) {
      this.#deleteStranger(oldest);
      this.#rejected("connections_of_strangers");
      oldest.socket.destroy();
    }
  }
}

const nameOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`;
