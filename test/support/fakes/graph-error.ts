/** An error as Meta words it. */
import type { Play } from "./http-carrier.ts";

export const graphError = (code: number, status = 400, fields: object = {}): Play => ({
  kind: "answers",
  status,
  body: JSON.stringify({
    error: { message: `(#${code}) as Meta says it`, type: "OAuthException", code, fbtrace_id: "Az8or2yhqkZfEZ", ...fields },
  }),
});
