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

type FieldsProps = { draft: Draft; onChange: (change: Partial<Draft>) => void; error: unknown };

export const EndpointFields = ({ draft, onChange, error }: FieldsProps): JSX.Element => (
  <>
    <TextField
      label="URL"
      type="url"
      placeholder="https://example.com/hooks/godwit"
      hint="https, on the public internet."
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
