/** The parameters of a request of the Kannel API, as bytes: of the query, or of the `X-Kannel-` headers of a POST. */
import type { IncomingHttpHeaders } from "node:http";

/** A text with a character for each byte, by its name in the query. */
export type Parameters = ReadonlyMap<string, string>;

/** The part of a request that has its parameters. */
type Head = { method: string; target: string; headers: IncomingHttpHeaders };

const HEADER = "x-kannel-";
const UDH = "x-kannel-udh";

const parsed = new WeakMap<IncomingHttpHeaders, Parameters>();

/** Reads each request once: the authentication and the handler have the same headers. */
export function parametersOf(head: Head): Parameters {
  let parameters = parsed.get(head.headers);
  if (parameters === undefined) {
    parameters = head.method === "POST" ? ofHeaders(head.headers) : ofQuery(head.target);
    parsed.set(head.headers, parameters);
  }
  return parameters;
}

function ofHeaders(headers: IncomingHttpHeaders): Parameters {
  const parameters = new Map<string, string>();
  for (const [name, value] of Object.entries(headers))
    if (name.startsWith(HEADER) && typeof value === "string")
      parameters.set(name.slice(HEADER.length), name === UDH ? fromHex(value) : value);
  return parameters;
}

// One byte that says that 255 bytes follow it.
const MALFORMED_UDH = "\xff";

/** A header cannot have bytes, so these have the digits of theirs. Other text becomes a user data header of the wrong length, which is refused. */
const fromHex = (text: string): string => (/^(?:[\da-f]{2})*$/i.test(text) ? Buffer.from(text, "hex").toString("latin1") : MALFORMED_UDH);

/** The first of several values counts, as in Kannel. */
function ofQuery(target: string): Parameters {
  const parameters = new Map<string, string>();
  const start = target.indexOf("?");
  if (start === -1) return parameters;
  for (const part of target.slice(start + 1).split("&")) {
    if (part === "") continue;
    const at = part.indexOf("=");
    const name = decode(at === -1 ? part : part.slice(0, at));
    if (!parameters.has(name)) parameters.set(name, at === -1 ? "" : decode(part.slice(at + 1)));
  }
  return parameters;
}

/** Decodes to a character for each byte. A percent sign without two digits stays. */
const decode = (text: string): string =>
  text.replaceAll(/\+|%[\da-f]{2}/gi, (found) => (found === "+" ? " " : String.fromCharCode(Number.parseInt(found.slice(1), 16))));

/** The text of bytes in UTF-8; bytes that are not UTF-8 become U+FFFD. */
export const asUtf8 = (bytes: string): string => Buffer.from(bytes, "latin1").toString("utf8");
