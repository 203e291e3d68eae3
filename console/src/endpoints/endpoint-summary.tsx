/** The status and the event types of an endpoint, for lists and facts. */
import type { WebhookEndpoint } from "godwit-sdk";
import type { JSX } from "preact";
import { Status } from "../ui/status.tsx";
import { ALL, namesAudit } from "./event-types.ts";

export const EndpointStatus = ({ of: { status, failing_since: failingSince } }: { of: WebhookEndpoint }): JSX.Element => (
  <Status of={status === "enabled" && failingSince !== null ? "failing" : status} />
);

export function EventTypes({ of: types }: { of: readonly string[] }): JSX.Element {
  if (types.includes(ALL)) return <>{namesAudit(types) ? "all events" : "all except the audit log"}</>;
  return (
    <ul class="words">
      {types.map((type) => (
        <li key={type}>
          <code>{type}</code>
        </li>
      ))}
    </ul>
  );
}
