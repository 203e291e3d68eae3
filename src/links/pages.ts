/** The pages that carriers call over HTTP: /providers/{provider}/{link}. Carriers have no API key; each provider checks its own
 *  signature. Any node can handle a call. */
import type { Page } from "../api/page.ts";
import { Problem } from "../http/problem.ts";
import type { Host, Provider } from "../providers/provider.ts";
import type { LinkChooser } from "./choose-links.ts";
import type { Link } from "./link.ts";

export type CarrierPagesParts = {
  linkChooser: LinkChooser;
  providers: Readonly<Record<string, Provider<never>>>;
  hostFor: (link: Link) => Host;
};

/** Carriers send batches of some hundred kilobytes at most. */
export const MAX_CARRIER_BODY_BYTES = 1_048_576;

export const carrierPages = ({ linkChooser, providers, hostFor }: CarrierPagesParts): Page[] =>
  (["GET", "POST"] as const).map((method) => ({
    method,
    path: "/providers/{provider}/{link}",
    maxBodyBytes: MAX_CARRIER_BODY_BYTES,
    render: async ({ params: { provider: name = "", link: linkName = "" }, query, headers, url, body }) => {
      const link = linkChooser.find(linkName);
      const provider = link?.provider === name ? providers[name] : undefined;
      // An unknown link, and a link whose provider accepts no HTTP calls, look like any unknown path.
      if (link === undefined || provider?.handleRequest === undefined) throw new Problem("not_found", { detail: "no such path" });
      return provider.handleRequest(link.settings as never, { method, url, query, headers, body }, hostFor(link));
    },
  }));
