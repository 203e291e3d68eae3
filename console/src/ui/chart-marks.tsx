/** The marks of a chart: stacked bars, lines with gaps, or points. */
import type { JSX } from "preact";

export type Series = {
  name: string;
  tone: "good" | "busy" | "bad" | "wait";
  /** One value for each position on the time axis. Null is a gap: there is nothing to measure. */
  values: readonly (number | null)[];
  /** Additions to the values in the readout and the table, such as the number of messages. */
  notes?: readonly string[];
};

export const [WIDTH, HEIGHT] = [1_000, 200];
// A few long intervals do not become walls.
const MAX_BAR = 60;
// A value that is small beside the others stays visible.
const MIN_HEIGHT = 2;

export type MarksProps = { series: readonly Series[]; count: number; highest: number };

export function Bars({ series, count, highest }: MarksProps): JSX.Element {
  const step = WIDTH / count;
  const width = Math.min(MAX_BAR, step - Math.min(3, step / 5));
  const rects: JSX.Element[] = [];
  for (let index = 0; index < count; index += 1) {
    let y = HEIGHT;
    for (const { name, tone, values } of series) {
      const value = values[index] ?? 0;
      if (value <= 0) continue;
      const height = Math.max(MIN_HEIGHT, (value / highest) * HEIGHT);
      y -= height;
      rects.push(<rect key={`${name} ${index}`} class={tone} x={(index + 0.5) * step - width / 2} y={y} width={width} height={height} />);
    }
  }
  return <>{rects}</>;
}

type Point = readonly [x: number, y: number];

const toPoints = (values: Series["values"], count: number, highest: number): (Point | null)[] =>
  values.map((value, index) => (value === null ? null : [((index + 0.5) * WIDTH) / count, HEIGHT - (value / highest) * HEIGHT]));

/** Draws lines. A value without neighbors becomes a point, because a line of one point is invisible. */
export const Lines = ({ series, count, highest }: MarksProps): JSX.Element => (
  <>
    {series.map(({ name, tone, values }) => {
      const points = toPoints(values, count, highest);
      const path = points
        .map((point, index) => (point === null ? "" : `${points[index - 1] ? "L" : "M"}${point[0].toFixed(1)} ${point[1].toFixed(1)}`))
        .join("");
      return (
        <g key={name} class={tone}>
          <path class="line" d={path} />
          <Dots points={points.filter((_, index) => !points[index - 1] && !points[index + 1])} />
        </g>
      );
    })}
  </>
);

/** Draws only points. For few measurements, a line would show a course that they do not have. */
export const Points = ({ series, count, highest }: MarksProps): JSX.Element => (
  <>
    {series.map(({ name, tone, values }) => (
      <g key={name} class={tone}>
        <Dots points={toPoints(values, count, highest)} />
      </g>
    ))}
  </>
);

/** A line of no length with round ends is a circle, whatever the proportions of the drawing are. */
const Dots = ({ points }: { points: readonly (Point | null)[] }): JSX.Element => (
  <path class="line dot" d={points.map((point) => (point === null ? "" : `M${point[0].toFixed(1)} ${point[1].toFixed(1)}h0`)).join("")} />
);
