/** A client that reads events, page by page. */
import assert from "node:assert/strict";
import { callerOf, type Caller, type Json } from "./changing.ts";
import type { Godwit, KeyOptions } from "./harness.ts";

export type Event = { id: string; type: string; timestamp: string; environment: string; data: { message: Json; sequence: number } };
export type Page = { data: Event[]; has_more: boolean; next_cursor: string | null };
export type Query = Record<string, string>;

export type Client = Caller & { key: string };

/** An account of its own, so that each test knows all there is to list. */
export async function clientOf(node: Godwit, account: string, options: KeyOptions = {}): Promise<Client> {
  const key = await node.key({ account, ...options });
  await node.unlimited();
  return { ...callerOf(node, key), key };
}

export async function page({ ask }: Client, query: Query = {}): Promise<Page> {
  const reply = await ask("GET", `/v1/events?${new URLSearchParams(query).toString()}`);
  assert.equal(reply.status, 200, reply.text);
  return reply.json as Page;
}

/** All pages to the end. */
export async function walk(own: Client, query: Query, between: () => Promise<unknown> = async () => undefined): Promise<Page[]> {
  const pages = [await page(own, query)];
  for (let last = pages[0]; last?.has_more === true; last = pages.at(-1)) {
    assert.ok(pages.length < 300, "the list ends");
    assert.ok(last.next_cursor !== null, "where there is more there is a cursor");
    await between();
    pages.push(await page(own, { ...query, cursor: last.next_cursor }));
  }
  assert.equal(pages.at(-1)?.next_cursor, null);
  return pages;
}

export const idsOf = (pages: readonly Page[]): string[] => pages.flatMap(({ data }) => data.map(({ id }) => id));
export const typesOf = (pages: readonly Page[]): string[] => pages.flatMap(({ data }) => data.map(({ type }) => type));
