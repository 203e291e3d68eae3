/** Requests to the API of any node, repeated with the same idempotency key until a node gives a final response. */
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { ChaosNode } from "./node.ts";

export type Json = Record<string, unknown>;
export type Reply = { status: number; text: string; json: Json };
export type Call = { method: string; path: string; body?: unknown; key?: string };

/** The number of requests that were sent, and of responses by status. `none`: a lost connection or no response in time. */
export type Traffic = { requests: number; responses: Map<string, number> };

// A frozen node gives no response. The client asks the other node meanwhile.
const RESPONSE_LIMIT_MS = 10_000;
const RETRY_LEAST_MS = 100;
const RETRY_MOST_MS = 1_500;
const PAGE = 100;

/** Statuses after which the same request is sent again (docs/idempotency.md). A node that was frozen for longer than a request may take responds
 *  with 408 when it wakes up. */
const isPassing = (status: number): boolean => status === 408 || status === 409 || status === 429 || status >= 500;

export class Api {
  readonly traffic: Traffic = { requests: 0, responses: new Map() };
  readonly #nodes: readonly ChaosNode[];
  readonly #apiKey: string;
  readonly #signal: AbortSignal;

  constructor(nodes: readonly ChaosNode[], apiKey: string, signal: AbortSignal) {
    this.#nodes = nodes;
    this.#apiKey = apiKey;
    this.#signal = signal;
  }

  get apiKey(): string {
    return this.#apiKey;
  }

  /** Sends the request to nodes in turn until one of them gives a final response. Rejects only when the run is aborted. */
  async send(call: Call): Promise<Reply> {
    const keyed = call.method === "POST" || call.method === "PATCH" ? { key: randomUUID(), ...call } : call;
    for (let number = Math.floor(Math.random() * this.#nodes.length); ; number += 1) {
      const reply = await this.#once(number, keyed);
      if (reply !== undefined && !isPassing(reply.status)) return reply;
      await sleep(RETRY_LEAST_MS + Math.random() * RETRY_MOST_MS, undefined, { signal: this.#signal });
    }
  }

  /** Sends the request, and requires a response of success. */
  async require(call: Call): Promise<Json> {
    const { status, text, json } = await this.send(call);
    if (status >= 300) throw new Error(`${call.method} ${call.path}: ${status} ${text.slice(0, 500)}`);
    return json;
  }

  /** Yields the items of all pages of a list. */
  async *list(path: string): AsyncGenerator<Json> {
    let cursor: string | null = null;
    do {
      const query: string = cursor === null ? "" : `&cursor=${encodeURIComponent(cursor)}`;
      const page = await this.require({ method: "GET", path: `${path}${path.includes("?") ? "&" : "?"}limit=${PAGE}${query}` });
      yield* page["data"] as Json[];
      cursor = page["next_cursor"] as string | null;
    } while (cursor !== null);
  }

  async #once(number: number, { method, path, body, key }: Call): Promise<Reply | undefined> {
    const node = this.#nodes[number % this.#nodes.length];
    this.traffic.requests += 1;
    try {
      const response = await fetch(`${node?.url ?? ""}${path}`, {
        method,
        headers: {
          authorization: `Bearer ${this.#apiKey}`,
          ...(body === undefined ? {} : { "content-type": "application/json" }),
          ...(key === undefined ? {} : { "idempotency-key": key }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        signal: AbortSignal.any([AbortSignal.timeout(RESPONSE_LIMIT_MS), this.#signal]),
      });
      const text = await response.text();
      this.#count(String(response.status));
      return { status: response.status, text, json: parseObject(text) };
    } catch {
      this.#signal.throwIfAborted();
      this.#count("none");
      return undefined;
    }
  }

  #count(outcome: string): void {
    this.traffic.responses.set(outcome, (this.traffic.responses.get(outcome) ?? 0) + 1);
  }
}

function parseObject(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return {};
  }
}
