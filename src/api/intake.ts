/** Everything that arrives before its work begins. Budgets of connections and requests of each peer, and of the bytes of bodies, are counted
 *  in this process; a peer is an IPv4 address or an IPv6 /64. A body is read into one buffer, or left unread if it is not wanted. */
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { PassThrough, pipeline, type Readable } from "node:stream";
import { Problem, unavailable } from "../http/problem.ts";
import { assert } from "../lib/assert.ts";
import { addressSet, parseCidr, peerOf, type AddressSet } from "../lib/addresses.ts";
import { SharedBudget } from "../lib/shared-budget.ts";
import { BODY_LIMIT_BYTES, tooLarge } from "./responses.ts";

export type RejectionReason =
  | "connections"
  | "connections_of_peer"
  | "requests_of_peer"
  | "bodies_of_peer"
  | "anonymous_bodies"
  | "bodies_of_environment"
  | "tenant_bodies"
  | "work_of_account";

/** The budgets of this process. */
export type IntakeLimits = {
  /** Connections of all peers. */
  maxConnections: number;
  /** Connections of one peer, and its requests that have not arrived completely or have no credential. */
  maxConnectionsPerPeer: number;
  /** Bytes of the bodies of requests without a credential. */
  anonymousBodyBytes: number;
  /** Bytes of the bodies of requests with a credential. */
  tenantBodyBytes: number;
};

// The part of the bytes that one peer, or one environment, can take is the whole divided by this.
const BODY_SHARES = 4;
// A share has room for the largest body: of a carrier, and of a batch.
const LEAST_ANONYMOUS_BYTES = BODY_SHARES * 1_048_576;
const LEAST_TENANT_BYTES = 2 * LEAST_ANONYMOUS_BYTES;
// Four times the least. No load that a node can serve needs more at a time, and the memory of a small machine has room for it.
const BODIES = 4;

/** Workers divide the budgets, and each has room for the largest bodies. Connections come to the workers in turn, so the limit for one peer
 *  holds for each worker. */
export function intakeLimits(config: Pick<IntakeLimits, "maxConnections" | "maxConnectionsPerPeer"> & { workers: number }): IntakeLimits {
  const { maxConnections, maxConnectionsPerPeer, workers } = config;
  const bodies = Math.max(1, BODIES / workers);
  return {
    maxConnections: Math.ceil(maxConnections / workers),
    maxConnectionsPerPeer,
    anonymousBodyBytes: bodies * LEAST_ANONYMOUS_BYTES,
    tenantBodyBytes: bodies * LEAST_TENANT_BYTES,
  };
}

// Carriers send their requests at once. A client without a credential that takes longer holds a part of the budget for nothing.
const ANONYMOUS_BODY_MS = 10_000;
const RETRY_SECONDS = 2;

/** A request whose body has not been read. */
type Incoming = { request: Pick<IncomingMessage, "headers">; arrival: Arrival | undefined };

/** A budget of bytes, with the reasons of its refusals. */
type BodyBudget = { bytes: SharedBudget; onShare: RejectionReason; onTotal: RejectionReason };

const bodyBudget = (total: number, onShare: RejectionReason, onTotal: RejectionReason): BodyBudget => ({
  bytes: new SharedBudget({ total, share: total / BODY_SHARES }),
  onShare,
  onTotal,
});

export class Intake {
  readonly #connections: SharedBudget;
  readonly #requests: SharedBudget;
  readonly #anonymous: BodyBudget;
  readonly #tenants: BodyBudget;
  readonly #proxies: AddressSet;
  readonly #rejected: (reason: RejectionReason) => void;

  constructor(limits: IntakeLimits, trustedProxies: readonly string[], rejected: (reason: RejectionReason) => void) {
    const perPeer = { total: Infinity, share: limits.maxConnectionsPerPeer };
    this.#connections = new SharedBudget(perPeer);
    this.#requests = new SharedBudget(perPeer);
    this.#anonymous = bodyBudget(limits.anonymousBodyBytes, "bodies_of_peer", "anonymous_bodies");
    this.#tenants = bodyBudget(limits.tenantBodyBytes, "bodies_of_environment", "tenant_bodies");
    this.#proxies = addressSet(trustedProxies.map(parseCidr).filter((block) => block !== undefined));
    this.#rejected = rejected;
  }

