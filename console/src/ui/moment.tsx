/** A time: relative, with the exact time as a tooltip, or absolute. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { formatAgo, formatMoment } from "../lib/format.ts";
import { useInterval } from "../lib/timing.ts";

export function Ago({ iso }: { iso: string }): JSX.Element {
  const [, setTick] = useState(0);
  const isRecent = Math.abs(Date.now() - Date.parse(iso)) < 3_600_000;
  useInterval(() => setTick((tick) => tick + 1), isRecent ? 5_000 : 60_000);
  return (
    <time dateTime={iso} title={formatMoment(iso)}>
      {formatAgo(iso)}
    </time>
  );
}

export const Moment = ({ iso }: { iso: string }): JSX.Element => (
  <time dateTime={iso} title={iso}>
    {formatMoment(iso)}
  </time>
);
