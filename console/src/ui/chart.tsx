/** A chart over time: stacked bars or lines. Its values can also be shown as a table. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";

type Series = { name: string; tone: "good" | "busy" | "bad" | "wait"; values: readonly (number | null)[] };

type ChartProps = {
  title: string;
  kind: "bars" | "lines";
  /** One label for each position on the time axis. */
  times: readonly string[];
  series: readonly Series[];
  format: (value: number) => string;
  /** The minimum upper end of the value axis. */
  top?: number;
};

const [WIDTH, HEIGHT] = [1_000, 150];

export function Chart({ title, kind, times, series, format, top = 0 }: ChartProps): JSX.Element {
  const [at, setAt] = useState<number | undefined>(undefined);
  const highest = Math.max(top, ...heights(kind, times.length, series));
  const isEmpty = series.every(({ values }) => values.every((value) => value === null || value === 0));
  const onMove = (event: PointerEvent): void => {
    const { left, width } = (event.currentTarget as Element).getBoundingClientRect();
    setAt(Math.min(times.length - 1, Math.max(0, Math.floor(((event.clientX - left) / width) * times.length))));
  };
  return (
    <figure class="chart">
      <figcaption>
        <h3>{title}</h3>
        <ul class="legend">
          {series.map(({ name, tone, values }) => (
            <li key={name} class={tone}>
              {name}
              {at !== undefined && <strong> {formatValue(values[at], format)}</strong>}
            </li>
          ))}
        </ul>
      </figcaption>
      <div class="plot">
        <span class="top">{isEmpty ? "" : format(highest)}</span>
        <svg
          viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
          preserveAspectRatio="none"
          aria-hidden="true"
          onPointerMove={onMove}
          onPointerLeave={() => setAt(undefined)}
        >
          <line class="base" x1="0" x2={WIDTH} y1={HEIGHT} y2={HEIGHT} />
          {at !== undefined && <rect class="here" x={(at * WIDTH) / times.length} width={WIDTH / times.length} y="0" height={HEIGHT} />}
          {kind === "bars" ? (
            <Bars series={series} count={times.length} highest={highest} />
          ) : (
            <Lines series={series} count={times.length} highest={highest} />
          )}
        </svg>
        {isEmpty && <p class="none quiet">No data in this period</p>}
      </div>
      <p class="axis quiet">
        <span>{times[0]}</span>
        <strong>{at === undefined ? "" : times[at]}</strong>
        <span>{times.at(-1)}</span>
      </p>
      <AsTable title={title} times={times} series={series} format={format} />
    </figure>
  );
}

const formatValue = (value: number | null | undefined, format: (value: number) => string): string =>
  value === null || value === undefined ? "–" : format(value);

function heights(kind: ChartProps["kind"], count: number, series: readonly Series[]): number[] {
  const at = (index: number): number[] => series.map(({ values }) => values[index] ?? 0);
  return Array.from({ length: count }, (_, index) =>
    kind === "bars" ? at(index).reduce((sum, value) => sum + value, 0) : Math.max(0, ...at(index)),
  );
}

type DrawProps = { series: readonly Series[]; count: number; highest: number };

function Bars({ series, count, highest }: DrawProps): JSX.Element {
  const step = WIDTH / count;
  const gap = Math.min(3, step / 5);
  const rects: JSX.Element[] = [];
  for (let index = 0; index < count; index += 1) {
    let y = HEIGHT;
    for (const { name, tone, values } of series) {
      const height = highest === 0 ? 0 : ((values[index] ?? 0) / highest) * HEIGHT;
      y -= height;
      if (height > 0)
        rects.push(<rect key={`${name} ${index}`} class={tone} x={index * step + gap / 2} y={y} width={step - gap} height={height} />);
    }
  }
  return <>{rects}</>;
}

/** Draws lines. A value without neighbours becomes a dot, because a line of one point is invisible. */
function Lines({ series, count, highest }: DrawProps): JSX.Element {
  const step = WIDTH / count;
  const toY = (value: number): number => (highest === 0 ? HEIGHT : HEIGHT - (value / highest) * HEIGHT);
  return (
    <>
      {series.map(({ name, tone, values }) => {
        const points = values.map((value, index) => (value === null ? null : ([(index + 0.5) * step, toY(value)] as const)));
        const path = points
          .map((point, index) => (point === null ? "" : `${points[index - 1] ? "L" : "M"}${point[0].toFixed(1)} ${point[1].toFixed(1)}`))
          .join("");
        const isolated = points.filter((point, index) => point !== null && !points[index - 1] && !points[index + 1]);
        return (
          <g key={name} class={tone}>
            <path class="line" d={path} />
            {isolated.map(
              (point) =>
                point && (
                  <line key={point[0]} class="line dot" x1={point[0] - step / 4} x2={point[0] + step / 4} y1={point[1]} y2={point[1]} />
                ),
            )}
          </g>
        );
      })}
    </>
  );
}

function AsTable({ title, times, series, format }: Pick<ChartProps, "title" | "times" | "series" | "format">): JSX.Element {
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
                  {series.map(({ name, values }) => (
                    <td key={name} class="number" data-name={name}>
                      {formatValue(values[index], format)}
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
