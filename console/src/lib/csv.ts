/** CSV files, made in the browser. */

type Cell = string | number | null | undefined;

/** One line of a file, with its end. */
export const toCsvLine = (cells: readonly Cell[]): string => `${cells.map(toCell).join(",")}\r\n`;

// A spreadsheet runs a cell that begins with one of these as a formula.
const FORMULA = /^[=+\-@\t\r]/;
// A number with its sign is a value, such as a phone number. It is not changed, so that other programs can read it.
const NUMBER = /^[+-]?\d+(\.\d+)?$/;

function toCell(value: Cell): string {
  const text = String(value ?? "");
  const safe = FORMULA.test(text) && !NUMBER.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** Offers the parts of a file for download. */
export function download(name: string, parts: readonly string[]): void {
  const url = URL.createObjectURL(new Blob([...parts], { type: "text/csv" }));
  const link = Object.assign(document.createElement("a"), { href: url, download: name });
  link.click();
  // Most browsers have read the file when the click is handled; some take a moment longer.
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
