/** Lists: the first page, all records across the pages, or one page at a time. */
import { GodwitError } from "./errors.ts";
import type { CallOptions, InputOf, OperationId, ResponseOf } from "./operation.ts";
import { Call, type ApiResponse } from "./response.ts";
import type { Transport } from "./transport.ts";

/** One page of a list, as the API returns it. A page can be short or even empty although `has_more` is true. */
export type Page<T> = { data: T[]; has_more: boolean; next_cursor: string | null };

/** A page that can fetch the page after it. */
export type PageWithNext<P> = P & {
  /** Fetches the next page. Resolves to null after the last one. */
  nextPage: () => Promise<PageWithNext<P> | null>;
};

/** A list. Await it to get the first page, or iterate it with `for await` to get all records; the loop fetches each page when it needs it.
 *  No request is sent before. */
export class Pages<T, P extends Page<T> = Page<T>> implements Promise<PageWithNext<P>>, AsyncIterable<T> {
  readonly [Symbol.toStringTag] = "Pages";
  readonly #fetchPage: (cursor: string | undefined) => Call<P>;
  #first: Call<PageWithNext<P>> | undefined;

  constructor(fetchPage: (cursor: string | undefined) => Call<P>) {
    this.#fetchPage = fetchPage;
  }

  /** Fetches one page: the first, or the page at the `next_cursor` of another page. */
  page(cursor?: string): Call<PageWithNext<P>> {
    const response = this.#fetchPage(cursor).withResponse();
    return new Call(response.then(({ data, ...rest }) => ({ ...rest, data: this.#withNext(data, cursor) })));
  }

  /** Iterates over the pages instead of the records. */
  async *pages(): AsyncGenerator<PageWithNext<P>, void, undefined> {
    let page: PageWithNext<P> | null = await this.page();
    while (page !== null) {
      yield page;
      page = await page.nextPage();
    }
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    for await (const { data } of this.pages()) yield* data;
  }

  /** Returns the first page with the metadata of its response. */
  withResponse(): Promise<ApiResponse<PageWithNext<P>>> {
    return this.#firstPage().withResponse();
  }

  // oxlint-disable-next-line unicorn/no-thenable -- a list is the promise of its first page
  then<A = PageWithNext<P>, B = never>(
    onPage?: ((page: PageWithNext<P>) => A | PromiseLike<A>) | null,
    onError?: ((error: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return this.#firstPage().then(onPage, onError);
  }

  catch<B = never>(onError?: ((error: unknown) => B | PromiseLike<B>) | null): Promise<PageWithNext<P> | B> {
    return this.then(undefined, onError);
  }

  finally(onEnd?: (() => void) | null): Promise<PageWithNext<P>> {
    return this.#firstPage().finally(onEnd);
  }

  /** Fetches the first page once, however often the list is awaited. */
  #firstPage(): Call<PageWithNext<P>> {
    this.#first ??= this.page();
    return this.#first;
  }

  /** Adds `nextPage`, not enumerable, so that a page is printed and compared as the API returned it. */
  #withNext(page: P, cursor: string | undefined): PageWithNext<P> {
    const nextPage = async (): Promise<PageWithNext<P> | null> => {
      if (!page.has_more || page.next_cursor === null) return null;
      // A cursor that leads to its own page is a fault of the server and would loop forever.
      if (page.next_cursor === cursor) throw new GodwitError("the list cannot be continued: the cursor of a page leads to the same page");
      return this.page(page.next_cursor);
    };
    return Object.defineProperty(page, "nextPage", { value: nextPage }) as PageWithNext<P>;
  }
}

/** The operations that return pages. */
type ListId = { [Id in OperationId]: ResponseOf<Id> extends Page<unknown> ? Id : never }[OperationId];
type ItemOf<Id extends ListId> = ResponseOf<Id> extends Page<infer Item> ? Item : never;
export type PagesOf<Id extends ListId> = Pages<ItemOf<Id>, Page<ItemOf<Id>> & ResponseOf<Id>>;

export function listPages<Id extends ListId>(transport: Transport, id: Id, input: InputOf<Id>, options?: CallOptions): PagesOf<Id> {
  const at = (cursor: string | undefined): InputOf<Id> => (cursor === undefined ? input : { ...input, query: { ...input.query, cursor } });
  return new Pages((cursor) => transport.call(id, at(cursor), options) as Call<Page<ItemOf<Id>> & ResponseOf<Id>>);
}
