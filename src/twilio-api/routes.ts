/** Every route of Twilio's API. */
import type { CompatibleAuthenticator } from "../compatible/authenticate.ts";
import type { Route } from "../api/route.ts";
import type { SecretBox } from "../lib/secret-box.ts";
import { accountRows } from "./account-routes.ts";
import { messageRows, type MessageParts } from "./message-routes.ts";
import { notFound, PREFIX, routesOf, type TwilioRow } from "./twilio-route.ts";

export type TwilioParts = MessageParts & { users: CompatibleAuthenticator; box: SecretBox };

/** Twilio has many more resources. They are refused as Twilio refuses an unknown one. */
const OTHERS: TwilioRow[] = (["GET", "POST", "DELETE"] as const).map((method) => ({
  method,
  path: "/*",
  operationId: `twilioUnknown${method}`,
  scope: null,
  handle: async ({ path }) => {
    throw notFound(path);
  },
}));

// The products of Twilio whose paths this API has.
const PRODUCTS = ["api", "messaging", "verify", "lookups"];

/** The host names of the products below a domain. */
export const twilioBasePaths = (domain: string | undefined): ReadonlyMap<string, string> =>
  new Map(domain === undefined ? [] : PRODUCTS.map((product) => [`${product}.${domain}`, PREFIX]));

export const twilioRoutes = (parts: TwilioParts): Route[] => routesOf(parts, [...accountRows(parts), ...messageRows(parts), ...OTHERS]);
