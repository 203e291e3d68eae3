/** Lists: all records across the pages, or one page at a time. */
import type { Call } from "./answer.ts";
import { GodwitError } from "./errors.ts";
import type { AnswerOf, CallOptions, InputOf, OperationId } from "./operation.ts";
import type { Transport } from "./transport.ts";

/** One page of a list. A page can be short or even empty although `has_more` is true. */
export type Page<T> = { data: T[]; has_more: boolean; next_cursor: string | null };

/** A list. Iterate it with `for await` to get all records; each page is fetched when the loop needs it. No request is sent before. */
export class Pages<T, P extends Page<T> = Page<T>> implements AsyncIterable<T> {
  readonly #fetchPage: (cursor: string | undefined) => Call<P>;

  constructor(fetchPage: (cursor: string | undefined) => Call<P>) {
    this.#fetchPage = fetchPage;
  }

  /** Fetches one page: the first, or the page at the `next_cursor` of another page. */
  page(cursor?: string): Call<P> {
    return this.#fetchPage(cursor);
  }

  /** Iterates over the pages instead of the records. */
  async *pages(): AsyncGenerator<P, void, undefined> {
    let cursor: string | undefined;
    for (;;) {
      const page = await this.#fetchPage(cursor);
      yield page;
      if (!page.has_more || page.next_cursor === null) return;
      // A cursor that leads to its own page is a fault of the server and would loop forever.
      if (page.next_cursor === cursor) throw new GodwitError("the list does not go on: its cursor leads to itself");
      cursor = page.next_cursor;
    }
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    for await (const { data } of this.pages()) yield* data;
  }
}

/** The operations that return pages. */
type ListId = { [Id in OperationId]: AnswerOf<Id> extends Page<unknown> ? Id : never }[OperationId];
type ItemOf<Id extends ListId> = AnswerOf<Id> extends Page<infer Item> ? Item : never;
export type PagesOf<Id extends ListId> = Pages<ItemOf<Id>, AnswerOf<Id> & Page<ItemOf<Id>>>;

export function listPages<Id extends ListId>(transport: Transport, id: Id, input: InputOf<Id>, options?: CallOptions): PagesOf<Id> {
  const at = (cursor: string | undefined): InputOf<Id> => (cursor === undefined ? input : { ...input, query: { ...input.query, cursor } });
  return new Pages((cursor) => transport.call(id, at(cursor), options) as Call<AnswerOf<Id> & Page<ItemOf<Id>>>);
}
