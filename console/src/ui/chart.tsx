/** A chart over time with axes, a grid, and a readout of the values by pointer or keyboard. Its values can also be shown as a table. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { Bars, HEIGHT, Lines, Points, WIDTH, type Series } from "./chart-marks.tsx";
import { toLabelPositions, toTicks, type ValueKind } from "./chart-scale.ts";
import { ChartTable, describeValue } from "./chart-table.tsx";

type ChartProps = {
  title: string;
  /** The unit of the value axis, such as "messages per hour". */
  unit: string;
  kind: "bars" | "lines" | "points";
  /** One label for each position on the time axis. */
  times: readonly string[];
  series: readonly Series[];
  values: ValueKind;
  format: (value: number) => string;
};

const MARKS = { bars: Bars, lines: Lines, points: Points } as const;

export function Chart({ title, unit, kind, times, series, values, format }: ChartProps): JSX.Element {
  const [at, setAt] = useState<number | undefined>(undefined);
  const count = times.length;
  const isEmpty = series.every((each) => each.values.every((value) => value === null || (kind === "bars" && value === 0)));
  const ticks = toTicks(values, Math.max(...heights(kind, count, series)));
  const highest = ticks.at(-1) ?? 1;
  const shown = at === undefined ? undefined : Math.min(at, count - 1);
  const Marks = MARKS[kind];
  return (
    <figure class="chart">
      <figcaption>
        <h3>
          {title} <span class="quiet unit">{unit}</span>
        </h3>
        <Legend series={series} />
      </figcaption>
      {isEmpty ? (
        <p class="no-data quiet">No data in this period</p>
      ) : (
        <div class="plot">
          <ValueAxis ticks={ticks} format={format} />
          <Reader title={title} times={times} series={series} format={format} at={shown} onAt={setAt}>
            <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
              {ticks.map((tick) => (
                <line key={tick} class="grid" x1="0" x2={WIDTH} y1={toY(tick, highest)} y2={toY(tick, highest)} />
              ))}
              {shown !== undefined && <rect class="here" x={(shown * WIDTH) / count} width={WIDTH / count} y="0" height={HEIGHT} />}
              <Marks series={series} count={count} highest={highest} />
            </svg>
          </Reader>
          <TimeAxis times={times} />
        </div>
      )}
      <ChartTable title={title} times={times} series={series} format={format} />
    </figure>
  );
}

const toY = (value: number, highest: number): number => HEIGHT - (value / highest) * HEIGHT;

function heights(kind: ChartProps["kind"], count: number, series: readonly Series[]): number[] {
  const at = (index: number): number[] => series.map(({ values }) => values[index] ?? 0);
  return Array.from({ length: count }, (_, index) =>
    kind === "bars" ? at(index).reduce((sum, value) => sum + value, 0) : Math.max(0, ...at(index)),
  );
}

const Legend = ({ series }: { series: readonly Series[] }): JSX.Element => (
  <ul class="legend">
    {series.map(({ name, tone }) => (
      <li key={name} class={tone}>
        {name}
      </li>
    ))}
  </ul>
);

const ValueAxis = ({ ticks, format }: { ticks: readonly number[]; format: (value: number) => string }): JSX.Element => (
  <ul class="value-axis quiet" aria-hidden="true">
    {ticks.toReversed().map((tick) => (
      <li key={tick}>{format(tick)}</li>
    ))}
  </ul>
);

function TimeAxis({ times }: { times: readonly string[] }): JSX.Element {
  const positions = toLabelPositions(times.length);
  return (
    <ul class="time-axis quiet" aria-hidden="true">
      {positions.map((at) => (
        <li key={at} style={{ insetInlineStart: `${((at + 0.5) / times.length) * 100}%` }}>
          <span>{times[at]}</span>
        </li>
      ))}
    </ul>
  );
}

type ReaderProps = Pick<ChartProps, "title" | "times" | "series" | "format"> & {
  at: number | undefined;
  onAt: (at: number | undefined) => void;
  children: JSX.Element;
};

/** Shows the values at one time: under the pointer, or where the arrow keys have moved to. */
function Reader({ title, times, series, format, at, onAt, children }: ReaderProps): JSX.Element {
  const last = times.length - 1;
  const onMove = (event: PointerEvent): void => {
    const { left, width } = (event.currentTarget as Element).getBoundingClientRect();
    onAt(Math.min(last, Math.max(0, Math.floor(((event.clientX - left) / width) * times.length))));
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const next = nextPosition(event.key, at ?? last, last);
    if (next === undefined) return;
    event.preventDefault();
    onAt(next);
  };
  const values = series.map((each) => ({ ...each, text: describeValue(each, at ?? last, format) }));
  return (
    <div
      class="reader"
      tabIndex={0}
      role="slider"
      aria-label={`${title}: values by time`}
      aria-valuemin={0}
      aria-valuemax={last}
      aria-valuenow={at ?? last}
      aria-valuetext={`${times[at ?? last]}: ${values.map(({ name, text }) => `${name} ${text}`).join(", ")}`}
      onPointerMove={onMove}
      onPointerLeave={() => onAt(undefined)}
      onFocus={(event) => event.currentTarget.matches(":focus-visible") && onAt(at ?? last)}
      onBlur={() => onAt(undefined)}
      onKeyDown={onKeyDown}
    >
      {children}
      {at !== undefined && (
        <div class={at > last / 2 ? "readout before" : "readout"} style={{ insetInlineStart: `${((at + 0.5) / times.length) * 100}%` }}>
          <p class="strong">{times[at]}</p>
          <ul class="legend">
            {values.map(({ name, tone, text }) => (
              <li key={name} class={tone}>
                {name} <strong>{text}</strong>
              </li>
            ))}
          </ul>
        </div>
      )}
    </div>
  );
}

function nextPosition(key: string, at: number, last: number): number | undefined {
  if (key === "ArrowLeft" || key === "ArrowDown") return Math.max(0, at - 1);
  if (key === "ArrowRight" || key === "ArrowUp") return Math.min(last, at + 1);
  if (key === "Home") return 0;
  return key === "End" ? last : undefined;
}
