/** The search and the filters above the list of messages. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { formatCount, words } from "../lib/format.ts";
import { navigate, replaceQuery } from "../lib/router.tsx";
import { SelectField, TextField } from "../ui/field.tsx";
import { choices, FilterPanel } from "../ui/filters.tsx";
import { TimeRangeField } from "../ui/time-range-field.tsx";
import { rangeOf, readSearch, withFilter, withRange, type FilterName, type Filters } from "./filters.ts";
import { STATUSES } from "./statuses.ts";
import { MAX_PAGES, PAGE } from "./text-search.ts";

const FORM_FILTERS: readonly FilterName[] = ["status", "channel", "direction", "error_code"];

export function MessageFilters({ filters }: { filters: Filters }): JSX.Element {
  const set = (name: FilterName, value: string): void => replaceQuery(withFilter(filters, name, value));
  return (
    <>
      <Search filters={filters} />
      <FilterPanel
        label="Filters"
        active={FORM_FILTERS.filter((name) => filters[name] !== undefined).length + (rangeOf(filters).kind === "any" ? 0 : 1)}
      >
        <SelectField
          label="Status"
          value={filters.status ?? ""}
          onValue={(value) => set("status", value)}
          options={choices("Any", STATUSES, filters.status)}
        />
        <SelectField
          label="Channel"
          value={filters.channel ?? ""}
          onValue={(value) => set("channel", value)}
          options={choices("Any", ["sms", "whatsapp"])}
        />
        <SelectField
          label="Direction"
          value={filters.direction ?? ""}
          onValue={(value) => set("direction", value)}
          options={choices("Both", ["outbound", "inbound"])}
        />
        <TextField label="Error code" type="search" value={filters.error_code ?? ""} onValue={(value) => set("error_code", value)} />
        <TimeRangeField hasAny range={rangeOf(filters)} onRange={(range) => replaceQuery(withRange(filters, range))} />
      </FilterPanel>
      <SearchedFilters filters={filters} onClear={(name) => set(name, "")} />
    </>
  );
}

function Search({ filters }: { filters: Filters }): JSX.Element {
  const [text, setText] = useState("");
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    const search = readSearch(text);
    if (search === undefined) return;
    setText("");
    if (search.kind === "message") navigate(`messages/${search.id}`);
    else if (search.kind === "request") replaceQuery(withRange({ ...filters, search: search.id }, search.range));
    else replaceQuery(withFilter(filters, search.name, search.value));
  };
  return (
    <form class="search" role="search" aria-label="Search" onSubmit={submit}>
      <input
        type="search"
        aria-label="Search by id, number, reference or text"
        aria-describedby="search-hint"
        placeholder="Id, number, reference or text"
        value={text}
        autoComplete="off"
        onInput={(event) => setText(event.currentTarget.value)}
      />
      <button type="submit">Search</button>
      <p class="hint" id="search-hint">
        A complete id or recipient finds all its messages. A part of a number, a carrier id, a reference or a text is searched for in the
        newest {formatCount(PAGE * MAX_PAGES)} messages that match the filters.
      </p>
    </form>
  );
}

// Filters without a form field: they come from a search or from the address.
const SEARCHED: readonly FilterName[] = ["search", "recipient", "client_reference", "batch_id"];

function SearchedFilters({ filters, onClear }: { filters: Filters; onClear: (name: FilterName) => void }): JSX.Element | null {
  const chosen = SEARCHED.filter((name) => filters[name] !== undefined);
  if (chosen.length === 0) return null;
  return (
    <ul class="chosen" aria-label="Searched for">
      {chosen.map((name) => (
        <li key={name}>
          {words(name)}: <strong>{filters[name]}</strong>{" "}
          <button type="button" class="small" aria-label={`Remove ${words(name)}`} onClick={() => onClear(name)}>
            ×
          </button>
        </li>
      ))}
    </ul>
  );
}
