/** Responses that wait for their clients to read them. Their bytes are counted for the account of the credential, or for the peer, and a
 *  connection that takes none of them for some seconds is closed. Streaming responses have bounds of their own (`stream.ts`). */
import type { Socket } from "node:net";
import { peerOf } from "../lib/addresses.ts";
import { SharedBudget } from "../lib/shared-budget.ts";
import { idKey } from "../model/id.ts";
import type { Exchange } from "./exchange.ts";
import type { RejectionReason } from "./intake.ts";

/** The budgets of this process, in bytes. */
export type ResponseLimits = { tenantBytes: number; anonymousBytes: number };

const MIB = 1_048_576;
// The part that one account, or one peer, can take.
const TENANT_SHARES = 4;
const PEER_SHARES = 3;
// An account can always receive a list of the largest records, whatever other accounts leave unread.
const LEAST_TENANT_BYTES = 2 * MIB;
// Problems, messages, and the responses to carriers. The limits of connections bound how many of them can wait.
const SMALL_BYTES = 4_096;

/** Workers divide the budgets, and a share of each has room for the largest responses. */
export const responseLimits = ({ workers }: { workers: number }): ResponseLimits => {
  const part = Math.max(0.25, 1 / workers);
  return { tenantBytes: part * 256 * MIB, anonymousBytes: part * 48 * MIB };
};

export class UnreadResponses {
  readonly #tenants: SharedBudget;
  readonly #peers: SharedBudget;
  readonly #stallMs: number;
  readonly #rejected: (reason: RejectionReason) => void;

  constructor({ tenantBytes, anonymousBytes }: ResponseLimits, stallMs: number, rejected: (reason: RejectionReason) => void) {
    this.#tenants = new SharedBudget({ total: tenantBytes, share: tenantBytes / TENANT_SHARES, least: LEAST_TENANT_BYTES });
    this.#peers = new SharedBudget({ total: anonymousBytes, share: anonymousBytes / PEER_SHARES });
    this.#stallMs = stallMs;
    this.#rejected = rejected;
  }

  /** Counts a response that the operating system has not taken completely, until it has, or closes its connection. */
  readonly add = (exchange: Exchange, bytes: number): void => {
    const { request, response } = exchange;
    const release = bytes > SMALL_BYTES ? this.#take(exchange, bytes) : undefined;
    if (bytes > SMALL_BYTES && release === undefined) {
      request.socket.destroy();
      return;
    }
    const timer = this.#watch(request.socket);
    response.once("close", () => {
      clearInterval(timer);
      release?.();
    });
  };

  #take({ credential, ip }: Exchange, bytes: number): (() => void) | undefined {
    const budget = credential === undefined ? this.#peers : this.#tenants;
    const owner = credential === undefined ? peerOf(ip) : idKey(credential.accountId);
    const exceeded = budget.take(owner, bytes);
    if (exceeded === undefined) return () => budget.release(owner, bytes);
    this.#rejected(exceeded === "total" ? "responses" : credential === undefined ? "responses_of_peer" : "responses_of_account");
    return undefined;
  }

  /** Closes the connection as soon as it takes no byte in an interval. */
  #watch(socket: Socket): NodeJS.Timeout {
    let last = queuedBytes(socket);
    return setInterval(() => {
      const left = queuedBytes(socket);
      if (left === last) {
        this.#rejected("responses_unread");
        socket.destroy();
      }
      last = left;
    }, this.#stallMs);
  }
}

type Handle = { writeQueueSize?: number; _parent?: Handle };

/** The bytes that the operating system has not taken. `writableLength` changes only after the whole response, and the timeout of a socket
 *  begins again with each byte that the client sends. The handle below that of TLS has the encrypted bytes. */
function queuedBytes({ _handle: handle }: Socket & { _handle?: Handle | null }): number {
  const { writeQueueSize = 0, _parent: parent } = handle ?? {};
  return writeQueueSize + (parent?.writeQueueSize ?? 0);
}
