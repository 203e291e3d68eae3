/** Records as text for people: a table that fits the terminal, or one record as a list of its fields. */
import { UNSEEN } from "../model/unseen-characters.ts";

export type TableRow = Readonly<Record<string, unknown>>;

export type TableStyle = {
  /** The columns of the terminal. Undefined: nothing is shortened. */
  width: number | undefined;
  /** The present time, if times are shown relative to it. Undefined: times are shown as they are. */
  nowMs: number | undefined;
  /** Colors the text of a field. */
  paint: (field: string, value: string, text: string) => string;
};

export const PLAIN: TableStyle = { width: undefined, nowMs: undefined, paint: (_, __, text) => text };

const GAP = "  ";
// A narrower column shows nothing useful. The terminal wraps the lines of a table that is still too wide.
const MIN_WIDTH = 6;

export function formatTable(rows: readonly TableRow[], style: TableStyle): string {
  const [first] = rows;
  if (first === undefined) return "none\n";
  const names = Object.keys(first);
  const cells = rows.map((row) => names.map((name) => cellText(row[name], style.nowMs)));
  const natural = names.map((name, index) => Math.max(name.length, ...cells.map((line) => charsIn(line[index]))));
  const widths = style.width === undefined ? natural : fitWidths(natural, style.width);
  const line = (texts: readonly string[], paint: TableStyle["paint"]): string =>
    texts
      .map((text, index) => {
        const width = widths[index] ?? 0;
        const padded = index === texts.length - 1 ? shorten(text, width) : shorten(text, width).padEnd(width);
        return paint(names[index] ?? "", text, padded);
      })
      .join(GAP)
      .trimEnd();
  return [line(names, PLAIN.paint), ...cells.map((texts) => line(texts, style.paint))].map((text) => `${text}\n`).join("");
}

/** One field on each line. Fields without a value are left out unless `isComplete`. */
export function formatRecord(record: TableRow, style: TableStyle, isComplete: boolean): string {
  const fields = Object.entries(record).filter(([, value]) => isComplete || (value !== null && value !== undefined));
  const width = Math.max(0, ...fields.map(([name]) => name.length));
  return fields
    .map(([name, value]) => {
      const text = cellText(value, undefined);
      const relative = style.nowMs === undefined || !isTime(value) ? "" : ` (${relativeTime(Date.parse(value) - style.nowMs)})`;
      return `${name.padEnd(width)}${GAP}${style.paint(name, text, text)}${relative}\n`;
    })
    .join("");
}

/** Shrinks the widest columns until the line fits. The first column stays complete, because it identifies the record. */
function fitWidths(natural: readonly number[], width: number): number[] {
  const widths = [...natural];
  let excess = widths.reduce((sum, each) => sum + each, 0) + GAP.length * (widths.length - 1) - width;
  while (excess > 0) {
    const widest = Math.max(...widths.slice(1));
    if (widest <= MIN_WIDTH) break;
    widths[widths.indexOf(widest, 1)] = widest - 1;
    excess -= 1;
  }
  return widths;
}

const charsIn = (text = ""): number => Array.from(text).length;

/** Cuts between characters, never within a surrogate pair. */
const shorten = (text: string, width: number): string =>
  charsIn(text) <= width
    ? text
    : `${Array.from(text)
        .slice(0, width - 1)
        .join("")}…`;

// Names and texts of accounts must not control the operator's terminal.
const CONTROL = new RegExp(`[${UNSEEN}]`, "g");

const cellText = (value: unknown, nowMs: number | undefined): string =>
  nowMs !== undefined && isTime(value) ? relativeTime(Date.parse(value) - nowMs) : textOf(value).replaceAll(CONTROL, "�");

const textOf = (value: unknown): string =>
  value === null || value === undefined
    ? "-"
    : Array.isArray(value)
      ? value.map((item) => (typeof item === "object" ? JSON.stringify(item) : String(item))).join(",")
      : typeof value === "object"
        ? JSON.stringify(value)
        : `${value as string | number | boolean}`;

const isTime = (value: unknown): value is string => typeof value === "string" && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/.test(value);

const [SECOND_MS, MINUTE_MS, HOUR_MS, DAY_MS] = [1_000, 60_000, 3_600_000, 86_400_000];

/** Such as `5 min ago` or `in 3 h`. */
export function relativeTime(ms: number): string {
  const size = Math.abs(ms);
  const amount =
    size < MINUTE_MS
      ? `${Math.floor(size / SECOND_MS)} s`
      : size < HOUR_MS
        ? `${Math.floor(size / MINUTE_MS)} min`
        : size < 2 * DAY_MS
          ? `${Math.floor(size / HOUR_MS)} h`
          : `${Math.floor(size / DAY_MS)} d`;
  if (size < SECOND_MS) return "now";
  return ms < 0 ? `${amount} ago` : `in ${amount}`;
}
