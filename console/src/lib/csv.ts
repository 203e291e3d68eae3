/** CSV files, made in the browser. */

type Cell = string | number | null | undefined;

/** One line of a file, with its end. */
export const toCsvLine = (cells: readonly Cell[]): string => `${cells.map(toCell).join(",")}\r\n`;

// A spreadsheet runs a cell that begins with one of these as a formula, also in their full-width forms. It may split a cell at another separator, or
// not know the quotes, so the same applies to each part (OWASP, CSV injection).
const PART = /([;,|\t\r\n"'])(?=[=+\-@＝＋－＠])/g;
const FORMULA = /^(\s*[=+\-@＝＋－＠]|[\t\r\n])/;
// A number with its sign is a value, such as a phone number. It is not changed, so that other programs can read it.
const NUMBER = /^[+-]?\d+(\.\d+)?$/;

function toCell(value: Cell): string {
  const text = String(value ?? "");
  const parts = text.replaceAll(PART, "$1'");
  const safe = FORMULA.test(parts) && !NUMBER.test(parts) ? `'${parts}` : parts;
  return /[";,|\t\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** Offers the parts of a file for download. */
export function download(name: string, parts: readonly string[]): void {
  const url = URL.createObjectURL(new Blob([...parts], { type: "text/csv" }));
  const link = Object.assign(document.createElement("a"), { href: url, download: name });
  link.click();
  // Most browsers have read the file when the click is handled; some take a moment longer.
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
