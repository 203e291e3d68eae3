/** The networks that the links of accounts may connect to: the same rules as for webhooks. The operator's own links connect anywhere. */
import type { LookupFunction } from "node:net";
import { checkedLookup, hostRefusal, type AddressRules, type Resolve } from "../outbound/resolve.ts";

export class LinkNetwork {
  readonly #rules: AddressRules;
  readonly #secure: LookupFunction;
  readonly #plain: LookupFunction;

  constructor(rules: AddressRules, resolve: Resolve) {
    this.#rules = rules;
    this.#secure = checkedLookup(rules, resolve, "https:");
    this.#plain = checkedLookup(rules, resolve, "http:");
  }

  /** Why a host may not be connected to; undefined when it may be, as far as that is known before its name is looked up. */
  refusal(host: string, isTls: boolean): string | undefined {
    return hostRefusal(host, isTls, this.#rules);
  }

  /** The look-up of sockets, always the same function: links with equal settings are equal. */
  lookup(isTls: boolean): LookupFunction {
    return isTls ? this.#secure : this.#plain;
  }
}
