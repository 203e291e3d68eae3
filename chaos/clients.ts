/** The load: clients that send messages and batches, cancel messages, and opt recipients out while messages to them are being sent. */
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Api, Json, Reply } from "./api.ts";
import type { Random } from "./random.ts";

/** One idempotency key, with every final response to it. */
export type SentRequest = {
  kind: "message" | "batch";
  key: string;
  /** The `client_reference` of each message of the request. */
  references: readonly string[];
  sendAtMs: number | undefined;
  replies: Reply[];
  /** When the first response came. */
  repliedAtMs?: number;
};

/** `isFinal`: the client got a final response, which `isCanceled` tells. */
export type Cancellation = { id: string; isFinal: boolean; isCanceled: boolean };
export type OptOut = { recipient: string; isFinal: boolean };

/** The bodies of the responses that accepted the request. */
export const accepted = ({ replies }: SentRequest): string[] => replies.filter(({ status }) => status === 202).map(({ text }) => text);

/** The ids of the messages that the response accepts. */
export function acceptedIds(request: SentRequest): string[] {
  const [text] = accepted(request);
  if (text === undefined) return [];
  const { id, results } = JSON.parse(text) as { id: string; results?: { message_id: string | null }[] };
  return results === undefined ? [id] : results.flatMap(({ message_id: each }) => each ?? []);
}

// When both nodes are frozen, requests pile up.
const MAX_OPEN = 150;
const REPEATED_SHARE = 0.2;
const DOUBLED_SHARE = 0.1;

type Action = () => Promise<void>;

export class Clients {
  readonly requests: SentRequest[] = [];
  readonly cancellations: Cancellation[] = [];
  readonly optOuts: OptOut[] = [];
  readonly #api: Api;
  readonly #random: Random;
  readonly #signal: AbortSignal;
  readonly #open = new Set<Promise<void>>();
  #recipients = 0;

  /** The signal ends everything at once. */
  constructor(api: Api, random: Random, signal: AbortSignal) {
    this.#api = api;
    this.#random = random;
    this.#signal = signal;
  }

  get openCount(): number {
    return this.#open.size;
  }

  /** Begins actions at the rate until the signal. Those that have begun go on. */
  async run(actionsPerSecond: number, signal: AbortSignal): Promise<void> {
    const actions = this.#actions();
    while (!signal.aborted) {
      if (this.#open.size < MAX_OPEN) this.#begin(this.#random.pick(actions));
      await sleep((1_000 / actionsPerSecond) * 2 * this.#random.next(), undefined, { signal }).catch(() => undefined);
    }
  }

  /** Each action as often as it is drawn. */
  #actions(): Action[] {
    const plain: Action = async () => void (await this.#sendOne());
    return [
      ...Array<Action>(14).fill(plain),
      ...Array<Action>(2).fill(() => this.#sendScheduled()),
      () => this.#sendBatch(),
      () => this.#raceCancellation(),
      () => this.#raceCancellation(),
      () => this.#raceOptOut(),
    ];
  }

  #begin(action: Action): void {
    // An action ends early only when the run is aborted. Its requests then have no final response.
    const running = action()
      .catch(() => undefined)
      .finally(() => this.#open.delete(running));
    this.#open.add(running);
  }

  #pause(leastMs: number, mostMs: number): Promise<undefined> {
    return sleep(this.#random.between(leastMs, mostMs), undefined, { signal: this.#signal });
  }

  #recipient(): string {
    this.#recipients += 1;
    return `+1415${5_000_000 + (this.#recipients % 100_000)}`;
  }

  async #sendOne(fields: { recipient?: string; send_at?: string } = {}): Promise<Json | undefined> {
    const key = randomUUID();
    const body = { recipient: this.#recipient(), channel: "sms", body: this.#text(key), client_reference: key, ...fields };
    const sendAtMs = fields.send_at === undefined ? undefined : Date.parse(fields.send_at);
    return this.#request({ kind: "message", key, references: [key], sendAtMs, replies: [] }, "/v1/messages", body);
  }

  async #sendBatch(): Promise<void> {
    const key = randomUUID();
    const references = Array.from({ length: this.#random.between(2, 12) }, (_, index) => `${key}/${index}`);
    const items = references.map((reference) => ({
      recipient: this.#recipient(),
      body: this.#text(reference),
      client_reference: reference,
    }));
    const body = { defaults: { channel: "sms", priority: "bulk" }, items };
    await this.#request({ kind: "batch", key, references, sendAtMs: undefined, replies: [] }, "/v1/batches", body);
  }

  /** Sends the request until it has a final response, some on both nodes at once, and some again later. */
  async #request(request: SentRequest, path: string, body: unknown): Promise<Json | undefined> {
    this.requests.push(request);
    const send = async (): Promise<void> => {
      request.replies.push(await this.#api.send({ method: "POST", path, body, key: request.key }));
      request.repliedAtMs ??= Date.now();
    };
    await Promise.all(this.#random.chance(DOUBLED_SHARE) ? [send(), send()] : [send()]);
    if (this.#random.chance(REPEATED_SHARE)) {
      await this.#pause(10, 3_000);
      await send();
    }
    const [first] = request.replies;
    return first?.status === 202 ? first.json : undefined;
  }

  async #sendScheduled(): Promise<void> {
    const message = await this.#sendOne({ send_at: new Date(Date.now() + this.#random.between(1_500, 6_000)).toISOString() });
    if (message === undefined || this.#random.chance(0.5)) return;
    await this.#pause(0, 6_000);
    await this.#cancel(String(message["id"]));
  }

  async #raceCancellation(): Promise<void> {
    const message = await this.#sendOne();
    if (message !== undefined) await this.#cancel(String(message["id"]));
  }

  async #cancel(id: string): Promise<void> {
    const cancellation: Cancellation = { id, isFinal: false, isCanceled: false };
    this.cancellations.push(cancellation);
    const { status } = await this.#api.send({ method: "POST", path: `/v1/messages/${id}/cancel` });
    cancellation.isFinal = true;
    cancellation.isCanceled = status === 200;
  }

  async #raceOptOut(): Promise<void> {
    const recipient = `+1212${5_000_000 + this.optOuts.length}`;
    const optOut: OptOut = { recipient, isFinal: false };
    this.optOuts.push(optOut);
    const refuse = async (): Promise<void> => {
      await this.#pause(0, 60);
      await this.#api.require({ method: "POST", path: "/v1/suppressions", body: { recipient } });
      optOut.isFinal = true;
    };
    const sends = Array.from({ length: this.#random.between(3, 8) }, async () => {
      await this.#pause(0, 60);
      await this.#sendOne({ recipient });
    });
    await Promise.all([refuse(), ...sends]);
  }

  /** A text of one segment, or of up to three. It begins with the client reference, by which a carrier with SMPP knows the message. */
  #text(reference: string): string {
    const words = " Your order is on its way.";
    return reference + words.repeat(this.#random.chance(0.1) ? this.#random.between(8, 14) : 1);
  }
}
