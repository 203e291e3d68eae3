/** Twilio's signature of a request to a client: HMAC-SHA1 over the URL and the fields in the order of their names. */
import { createHmac } from "node:crypto";
import { authorizationOfUrl } from "../compatible/callback-url.ts";
import type { HttpRequest } from "../outbound/http-client.ts";
import { VERSION } from "../version.ts";

export type Fields = Readonly<Record<string, string>>;

const signatureOf = (token: string, url: string, fields: Fields): string =>
  createHmac("sha1", token)
    .update(
      url +
        Object.keys(fields)
          .toSorted()
          .map((name) => name + (fields[name] as string))
          .join(""),
    )
    .digest("base64");

const PRODUCT = `Godwit/${VERSION}`;

type CallParts = { url: URL; method: "GET" | "POST"; fields: Fields; token: string; id: string };

/** The request with the fields as a form, or in the query. A user name and a password of the URL become HTTP Basic authentication, and are not
 *  signed. `id` is the same for each repetition of the request. */
export function signedRequest({ url, method, fields, token, id }: CallParts): HttpRequest {
  const { origin } = url;
  const form = new URLSearchParams(fields).toString();
  const query = method === "POST" || form === "" ? url.search : `${url.search === "" ? "?" : `${url.search}&`}${form}`;
  const path = url.pathname + query;
  return {
    origin,
    path,
    method,
    headers: {
      "user-agent": PRODUCT,
      accept: "application/xml, text/xml",
      "x-twilio-signature": signatureOf(token, origin + path, method === "POST" ? fields : {}),
      "i-twilio-idempotency-token": id,
      ...(method === "POST" ? { "content-type": "application/x-www-form-urlencoded; charset=UTF-8" } : {}),
      ...authorizationOfUrl(url),
    },
    body: method === "POST" ? form : "",
  };
}
