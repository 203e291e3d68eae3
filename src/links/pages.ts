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

export function carrierPages({ linkChooser, providers, hostFor }: CarrierPagesParts): Page[] {
  /** The link of a path, with the handler of its provider. An unknown link, a link whose provider accepts no HTTP calls, and a method that
   *  the provider does not handle look like any unknown path. */
  const find = (method: "GET" | "POST", { provider: name = "", link: linkName = "" }: Record<string, string>) => {
    const link = linkChooser.find(linkName);
    const provider = link?.provider === name ? providers[name] : undefined;
    const isHandled = provider?.requestMethods?.includes(method) === true;
    if (link === undefined || !isHandled || provider.handleRequest === undefined)
      throw new Problem("not_found", { detail: "no such path" });
    return { link, handle: provider.handleRequest.bind(provider) };
  };
  return (["GET", "POST"] as const).map((method) => ({
    method,
    path: "/providers/{provider}/{link}",
    maxBodyBytes: MAX_CARRIER_BODY_BYTES,
    admit: ({ params }) => {
      find(method, params);
      return { maxBodyBytes: MAX_CARRIER_BODY_BYTES };
    },
    render: async ({ params, query, headers, url, body }) => {
      // Found again: the configuration may have been reloaded while the body arrived.
      const { link, handle } = find(method, params);
      return handle(link.settings as never, { method, url, query, headers, body }, hostFor(link));
    },
  }));
}
