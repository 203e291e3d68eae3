/** The values of a chart as a table, which is drawn when it is opened. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { Series } from "./chart-marks.tsx";

type ChartTableProps = { title: string; times: readonly string[]; series: readonly Series[]; format: (value: number) => string };

export function ChartTable({ title, times, series, format }: ChartTableProps): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary class="quiet">As a table</summary>
      {isOpen && (
        <div class="scroll" tabIndex={0} role="region" aria-label={title}>
          <table class="plain">
            <thead>
              <tr>
                <th scope="col">Time</th>
                {series.map(({ name }) => (
                  <th key={name} scope="col" class="number">
                    {name}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {times.map((time, index) => (
                <tr key={time}>
                  <th scope="row">{time}</th>
                  {series.map((each) => (
                    <td key={each.name} class="number" data-name={each.name}>
                      {describeValue(each, index, format)}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </details>
  );
}

/** The value at a position with its note, or a dash where there is nothing to measure. */
export function describeValue({ values, notes }: Series, index: number, format: (value: number) => string): string {
  const value = values[index];
  if (value === null || value === undefined) return "–";
  const note = notes?.[index] ?? "";
  return note === "" ? format(value) : `${format(value)} (${note})`;
}
