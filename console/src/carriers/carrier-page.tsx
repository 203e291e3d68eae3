/** The page of one carrier: its state and settings, the test of its connection, its callback URL and its senders. */
import type { Link as CarrierLink } from "godwit-sdk";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { useResource, type Resource } from "../lib/resource.ts";
import { Link } from "../lib/router.tsx";
import { useInterval } from "../lib/timing.ts";
import { useApi, useMay } from "../session/use-session.ts";
import { Loaded, Needs, Page } from "../ui/page.tsx";
import { Problem } from "../ui/problem.tsx";
import { AddCarrierPage } from "./add-carrier.tsx";
import { CallbackCard } from "./callback-card.tsx";
import { CarrierFacts, CarrierSettings } from "./carrier-facts.tsx";
import { isOfOperator, PauseButton } from "./carrier-state.tsx";
import { ChangeCarrier } from "./change-carrier.tsx";
import { DeleteCarrier } from "./delete-carrier.tsx";
import { FirstMessage } from "./first-message.tsx";
import { ReadOnly } from "./read-only.tsx";
import { SendersCard } from "./senders-card.tsx";
import { TestConnection } from "./test-connection.tsx";

const REFRESH_MS = 3_000;

export function CarrierPage({ id }: { id: string }): JSX.Element {
  if (id !== "new") return <SavedCarrier id={id} />;
  return (
    <Needs scope="links:write" what="add carriers" title="Add a carrier">
      <AddCarrierPage />
    </Needs>
  );
}

function SavedCarrier({ id }: { id: string }): JSX.Element {
  const api = useApi();
  const resource = useResource(`link ${id}`, (signal) => api.links.get(id, { signal }));
  const { data, isLoading, reload } = resource;
  useInterval(() => void (isLoading || reload()), data === undefined ? null : REFRESH_MS);
  if (data !== undefined) return <LoadedCarrier link={data} resource={resource} />;
  return (
    <Page title="Carrier" lead={<AllCarriers />}>
      <Loaded resource={resource}>{() => null}</Loaded>
    </Page>
  );
}

const AllCarriers = (): JSX.Element => <Link to="carriers">All carriers</Link>;

function LoadedCarrier({ link, resource }: { link: CarrierLink; resource: Resource<CarrierLink> }): JSX.Element {
  const mayWrite = useMay("links:write");
  const [dialog, setDialog] = useState<"change" | "delete" | undefined>(undefined);
  const isOwn = !isOfOperator(link);
  const mayChange = mayWrite && isOwn;
  const onChanged = (changed: CarrierLink): void => resource.set(() => changed);
  const close = (): void => setDialog(undefined);
  return (
    <Page title={link.name} lead={<AllCarriers />} actions={mayChange && <Buttons link={link} onChanged={onChanged} onOpen={setDialog} />}>
      <Problem error={resource.error} />
      {!isOwn && <OfOperator />}
      {isOwn && !mayWrite && <ReadOnly />}
      <div class="columns">
        <div>
          {mayChange && <TestConnection link={link} onTested={resource.reload} />}
          <CarrierFacts link={link} />
          {isOwn && <CarrierSettings link={link} />}
        </div>
        <div>
          {isOwn && link.callback_path !== null && <CallbackCard link={link} path={link.callback_path} />}
          {link.provider !== "simulator" && <SendersCard link={link} mayChange={mayChange} />}
          <FirstMessage link={link} />
        </div>
      </div>
      {dialog === "change" && <ChangeCarrier link={link} onChanged={onChanged} onClose={close} />}
      {dialog === "delete" && <DeleteCarrier link={link} onClose={close} />}
    </Page>
  );
}

type ButtonsProps = { link: CarrierLink; onChanged: (link: CarrierLink) => void; onOpen: (dialog: "change" | "delete") => void };

const Buttons = ({ link, onChanged, onOpen }: ButtonsProps): JSX.Element => (
  <>
    <button type="button" onClick={() => onOpen("change")}>
      Change
    </button>
    <PauseButton of={link} onChanged={onChanged} />
    <button type="button" onClick={() => onOpen("delete")}>
      Delete
    </button>
  </>
);

const OfOperator = (): JSX.Element => (
  <p class="notice">
    <span>
      This carrier is configured by the operator of the service and cannot be changed here. <a href="/docs/links">About links</a>
    </span>
  </p>
);
