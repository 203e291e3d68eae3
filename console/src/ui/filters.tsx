/** The filters of a list: their panel, the options of a select field, and a time. */
import type { ComponentChildren, JSX } from "preact";
import { useId, useState } from "preact/hooks";
import { fromLocalInput, INCOMPLETE, toLocalInput, words } from "../lib/format.ts";
import { TextField } from "./field.tsx";

type FilterPanelProps = { label: string; active: number; children: ComponentChildren };

/** The fields of the filters. In a narrow window a button opens them, so that they do not push the list out of view. */
export function FilterPanel({ label, active, children }: FilterPanelProps): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  const id = useId();
  return (
    <>
      <button type="button" class="filter-toggle" aria-expanded={isOpen} aria-controls={id} onClick={() => setOpen(!isOpen)}>
        Filters{active > 0 && ` (${active})`}
      </button>
      <div class={isOpen ? "filters open" : "filters"} id={id} role="search" aria-label={label}>
        {children}
      </div>
    </>
  );
}

/** The options of a filter. A value from the address is always among them, even if it is not valid. */
export const choices = (any: string, values: readonly string[], chosen = ""): [string, string][] =>
  ["", ...values, ...(chosen === "" || values.includes(chosen) ? [] : [chosen])].map((value): [string, string] => [
    value,
    value === "" ? any : words(value),
  ]);

type TimeFilterProps = { label: string; at: string | undefined; onTime: (iso: string) => void; error?: string | undefined };

/** A filter by time. It is typed in local time and kept in the address in UTC. */
export function TimeFilter({ label, at, onTime, error }: TimeFilterProps): JSX.Element {
  const isTime = at !== undefined && !Number.isNaN(Date.parse(at));
  return (
    <TextField
      label={label}
      type="datetime-local"
      error={error}
      value={isTime ? toLocalInput(new Date(at)) : ""}
      onValue={(value) => {
        if (value !== INCOMPLETE) onTime(value === "" ? "" : fromLocalInput(value));
      }}
    />
  );
}
