/** A reader of the event stream of one node. It connects again with the last id that it received, as a standard client does. */
import { setTimeout as sleep } from "node:timers/promises";
import type { ChaosNode } from "./node.ts";

const RECONNECT_MS = 200;

export class StreamReader {
  readonly node: ChaosNode;
  readonly ids = new Set<string>();
  connections = 0;
  readonly #apiKey: string;
  readonly #signal: AbortSignal;
  #lastId: string | undefined;
  readonly #opened = Promise.withResolvers<void>();

  constructor(node: ChaosNode, apiKey: string, signal: AbortSignal) {
    this.node = node;
    this.#apiKey = apiKey;
    this.#signal = signal;
    void this.#run();
  }

  /** Resolves with the first frame. Every later event belongs to the stream. */
  get opened(): Promise<void> {
    return this.#opened.promise;
  }

  async #run(): Promise<void> {
    while (!this.#signal.aborted) {
      // A killed node breaks the connection, and refuses new ones until it runs again.
      await this.#read().catch(() => undefined);
      await sleep(RECONNECT_MS, undefined, { signal: this.#signal }).catch(() => undefined);
    }
  }

  async #read(): Promise<void> {
    const response = await fetch(`${this.node.url}/v1/events/stream`, {
      headers: { authorization: `Bearer ${this.#apiKey}`, ...(this.#lastId === undefined ? {} : { "last-event-id": this.#lastId }) },
      signal: this.#signal,
    });
    if (!response.ok) return void (await response.arrayBuffer());
    this.connections += 1;
    const decoder = new TextDecoder();
    let text = "";
    for await (const chunk of response.body ?? []) {
      text += decoder.decode(chunk as Uint8Array, { stream: true });
      for (let end = text.indexOf("\n\n"); end !== -1; end = text.indexOf("\n\n")) {
        this.#take(text.slice(0, end));
        text = text.slice(end + 2);
      }
    }
  }

  #take(frame: string): void {
    const [, id] = /^id: (.*)$/m.exec(frame) ?? [];
    if (id === undefined) return;
    this.#lastId = id;
    if (/^data:/m.test(frame)) this.ids.add(id);
    this.#opened.resolve();
  }
}
