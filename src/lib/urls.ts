/** URLs in texts of others, with a bound in front of the parser. */

/** The longest URL that is parsed and stored. */
export const MAX_URL_LENGTH = 2_048;
// A host of 253 characters, its port, a user and a password. The parser converts the letters of other scripts in a host in a time that grows
// with the square of their number.
const MAX_AUTHORITY_LENGTH = 512;

/** Null for a text that is no URL, has white space or control characters, or is longer than any URL that is stored. */
export function parseBoundedUrl(text: string): URL | null {
  if (text.length > MAX_URL_LENGTH || /[\s\p{Cc}]/u.test(text)) return null;
  // The parser takes any number of slashes and backslashes before a host.
  const [, authority = ""] = /^[a-z][a-z\d+.-]*:[/\\]*([^/\\?#]*)/i.exec(text) ?? [];
  return authority.length > MAX_AUTHORITY_LENGTH ? null : URL.parse(text);
}

/** The URL of a text that may be a path below another URL. Null as for `parseBoundedUrl`, and for a text that names a host without a scheme. */
export function resolveUrl(text: string, base: URL): URL | null {
  if (/^([a-z][a-z\d+.-]*:|[/\\]{2})/i.test(text)) return parseBoundedUrl(text);
  return text.length > MAX_URL_LENGTH || /[\s\p{Cc}]/u.test(text) ? null : URL.parse(text, base.href);
}

/** The URL of a text that was checked before. Throws if it is none. */
export function requireUrl(text: string): URL {
  const url = parseBoundedUrl(text);
  if (url === null) throw new TypeError("the text is no URL, or is too long for one");
  return url;
}

/** The part of a URL before its query and its fragment. */
export const withoutQuery = (url: string): string => url.split(/[?#]/, 1)[0] ?? "";

export function withoutFinalSlashes(text: string): string {
  let end = text.length;
  while (text[end - 1] === "/") end -= 1;
  return text.slice(0, end);
}
