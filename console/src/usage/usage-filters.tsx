/** The filters of the usage page: range, interval and channel. They are kept in the address. */
import type { JSX } from "preact";
import { replaceQuery } from "../lib/router.tsx";
import { withTimeRange, type TimeRange } from "../lib/time-range.ts";
import type { UsagePeriod } from "../lib/usage-period.ts";
import { SelectField } from "../ui/field.tsx";
import { FilterPanel } from "../ui/filters.tsx";
import { TimeRangeField } from "../ui/time-range-field.tsx";

const INTERVAL_WORDS = { minute: "by minute", hour: "by hour", day: "by day" } as const;

const CHANNEL_WORDS = [
  ["", "Any"],
  ["sms", "sms"],
  ["whatsapp", "whatsapp"],
] as const;

type UsageFiltersProps = { query: URLSearchParams; range: TimeRange; period: UsagePeriod };

export function UsageFilters({ query, range, period }: UsageFiltersProps): JSX.Element {
  const set = (changes: Readonly<Record<string, string | null>>): void => {
    const next = new URLSearchParams(query);
    for (const [name, value] of Object.entries(changes)) {
      if (value === null) next.delete(name);
      else next.set(name, value);
    }
    replaceQuery(next);
  };
  return (
    <FilterPanel label="Filters" active={["channel", "range", "interval"].filter((name) => query.has(name)).length}>
      <TimeRangeField range={range} fault={period.fault} onRange={(chosen) => replaceQuery(withTimeRange(query, chosen))} />
      <SelectField
        label="Interval"
        value={period.interval}
        onValue={(value) => set({ interval: value })}
        options={period.intervals.map((one) => [one, INTERVAL_WORDS[one]] as const)}
      />
      <SelectField
        label="Channel"
        value={query.get("channel") ?? ""}
        onValue={(value) => set({ channel: value || null })}
        options={CHANNEL_WORDS}
      />
    </FilterPanel>
  );
}
