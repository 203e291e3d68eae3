/** The webhook deliveries of a message's events. */
import type { TimelineEntry, WebhookDelivery } from "godwit-sdk";
import type { JSX } from "preact";
import { useAction } from "../lib/action.ts";
import { formatDuration, words } from "../lib/format.ts";
import { useResource } from "../lib/resource.ts";
import { Link } from "../lib/router.tsx";
import { useInterval, useOnChange } from "../lib/timing.ts";
import { useApi, useMay } from "../session/use-session.ts";
import { Ago } from "../ui/moment.tsx";
import { Empty, Loaded } from "../ui/page.tsx";
import { Problem } from "../ui/problem.tsx";
import { Status } from "../ui/status.tsx";
import { Table, type Column } from "../ui/table.tsx";
import { useToast } from "../ui/toast.tsx";

const REFRESH_MS = 3_000;
// Each event costs one request. A message has about five events; a message that was throttled often has many, and only the last matter.
const MAX_EVENTS = 20;

/** A delivery that waits for hours does not need a refresh every three seconds. */
const isDueSoon = ({ status, next_attempt_at: next }: WebhookDelivery): boolean =>
  status === "pending" && (next === null || Date.parse(next) - Date.now() < 2 * REFRESH_MS);

/** Whether the entry is an event with deliveries. Endpoints are not notified of a redaction. */
const isEvent = ({ ignored, type }: TimelineEntry): boolean => !ignored && type.startsWith("message.") && type !== "message.redacted";

export function MessageDeliveries({ entries }: { entries: readonly TimelineEntry[] }): JSX.Element {
  const api = useApi();
  const say = useToast();
  const mayWrite = useMay("webhooks:write");
  const eventIds = entries
    .filter(isEvent)
    .slice(-MAX_EVENTS)
    .map(({ id }) => id);
  const deliveries = useResource(entries.length === 0 ? null : "deliveries", async (signal) => {
    const pages = await Promise.all(eventIds.map((id) => api.events.deliveries(id, { signal }).page()));
    return pages.flatMap(({ data }) => data);
  });
  useOnChange(eventIds.join(" "), deliveries.reload);
  useInterval(deliveries.reload, deliveries.data?.some(isDueSoon) === true ? REFRESH_MS : null);
  const retry = useAction(async (delivery: WebhookDelivery) => {
    await api.webhookEndpoints.retry(delivery.endpoint_id, delivery.id);
    say("The delivery is retried now");
    deliveries.reload();
  });
  return (
    <section class="card" aria-label="Webhook deliveries">
      <h2>Webhook deliveries</h2>
      <Problem error={retry.error} />
      <Loaded resource={deliveries} lines={2}>
        {(rows) =>
          rows.length === 0 ? (
            <Empty title="No webhook deliveries">
              <p>
                Endpoints are on the page <Link to="endpoints">Webhooks</Link>.
              </p>
            </Empty>
          ) : (
            <Table
              label="Webhook deliveries"
              columns={[...COLUMNS, ...(mayWrite ? [retryColumn((delivery) => void retry.run(delivery), retry.isRunning)] : [])]}
              rows={rows}
              keyOf={({ id }) => id}
            />
          )
        }
      </Loaded>
    </section>
  );
}

const COLUMNS: readonly Column<WebhookDelivery>[] = [
  { name: "Event", cell: ({ event_type: type }) => type },
  { name: "Status", cell: ({ status }) => <Status of={status} /> },
  { name: "Last response", cell: ({ attempts }) => <LastResponse attempt={attempts.at(-1)} /> },
  { name: "Attempts", isNumber: true, cell: ({ attempts }) => attempts.length },
  { name: "Next", cell: ({ next_attempt_at: at }) => (at === null ? <span class="quiet">–</span> : <Ago iso={at} />) },
  { name: "Endpoint", cell: ({ endpoint_id: id }) => <Link to={`endpoints/${id}`}>open</Link> },
];

const retryColumn = (onRetry: (delivery: WebhookDelivery) => void, isRunning: boolean): Column<WebhookDelivery> => ({
  name: "Actions",
  isAction: true,
  cell: (delivery) => (
    <button type="button" class="small" disabled={isRunning} onClick={() => onRetry(delivery)}>
      Retry
    </button>
  ),
});

function LastResponse({ attempt }: { attempt: WebhookDelivery["attempts"][number] | undefined }): JSX.Element {
  if (attempt === undefined) return <span class="quiet">none yet</span>;
  const { response_status: status, duration_ms: took, error, response_body: body } = attempt;
  return (
    <>
      {status ?? words(error ?? "no response")} <span class="quiet">after {formatDuration(took)}</span>
      {body !== null && body !== "" && <span class="said">{body}</span>}
    </>
  );
}
