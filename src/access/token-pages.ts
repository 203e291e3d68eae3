/** The pages that create access tokens and publish the signing keys. They are pages, since one accepts a form and neither a bearer token. */
import type { Page } from "../api/page.ts";
import { JSON_TYPE } from "../api/responses.ts";
import { ALGORITHM, type SigningKeys } from "./signing-keys.ts";
import { Grants, writeOAuthProblem, type GrantParts } from "./token-grant.ts";

// The form has four short fields.
const MAX_FORM_BYTES = 8_192;

export function tokenPages({ signingKeys, ...parts }: GrantParts & { signingKeys: SigningKeys }): Page[] {
  const grants = new Grants(parts);
  return [
    {
      method: "POST",
      path: "/v1/oauth/token",
      maxBodyBytes: MAX_FORM_BYTES,
      writeProblem: writeOAuthProblem,
      render: async (request) => ({ status: 200, contentType: JSON_TYPE, ...(await grants.grant(request)) }),
    },
    {
      method: "GET",
      path: "/.well-known/jwks.json",
      render: async () => {
        const keys = (await signingKeys.published()).map(({ kid, publicKey }) => ({ ...publicKey, kid, alg: ALGORITHM, use: "sig" }));
        return { status: 200, contentType: JSON_TYPE, body: JSON.stringify({ keys }) };
      },
    },
  ];
}
