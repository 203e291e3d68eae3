/** The carriers with their states. */
import type { JSX } from "preact";
import { reasonOf } from "../lib/link-reason.ts";
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
    <section class="card" aria-label="Carriers">
      <div class="card-head">
        <h2>Carriers</h2>
        <Link to="carriers">All</Link>
      </div>
      <Loaded resource={links} lines={2}>
        {(all) =>
          all.length === 0 ? (
            <Empty title="No carrier is connected" />
          ) : (
            <ul class="plain-list">
              {all.map((link) => (
                <li key={link.id}>
                  <span>
                    <Link to={`carriers/${link.id}`} class="strong">
                      {link.name}
                    </Link>{" "}
                    <span class="quiet">{reasonOf(link)}</span>
                  </span>
                  <Status of={link.state} />
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
    </section>
  );
}
