/** The links to carriers with their states. */
import type { JSX } from "preact";
import { useResource } from "../lib/resource.ts";
import { Link } from "../lib/router.tsx";
import { useInterval } from "../lib/timing.ts";
import { useApi } from "../session/use-session.ts";
import { Empty, Loaded } from "../ui/page.tsx";
import { Status } from "../ui/status.tsx";

const REFRESH_MS = 10_000;

export function LinkStates(): JSX.Element {
  const api = useApi();
  const links = useResource("links", async (signal) => (await api.links.list({ signal })).data);
  useInterval(links.reload, REFRESH_MS);
  return (
    <section class="card" aria-label="Links">
      <div class="card-head">
        <h2>Links</h2>
        <Link to="links">All</Link>
      </div>
      <Loaded resource={links} lines={2}>
        {(all) =>
          all.length === 0 ? (
            <Empty title="No link is configured" />
          ) : (
            <ul class="plain-list">
              {all.map(({ name, state, reason }) => (
                <li key={name}>
                  <span>
                    <strong>{name}</strong> {reason !== null && <span class="quiet">{reason}</span>}
                  </span>
                  <Status of={state} />
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
    </section>
  );
}
