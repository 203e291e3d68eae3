/** The URLs of clients that the service calls. */
import { basicAuthorization } from "../lib/basic-authorization.ts";
import { parseBoundedUrl } from "../lib/urls.ts";

/** Undefined for a text that can never be called. A user name and a password are sent as HTTP Basic authentication, so they must be text. */
export function parseCallable(text: string): URL | undefined {
  const url = /[\p{Cf}\\]/u.test(text) ? null : parseBoundedUrl(text);
  return url !== null && /^https?:$/.test(url.protocol) && isText(url.username) && isText(url.password) ? url : undefined;
}

/** The header for the user name and the password of a callable URL. */
export const authorizationOfUrl = ({ username, password }: URL): Record<string, string> =>
  username === "" ? {} : { authorization: basicAuthorization(decodeURIComponent(username), decodeURIComponent(password)) };

function isText(encoded: string): boolean {
  try {
    decodeURIComponent(encoded);
    return true;
  } catch {
    return false;
  }
}
