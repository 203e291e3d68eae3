/** Files that the browser saves. */

/** Offers the parts of a CSV file for download. */
export function download(name: string, parts: readonly BlobPart[]): void {
  const url = URL.createObjectURL(new Blob([...parts], { type: "text/csv" }));
  const link = Object.assign(document.createElement("a"), { href: url, download: name });
  link.click();
  // Most browsers have read the file when the click is handled; some take a moment longer.
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
