/** A phone number as a person or a file writes it. */

// Spreadsheets and contact lists add these characters, some of them unseen.
const SEPARATORS = /[\s().\-/\u200b-\u200f\u202a-\u202e\u2060\ufeff]/g;

/** Removes the separators of a number. "(0)" is the trunk prefix, which an international number does not have. Another text is only trimmed. */
export function cleanNumber(written: string): string {
  const text = written.trim();
  const number = text.replace(/^'/, "").replace("(0)", "").replaceAll(SEPARATORS, "");
  return /^\+\d+$/.test(number) ? number : text;
}
