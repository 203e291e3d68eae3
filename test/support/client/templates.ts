/** /v1/templates of the test client. */
import { eventClient } from "./events.ts";
import { below, recordOf, search, type Json, type Page, type Query, type SendRequest } from "./request.ts";

/** The required fields of a template, for sms only. */
export const TEXT = { language: "en", category: "utility", channels: ["sms"], body: "Hello {{name}}" } as const;
export const BOTH = { ...TEXT, channels: ["sms", "whatsapp"] } as const;

let names = 0;
/** A name that no other template of the test file has. */
export const newName = (prefix = "order"): string => `${prefix}_${(names += 1)}`;

export type TemplateClient = ReturnType<typeof templateClient>;

export function templateClient(send: SendRequest) {
  const request = below(send, "/v1/templates");
  return {
    request,
    read: async (id: unknown): Promise<Json> => recordOf(await request("GET", `/${String(id)}`)),
    create: async (body: object = {}): Promise<Json> =>
      recordOf(await request("POST", "", { body: { ...TEXT, name: newName(), ...body } }), 201),
    edit: async (id: unknown, body: object): Promise<Json> => recordOf(await request("PATCH", `/${String(id)}`, { body })),
    archive: async (id: unknown): Promise<Json> => recordOf(await request("DELETE", `/${String(id)}`)),
    preview: async (id: unknown, body: object = {}): Promise<Json> => recordOf(await request("POST", `/${String(id)}/preview`, { body })),
    list: async (query: Query = {}): Promise<Page> => recordOf(await request("GET", search(query))) as Page,
    /** The events of one template, the oldest first: their types and the template in them. */
    events: async (id: unknown): Promise<{ type: string; template: Json }[]> =>
      (await eventClient(send).list({ limit: "100" })).data
        .map(({ type, data }) => ({ type, template: (data["template"] ?? {}) as Json }))
        .filter(({ template }) => template["id"] === id)
        .toReversed(),
  };
}
