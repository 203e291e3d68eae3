/** A carrier of the test's own: it takes down everything that is handed to it, answers each try as the test says, and passes
 *  receipts whenever the test wants it to. */
import type { Connection, Host, Outgoing, Provider, Receipt, SendOutcome } from "../../src/providers/provider.ts";

/** One try, as the carrier saw it. */
export type Send = { message: Outgoing; atMs: number; signal: AbortSignal };

/** What becomes of a try. An error is thrown; `never` is a promise that does not settle, whatever the signal says. */
export type Answer = SendOutcome | Error | "never" | ((send: Send) => SendOutcome | Promise<SendOutcome>);

let names = 0;
/** Names that no carrier of this process gave before. */
const newName = (): string => `carrier-${(names += 1)}`;

/** Taken in several parts, each under a name of its own. */
export const acceptedParts = (first: string, ...further: string[]): SendOutcome => ({
  kind: "accepted",
  providerMessageId: first,
  furtherPartIds: further,
});

export const accepted = (providerMessageId: string = newName()): SendOutcome => ({ kind: "accepted", providerMessageId });

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

export const receipt = (name: string | null, status: Receipt["status"], fields: Partial<Receipt> = {}): Receipt => ({
  providerMessageId: name,
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
  /** The most tries that were under way at one moment. */
  highWater = 0;
  isClosed = false;
  /** What it says to whom no answer is scripted. */
  otherwise: Answer = () => accepted();
  /** Looked into while a try is under way, before it is answered. */
  onSend: (send: Send) => unknown = () => undefined;
  readonly #window: number;
  readonly #scripts = new Map<string, Answer[]>();
  readonly #hosts: Host[] = [];
  #underWay = 0;
  #isReady = true;

  constructor({ window = 100 } = {}) {
    this.#window = window;
  }

  /** The answers to this recipient, one for each try; the last one goes on. */
  answers(recipient: string, ...script: Answer[]): void {
    this.#scripts.set(recipient, script);
  }

  set isReady(isReady: boolean) {
    this.#isReady = isReady;
  }

  /** Tells whoever opened it that something changed. */
  changed(): void {
    for (const host of this.#hosts) host.changed();
  }

  /** Passes receipts through the link that was opened first, or the one that is said. */
  receive(receipts: readonly Receipt[], opened = 0): Promise<void> {
    const host = this.#hosts[opened];
    return host === undefined ? Promise.reject(new Error("the carrier is not connected")) : host.receive(receipts);
  }

  /** The tries at one recipient. */
  sendsTo(recipient: string): Send[] {
    return this.sends.filter(({ message }) => message.recipient === recipient);
  }

  async open(_settings: unknown, host: Host): Promise<Connection> {
    this.#hosts.push(host);
    const isReady = (): boolean => this.#isReady && !this.isClosed;
    return {
      window: this.#window,
      get isReady() {
        return isReady();
      },
      send: (message, signal) => this.#send({ message, atMs: performance.now(), signal }),
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
      return await this.#answer(send);
    } finally {
      this.#underWay -= 1;
    }
  }

  async #answer(send: Send): Promise<SendOutcome> {
    const script = this.#scripts.get(send.message.recipient) ?? [this.otherwise];
    const answer = script[Math.min(send.message.attempt, script.length) - 1] ?? this.otherwise;
    if (answer instanceof Error) throw answer;
    if (answer === "never") return new Promise(() => undefined);
    return typeof answer === "function" ? answer(send) : answer;
  }
}
