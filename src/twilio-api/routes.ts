/** Every route of Twilio's API. */
import type { CompatibleAuthenticator } from "../compatible/authenticate.ts";
import type { Route } from "../api/route.ts";
import type { SecretBox } from "../lib/secret-box.ts";
import { accountRows } from "./account-routes.ts";
import { messageRows, type MessageParts } from "./message-routes.ts";
import { notFound, routesOf, type TwilioRow } from "./twilio-route.ts";

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

export const twilioRoutes = (parts: TwilioParts): Route[] => routesOf(parts, [...accountRows(parts), ...messageRows(parts), ...OTHERS]);
