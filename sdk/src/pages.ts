/** Lists: every record, one after another, whatever the pages; or page by page. */
import type { Call } from "./answer.ts";
import { GodwitError } from "./errors.ts";
import type { AnswerOf, CallOptions, InputOf, OperationId } from "./operation.ts";
import type { Transport } from "./transport.ts";

export type Page<T> = { data: T[]; has_more: boolean; next_cursor: string | null };

/** Nothing is asked for until it is iterated. A page may be short, even empty, and not be the last: `has_more` says. */
export class Pages<T, P extends Page<T> = Page<T>> implements AsyncIterable<T> {
  readonly #fetchPage: (cursor: string | undefined) => Call<P>;

  constructor(fetchPage: (cursor: string | undefined) => Call<P>) {
    this.#fetchPage = fetchPage;
  }

  /** One page: the first, or the one at the `next_cursor` of another. */
  page(cursor?: string): Call<P> {
    return this.#fetchPage(cursor);
  }

  async *pages(): AsyncGenerator<P, void, undefined> {
    let cursor: string | undefined;
    for (;;) {
      const page = await this.#fetchPage(cursor);
      yield page;
      if (!page.has_more || page.next_cursor === null) return;
      // Else a fault of the server would be a loop without an end.
      if (page.next_cursor === cursor) throw new GodwitError("the list does not go on: its cursor leads to itself");
      cursor = page.next_cursor;
    }
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    for await (const { data } of this.pages()) yield* data;
  }
}

/** The operations that answer with pages. */
type ListId = { [Id in OperationId]: AnswerOf<Id> extends Page<unknown> ? Id : never }[OperationId];
type ItemOf<Id extends ListId> = AnswerOf<Id> extends Page<infer Item> ? Item : never;
export type PagesOf<Id extends ListId> = Pages<ItemOf<Id>, AnswerOf<Id> & Page<ItemOf<Id>>>;

export function listPages<Id extends ListId>(transport: Transport, id: Id, input: InputOf<Id>, options?: CallOptions): PagesOf<Id> {
  const at = (cursor: string | undefined): InputOf<Id> => (cursor === undefined ? input : { ...input, query: { ...input.query, cursor } });
  return new Pages((cursor) => transport.call(id, at(cursor), options) as Call<AnswerOf<Id> & Page<ItemOf<Id>>>);
}
