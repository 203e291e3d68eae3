/** The budgets of everything that arrives before its work begins: connections and requests of each peer, and the bytes of bodies. They
 *  are counted in this process. A peer is an IPv4 address or an IPv6 /64. */
import type { FastifyRequest } from "fastify";
import type { Socket } from "node:net";
import { BODY_SHARES, type IntakeLimits } from "../http/intake-settings.ts";
import { Problem, unavailable } from "../http/problem.ts";
import { addressSet, parseCidr, peerOf, type AddressSet } from "../lib/addresses.ts";
import { SharedBudget } from "../lib/shared-budget.ts";
import { declaredBytes, type BodyForm } from "./body.ts";
import { tooLarge } from "./responses.ts";

export type RejectionReason =
  | "connections"
  | "connections_of_peer"
  | "requests_of_peer"
  | "bodies_of_peer"
  | "anonymous_bodies"
  | "bodies_of_environment"
  | "tenant_bodies"
  | "work_of_account";

// Carriers send their requests at once. A client without a credential that takes longer holds a part of the budget for nothing.
const ANONYMOUS_BODY_MS = 10_000;
const RETRY_SECONDS = 2;

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

  /** Counts a connection until it closes. Closes it at once where its peer has too many. The connections of a trusted proxy belong to
   *  many peers, and are limited in total only. */
  connect(socket: Socket): void {
    const address = socket.remoteAddress ?? "";
    if (this.#proxies.has(address)) return;
    const peer = peerOf(address);
    if (this.#connections.take(peer, 1) === undefined) {
      socket.once("close", () => this.#connections.release(peer, 1));
    } else {
      this.#rejected("connections_of_peer");
      socket.destroy();
    }
  }

  /** Counts a request of a peer until it has arrived. Throws where the peer has too many of them. */
  begin(request: FastifyRequest): Arrival {
    const peer = peerOf(request.ip ?? "");
    if (this.#requests.take(peer, 1) === undefined) return new Arrival(peer, () => this.#requests.release(peer, 1));
    this.#rejected("requests_of_peer");
    throw unavailable("too many requests from this address are incomplete", RETRY_SECONDS);
  }

  /** Reserves the bytes of a body before it is read, without a credential. */
  reserveAnonymous(request: FastifyRequest, limit: number): void {
    this.#reserve(request, { budget: this.#anonymous, owner: request.arrival.peer, limit, timeoutMs: ANONYMOUS_BODY_MS });
  }

  /** Reserves the bytes of a body for the environment of the credential. */
  reserveFor(environmentKey: string, request: FastifyRequest, limit: number): void {
    this.#reserve(request, { budget: this.#tenants, owner: environmentKey, limit });
  }

  /** Reserves the bytes that are held while the credential of a request is looked up. */
  holdAnonymous(request: FastifyRequest, heldBytes: number): void {
    const { peer } = request.arrival;
    const bytes = Math.min(heldBytes, declaredBytes(request) ?? heldBytes);
    request.arrival.hold(this.#take(this.#anonymous, peer, bytes));
  }

  #reserve(
    request: FastifyRequest,
    { budget, owner, limit, timeoutMs }: { budget: BodyBudget; owner: string; limit: number; timeoutMs?: number },
  ): void {
    const length = declaredBytes(request);
    if (length !== undefined && length > limit) throw tooLarge(limit);
    request.arrival.body = { length, limit, timeoutMs };
    request.arrival.hold(length === 0 ? undefined : this.#take(budget, owner, length ?? limit));
  }

  /** Takes bytes, and returns the function that releases them. */
  #take({ bytes, onShare, onTotal }: BodyBudget, owner: string, amount: number): () => void {
    const exceeded = bytes.take(owner, amount);
    if (exceeded === undefined) return () => bytes.release(owner, amount);
    const reason = exceeded === "share" ? onShare : onTotal;
    this.#rejected(reason);
    throw refusal(reason);
  }
}

/** The caller is at fault only where its own environment exceeds its share. Carriers send again after a 503. */
const refusal = (reason: RejectionReason): Problem =>
  reason === "bodies_of_environment"
    ? new Problem("rate_limit_exceeded", {
        detail: "the bodies of this environment's requests are too large together: send fewer at a time",
        headers: { "retry-after": String(RETRY_SECONDS) },
      })
    : unavailable("too many bodies of requests are being received", RETRY_SECONDS);

/** One request on its way in, with the parts of the budgets that it has taken. */
export class Arrival {
  readonly peer: string;
  body: BodyForm | undefined;
  #leave: (() => void) | undefined;
  #release: (() => void) | undefined;

  constructor(peer: string, leave: () => void) {
    this.peer = peer;
    this.#leave = leave;
  }

  /** Replaces the bytes that the request holds. */
  hold(release: (() => void) | undefined): void {
    this.#release?.();
    this.#release = release;
  }

  /** The request has arrived completely, with a credential. */
  complete(): void {
    this.#leave?.();
    this.#leave = undefined;
  }

  /** The response has ended. */
  end(): void {
    this.complete();
    this.hold(undefined);
  }
}
