/** The control for the period of a page: presets, and two times for a custom period. All pages with a period use it. */
import type { JSX } from "preact";
import { PRESETS, PRESET_NAMES, rangeFault, toBounds, type PresetName, type TimeRange } from "../lib/time-range.ts";
import { SelectField } from "./field.tsx";
import { TimeFilter } from "./filters.tsx";

type TimeRangeProps = {
  range: TimeRange;
  onRange: (range: TimeRange) => void;
  /** Whether the page can show all times. */
  hasAny?: boolean;
  fault?: string | undefined;
};

export function TimeRangeField({ range, onRange, hasAny = false, fault = rangeFault(range) }: TimeRangeProps): JSX.Element {
  const options: [string, string][] = [
    ...(hasAny ? ([["any", "Any time"]] as [string, string][]) : []),
    ...PRESET_NAMES.map((name): [string, string] => [name, PRESETS[name].title]),
    ["custom", "Custom"],
  ];
  const choose = (value: string): void => {
    if (value === "any") return onRange({ kind: "any" });
    if (value !== "custom") return onRange({ kind: "preset", name: value as PresetName });
    // A custom period starts as the period that was shown.
    const { created_after: after, created_before: before } = toBounds(range, Date.now());
    onRange({ kind: "custom", after, before });
  };
  return (
    <>
      <SelectField label="Period" value={range.kind === "preset" ? range.name : range.kind} onValue={choose} options={options} />
      {range.kind === "custom" && (
        <>
          <TimeFilter label="From" at={range.after} onTime={(after) => onRange({ ...range, after: after || undefined })} error={fault} />
          <TimeFilter label="Until" at={range.before} onTime={(before) => onRange({ ...range, before: before || undefined })} />
        </>
      )}
    </>
  );
}
