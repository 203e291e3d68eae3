/** The list of carriers, each link with its state, limits and last error, and the routes among them. */
import type { Link as CarrierLink } from "godwit-sdk";
import type { JSX } from "preact";
import { formatCount } from "../lib/format.ts";
import { useResource } from "../lib/resource.ts";
import { Link } from "../lib/router.tsx";
import { useInterval } from "../lib/timing.ts";
import { useApi, useMay, useSession } from "../session/use-session.ts";
import { Empty, Loaded, Page } from "../ui/page.tsx";
import { Table, type Column } from "../ui/table.tsx";
import {
  CarrierState,
  carrierTitle,
  deliveryRateOf,
  isOfOperator,
  LastError,
  PauseButton,
  rateOf,
  receiptTimeOf,
  windowOf,
} from "./carrier-state.tsx";
import { LiveKey } from "../ui/live-key.tsx";
import { ReadOnly } from "./read-only.tsx";
import { RoutesCard } from "./routes-card.tsx";

const REFRESH_MS = 5_000;

export function CarriersPage(): JSX.Element {
  const api = useApi();
  const isTest = useSession().identity.environment === "test";
  const mayWrite = useMay("links:write") && !isTest;
  // No retries: the page refreshes soon anyway, and an outage is shown immediately.
  const links = useResource("links", (signal) => api.links.list({ signal, maxRetries: 0 }));
  useInterval(links.reload, links.isLoading ? null : REFRESH_MS);
  const columns = mayWrite ? [...COLUMNS, pauseColumn(links.reload)] : COLUMNS;
  return (
    <Page
      title="Carriers"
      lead="Connections to carriers, as the nodes reported them within the last seconds."
      actions={
        mayWrite && (
          <Link to="carriers/new" class="button primary">
            Add a carrier
          </Link>
        )
      }
    >
      {isTest ? <TestNotice /> : !mayWrite && <ReadOnly />}
      <section class="card" aria-label="Carriers">
        <Loaded resource={links}>
          {({ data }) =>
            data.length === 0 ? (
              <NoCarriers mayWrite={mayWrite} />
            ) : (
              <Table label="Carriers" columns={columns} rows={data} keyOf={({ id }) => id} />
            )
          }
        </Loaded>
      </section>
      {!isTest && links.data !== undefined && links.data.data.length > 0 && <RoutesCard links={links.data.data} mayChange={mayWrite} />}
    </Page>
  );
}

const COLUMNS: readonly Column<CarrierLink>[] = [
  {
    name: "Name",
    isRecord: true,
    cell: (link) => (
      <>
        <Link to={`carriers/${link.id}`} class="strong">
          {link.name}
        </Link>{" "}
        {isOfOperator(link) && <span class="quiet">configured by the operator</span>}
      </>
    ),
  },
  { name: "Carrier", cell: carrierTitle, isShort: true },
  { name: "State", cell: (link) => <CarrierState of={link} /> },
  { name: "Rate", cell: rateOf, isShort: true },
  { name: "Window", cell: windowOf, isNumber: true },
  { name: "In flight", cell: ({ in_flight: count }) => formatCount(count), isNumber: true },
  { name: "Delivered", cell: deliveryRateOf, isNumber: true },
  { name: "Time to receipt", cell: receiptTimeOf, isNumber: true },
  { name: "Last error", cell: (link) => <LastError of={link} /> },
];

const pauseColumn = (onChanged: () => void): Column<CarrierLink> => ({
  name: "Actions",
  isAction: true,
  cell: (link) => !isOfOperator(link) && <PauseButton of={link} onChanged={onChanged} />,
});

const TestNotice = (): JSX.Element => (
  <details class="notice">
    <summary>The test environment uses the simulator: no message leaves this service. Carriers belong to live.</summary>
    <LiveKey />
  </details>
);

const NoCarriers = ({ mayWrite }: { mayWrite: boolean }): JSX.Element => (
  <Empty title="No carrier is connected">
    <p>Live messages need a carrier. Choose one, enter its account data, and test the connection.</p>
    {mayWrite ? (
      <p>
        <Link to="carriers/new">Add a carrier</Link>
      </p>
    ) : (
      <p>
        The operator can also write carriers into the configuration file. <a href="/docs/links">About links</a>
      </p>
    )}
  </Empty>
);
