/** The form fields of an endpoint, for creation and for changes. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { TextField } from "../ui/field.tsx";
import { faultAt, faultIn } from "../ui/problem.tsx";
import { ALL } from "./event-types.ts";
import { EventTypesField } from "./event-types-field.tsx";

export type Draft = { url: string; description: string; eventTypes: readonly string[] };

export const NEW_DRAFT: Draft = { url: "", description: "", eventTypes: [ALL] };

export function useDraft(first: Draft): [Draft, (change: Partial<Draft>) => void] {
  const [draft, setDraft] = useState(first);
  return [draft, (change) => setDraft((before) => ({ ...before, ...change }))];
}

/** Builds the request body. An empty description removes the old one. */
export const toBody = ({ url, description, eventTypes }: Draft): { url: string; description: string; event_types: string[] } => ({
  url: url.trim(),
  description: description.trim(),
  event_types: [...eventTypes],
});

/** An endpoint cannot be on the user's own machine by default, which is where the first one usually is. */
const UrlHint = (): JSX.Element => (
  <>
    HTTPS, on the public internet. To receive events on your own machine, run{" "}
    <code>godwit listen --forward-to http://localhost:3000/hooks</code>, or let the operator allow its network with{" "}
    <code>GODWIT_WEBHOOK_ALLOW</code>.{" "}
    <a href="/docs/webhooks#develop-on-your-machine" target="_blank" rel="noreferrer">
      Webhooks on your machine
    </a>
  </>
);

type FieldsProps = { draft: Draft; onChange: (change: Partial<Draft>) => void; error: unknown };

export const EndpointFields = ({ draft, onChange, error }: FieldsProps): JSX.Element => (
  <>
    <TextField
      label="URL"
      type="url"
      placeholder="https://example.com/hooks/godwit"
      hint={<UrlHint />}
      value={draft.url}
      onValue={(url) => onChange({ url })}
      error={faultAt(error, "/url")}
    />
    <TextField
      label="Description"
      isOptional
      hint="Shown only in the console and in the API."
      value={draft.description}
      onValue={(description) => onChange({ description })}
      error={faultAt(error, "/description")}
    />
    <EventTypesField chosen={draft.eventTypes} onChosen={(eventTypes) => onChange({ eventTypes })} error={faultIn(error, "/event_types")} />
  </>
);
