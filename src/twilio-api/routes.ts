/** Every route of Twilio's API. */
import type { CompatibleAuthenticator } from "../compatible/authenticate.ts";
import type { Route } from "../api/route.ts";
import type { SecretBox } from "../lib/secret-box.ts";
import { twilioProblem } from "./errors.ts";
import { accountRows } from "./account-routes.ts";
import { mediaRows } from "./media-routes.ts";
import { messageRows, type MessageParts } from "./message-routes.ts";
import { serviceRows } from "./service-routes.ts";
import { lookupRows } from "./lookup-routes.ts";
import { verifyRows } from "./verify-routes.ts";
import { notFound, PREFIX, routesOf, type TwilioRow } from "./twilio-route.ts";

export type TwilioParts = MessageParts &
  Parameters<typeof mediaRows>[0] &
  Parameters<typeof verifyRows>[0] & { users: CompatibleAuthenticator; box: SecretBox };

/** Twilio has many more resources. They are refused as Twilio refuses an unknown one, and further methods of known paths as such. */
const others = (rows: readonly TwilioRow[]): TwilioRow[] =>
  (["GET", "POST", "PUT", "PATCH", "DELETE"] as const).map((method) => ({
    method,
    path: "/*",
    operationId: `twilioUnknown${method}`,
    scope: null,
    handle: async ({ path }) => {
      throw rows.some((row) => isPathOf(row, path)) ? twilioProblem(20004) : notFound(path);
    },
  }));

/** Whether a path is that of a row, whose parameters are whole segments or their beginnings. */
function isPathOf({ path }: TwilioRow, target: string): boolean {
  const [known, given] = [path.split("/"), target.split("/")];
  return (
    known.length === given.length &&
    known.every((segment, index) => {
      const part = given[index] ?? "";
      return segment.startsWith("{") ? part.endsWith(segment.slice(segment.indexOf("}") + 1)) : part === segment;
    })
  );
}

// The products of Twilio whose paths this API has.
const PRODUCTS = ["api", "messaging", "verify", "lookups"];

/** The host names of the products below a domain. */
export const twilioBasePaths = (domain: string | undefined): ReadonlyMap<string, string> =>
  new Map(domain === undefined ? [] : PRODUCTS.map((product) => [`${product}.${domain}`, PREFIX]));

export function twilioRoutes(parts: TwilioParts): Route[] {
  const rows = [
    ...accountRows(parts),
    ...messageRows(parts),
    ...mediaRows(parts),
    ...serviceRows(parts),
    ...verifyRows(parts),
    ...lookupRows(),
  ];
  return routesOf(parts, [...rows, ...others(rows)]);
}
