/** The filters of the usage page: range, interval and channel. They are kept in the address. */
import type { JSX } from "preact";
import { replaceQuery } from "../lib/router.tsx";
import { SelectField, TextField } from "../ui/field.tsx";
import type { Range } from "./range.ts";

const RANGE_WORDS = [
  ["24h", "Last 24 hours"],
  ["7d", "Last 7 days"],
  ["30d", "Last 30 days"],
  ["dates", "Custom"],
] as const;

const INTERVAL_WORDS = { hour: "by hour", day: "by day" } as const;

const CHANNEL_WORDS = [
  ["", "any"],
  ["sms", "sms"],
  ["whatsapp", "whatsapp"],
] as const;

export function UsageFilters({ query, range }: { query: URLSearchParams; range: Range }): JSX.Element {
  const set = (changes: Readonly<Record<string, string | null>>): void => {
    const next = new URLSearchParams(query);
    for (const [name, value] of Object.entries(changes)) {
      if (value === null) next.delete(name);
      else next.set(name, value);
    }
    replaceQuery(next);
  };
  const { name, interval, intervals, from, to, fault } = range;
  const setRange = (value: string): void => set({ range: value, ...(value === "dates" ? { from, to } : { from: null, to: null }) });
  return (
    <div class="filters" role="search" aria-label="Usage">
      <SelectField label="Range" value={name} onValue={setRange} options={RANGE_WORDS} />
      {/* An incomplete date is an empty value. It stays empty in the address, because a default would overwrite the input. */}
      {name === "dates" && (
        <>
          <TextField label="First day" type="date" value={from} onValue={(value) => set({ from: value })} error={fault} />
          <TextField label="Last day" type="date" value={to} onValue={(value) => set({ to: value })} />
        </>
      )}
      <SelectField
        label="Interval"
        value={interval}
        onValue={(value) => set({ interval: value })}
        options={intervals.map((one) => [one, INTERVAL_WORDS[one]] as const)}
      />
      <SelectField
        label="Channel"
        value={query.get("channel") ?? ""}
        onValue={(value) => set({ channel: value || null })}
        options={CHANNEL_WORDS}
      />
    </div>
  );
}
