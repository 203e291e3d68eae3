/** A client that suppresses recipients, and what it leaves behind. */
import assert from "node:assert/strict";
import type { Godwit, KeyOptions, Reply, RequestOptions } from "./harness.ts";
import { recipientOf } from "./recipient.ts";

export type Json = Reply["json"];
export type Page = { data: Json[]; has_more: boolean; next_cursor: string | null };

export const RECIPIENT = recipientOf("+14155550123");
export const SHOP = "+14155550199";

/** Numbers that are all different, and possible. */
export const recipients = (count: number, from = 0): string[] =>
  Array.from({ length: count }, (_, index) => `+1415${String(5_000_000 + from + index)}`);

export type SuppressionCaller = ReturnType<typeof suppressionCaller>;

export function suppressionCaller(node: Godwit, key: string) {
  const ask = (method: string, path = "", options: RequestOptions = {}): Promise<Reply> =>
    node.request(method, `/v1/suppressions${path}`, { key, ...options });
  const found = async (asked: Promise<Reply>, status = 200): Promise<Json> => {
    const reply = await asked;
    assert.equal(reply.status, status, reply.text);
    return reply.json;
  };
  const search = (query: Record<string, string>): string => `?${new URLSearchParams(query).toString()}`;
  return {
    node,
    key,
    ask,
    found,
    post: (body: unknown = {}, options: RequestOptions = {}): Promise<Reply> =>
      ask("POST", "", { ...options, body: { recipient: RECIPIENT, ...(body as object) } }),
    add: (body: object = {}): Promise<Json> => found(ask("POST", "", { body: { recipient: RECIPIENT, ...body } }), 201),
    lift: (id: unknown): Promise<Json> => found(ask("DELETE", `/${String(id)}`)),
    read: (id: unknown): Promise<Json> => found(ask("GET", `/${String(id)}`)),
    list: async (query: Record<string, string> = {}): Promise<Page> => (await found(ask("GET", search(query)))) as Page,
    history: async (id: unknown, query: Record<string, string> = {}): Promise<Page> =>
      (await found(ask("GET", `/${String(id)}/history${search(query)}`))) as Page,
    import: (entries: unknown, options: RequestOptions = {}): Promise<Reply> => ask("POST", "/import", { ...options, body: { entries } }),
    /** The events of recipients, oldest first. */
    events: async (): Promise<Json[]> => {
      const page = async (query: Record<string, string>): Promise<Page> =>
        (await found(node.request("GET", `/v1/events${search(query)}`, { key }))) as Page;
      return (await walk(page, { type: "recipient.*", limit: "100" })).flatMap(({ data }) => data).toReversed();
    },
  };
}

/** A client of an account of its own, so that a test knows all there is. */
export async function clientOf(node: Godwit, account: string, options: KeyOptions = {}): Promise<SuppressionCaller> {
  const key = await node.key({ account, ...options });
  await node.unlimited();
  return suppressionCaller(node, key);
}

/** All pages to the end. */
export async function walk(page: (query: Record<string, string>) => Promise<Page>, query: Record<string, string>): Promise<Page[]> {
  const pages: Page[] = [];
  for (let cursor: string | null = ""; cursor !== null;) {
    const next: Page = await page(cursor === "" ? query : { ...query, cursor });
    assert.equal(next.has_more, next.next_cursor !== null);
    pages.push(next);
    assert.ok(pages.length < 300, "the list ends");
    cursor = next.next_cursor;
  }
  return pages;
}

export const without = (record: Json, ...names: readonly string[]): Json =>
  Object.fromEntries(Object.entries(record).filter(([name]) => !names.includes(name)));
