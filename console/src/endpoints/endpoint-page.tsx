/** The page of one endpoint: its state, its actions and its deliveries. */
import type { WebhookEndpoint } from "godwit-sdk";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { useAction } from "../lib/action.ts";
import { endpointName } from "../lib/format.ts";
import { useResource, type Resource } from "../lib/resource.ts";
import { Link, useAddress } from "../lib/router.tsx";
import { useInterval } from "../lib/timing.ts";
import { useApi, useMay } from "../session/use-session.ts";
import { Loaded, Page } from "../ui/page.tsx";
import { Problem } from "../ui/problem.tsx";
import { useToast } from "../ui/toast.tsx";
import { DeliveryList } from "./deliveries.tsx";
import { EndpointButtons } from "./endpoint-buttons.tsx";
import { EndpointDialog, type DialogName } from "./endpoint-dialogs.tsx";
import { EndpointFacts } from "./endpoint-facts.tsx";
import { EndpointNotices } from "./endpoint-notices.tsx";
import { STATUSES, useDeliveries } from "./use-deliveries.ts";

const IDLE_MS = 10_000;
const RECOVERING_MS = 1_500;
// An attempt without a response ends after 15 seconds and is listed then. Twelve refreshes cover that time.
const REFRESHES_AFTER_TEST = 12;
const REFRESHES_AFTER_CHANGE = 3;

export function EndpointPage({ id }: { id: string }): JSX.Element {
  const api = useApi();
  const resource = useResource(`endpoint ${id}`, (signal) => api.webhookEndpoints.get(id, { signal }));
  const { data, isLoading, reload } = resource;
  useInterval(() => void (isLoading || reload()), data === undefined ? null : data.recovery === null ? IDLE_MS : RECOVERING_MS);
  if (data !== undefined) return <LoadedEndpoint endpoint={data} resource={resource} />;
  return (
    <Page title="Endpoint" lead={<AllEndpoints />}>
      <Loaded resource={resource}>{() => null}</Loaded>
    </Page>
  );
}

const AllEndpoints = (): JSX.Element => <Link to="endpoints">All endpoints</Link>;

function LoadedEndpoint({ endpoint, resource }: { endpoint: WebhookEndpoint; resource: Resource<WebhookEndpoint> }): JSX.Element {
  const api = useApi();
  const say = useToast();
  const mayWrite = useMay("webhooks:write");
  const { query } = useAddress();
  const status = STATUSES.find((each) => each === query.get("status"));
  const deliveries = useDeliveries(endpoint, status);
  const [dialog, setDialog] = useState<DialogName | undefined>(undefined);
  const onChanged = (changed: WebhookEndpoint): void => {
    resource.set(() => changed);
    deliveries.refreshSoon(REFRESHES_AFTER_CHANGE);
  };
  const test = useAction(async () => {
    await api.webhookEndpoints.test(endpoint.id);
    say("A test event was sent");
    deliveries.refreshSoon(REFRESHES_AFTER_TEST);
  });
  const enable = useAction(async () => {
    onChanged(await api.webhookEndpoints.edit(endpoint.id, { status: "enabled" }));
    say("The endpoint is enabled");
  });
  return (
    <Page
      title={endpointName(endpoint)}
      lead={<AllEndpoints />}
      actions={mayWrite && <EndpointButtons isEnabled={endpoint.status === "enabled"} test={test} enable={enable} onOpen={setDialog} />}
    >
      <Problem error={resource.error ?? test.error ?? enable.error} />
      <EndpointNotices endpoint={endpoint} />
      <EndpointFacts endpoint={endpoint} />
      <DeliveryList deliveries={deliveries} status={status} mayRetry={mayWrite && endpoint.status === "enabled"} />
      {dialog !== undefined && (
        <EndpointDialog dialog={dialog} endpoint={endpoint} onChanged={onChanged} onClose={() => setDialog(undefined)} />
      )}
    </Page>
  );
}
