/** /v1/events of the test client. */
import type { Reply } from "../harness.ts";
import { below, recordOf, search, type Json, type Page, type Query, type SendRequest } from "./request.ts";

export type Event = {
  id: string;
  type: string;
  timestamp: string;
  environment: string;
  data: Json & { message: Json; sequence: number };
};

export function eventClient(send: SendRequest) {
  const request = below(send, "/v1/events");
  return {
    request,
    list: async (query: Query = {}): Promise<Page<Event>> => recordOf(await request("GET", search(query))) as Page<Event>,
    get: (id: unknown): Promise<Reply> => request("GET", `/${String(id)}`),
    deliveries: (id: unknown): Promise<Reply> => request("GET", `/${String(id)}/deliveries`),
  };
}
