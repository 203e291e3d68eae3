/** The properties of an endpoint. */
import type { WebhookEndpoint } from "godwit-sdk";
import type { JSX } from "preact";
import { CopyButton } from "../ui/copy.tsx";
import { Facts } from "../ui/facts.tsx";
import { Ago, Moment } from "../ui/moment.tsx";
import { CreatedBy } from "../ui/resource-link.tsx";
import { EndpointStatus, EventTypes } from "./endpoint-summary.tsx";

export const isAhead = (iso: string | null): iso is string => iso !== null && Date.parse(iso) > Date.now();

export const EndpointFacts = ({ endpoint }: { endpoint: WebhookEndpoint }): JSX.Element => (
  <section class="card" aria-label="Endpoint">
    <Facts
      rows={[
        ["Status", <EndpointStatus of={endpoint} />],
        ["Event types", <EventTypes of={endpoint.event_types} />],
        ["Description", endpoint.description],
        [
          "Id",
          <>
            <code>{endpoint.id}</code> <CopyButton text={endpoint.id} />
          </>,
        ],
        ["Old secret", isAhead(endpoint.previous_secret_until) && <OldSecret until={endpoint.previous_secret_until} />],
        ["Created", <Moment iso={endpoint.created_at} />],
        ["Created by", <CreatedBy by={endpoint.created_by} />],
        ["Changed", <Ago iso={endpoint.updated_at} />],
      ]}
    />
  </section>
);

const OldSecret = ({ until }: { until: string }): JSX.Element => (
  <>
    also signs until <Moment iso={until} />
  </>
);
