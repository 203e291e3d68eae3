/** Where carriers that speak HTTP speak to us: /providers/{provider}/{link}. They have no credential of ours; each provider checks a
 *  signature of its own. Whatever node they reach takes what they say. */
import { Problem } from "../http/problem.ts";
import type { CarrierReply, CarrierRequest, Host, Provider } from "../providers/provider.ts";
import type { Link } from "./link.ts";
import type { LinkChooser } from "./choose-links.ts";

export type ReceiverParts = {
  linkChooser: LinkChooser;
  providers: Readonly<Record<string, Provider<never>>>;
  hostFor: (link: Link) => Host;
};

/** What carriers send comes in batches, of some hundred kilobytes at most. */
export const MAX_CARRIER_BODY_BYTES = 1_048_576;

export class Receiver {
  readonly #parts: ReceiverParts;

  constructor(parts: ReceiverParts) {
    this.#parts = parts;
  }

  /** A link that is not there, or takes nothing over HTTP, is no path of ours. */
  async answer(
    { provider: name = "", link: linkName = "" }: Readonly<Record<string, string>>,
    request: CarrierRequest,
  ): Promise<CarrierReply> {
    const { linkChooser, providers, hostFor } = this.#parts;
    const link = linkChooser.find(linkName);
    const provider = link?.provider === name ? providers[name] : undefined;
    if (link === undefined || provider?.answer === undefined) throw new Problem("not_found", { detail: "no such path" });
    return provider.answer(link.settings as never, request, hostFor(link));
  }
}
