/** The progress of a scan, with buttons to stop it and to read older items. */
import type { JSX } from "preact";
import { formatCount, plural } from "../lib/format.ts";
import type { Scan } from "../lib/scan.ts";
import { Problem } from "./problem.tsx";

type ScanStatusProps<T> = {
  scan: Scan<T>;
  /** The name of one item, such as "message". */
  item: string;
  /** Whether the scan looks for certain items, and not for all. */
  isSearch?: boolean;
};

export function ScanStatus<T>({ scan, item, isSearch = true }: ScanStatusProps<T>): JSX.Element {
  const { found, read, isRunning, hasMore, error } = scan;
  const done = isSearch ? "searched" : "loaded";
  const end = hasMore ? `Older ones were not ${done}.` : "There are no older ones.";
  return (
    <div class="scan">
      <p role="status">
        {plural(read, item)} {done}
        {isSearch && `, ${formatCount(found.length)} found`}
        {isRunning ? "…" : `. ${end}`}
      </p>
      {isRunning && <progress aria-label="Search" />}
      {isRunning && (
        <button type="button" class="small" onClick={scan.stop}>
          Stop
        </button>
      )}
      {!isRunning && hasMore && (
        <button type="button" class="small" onClick={scan.continue}>
          {isSearch ? "Search" : "Load"} older {item}s
        </button>
      )}
      <Problem error={error} onRetry={scan.continue} />
    </div>
  );
}
