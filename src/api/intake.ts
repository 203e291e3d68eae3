/** The budgets of everything that arrives before its work begins: connections and requests of each peer, and the bytes of bodies. They
 *  are counted in this process. A peer is an IPv4 address or an IPv6 /64. */
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { BODY_SHARES, type IntakeLimits } from "../http/intake-settings.ts";
import { Problem, unavailable } from "../http/problem.ts";
import { assert } from "../lib/assert.ts";
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

  /** Counts a connection until it closes. Closes it at once if its peer has too many. The connections of a trusted proxy belong to
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
