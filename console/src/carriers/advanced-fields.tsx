/** The settings of a carrier that few need: its default sender, its limits, its prices, and further settings by name and value. */
import { ApiError } from "godwit-sdk";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { Field, TextField } from "../ui/field.tsx";
import { faultAt, faultIn } from "../ui/problem.tsx";
import { pointerOf, type Draft, type Extra } from "./carrier-draft.ts";

type AdvancedProps = { isHttp: boolean; draft: Draft; onChange: (change: Partial<Draft>) => void; error: unknown };

export function AdvancedFields({ isHttp, draft, onChange, error }: AdvancedProps): JSX.Element {
  const [isOpen, setOpen] = useState(draft.extras.length > 0);
  const isFaulty =
    error instanceof ApiError && ["/sender", "/rate", "/window", "/prices"].some((pointer) => faultIn(error, pointer) !== undefined);
  return (
    <details open={isOpen || isFaulty} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Advanced settings</summary>
      <div class="stack">
        <div class="field-row">
          <TextField
            label="Default sender"
            isOptional
            hint="For messages that name no sender, if no other sender fits."
            value={draft.sender}
            onValue={(sender) => onChange({ sender })}
            error={faultAt(error, "/sender")}
          />
          <TextField
            label="Rate"
            isOptional
            type="number"
            hint="Message parts a second that the carrier allows you."
            value={draft.rate}
            onValue={(rate) => onChange({ rate })}
            error={faultAt(error, "/rate")}
          />
          <TextField
            label="Window"
            isOptional
            type="number"
            hint="Requests that may wait for a response at one time."
            value={draft.window}
            onValue={(window) => onChange({ window })}
            error={faultAt(error, "/window")}
          />
        </div>
        <TextField
          label="Prices"
          isOptional
          placeholder="DE 0.07, +4917 0.08, * 0.05"
          hint="Of a segment, for routes that choose by price: to a country, to numbers with a prefix, and to all others (*)."
          value={draft.prices}
          onValue={(prices) => onChange({ prices })}
          error={faultIn(error, "/prices")}
        />
        <p class="hint">
          Further settings, by their names in{" "}
          <a href={isHttp ? "/docs/carriers" : "/docs/links#settings-of-all-links"}>the documentation</a>
          {isHttp && ", such as values.message_type"}. Numbers, true, false and JSON are read as such; write digits that are a text in
          quotes.
        </p>
        <ExtraFields extras={draft.extras} onExtras={(extras) => onChange({ extras })} error={error} />
      </div>
    </details>
  );
}

type ExtraProps = { extras: readonly Extra[]; onExtras: (extras: readonly Extra[]) => void; error: unknown };

function ExtraFields({ extras, onExtras, error }: ExtraProps): JSX.Element {
  const replace = (key: number, change: Partial<Extra>): void =>
    onExtras(extras.map((extra) => (extra.key === key ? { ...extra, ...change } : extra)));
  const add = (): void => onExtras([...extras, { key: 1 + Math.max(0, ...extras.map(({ key }) => key)), name: "", value: "" }]);
  return (
    <>
      {extras.map(({ key, name, value }, at) => (
        <div class="extra" key={key} role="group" aria-label={`Setting ${at + 1}`}>
          <TextField
            label="Setting"
            placeholder="enquire_seconds"
            value={name}
            onValue={(text) => replace(key, { name: text })}
            error={name === "" ? undefined : faultAt(error, pointerOf(name.trim()))}
          />
          <Field label="Value">
            {(control) => (
              <textarea {...control} rows={1} value={value} onInput={(event) => replace(key, { value: event.currentTarget.value })} />
            )}
          </Field>
          <button type="button" onClick={() => onExtras(extras.filter((extra) => extra.key !== key))}>
            Remove
          </button>
        </div>
      ))}
      <div>
        <button type="button" onClick={add}>
          Add a setting
        </button>
      </div>
    </>
  );
}
