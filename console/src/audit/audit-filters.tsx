/** The filters of the audit log. They are kept in the address, so that a view can be shared. */
import type { QueryOf } from "godwit-sdk";
import type { JSX } from "preact";
import { useId } from "preact/hooks";
import { replaceQuery } from "../lib/router.tsx";
import { ANY, readTimeRange, toBounds, withTimeRange, type TimeRange } from "../lib/time-range.ts";
import { SelectField, TextField } from "../ui/field.tsx";
import { FilterPanel } from "../ui/filters.tsx";
import { TimeRangeField } from "../ui/time-range-field.tsx";
import { ACTIONS, ACTOR_TYPES, TARGET_TYPES } from "./actions.ts";

const FILTERS = ["action", "actor", "target", "range", "created_after", "created_before"] as const;

type FilterName = (typeof FILTERS)[number];
export type Filters = Readonly<Partial<Record<FilterName, string>>>;

export function readFilters(query: URLSearchParams): Filters {
  const found = FILTERS.map((name) => [name, query.get(name)?.trim() ?? ""] as const).filter(([, value]) => value !== "");
  return Object.fromEntries(found);
}

const rangeOf = (filters: Filters): TimeRange => readTimeRange(new URLSearchParams(filters), ANY);

/** The query of the API. An address may contain any value; the service reports an invalid one. */
export function toQuery(filters: Filters, nowMs: number): QueryOf<"listAuditEvents"> {
  const { range: _, created_after: __, created_before: ___, ...equal } = filters;
  return { ...equal, ...toBounds(rangeOf(filters), nowMs) };
}

export function AuditFilters({ filters }: { filters: Filters }): JSX.Element {
  const { action = "", actor = "", target = "" } = filters;
  const range = rangeOf(filters);
  const set = (name: FilterName, value: string): void => {
    const changed = Object.entries({ ...filters, [name]: value }).filter(([, text]) => text !== "");
    replaceQuery(new URLSearchParams(changed));
  };
  return (
    <FilterPanel label="Filters" active={[action, actor, target].filter((value) => value !== "").length + (range.kind === "any" ? 0 : 1)}>
      <SelectField label="Action" value={action} onValue={(value) => set("action", value)} options={actionOptions(action)} />
      <IdOrType label="Actor" example="key_… or cli" types={ACTOR_TYPES} value={actor} onValue={(value) => set("actor", value)} />
      <IdOrType label="Target" example="msg_… or message" types={TARGET_TYPES} value={target} onValue={(value) => set("target", value)} />
      <TimeRangeField hasAny range={range} onRange={(chosen) => replaceQuery(withTimeRange(new URLSearchParams(filters), chosen))} />
    </FilterPanel>
  );
}

/** An action from the address is always among the options, even if this console does not know it. */
const actionOptions = (chosen: string): [string, string][] => [
  ["", "Any"],
  ...(chosen === "" || ACTIONS.includes(chosen) ? ACTIONS : [...ACTIONS, chosen]).map((action): [string, string] => [action, action]),
];

type IdOrTypeProps = { label: string; example: string; types: readonly string[]; value: string; onValue: (value: string) => void };

/** A text field for an id or a type. It suggests the types. */
function IdOrType({ label, example, types, value, onValue }: IdOrTypeProps): JSX.Element {
  const listId = useId();
  return (
    <>
      <TextField label={label} type="search" placeholder={example} list={listId} value={value} onValue={onValue} />
      <datalist id={listId}>
        {types.map((type) => (
          <option key={type}>{type}</option>
        ))}
      </datalist>
    </>
  );
}
