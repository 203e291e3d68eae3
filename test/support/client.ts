/** The HTTP client of the tests: one node, one API key, and a group of methods for each resource of the API. A method that returns a
 *  `Reply` asserts nothing; every other method asserts success and returns the record. `client/tokens.ts` requests access tokens. */
import { batchClient } from "./client/batches.ts";
import { endpointClient } from "./client/endpoints.ts";
import { eventClient } from "./client/events.ts";
import { messageClient } from "./client/messages.ts";
import { recordOf, type Json, type SendRequest } from "./client/request.ts";
import { suppressionClient } from "./client/suppressions.ts";
import { templateClient } from "./client/templates.ts";
import { verificationClient } from "./client/verifications.ts";
import type { Godwit, KeyOptions } from "./harness.ts";

export type Client = ReturnType<typeof clientOf>;

export function clientOf(node: Godwit, key: string) {
  const request: SendRequest = (method, path = "", options = {}) => node.request(method, path, { key, ...options });
  return {
    node,
    key,
    request,
    /** The record at a path that has no group. */
    get: async (path: string): Promise<Json> => recordOf(await request("GET", path)),
    batches: batchClient(request),
    endpoints: endpointClient(request),
    events: eventClient(request),
    messages: messageClient(request),
    suppressions: suppressionClient(request),
    templates: templateClient(request),
    verifications: verificationClient(request),
  };
}

/** A client of an account without a quota. Creates the account when it is missing, so that a test knows all records of its account. */
export async function clientOfAccount(node: Godwit, account: string, options: KeyOptions = {}): Promise<Client> {
  const key = await node.key({ account, ...options });
  await node.unlimited();
  return clientOf(node, key);
}