  /** Whether the address is that of a trusted proxy. */
  isProxy(address: string): boolean {
    return this.#proxies.has(address);
  }

  /** Counts a connection until it closes. Closes it at once if its peer has too many. The connections of a trusted proxy belong to
   *  many peers, and are limited in total only. */
  connect(socket: Socket): void {
    const address = socket.remoteAddress ?? "";
    if (this.isProxy(address)) return;
    const peer = peerOf(address);
    if (this.#connections.take(peer, 1) === undefined) {
      socket.once("close", () => this.#connections.release(peer, 1));
    } else {
      this.#rejected("connections_of_peer");
      socket.destroy();
    }
  }

  /** Counts a request of a peer until it has arrived. Throws if the peer has too many of them. */
  begin(address: string): Arrival {
    const peer = peerOf(address);
    if (this.#requests.take(peer, 1) === undefined) return new Arrival(peer, this.#requests);
    this.#rejected("requests_of_peer");
    throw unavailable("too many requests from this address are incomplete", RETRY_SECONDS);
  }

  /** Reserves the bytes of a body before it is read, without a credential. */
  reserveAnonymous(incoming: Incoming, limit: number): void {
    const { arrival, form } = bodyOf(incoming, limit);
    arrival.body = { ...form, timeoutMs: ANONYMOUS_BODY_MS };
    this.#reserve(arrival, this.#anonymous, arrival.peer);
  }

  /** Reserves the bytes of a body for the environment of the credential. */
  reserveFor(environmentKey: string, incoming: Incoming, limit: number): void {
    const { arrival, form } = bodyOf(incoming, limit);
    arrival.body = form;
    this.#reserve(arrival, this.#tenants, environmentKey);
  }

  /** Reserves the bytes that are held while the credential of a request is looked up. */
  holdAnonymous(incoming: Incoming, heldBytes: number): void {
    const arrival = arrivalOf(incoming);
    const bytes = Math.min(heldBytes, declaredBytes(incoming.request) ?? heldBytes);
    arrival.hold(this.#take(this.#anonymous, arrival.peer, bytes));
  }

  #reserve(arrival: Arrival, budget: BodyBudget, owner: string): void {
    const { length, limit } = arrival.body as BodyForm;
    arrival.hold(length === 0 ? undefined : this.#take(budget, owner, length ?? limit));
  }

  #take({ bytes, onShare, onTotal }: BodyBudget, owner: string, amount: number): Held {
    const exceeded = bytes.take(owner, amount);
    if (exceeded === undefined) return { bytes, owner, amount };
    const reason = exceeded === "share" ? onShare : onTotal;
    this.#rejected(reason);
    throw refusal(reason);
  }
}

/** Throws if the body is declared as longer than the limit. */
function bodyOf(incoming: Incoming, limit: number): { arrival: Arrival; form: BodyForm } {
  const length = declaredBytes(incoming.request);
  if (length !== undefined && length > limit) throw tooLarge(limit);
  return { arrival: arrivalOf(incoming), form: { length, limit } };
}

function arrivalOf({ arrival }: Incoming): Arrival {
  assert(arrival !== undefined, "a request arrives before its body is read");
  return arrival;
}

/** The caller is at fault only if its own environment exceeds its share. Carriers send again after a 503. */
const refusal = (reason: RejectionReason): Problem =>
  reason === "bodies_of_environment"
    ? new Problem("rate_limit_exceeded", {
        detail: "the bodies of the requests of this environment are too large together: send fewer at the same time",
        headers: { "retry-after": String(RETRY_SECONDS) },
      })
    : unavailable("too many bodies of requests are being received", RETRY_SECONDS);

/** Bytes that a request has taken from a budget. */
type Held = { bytes: SharedBudget; owner: string; amount: number };

/** One request on its way in, with the parts of the budgets that it has taken. */
export class Arrival {
  readonly peer: string;
  body: BodyForm | undefined;
  #requests: SharedBudget | undefined;
  #held: Held | undefined;

  /** `requests` is the budget from which the request has been taken. */
  constructor(peer: string, requests: SharedBudget) {
    this.peer = peer;
    this.#requests = requests;
  }

  /** Replaces the bytes that the request holds. */
  hold(held: Held | undefined): void {
    this.#held?.bytes.release(this.#held.owner, this.#held.amount);
    this.#held = held;
  }

  /** The request has arrived completely, with a credential. */
  complete(): void {
    this.#requests?.release(this.peer, 1);
    this.#requests = undefined;
  }

  /** The response has ended. */
  end(): void {
    this.complete();
    this.hold(undefined);
  }
}

// Chunked bodies are mostly small. The buffer doubles as they grow.
const FIRST_BYTES = 4_096;

export type BodyForm = {
  /** The declared length; undefined for a chunked body. */
  length: number | undefined;
  limit: number;
  /** The time that the body may take; undefined: the time of the request. */
  timeoutMs?: number | undefined;
};

export const NO_BODY_ALLOWED: BodyForm = { length: undefined, limit: 0 };

/** The declared length of a body; undefined for a chunked one. */
export const declaredBytes = ({ headers }: Pick<IncomingMessage, "headers">): number | undefined =>
  headers["transfer-encoding"] === undefined ? Number(headers["content-length"] ?? 0) : undefined;

/** Collects into one buffer, because a list of chunks would cost a hundred times the body if each chunk has one byte. */
export function collectBody(payload: Readable, { length, limit, timeoutMs }: BodyForm): Promise<Buffer> {
  if (length !== undefined && length > limit) return Promise.reject(tooLarge(limit));
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  let bytes = Buffer.allocUnsafe(length ?? Math.min(FIRST_BYTES, limit));
  let received = 0;
  const timer = timeoutMs === undefined ? undefined : setTimeout(() => end(new Problem("request_timeout")), timeoutMs);
  const end = (error: Error | null): void => {
    clearTimeout(timer);
    payload.off("data", add).off("end", succeed).off("error", fail);
    if (error === null) resolve(bytes.subarray(0, received));
    else reject(error);
  };
  const add = (chunk: Buffer): void => {
    const needed = received + chunk.length;
    if (needed > limit) return end(tooLarge(limit));
    if (needed > bytes.length) {
      const larger = Buffer.allocUnsafe(Math.min(limit, Math.max(needed, 2 * bytes.length)));
      bytes.copy(larger, 0, 0, received);
      bytes = larger;
    }
    chunk.copy(bytes, received);
    received = needed;
  };
  const succeed = (): void => end(null);
  // The client has disconnected.
  const fail = (error: Error): void => end(Object.assign(error, { statusCode: 400 }));
  payload.on("data", add).on("end", succeed).on("error", fail);
  payload.resume();
  return promise;
}

/** Buffers the body while the credential is looked up. Node drops the unread body of a request whose client has disconnected, and a
 *  client may disconnect after it has sent the whole body. */
export const holdBody = (request: IncomingMessage): Readable =>
  pipeline(request, new PassThrough({ highWaterMark: BODY_LIMIT_BYTES }), () => undefined);

/** Whether so much of the body has not arrived that reading it, to keep the connection, would cost more than a new connection. */
export const hasLargeRest = (request: IncomingMessage): boolean =>
  !request.complete && (declaredBytes(request) ?? Infinity) > BODY_LIMIT_BYTES;

// Time for the client to read the response. Meanwhile the rest of the body stays in the buffers of the operating system.
const LINGER_MS = 1_000;

/** Makes the connection end after a response with `connection: close`, without reading the rest of the body. A connection that is closed with unread bytes is
 *  reset, and the client could lose the response, so it is closed a moment later. */
export function closeUnread({ socket }: IncomingMessage): void {
  // Node calls this after the last response of a connection, and would close it at once.
  socket.destroySoon = () => {
    socket.end();
    // Node resumes the socket in this turn, to discard the rest of the body.
    setImmediate(() => socket.pause());
    setTimeout(() => socket.destroy(), LINGER_MS).unref();
  };
}
