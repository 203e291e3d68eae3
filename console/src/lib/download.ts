/** Files that the browser saves. */

/** Offers the parts of a file for download. No type that a browser would open: it saves the file, whatever is in it. */
export function download(name: string, parts: readonly BlobPart[], type: "text/csv" | "application/octet-stream" = "text/csv"): void {
  const url = URL.createObjectURL(new Blob([...parts], { type }));
  const link = Object.assign(document.createElement("a"), { href: url, download: name });
  link.click();
  // Most browsers have read the file when the click is handled; some take a moment longer.
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
