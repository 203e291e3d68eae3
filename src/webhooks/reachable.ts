/** Which URLs may be called: https on the public internet, and what the operator allows besides, also in the clear. */
import { isIP } from "node:net";
import type { AddressSet } from "../lib/addresses.ts";
import { isPublicAddress } from "../lib/public-address.ts";

/** Why a URL may never be called, whatever its name resolves to; undefined when it may be. */
export function urlRefusal(url: URL, allow: AddressSet): string | undefined {
  const host = hostOf(url);
  if (isIP(host) !== 0 && !isAllowed(host, url.protocol, allow))
    return isAllowed(host, "https:", allow) ? "must be https" : "names an address that is not on the public internet";
  if (url.protocol === "http:" && allow.isEmpty) return "must be https";
  return undefined;
}

const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[|\]$/g, "");

/** The clear is for what the operator allowed; the public internet is for TLS alone. */
export const isAllowed = (address: string, protocol: string, allow: AddressSet): boolean =>
  allow.has(address) || (protocol === "https:" && isPublicAddress(address));
