/** The base of the test client: requests below a path, the record of a successful response, and the pages of a list. */
import assert from "node:assert/strict";
import type { Reply, RequestOptions } from "../harness.ts";

export type Json = Reply["json"];
export type Query = Readonly<Record<string, string>>;
export type Page<T = Json> = { data: T[]; has_more: boolean; next_cursor: string | null };

/** Sends a request with the key of the client and returns the response, whatever its status. */
export type SendRequest = (method: string, path?: string, options?: RequestOptions) => Promise<Reply>;

// No list of a test has more pages. A list that repeats its cursor would never end otherwise.
const MAX_PAGES = 300;

export const below =
  (request: SendRequest, prefix: string): SendRequest =>
  (method, path = "", options = {}) =>
    request(method, `${prefix}${path}`, options);

/** Asserts the status of a response and returns its body. */
export function recordOf(reply: Reply, status = 200): Json {
  assert.equal(reply.status, status, reply.text.slice(0, 2_000));
  return reply.json;
}

export const search = (query: Query): string => `?${new URLSearchParams(query).toString()}`;

/** Reads all pages of a list. Runs `between` before each further page. */
export async function walk<T>(
  list: (query: Query) => Promise<Page<T>>,
  query: Query,
  between: () => Promise<unknown> = async () => undefined,
): Promise<Page<T>[]> {
  const pages = [await list(query)];
  for (let last = pages[0]; last !== undefined && last.next_cursor !== null; last = pages.at(-1)) {
    assert.equal(last.has_more, true, "a page with a cursor has more");
    assert.ok(pages.length < MAX_PAGES, "the list ends");
    await between();
    pages.push(await list({ ...query, cursor: last.next_cursor }));
  }
  assert.equal(pages.at(-1)?.has_more, false, "a page that has more has a cursor");
  return pages;
}

export const itemsOf = <T>(pages: readonly Page<T>[]): T[] => pages.flatMap(({ data }) => data);
export const idsOf = (pages: readonly Page<{ id: string }>[]): string[] => itemsOf(pages).map(({ id }) => id);
export const typesOf = (items: readonly { type: string }[]): string[] => items.map(({ type }) => type);
