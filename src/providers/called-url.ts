/** The ways to write the URL that a carrier called. A carrier signs the URL as it was entered there, and that text does not reach us: HTTP
 *  clients write hosts in small letters, leave out ports, and send credentials as a header. */
import { requireUrl } from "../lib/urls.ts";
import type { CarrierRequest } from "./provider.ts";

// Longer credentials are not part of a signed URL.
const MAX_CREDENTIALS = 200;
const URL_START = /^(https?:\/\/)([^/?#]*@)?(\[[^\]]*\]|[^/?#:]*)(:\d+)?/i;

/** All ways to write `url`: with its own credentials, those of the request or none, with its host as written, as the request names it, in small
 *  letters or in capitals, and with or without its port or the standard port. */
export function waysToWrite(url: string, request: Pick<CarrierRequest, "url" | "headers">): string[] {
  const { start, scheme, credentials, host, port } = partsOf(url);
  const named = partsOf(request.url).host;
  const hosts = new Set([host, host.toLowerCase(), host.toUpperCase(), ...(named.toLowerCase() === host.toLowerCase() ? [named] : [])]);
  const users = new Set([credentials, "", ...sentCredentials(request.headers)]);
  const ports = [port, port === "" ? (scheme.toLowerCase() === "https://" ? ":443" : ":80") : ""];
  const rest = url.slice(start.length);
  return [...users].flatMap((user) => [...hosts].flatMap((name) => ports.map((each) => scheme + user + name + each + rest)));
}

function partsOf(url: string): Record<"start" | "scheme" | "credentials" | "host" | "port", string> {
  const [start = "", scheme = "", credentials = "", host = "", port = ""] = URL_START.exec(url) ?? [];
  return { start, scheme, credentials, host, port };
}

/** The credentials of the request in the forms that they may have in a URL. The header has them decoded, and people encode more or fewer
 *  characters. */
function sentCredentials({ authorization = "" }: CarrierRequest["headers"]): string[] {
  const [, encoded] = authorization.length <= MAX_CREDENTIALS ? (/^basic ([\w+/=-]+)$/i.exec(authorization) ?? []) : [];
  if (encoded === undefined) return [];
  const pair = Buffer.from(encoded, "base64").toString();
  const [user = "", ...rest] = pair.split(":");
  const encodings = [(text: string) => text, asParserEncodes, encodeURIComponent, encodeStrictly];
  return encodings.map((encode) => `${[user, ...(pair.includes(":") ? [rest.join(":")] : [])].map(encode).join(":")}@`);
}

/** Encodes only the characters that a URL cannot have there, as parsers of URLs do. */
function asParserEncodes(text: string): string {
  const url = requireUrl("https://host");
  url.username = text;
  return url.username;
}

/** Encodes all characters that RFC 3986 reserves. */
const encodeStrictly = (text: string): string =>
  encodeURIComponent(text).replaceAll(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);
