/** The known word that is nearest to a mistyped one. Words may come from strangers: the work is bounded by the lengths of the known words. */

// Longer than any name in an error text. The distance of two words takes the product of their lengths.
const MAX_LENGTH = 64;
// People rarely make more mistakes in a word, and a distance that is surely larger is not computed to its end.
const MAX_DISTANCE = 4;

/** Undefined if no word is near: a wrong guess is worse than none. */
export function nearest(word: string, known: readonly string[]): string | undefined {
  if (word.length > MAX_LENGTH) return undefined;
  const typed = word.toLowerCase();
  const completions = typed.length < 2 ? [] : known.filter((each) => each.startsWith(typed));
  if (completions.length === 1) return completions[0];
  const most = Math.min(MAX_DISTANCE, Math.max(1, Math.floor(typed.length / 3)));
  // A word that is that much longer or shorter is not near, whatever its letters are.
  const ranked = known
    .filter(({ length }) => Math.abs(length - typed.length) <= most)
    .map((each) => ({ each, distance: editDistance(typed, each.toLowerCase(), most) }))
    .toSorted((a, b) => a.distance - b.distance);
  const [best] = ranked;
  return best !== undefined && best.distance <= most ? best.each : undefined;
}

/** A suggestion for the end of a clause; empty if no word is near. `before` stands in front of the word. */
export function didYouMean(word: string, known: readonly string[], before = ""): string {
  const meant = nearest(word, known);
  return meant === undefined ? "" : suggest(before + meant);
}

export const suggest = (meant: string): string => `; did you mean ${meant}?`;

/** Whether a text contains a suggestion. */
export const hasSuggestion = (text: string): boolean => text.includes("did you mean ");

/** Says that a value must be one of a list, after the one that was meant, or else the one that is near. */
export function mustBeOneOf(value: unknown, known: readonly string[], meant = ""): string {
  const rule = `must be one of ${known.join(", ")}`;
  const hint = meant !== "" ? suggest(meant) : typeof value === "string" ? didYouMean(value, known) : "";
  return hint === "" ? rule : `is not known${hint} It ${rule}`;
}

/** The number of letters to insert, delete, change, or swap with their neighbors (Damerau-Levenshtein). Infinity if it
 *  exceeds `most`. */
function editDistance(a: string, b: string, most: number): number {
  let before: number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const isSame = a[i - 1] === b[j - 1];
      const isSwapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      next[j] = Math.min(
        at(row, j) + 1,
        at(next, j - 1) + 1,
        at(row, j - 1) + (isSame ? 0 : 1),
        isSwapped ? at(before, j - 2) + 1 : Infinity,
      );
    }
    // A swap reaches back by two rows, with one letter for it.
    if (Math.min(...next) > most && Math.min(...row) >= most) return Infinity;
    [before, row] = [row, next];
  }
  return at(row, b.length);
}

const at = (row: readonly number[], index: number): number => row[index] ?? Infinity;
