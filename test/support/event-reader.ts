/** Readers that record the event stream, and events that a test inserts with a chosen time. */
import assert from "node:assert/strict";
import { encodeId, toId, type AccountId, type EventId } from "../../src/model/id.ts";
import { uuidSequence, uuidToText } from "../../src/lib/uuid.ts";
import { listAccounts } from "../../src/access/queries.ts";
import { until } from "./expect.ts";
import type { Godwit } from "./harness.ts";
import type { Environment } from "../../src/model/owner.ts";

export type Streamed = { id: string; type: string; data: string };

type ReaderOptions = { type?: string; after?: string };

/** One connection to the event stream. Parses the protocol independently of our own client. */
export class EventReader {
  readonly headers: Headers;
  /** All received blocks, including those that are not events. */
  readonly blocks: string[] = [];
  readonly events: Streamed[] = [];
  /** `closed`: the server ended the response. `cut`: the connection ended before the end of the response. */
  state: "open" | "closed" | "cut" = "open";
  readonly #leaving: AbortController;

  private constructor(response: Response, leaving: AbortController) {
    this.headers = response.headers;
    this.#leaving = leaving;
    void this.#read(response).then(
      () => (this.state = "closed"),
      () => (this.state = "cut"),
    );
  }

  static async open({ url }: Pick<Godwit, "url">, key: string, { type, after }: ReaderOptions = {}): Promise<EventReader> {
    const leaving = new AbortController();
    const response = await fetch(`${url}/v1/events/stream${type === undefined ? "" : `?type=${type}`}`, {
      headers: { authorization: `Bearer ${key}`, ...(after === undefined ? {} : { "last-event-id": after }) },
      signal: leaving.signal,
    });
    assert.equal(response.status, 200, response.ok ? "" : await response.text());
    const reader = new EventReader(response, leaving);
    await until("the first frame", () => reader.blocks[0]);
    return reader;
  }

  get ids(): string[] {
    return this.events.map(({ id }) => id);
  }

  /** The Last-Event-ID that a standard client would send. */
  get lastId(): string | undefined {
    return this.blocks.map((block) => /^id: (.*)$/m.exec(block)?.[1]).findLast((id) => id !== undefined);
  }

  /** Waits for all events with these ids. */
  async has(ids: readonly string[]): Promise<void> {
    await until(`${ids.length} events`, () => new Set(ids).isSubsetOf(new Set(this.ids)) || undefined);
  }

  async ended(): Promise<"closed" | "cut"> {
    return until("the end of the stream", () => (this.state === "open" ? undefined : this.state));
  }

  leave(): void {
    this.#leaving.abort();
  }

  [Symbol.dispose](): void {
    this.leave();
  }

  async #read(response: Response): Promise<void> {
    const decoder = new TextDecoder();
    let text = "";
    for await (const chunk of response.body ?? []) {
      text += decoder.decode(chunk as Uint8Array, { stream: true });
      for (let end = text.indexOf("\n\n"); end !== -1; end = text.indexOf("\n\n")) {
        this.#take(text.slice(0, end));
        text = text.slice(end + 2);
      }
    }
    assert.equal(text, "", "no frame is incomplete");
  }

  #take(block: string): void {
    this.blocks.push(block);
    const lines = block.split("\n");
    if (!lines.some((line) => line.startsWith("data:"))) return;
    const [id, type, data] = lines.map((line) => line.slice(line.indexOf(": ") + 2)) as [string, string, string];
    assert.deepEqual(lines, [`id: ${id}`, `event: ${type}`, `data: ${data}`]);
    this.events.push({ id, type, data });
  }
}

export type Owner = { accountId: AccountId; environment: Environment; key: string };

/** A new account without a quota. */
export async function newOwner(godwit: Godwit, account: string, environment: Environment = "test"): Promise<Owner> {
  assert.ok(godwit.db !== undefined);
  const key = await godwit.key({ account, environment });
  await godwit.unlimited();
  const found = (await listAccounts(godwit.db)).find(({ name }) => name === account);
  assert.ok(found !== undefined);
  return { accountId: found.id, environment, key };
}

/** The id of an event of the given age. */
export const madeAgo = (agoMs: number): EventId => toId("evt", uuidSequence()(Date.now() - agoMs));

export const eventId = (id: EventId): string => encodeId("evt", id);

type Inserted = { type?: string; record?: object };

/** The statement that inserts events. */
export const insertion = (
  { accountId, environment }: Owner,
  ids: readonly EventId[],
  { type = "webhook.test", record = {} }: Inserted = {},
) => ({
  text: `insert into events (account_id, environment, id, type, record)
         select $1, $2, id, $4, $5
           from unnest($3::uuid[]) id`,
  values: [uuidToText(accountId), environment, ids.map(uuidToText), type, JSON.stringify(record)],
});

/** Inserts events and returns their public ids. */
export async function insertEvents(
  godwit: Pick<Godwit, "rows">,
  owner: Owner,
  ids: readonly EventId[],
  inserted: Inserted = {},
): Promise<string[]> {
  const { text, values } = insertion(owner, ids, inserted);
  await godwit.rows(text, values);
  return ids.map(eventId);
}
