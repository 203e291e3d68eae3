/** Decides which addresses may be connected to for customers: those of their webhooks, and of the carriers of links that they create. A
 *  name is looked up once for a connection, every address is checked, and the socket connects to the very address that was checked. The
 *  operator's own links connect anywhere and have no gate. */
import { parseBoundedUrl } from "../lib/urls.ts";
import { isIP } from "node:net";
import { hostOf, type AddressSet } from "../lib/addresses.ts";
import { isPublicAddress } from "./public-address.ts";
import { createResolve, type Resolve } from "./resolve.ts";

/** The operator's rules: addresses that may be connected to although they are not public, also without TLS, and addresses that never are.
 *  A network with its own NAT64 prefix denies that prefix, since its addresses lead to private ones and look public. */
export type AddressRules = { allow: AddressSet; deny: AddressSet };

/** The code of a connection that failed because its host has no allowed address. */
export const NOT_ALLOWED = "ADDRESS_NOT_ALLOWED";

const NOT_PUBLIC = "names an address that is not on the public internet";
// These names mean the machine itself wherever they are looked up (RFC 6761).
const LOCAL_NAME = /(?:^|\.)localhost\.?$/i;

// The addresses of a name that are tried.
const MAX_ADDRESSES = 4;

export class AddressGate {
  readonly #rules: AddressRules;
  readonly #resolve: Resolve;

  constructor(rules: AddressRules, resolve: Resolve = createResolve()) {
    this.#rules = rules;
    this.#resolve = resolve;
  }

  /** Returns why a URL may never be called, whatever its name resolves to; undefined when it may be. */
  urlRefusal(url: URL): string | undefined {
    const host = hostOf(url);
    const isTls = url.protocol === "https:";
    if (LOCAL_NAME.test(host) && this.#rules.allow.isEmpty) return NOT_PUBLIC;
    if (isIP(host) !== 0 && !this.#isAllowed(host, isTls)) return this.#isAllowed(host, true) ? "must be https" : NOT_PUBLIC;
    return isTls || !this.#rules.allow.isEmpty ? undefined : "must be https";
  }

  /** Returns why a host may never be connected to, whatever its name resolves to; undefined when it may be. */
  hostRefusal(host: string, isTls: boolean): string | undefined {
    const name = host.includes(":") ? `[${host}]` : host;
    const url = parseBoundedUrl(`${isTls ? "https" : "http"}://${name}`);
    if (url === null) return "is no host";
    const reason = this.urlRefusal(url);
    return reason === "must be https" ? "must be reached with TLS" : reason;
  }

  /** Returns the addresses of a host that may be connected to. A name without an address fails like one whose addresses are not allowed.
   *  Otherwise a customer could find out which names exist in the operator's network. */
  async addressesOf(host: string, isTls: boolean): Promise<readonly string[]> {
    const isName = isIP(host) === 0;
    const addresses = isName ? await this.#resolve(host) : [host];
    if (addresses.length === 0) throw notAllowed(`no address is known for ${host}`);
    const allowed = addresses.filter((address) => this.#isAllowed(address, isTls)).slice(0, MAX_ADDRESSES);
    if (allowed.length > 0) return allowed;
    throw notAllowed(isName ? `${host} is at ${addresses.slice(0, MAX_ADDRESSES).join(", ")}` : `${host} may not be connected to`);
  }

  /** Public addresses are reached only with TLS, addresses that the operator allows also without. */
  #isAllowed(address: string, isTls: boolean): boolean {
    const { allow, deny } = this.#rules;
    return !deny.has(address) && (allow.has(address) || (isTls && isPublicAddress(address)));
  }
}

const notAllowed = (message: string): Error => Object.assign(new Error(message), { code: NOT_ALLOWED });
