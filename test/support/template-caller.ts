/** A client that has templates, and what holds them still. */
import assert from "node:assert/strict";
import type { Godwit, Reply, RequestOptions } from "./harness.ts";

export type Json = Reply["json"];
export type Page = { data: Json[]; has_more: boolean; next_cursor: string | null };

/** The least a template has, for sms alone. */
export const TEXT = { language: "en", category: "utility", channels: ["sms"], body: "Hello {{name}}" } as const;
export const BOTH = { ...TEXT, channels: ["sms", "whatsapp"] } as const;

let names = 0;
/** A name that nothing has yet. */
export const newName = (prefix = "order"): string => `${prefix}_${(names += 1)}`;

export type TemplateCaller = ReturnType<typeof templateCaller>;

export function templateCaller(node: Godwit, key: string) {
  const ask = (method: string, path = "", options: RequestOptions = {}): Promise<Reply> =>
    node.request(method, `/v1/templates${path}`, { key, ...options });
  const found = async (asked: Promise<Reply>, status = 200): Promise<Json> => {
    const reply = await asked;
    assert.equal(reply.status, status, reply.text);
    return reply.json;
  };
  return {
    ask,
    read: (id: unknown): Promise<Json> => found(ask("GET", `/${String(id)}`)),
    create: (body: object = {}): Promise<Json> => found(ask("POST", "", { body: { ...TEXT, name: newName(), ...body } }), 201),
    edit: (id: unknown, body: object): Promise<Json> => found(ask("PATCH", `/${String(id)}`, { body })),
    archive: (id: unknown): Promise<Json> => found(ask("DELETE", `/${String(id)}`)),
    preview: (id: unknown, body: object = {}): Promise<Json> => found(ask("POST", `/${String(id)}/preview`, { body })),
    list: async (query: Record<string, string> = {}): Promise<Page> =>
      (await found(ask("GET", `?${new URLSearchParams(query).toString()}`))) as Page,
    /** The events of one template, oldest first, as their types and what they say of it. */
    events: async (id: unknown): Promise<{ type: string; template: Json }[]> => {
      const page = (await node.request("GET", "/v1/events?limit=100", { key })).json as Page;
      return page.data
        .map(({ type, data }) => ({ type: String(type), template: (data as { template?: Json }).template ?? {} }))
        .filter(({ template }) => template["id"] === id)
        .toReversed();
    },
  };
}
