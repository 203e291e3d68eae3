/** A scripted carrier: records all messages, responds to each attempt as the test sets, and passes receipts when the test asks for them. */
import assert from "node:assert/strict";
import { WITHDRAWN } from "../../src/providers/provider.ts";
import type { Connection, Host, Outgoing, Provider, Receipt, SendOutcome } from "../../src/providers/provider.ts";

/** One attempt as the carrier received it. */
export type Send = { message: Outgoing; atMs: number; signal: AbortSignal };

/** The outcome of an attempt. An error is thrown; `never` is a promise that does not settle, even after an abort. */
export type ScriptedOutcome = SendOutcome | Error | "never" | ((send: Send) => SendOutcome | Promise<SendOutcome>);

let carrierIds = 0;
/** A carrier id that is unique in this process. */
const newCarrierId = (): string => `carrier-${(carrierIds += 1)}`;

/** Accepted in several parts, each with its own carrier id. */
export const acceptedParts = (first: string, ...further: string[]): SendOutcome => ({
  kind: "accepted",
  providerMessageId: first,
  furtherPartIds: further,
});

export const accepted = (providerMessageId: string = newCarrierId()): SendOutcome => ({ kind: "accepted", providerMessageId });

export const refused = (isPermanent: boolean, code = isPermanent ? "invalid_destination" : "temporarily_unavailable"): SendOutcome => ({
  kind: "refused",
  code,
  message: "The carrier said no",
  providerCode: "E17",
  isPermanent,
});

export const throttled = (scope: "link" | "recipient", retryAfterMs: number | null): SendOutcome => ({
  kind: "throttled",
  scope,
  retryAfterMs,
  providerCode: "429",
});

export const unknown: SendOutcome = { kind: "unknown", detail: "the connection broke" };

export const receipt = (carrierId: string | null, status: Receipt["status"], fields: Partial<Receipt> = {}): Receipt => ({
  providerMessageId: carrierId,
  reference: null,
  status,
  error: null,
  raw: { stat: status.toUpperCase() },
  ...fields,
});

export const CARRIER_ERROR = { code: "blocked_by_carrier", message: "The carrier blocked it", providerCode: "EC-8", isPermanent: true };

export class ScriptedCarrier implements Provider<unknown> {
  readonly name = "scripted";
  readonly sends: Send[] = [];
  /** The highest number of simultaneous attempts. */
  highWater = 0;
  isClosed = false;
  /** The outcome for recipients without a script. */
  otherwise: ScriptedOutcome = () => accepted();
  /** The outcome of a message that has no turn on the link yet; undefined where it has one. */
  beforeTurn: (message: Outgoing) => SendOutcome | undefined = () => undefined;
  /** Called during an attempt, before the response. */
  onSend: (send: Send) => unknown = () => undefined;
  readonly #window: number;
  readonly #scripts = new Map<string, ScriptedOutcome[]>();
  readonly #hosts: Host[] = [];
  #underWay = 0;
  #isReady = true;

  constructor({ window = 100 } = {}) {
    this.#window = window;
  }

  /** Sets the outcomes for a recipient, one for each attempt. The last one is repeated. */
  responds(recipient: string, ...script: ScriptedOutcome[]): void {
    this.#scripts.set(recipient, script);
  }

  set isReady(isReady: boolean) {
    this.#isReady = isReady;
  }

  /** Notifies all hosts of a change. */
  changed(): void {
    for (const host of this.#hosts) host.changed();
  }

  /** Passes receipts to the host of the first connection, or of the given one. */
  receive(receipts: readonly Receipt[], opened = 0): Promise<readonly Receipt[]> {
    const host = this.#hosts[opened];
    return host === undefined ? Promise.reject(new Error("the carrier is not connected")) : host.receive(receipts);
  }

  /** The attempts for one recipient. */
  sendsTo(recipient: string): Send[] {
    return this.sends.filter(({ message }) => message.recipient === recipient);
  }

  /** The host of the link that was opened last. */
  get host(): Host {
    return this.#hosts.at(-1) ?? assert.fail("no link is open");
  }

  async open(_settings: unknown, host: Host): Promise<Connection> {
    this.#hosts.push(host);
    const isReady = (): boolean => this.#isReady && !this.isClosed;
    return {
      window: this.#window,
      get isReady() {
        return isReady();
      },
      send: async (message, signal, begin) => {
        const notYet = this.beforeTurn(message);
        if (notYet !== undefined) return notYet;
        return (await begin()) ? this.#send({ message, atMs: performance.now(), signal }) : WITHDRAWN;
      },
      close: async () => {
        this.isClosed = true;
      },
    };
  }

  async #send(send: Send): Promise<SendOutcome> {
    this.sends.push(send);
    this.#underWay += 1;
    this.highWater = Math.max(this.highWater, this.#underWay);
    try {
      await this.onSend(send);
      return await this.#respond(send);
    } finally {
      this.#underWay -= 1;
    }
  }

  async #respond(send: Send): Promise<SendOutcome> {
    const script = this.#scripts.get(send.message.recipient) ?? [this.otherwise];
    const outcome = script[Math.min(send.message.attempt, script.length) - 1] ?? this.otherwise;
    if (outcome instanceof Error) throw outcome;
    if (outcome === "never") return new Promise(() => undefined);
    return typeof outcome === "function" ? outcome(send) : outcome;
  }
}
