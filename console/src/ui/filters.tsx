/** The filters of a list: the options of a select field, and a time. */
import type { JSX } from "preact";
import { fromLocalInput, INCOMPLETE, toLocalInput, words } from "../lib/format.ts";
import { TextField } from "./field.tsx";

/** The options of a filter. A value from the address is always among them, even if it is not valid. */
export const choices = (any: string, values: readonly string[], chosen = ""): [string, string][] =>
  ["", ...values, ...(chosen === "" || values.includes(chosen) ? [] : [chosen])].map((value): [string, string] => [
    value,
    value === "" ? any : words(value),
  ]);

type TimeFilterProps = { label: string; at: string | undefined; onTime: (iso: string) => void };

/** A filter by time. It is typed in local time and kept in the address in UTC. */
export function TimeFilter({ label, at, onTime }: TimeFilterProps): JSX.Element {
  const isTime = at !== undefined && !Number.isNaN(Date.parse(at));
  return (
    <TextField
      label={label}
      type="datetime-local"
      value={isTime ? toLocalInput(new Date(at)) : ""}
      onValue={(value) => {
        if (value !== INCOMPLETE) onTime(value === "" ? "" : fromLocalInput(value));
      }}
    />
  );
}
