/** The list of an endpoint's deliveries. */
import type { WebhookDelivery } from "godwit-sdk";
import type { JSX } from "preact";
import { replaceQuery } from "../lib/router.tsx";
import { SelectField } from "../ui/field.tsx";
import { Empty, Loaded } from "../ui/page.tsx";
import { More } from "../ui/pages.tsx";
import { DeliveryItem } from "./delivery-item.tsx";
import type { Deliveries, DeliveryStatus } from "./use-deliveries.ts";

const OPTIONS = [
  ["", "Any"],
  ["pending", "Pending"],
  ["succeeded", "Succeeded"],
  ["failed", "Failed"],
] as const satisfies (readonly [DeliveryStatus | "", string])[];

type DeliveriesProps = { deliveries: Deliveries; status: DeliveryStatus | undefined; mayRetry: boolean };

export function DeliveryList({ deliveries: { list, isTooLong, setOpen }, status, mayRetry }: DeliveriesProps): JSX.Element {
  const { resource } = list;
  const onRetried = (retried: WebhookDelivery): void =>
    resource.set((before) => before && { ...before, items: before.items.map((item) => (item.id === retried.id ? retried : item)) });
  return (
    <section class="card" aria-labelledby="deliveries">
      <div class="card-head">
        <h2 id="deliveries">Deliveries</h2>
        <div class="card-filter">
          <SelectField
            label="Status"
            value={status ?? ""}
            options={OPTIONS}
            onValue={(chosen) => replaceQuery(new URLSearchParams(chosen === "" ? {} : { status: chosen }))}
          />
        </div>
      </div>
      <Loaded resource={resource}>
        {({ items, cursor }) =>
          items.length === 0 ? (
            <NoDelivery status={status} isLast={cursor === null} />
          ) : (
            <ul class="deliveries" aria-label="Deliveries">
              {items.map((delivery) => (
                <DeliveryItem key={delivery.id} delivery={delivery} mayRetry={mayRetry} onRetried={onRetried} onToggle={setOpen} />
              ))}
            </ul>
          )
        }
      </Loaded>
      {isTooLong && (
        <p class="hint">
          A list of this length is not refreshed automatically.{" "}
          <button type="button" class="as-link" onClick={resource.reload}>
            Refresh from the top
          </button>
        </p>
      )}
      <More list={list} />
    </section>
  );
}

function NoDelivery({ status, isLast }: { status: string | undefined; isLast: boolean }): JSX.Element {
  if (!isLast) return <Empty title={`No match among the latest deliveries`} />;
  return (
    <Empty title={status === undefined ? "No deliveries yet" : `No ${status} deliveries`}>
      {status === undefined && (
        <p>An event is listed here from its first attempt on. A test event shows whether the endpoint can be reached.</p>
      )}
    </Empty>
  );
}
