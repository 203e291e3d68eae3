/** The links to carriers with their states and errors. */
import type { Link as CarrierLink } from "godwit-sdk";
import type { JSX } from "preact";
import { useResource } from "../lib/resource.ts";
import { useInterval } from "../lib/timing.ts";
import { useApi, useSession } from "../session/use-session.ts";
import { Empty, Loaded, Page } from "../ui/page.tsx";
import { LinkCard } from "./link-card.tsx";

const REFRESH_MS = 5_000;

export function LinksPage(): JSX.Element {
  const api = useApi();
  const isTest = useSession().identity.environment === "test";
  // No retries: the page refreshes soon anyway, and an outage is shown immediately.
  const links = useResource("links", (signal) => api.links.list({ signal, maxRetries: 0 }));
  useInterval(links.reload, links.isLoading ? null : REFRESH_MS);
  return (
    <Page title="Links" lead="How each connection to a carrier is doing, as the nodes that have it open said within the last seconds.">
      {isTest && (
        <p class="notice">
          <span>
            The test environment always takes the simulator: no message leaves this service, whatever the configuration has. The links of
            the configuration are shown to a live key. <a href="/docs/links">About links</a>
          </span>
        </p>
      )}
      <Loaded resource={links}>{({ data }) => (data.length === 0 ? <NoLinks /> : <LinkCards links={data} />)}</Loaded>
    </Page>
  );
}

const LinkCards = ({ links }: { links: readonly CarrierLink[] }): JSX.Element => (
  <ul class="link-cards" aria-label="Links">
    {links.map((link) => (
      <LinkCard key={link.name} link={link} />
    ))}
  </ul>
);

const NoLinks = (): JSX.Element => (
  <section class="card" aria-label="Links">
    <Empty title="There are no links">
      <p>
        Live messages go by the links of the configuration file, and it has none. <a href="/docs/links">How to write them</a>
      </p>
    </Empty>
  </section>
);
