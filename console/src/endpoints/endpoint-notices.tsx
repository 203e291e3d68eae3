/** Notices at the top of the endpoint page: the endpoint is disabled, is failing, or has a recovery in progress. */
import type { WebhookEndpoint } from "godwit-sdk";
import type { JSX } from "preact";
import { useRef } from "preact/hooks";
import { words } from "../lib/format.ts";
import { Ago, Moment } from "../ui/moment.tsx";

export function EndpointNotices({ endpoint }: { endpoint: WebhookEndpoint }): JSX.Element {
  const { status, disabled_reason: reason, failing_since: failingSince, recovery } = endpoint;
  return (
    <>
      {status === "disabled" && <Disabled reason={reason} />}
      {status !== "disabled" && failingSince !== null && <Failing since={failingSince} />}
      {recovery !== null && <Recovering recovery={recovery} />}
    </>
  );
}

const REASONS: Readonly<Record<string, string>> = {
  requested: "It was disabled on request.",
  gone: "It was disabled because it responded with 410 (gone).",
  failing: "It was disabled after five days in which every delivery failed.",
};

const Disabled = ({ reason }: { reason: string | null }): JSX.Element => (
  <div class="notice" role="status">
    <p>
      <strong>This endpoint receives no events.</strong> {reason !== null && (REASONS[reason] ?? `It was disabled: ${words(reason)}.`)}{" "}
      After you enable it again, Recover delivers the missed events.
    </p>
  </div>
);

const Failing = ({ since }: { since: string }): JSX.Element => (
  <div class="notice bad" role="status">
    <p>
      <strong>
        All deliveries have failed since <Moment iso={since} />
      </strong>{" "}
      (<Ago iso={since} />
      ). After five days of failures the endpoint is disabled. The deliveries below show its responses.
    </p>
  </div>
);

type Recovery = NonNullable<WebhookEndpoint["recovery"]>;

/** The API returns the progress but not the start. The bar starts where this page first saw the recovery. */
function Recovering({ recovery: { reached, until } }: { recovery: Recovery }): JSX.Element {
  const { current: first } = useRef(Date.parse(reached));
  const whole = Math.max(1, Date.parse(until) - first);
  const done = Math.min(whole, Date.parse(reached) - first);
  return (
    <div class="notice" role="status">
      <p>
        <strong>A recovery is in progress.</strong> Events up to <Moment iso={reached} /> have been checked; it continues to{" "}
        <Moment iso={until} />.
      </p>
      <progress aria-label="Recovery" max={whole} value={done > 0 ? done : undefined} />
    </div>
  );
}
