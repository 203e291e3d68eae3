/** One delivery in the list: a summary line that opens to the details. */
import type { DeliveryAttempt, WebhookDelivery } from "godwit-sdk";
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { useAction } from "../lib/action.ts";
import { formatDuration, plural, words } from "../lib/format.ts";
import { useApi } from "../session/use-session.ts";
import { Ago } from "../ui/moment.tsx";
import { Problem } from "../ui/problem.tsx";
import { Status } from "../ui/status.tsx";
import { useToast } from "../ui/toast.tsx";
import { DeliveryDetail } from "./delivery-detail.tsx";

type RetryProps = { delivery: WebhookDelivery; onRetried: (delivery: WebhookDelivery) => void };
type ItemProps = RetryProps & { mayRetry: boolean; onToggle: (id: string, isOpen: boolean) => void };

export function DeliveryItem({ delivery, mayRetry, onRetried, onToggle }: ItemProps): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  const toggle = (isNowOpen: boolean): void => {
    setOpen(isNowOpen);
    onToggle(delivery.id, isNowOpen);
  };
  useEffect(() => () => onToggle(delivery.id, false), [delivery.id, onToggle]);
  return (
    <li>
      <details class="delivery" onToggle={(event) => toggle(event.currentTarget.open)}>
        <summary>
          <Summary of={delivery} />
        </summary>
        {isOpen && <DeliveryDetail delivery={delivery} />}
      </details>
      {mayRetry && <Retry delivery={delivery} onRetried={onRetried} />}
    </li>
  );
}

const Summary = ({
  of: { status, event_type: type, created_at: at, attempts, next_attempt_at: next },
}: {
  of: WebhookDelivery;
}): JSX.Element => (
  <span class="delivery-line">
    <Status of={status} />
    <strong>{type}</strong>
    <span class="quiet">
      <Ago iso={at} />
    </span>
    <span>{plural(attempts.length, "attempt")}</span>
    <span>{lastResponse(attempts.at(-1))}</span>
    <span class="quiet">
      {status === "pending" && next !== null && (
        <>
          next <Ago iso={next} />
        </>
      )}
    </span>
  </span>
);

function lastResponse(last: DeliveryAttempt | undefined): string {
  if (last === undefined) return "no attempts";
  const { response_status: status, error, duration_ms: durationMs } = last;
  return `${status ?? words(error ?? "no response")} after ${formatDuration(durationMs)}`;
}

function Retry({ delivery, onRetried }: RetryProps): JSX.Element {
  const api = useApi();
  const say = useToast();
  const action = useAction(async () => {
    onRetried(await api.webhookEndpoints.retry(delivery.endpoint_id, delivery.id));
    say(`${delivery.event_type} is retried now`);
  });
  return (
    <div class="retry">
      <button type="button" class="small" disabled={action.isRunning} onClick={() => void action.run()}>
        Retry <span class="unseen">{delivery.event_type}</span>
      </button>
      <Problem error={action.error} />
    </div>
  );
}
