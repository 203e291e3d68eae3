/** The details of a delivery: the subject of its event, and its attempts with their responses. */
import type { DeliveryAttempt, GodwitEvent, WebhookDelivery } from "godwit-sdk";
import type { JSX } from "preact";
import { formatDuration, words } from "../lib/format.ts";
import { useResource } from "../lib/resource.ts";
import { Link } from "../lib/router.tsx";
import { useApi, useMay } from "../session/use-session.ts";
import { Facts } from "../ui/facts.tsx";
import { Ago, Moment } from "../ui/moment.tsx";
import { Problem } from "../ui/problem.tsx";
import { Table, type Column } from "../ui/table.tsx";

export const DeliveryDetail = ({ delivery }: { delivery: WebhookDelivery }): JSX.Element => (
  <div class="delivery-detail">
    <Facts
      rows={[
        ["Created", <Moment iso={delivery.created_at} />],
        ["Subject", WITH_PAGE.test(delivery.event_type) && <EventSubject eventId={delivery.event_id} />],
        ["Event", <code>{delivery.event_id}</code>],
        ["Delivery", <code>{delivery.id}</code>],
        ["Next attempt", delivery.next_attempt_at !== null && <Ago iso={delivery.next_attempt_at} />],
      ]}
    />
    {delivery.attempts.length === 0 ? (
      <p class="quiet">{delivery.status === "failed" ? "The delivery was canceled before its first attempt." : "No attempts yet."}</p>
    ) : (
      <Table label="Attempts" columns={COLUMNS} rows={delivery.attempts} keyOf={({ attempted_at: at }) => at} />
    )}
  </div>
);

/** Events whose record has a page here. */
const WITH_PAGE = /^(message|template|recipient)\./;

/** The subject of the event. The delivery does not contain it, so the event is fetched. */
function EventSubject({ eventId }: { eventId: string }): JSX.Element | null {
  const api = useApi();
  const mayRead = useMay("events:read");
  const { data, error } = useResource(mayRead ? `event ${eventId}` : null, (signal) => api.events.get(eventId, { signal }));
  if (!mayRead)
    return (
      <span class="quiet">
        requires the scope <code>events:read</code>
      </span>
    );
  if (data === undefined) return error === undefined ? <span class="quiet">Loading…</span> : <Problem error={error} />;
  return <SubjectLink of={data.data} />;
}

function SubjectLink({ of: { message, template, suppression } }: { of: GodwitEvent["data"] }): JSX.Element | null {
  if (message !== undefined) return <Link to={`messages/${message.id}`}>{message.id}</Link>;
  if (template !== undefined) return <Link to={`templates/${template.id}`}>{template.name}</Link>;
  if (suppression === undefined) return null;
  return (
    <Link to="suppressions" query={new URLSearchParams({ recipient: suppression.recipient })}>
      {suppression.recipient}
    </Link>
  );
}

const COLUMNS: readonly Column<DeliveryAttempt>[] = [
  { name: "When", cell: ({ attempted_at: at }) => <Moment iso={at} /> },
  { name: "Took", cell: ({ duration_ms: durationMs }) => formatDuration(durationMs) },
  { name: "Response", cell: ({ response_status: status, error }) => status ?? <span class="fault">{words(error ?? "none")}</span> },
  { name: "First bytes", cell: ({ response_body: body }) => <ResponseStart of={body} /> },
];

const ResponseStart = ({ of: body }: { of: string | null }): JSX.Element =>
  body === null || body === "" ? (
    <span class="quiet">{body === null ? "–" : "empty"}</span>
  ) : (
    <pre class="response" tabIndex={0} aria-label="First bytes of the response">
      {body}
    </pre>
  );
