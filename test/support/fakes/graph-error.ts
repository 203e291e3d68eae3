/** An error response in the format of Meta. */
import type { CarrierBehavior } from "./http-carrier.ts";

export const graphError = (code: number, status = 400, fields: object = {}): CarrierBehavior => ({
  kind: "responds",
  status,
  body: JSON.stringify({
    error: { message: `(#${code}) as Meta says it`, type: "OAuthException", code, fbtrace_id: "Az8or2yhqkZfEZ", ...fields },
  }),
});
