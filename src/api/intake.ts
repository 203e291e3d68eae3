/** Everything that arrives on a connection before its work begins. Budgets of the requests of each peer, and of the bytes of bodies, are counted
 *  in this process; a peer is an IPv4 address or an IPv6 /64. A body is read into one buffer, or left unread if it is not wanted. */
import type { IncomingMessage } from "node:http";
import { PassThrough, pipeline, type Readable } from "node:stream";
import { Problem, unavailable } from "../http/problem.ts";
import { assert } from "../lib/assert.ts";
import { peerOf } from "../lib/addresses.ts";
import { SharedBudget } from "../lib/shared-budget.ts";
import { SharedTimer } from "../lib/shared-timer.ts";
import { BODY_LIMIT_BYTES, tooLarge } from "./responses.ts";

export type RejectionReason =
  | "connections"
  | "connections_of_peer"
  | "connections_of_strangers"
  | "pipelined"
  | "requests_of_peer"
  | "bodies_of_peer"
  | "anonymous_bodies"
  | "bodies_of_environment"
  | "tenant_bodies"
  | "responses_of_peer"
  | "responses_of_account"
  | "responses"
  | "responses_unread"
  | "work_of_account"
  | "uploads";

/** The budgets of this process. */
export type IntakeLimits = {
  maxConnections: number;
  /** Connections of one peer, and its requests that have not arrived completely or have no credential. */
  maxConnectionsPerPeer: number;
  /** Connections on which no request with a credential has come. */
  maxStrangers: number;
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
// Bytes that an environment, a link or the token route can always take, whatever the others have taken: a message, and some callbacks.
const LEAST_OF_ENVIRONMENT = BODY_LIMIT_BYTES;
const LEAST_OF_RECEIVER = 262_144;
// Four times the least. No load that a node can serve needs more at a time, and the memory of a small machine has room for it.
const BODIES = 4;
// A connection takes 8 kB, and 16 kB more with the head of a request that does not end; with TLS more.
const MAX_STRANGERS = 1_000;

/** Workers divide the budgets, and each has room for the largest bodies. Connections come to the workers in turn, so the limit for one peer
 *  holds for each worker. */
export function intakeLimits(config: Pick<IntakeLimits, "maxConnections" | "maxConnectionsPerPeer"> & { workers: number }): IntakeLimits {
  const { maxConnections, maxConnectionsPerPeer, workers } = config;
  const bodies = Math.max(1, BODIES / workers);
  return {
    maxConnections: Math.ceil(maxConnections / workers),
    maxConnectionsPerPeer,
    maxStrangers: Math.ceil(Math.min(MAX_STRANGERS, maxConnections) / workers),
    anonymousBodyBytes: bodies * LEAST_ANONYMOUS_BYTES,
    tenantBodyBytes: bodies * LEAST_TENANT_BYTES,
  };
}

// Carriers send their requests at once. A client without a credential that takes longer holds a part of the budget for nothing.
const ANONYMOUS_BODY_MS = 10_000;
// A sender below this rate, on average after the first seconds, is closed: it holds what it has sent.
const LEAST_BYTES_PER_SECOND = 1_024;
const CHECK_RATE_MS = 1_000;
const FIRST_MS = 5_000;
const RETRY_SECONDS = 2;

/** A request whose body has not been read. */
type Incoming = { request: Pick<IncomingMessage, "headers">; arrival: Arrival | undefined };

/** A budget of bytes and the owner that takes from it, with the reasons of refusals. */
type Claim = { bytes: SharedBudget; owner: string; onShare: RejectionReason; onTotal: RejectionReason };

export class Intake {
  readonly #requests: SharedBudget;
  /** By peer. */
  readonly #bodiesOfPeers: SharedBudget;
  /** By the link or page that receives them. */
  readonly #anonymousBodies: SharedBudget;
  /** By environment. */
  readonly #tenantBodies: SharedBudget;
  readonly #rejected: (reason: RejectionReason) => void;
  readonly #bodyMs: number;

  /** `bodyMs`: the time that a body may take. */
  constructor(limits: IntakeLimits, rejected: (reason: RejectionReason) => void, bodyMs = Infinity) {
    this.#bodyMs = bodyMs;
    this.#requests = new SharedBudget({ total: Infinity, share: limits.maxConnectionsPerPeer });
    const { anonymousBodyBytes: anonymous, tenantBodyBytes: tenants } = limits;
    this.#bodiesOfPeers = new SharedBudget({ total: Infinity, share: anonymous / BODY_SHARES });
    this.#anonymousBodies = new SharedBudget({ total: anonymous, share: Infinity, least: LEAST_OF_RECEIVER });
    this.#tenantBodies = new SharedBudget({ total: tenants, share: tenants / BODY_SHARES, least: LEAST_OF_ENVIRONMENT });
    this.#rejected = rejected;
  }

  /** Counts a request of a peer until it has arrived. Throws if the peer has too many of them. */
  begin(address: string): Arrival {
    const peer = peerOf(address);
    if (this.#requests.take(peer, 1) === undefined) return new Arrival(peer, this.#requests);
    this.#rejected("requests_of_peer");
    throw unavailable("too many requests from this address are incomplete", RETRY_SECONDS);
  }

  /** Counts the bytes of a body without a credential as they arrive, for the peer and for the link or page that receives them. */
  expectAnonymous(incoming: Incoming, receiver: string, limit: number): void {
    const { arrival, length } = bodyOf(incoming, limit);
    arrival.claim(this.#claimsOfStranger(arrival.peer, receiver));
    arrival.body = { length, limit, timeoutMs: Math.min(ANONYMOUS_BODY_MS, this.#bodyMs), grow: this.#growthOf(arrival) };
  }

  /** Counts the bytes of a body as they arrive, for the environment of the credential. */
  expectFrom(environmentKey: string, incoming: Incoming, limit: number): void {
    const { arrival, length } = bodyOf(incoming, limit);
    arrival.claim(this.#claimsOf(environmentKey));
    arrival.body = { length, limit, timeoutMs: this.#bodyMs, grow: this.#growthOf(arrival) };
  }

  /** Takes the bytes of a body that is held while its credential is looked up, for the environment that the credential had at its last use.
   *  Returns false if there are none left: the body stays unread until the credential is known, so strangers cannot have it refused. */
  hold(incoming: Incoming, environmentKey: string | undefined): boolean {
    const arrival = arrivalOf(incoming);
    arrival.claim(environmentKey === undefined ? this.#claimsOfStranger(arrival.peer, "") : this.#claimsOf(environmentKey));
    return arrival.take(Math.min(BODY_LIMIT_BYTES, declaredBytes(incoming.request) ?? BODY_LIMIT_BYTES)) === undefined;
  }

  #claimsOf(owner: string): Claim[] {
    return [{ bytes: this.#tenantBodies, owner, onShare: "bodies_of_environment", onTotal: "tenant_bodies" }];
  }

  #claimsOfStranger(peer: string, receiver: string): Claim[] {
    return [
      { bytes: this.#bodiesOfPeers, owner: peer, onShare: "bodies_of_peer", onTotal: "bodies_of_peer" },
      { bytes: this.#anonymousBodies, owner: receiver, onShare: "anonymous_bodies", onTotal: "anonymous_bodies" },
    ];
  }

  #growthOf(arrival: Arrival): BodyForm["grow"] {
    return (amount) => {
      const reason = arrival.take(amount);
      if (reason === undefined) return;
      this.#rejected(reason);
      throw refusal(reason);
    };
  }
}

/** Throws if the body is declared as longer than the limit. */
function bodyOf(incoming: Incoming, limit: number): { arrival: Arrival; length: number | undefined } {
  const length = declaredBytes(incoming.request);
  if (length !== undefined && length > limit) throw tooLarge(limit);
  return { arrival: arrivalOf(incoming), length };
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

/** One request on its way in, with the parts of the budgets that it has taken. */
export class Arrival {
  readonly peer: string;
  body: BodyForm | undefined;
  #requests: SharedBudget | undefined;
  #claims: readonly Claim[] = [];
  #held = 0;

  /** `requests` is the budget from which the request has been taken. */
  constructor(peer: string, requests: SharedBudget) {
    this.peer = peer;
    this.#requests = requests;
  }

  /** Releases the bytes that the request holds. It takes further bytes from these budgets. */
  claim(claims: readonly Claim[]): void {
    for (const { bytes, owner } of this.#claims) bytes.release(owner, this.#held);
    this.#held = 0;
    this.#claims = claims;
  }

  /** Takes bytes from all budgets of the request, or returns the reason why it cannot. */
  take(amount: number): RejectionReason | undefined {
    for (const claim of this.#claims) {
      const exceeded = claim.bytes.take(claim.owner, amount);
      if (exceeded === undefined) continue;
      for (const { bytes, owner } of this.#claims.slice(0, this.#claims.indexOf(claim))) bytes.release(owner, amount);
      return exceeded === "share" ? claim.onShare : claim.onTotal;
    }
    this.#held += amount;
    return undefined;
  }

  /** The request has arrived completely, with a credential. */
  complete(): void {
    this.#requests?.release(this.peer, 1);
    this.#requests = undefined;
  }

  /** The response has ended. */
  end(): void {
    this.complete();
    this.claim([]);
  }
}

export type BodyForm = {
  /** The declared length; undefined for a chunked body. */
  length: number | undefined;
  limit: number;
  /** The time that the body may take; undefined for any. */
  timeoutMs?: number | undefined;
  /** Takes memory for more bytes. Throws if there is none. */
  grow: (amount: number) => void;
};

export const NO_BODY_ALLOWED: BodyForm = { length: undefined, limit: 0, timeoutMs: ANONYMOUS_BODY_MS, grow: () => undefined };

/** The declared length of a body; undefined for a chunked one. */
export const declaredBytes = ({ headers }: Pick<IncomingMessage, "headers">): number | undefined =>
  headers["transfer-encoding"] === undefined ? Number(headers["content-length"] ?? 0) : undefined;

const NOTHING = Buffer.alloc(0);
const ARRIVING = new SharedTimer(CHECK_RATE_MS);

/** Collects into one buffer, because a list of chunks would cost a hundred times the body if each chunk has one byte. The buffer grows as bytes
 *  arrive, and never beyond twice of them: a declared length costs nothing. */
export function collectBody(
  payload: Readable,
  { length, limit, timeoutMs = Infinity, grow }: BodyForm,
  arriving: SharedTimer = ARRIVING,
): Promise<Buffer> {
  if (length !== undefined && length > limit) return Promise.reject(tooLarge(limit));
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  let bytes = NOTHING;
  let received = 0;
  const startedAt = performance.now();
  const checkTime = (): void => {
    const tookMs = performance.now() - startedAt;
    const isSlow = tookMs >= FIRST_MS && received < (tookMs / 1_000) * LEAST_BYTES_PER_SECOND;
    if (isSlow || tookMs >= timeoutMs) end(new Problem("request_timeout"));
  };
  arriving.add(checkTime);
  const end = (error: Error | null): void => {
    arriving.delete(checkTime);
    payload.off("data", add).off("end", succeed).off("error", fail);
    if (error === null) resolve(bytes.subarray(0, received));
    else reject(error);
  };
  const enlarge = (needed: number): void => {
    const capacity = Math.min(length ?? limit, Math.max(needed, 2 * bytes.length));
    grow(capacity - bytes.length);
    const larger = Buffer.allocUnsafe(capacity);
    bytes.copy(larger, 0, 0, received);
    bytes = larger;
  };
  const add = (chunk: Buffer): void => {
    const needed = received + chunk.length;
    if (needed > limit) return end(tooLarge(limit));
    try {
      if (needed > bytes.length) enlarge(needed);
    } catch (error) {
      return end(error as Error);
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

/** Whether reading the rest of an unwanted body, to keep the connection, would cost more than a new connection. The chunks of a rest have no bound.
 *  `isKnown`: the client has a credential. */
export function hasCostlyRest(request: IncomingMessage, isKnown: boolean): boolean {
  const length = declaredBytes(request);
  return !request.complete && (length === undefined || (length > BODY_LIMIT_BYTES && !isKnown));
}
