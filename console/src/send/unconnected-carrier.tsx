/** Warns if the carrier that would take the message has no connection: the message would be accepted and wait. */
import type { JSX } from "preact";
import { reasonOf } from "../lib/link-reason.ts";
import { useResource } from "../lib/resource.ts";
import { Link } from "../lib/router.tsx";
import { useInterval } from "../lib/timing.ts";
import { useApi, useMay, useSession } from "../session/use-session.ts";
import { words } from "../lib/format.ts";

const REFRESH_MS = 10_000;
const UP: ReadonlySet<string> = new Set(["connected", "throttled"]);

/** `id`: the link that the service chose. Undefined if there is none. */
export function UnconnectedCarrier({ id }: { id: string | undefined }): JSX.Element | null {
  const api = useApi();
  // The simulator has no connection.
  const isLive = useSession().identity.environment === "live";
  const mayRead = useMay("links:read");
  const { data: link, reload } = useResource(isLive && mayRead ? (id ?? null) : null, (signal) => api.links.get(id ?? "", { signal }));
  const isDown = link !== undefined && !UP.has(link.state);
  useInterval(reload, isDown ? REFRESH_MS : null);
  if (!isDown) return null;
  const reason = reasonOf(link);
  return (
    <p class="notice bad" role="status">
      <span>
        The carrier <Link to={`carriers/${link.id}`}>{link.name}</Link> is not connected ({words(link.state)}
        {reason !== null && `: ${reason}`}). The message would wait until a carrier of its route is.
      </span>
    </p>
  );
}
