/** The filters of the request log. They are kept in the address, so that a view can be shared. */
import type { QueryOf } from "godwit-sdk";
import type { JSX } from "preact";
import { replaceQuery } from "../lib/router.tsx";
import { ANY, readTimeRange, toBounds, withTimeRange, type TimeRange } from "../lib/time-range.ts";
import { SelectField, TextField } from "../ui/field.tsx";
import { FilterPanel } from "../ui/filters.tsx";
import { TimeRangeField } from "../ui/time-range-field.tsx";

const EQUAL = ["status", "method", "operation", "code", "key_id", "message_id"] as const;
const FILTERS = [...EQUAL, "range", "created_after", "created_before"] as const;

type FilterName = (typeof FILTERS)[number];
export type Filters = Readonly<Partial<Record<FilterName, string>>>;

export function readFilters(query: URLSearchParams): Filters {
  const found = FILTERS.map((name) => [name, query.get(name)?.trim() ?? ""] as const).filter(([, value]) => value !== "");
  return Object.fromEntries(found);
}

const rangeOf = (filters: Filters): TimeRange => readTimeRange(new URLSearchParams(filters), ANY);

/** The query of the API. An address may contain any value; the service reports an invalid one. */
export function toQuery(filters: Filters, nowMs: number): QueryOf<"listRequests"> {
  const { range: _, created_after: __, created_before: ___, ...equal } = filters;
  return { ...(equal as QueryOf<"listRequests">), ...toBounds(rangeOf(filters), nowMs) };
}

const KINDS: readonly [string, string][] = [
  ["", "Any"],
  ["2xx", "Successful (2xx)"],
  ["4xx", "Refused (4xx)"],
  ["5xx", "Failed (5xx)"],
];
const METHODS: readonly [string, string][] = [
  ["", "Any"],
  ...["GET", "POST", "PATCH", "PUT", "DELETE"].map((name): [string, string] => [name, name]),
];

/** A value of the address is always among the options. */
const withChosen = (options: readonly [string, string][], chosen: string): [string, string][] =>
  options.some(([value]) => value === chosen) ? [...options] : [...options, [chosen, chosen]];

export function RequestFilters({ filters }: { filters: Filters }): JSX.Element {
  const { status = "", method = "", operation = "", code = "", key_id: keyId = "", message_id: messageId = "" } = filters;
  const range = rangeOf(filters);
  const set = (name: FilterName, value: string): void => {
    const changed = Object.entries({ ...filters, [name]: value }).filter(([, text]) => text !== "");
    replaceQuery(new URLSearchParams(changed));
  };
  const active = EQUAL.filter((name) => filters[name] !== undefined).length + (range.kind === "any" ? 0 : 1);
  return (
    <FilterPanel label="Filters" active={active}>
      <SelectField label="Status" value={status} onValue={(value) => set("status", value)} options={withChosen(KINDS, status)} />
      <SelectField label="Method" value={method} onValue={(value) => set("method", value)} options={withChosen(METHODS, method)} />
      <TextField label="Operation" type="search" placeholder="sendMessage" value={operation} onValue={(value) => set("operation", value)} />
      <TextField label="Error code" type="search" placeholder="no_route" value={code} onValue={(value) => set("code", value)} />
      <TextField label="Key" type="search" placeholder="key_…" value={keyId} onValue={(value) => set("key_id", value)} />
      <TextField label="Message" type="search" placeholder="msg_…" value={messageId} onValue={(value) => set("message_id", value)} />
      <TimeRangeField hasAny range={range} onRange={(chosen) => replaceQuery(withTimeRange(new URLSearchParams(filters), chosen))} />
    </FilterPanel>
  );
}
