/** The pages that carriers call over HTTP: /providers/{provider}/{link}. Carriers have no API key; each provider checks its own
 *  signature. Any node can handle a call. */
import type { Page } from "../api/page.ts";
import { Problem } from "../http/problem.ts";
import type { Host, Provider } from "../providers/provider.ts";
import type { LinkDirectory } from "./directory.ts";
import { isSameAccount, type Link } from "./link.ts";

export type CarrierPagesParts = {
  linkDirectory: LinkDirectory;
  providers: Readonly<Record<string, Provider<never>>>;
  hostFor: (link: Link) => Host;
};

/** WhatsApp sends batches of some hundred kilobytes at most. */
export const MAX_CARRIER_BODY_BYTES = 1_048_576;
const DEFAULT_BODY_BYTES = 65_536;
const DEFAULT_METHODS: readonly ("GET" | "POST")[] = ["POST"];

export function carrierPages({ linkDirectory, providers, hostFor }: CarrierPagesParts): Page[] {
  /** The link of a path, with its provider. An unknown link, a link whose provider accepts no HTTP calls, and a method that the provider
   *  does not handle look like any unknown path. */
  const find = (method: "GET" | "POST", { provider: name = "", link: linkName = "" }: Record<string, string>) => {
    const link = linkDirectory.current.find(linkName);
    const provider = link?.provider === name ? providers[name] : undefined;
    const { requestMethods = DEFAULT_METHODS, maxRequestBytes = DEFAULT_BODY_BYTES } = provider ?? {};
    if (link === undefined || provider?.handleRequest === undefined || !requestMethods.includes(method))
      throw new Problem("not_found", { detail: "no such path" });
    return { link, maxBodyBytes: maxRequestBytes, handle: provider.handleRequest.bind(provider) };
  };
  /** The links of the same provider and owner: the secret of one account says nothing about the links of another. */
  const linksBeside = ({ provider, accountId }: Link) =>
    linkDirectory.current.links
      .filter((link) => link.provider === provider && isSameAccount(link.accountId, accountId))
      .map((link) => ({ name: link.name, settings: link.settings as never, host: hostFor(link) }));
  return (["GET", "POST"] as const).map((method) => ({
    method,
    path: "/providers/{provider}/{link}",
    maxBodyBytes: MAX_CARRIER_BODY_BYTES,
    admit: ({ params }) => ({ maxBodyBytes: find(method, params).maxBodyBytes }),
    render: async ({ params, query, headers, url, body }) => {
      // Found again: the configuration may have been reloaded while the body arrived.
      const { link, handle } = find(method, params);
      return handle(link.settings as never, { method, url, query, headers, body }, hostFor(link), () => linksBeside(link));
    },
  }));
}
