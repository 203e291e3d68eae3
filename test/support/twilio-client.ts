/** Twilio's own package as the client of a node, with nothing changed but its base URLs. */
import { createRequire } from "node:module";
import type { Twilio } from "twilio";
import type { Scope } from "../../src/access/scope.ts";
import { recordOf } from "./client.ts";
import { type Godwit, type KeyOptions } from "./harness.ts";

// The package is a CommonJS module.
const { Twilio: Client } = createRequire(import.meta.url)("twilio") as { Twilio: typeof Twilio };

export type TwilioClient = Twilio;
export type TwilioUser = { client: TwilioClient; sid: string; token: string; id: string; key: string };

/** The client of a user and a password, below a base URL. */
export function twilioClient(url: string, user: string, password: string, accountSid = user): TwilioClient {
  const client = new Client(user, password, { accountSid });
  for (const product of [client.api, client.messaging, client.verify, client.lookups]) product.baseUrl = `${url}/twilio`;
  return client;
}

/** Creates a credential, in an account of its own if it has a name. */
export async function twilioUser(
  node: Godwit,
  { settings = {}, accountSid, ...options }: KeyOptions & { settings?: Record<string, unknown>; accountSid?: string } = {},
  scopes?: readonly Scope[],
): Promise<TwilioUser> {
  const key = await node.key(options);
  await node.unlimited();
  const body = { source: "twilio", settings, ...(scopes === undefined ? {} : { scopes }) };
  const reply = await node.request("POST", "/v1/compatible_credentials", { key, body });
  const { id, user_name: sid, secret: token } = recordOf(reply, 201) as Record<string, string>;
  if (sid === undefined || token === undefined || id === undefined) throw new Error("a credential has a name and a secret");
  return { client: twilioClient(node.url, sid, token, accountSid ?? sid), sid, token, id, key };
}

/** An error of the package. */
type RestError = { status: number; code: number; message: string; moreInfo: string };

/** The error of a request that is refused. */
export async function refusal(work: Promise<unknown>): Promise<RestError> {
  try {
    await work;
  } catch (error) {
    return error as RestError;
  }
  throw new Error("the request was not refused");
}
