/** The known word that is nearest to a mistyped one. */

/** Undefined if no word is near: a wrong guess is worse than none. */
export function nearest(word: string, known: readonly string[]): string | undefined {
  const completions = word.length < 2 ? [] : known.filter((each) => each.startsWith(word));
  if (completions.length === 1) return completions[0];
  const ranked = known.map((each) => ({ each, distance: editDistance(word, each) })).toSorted((a, b) => a.distance - b.distance);
  const [best] = ranked;
  return best !== undefined && best.distance <= Math.max(1, Math.floor(word.length / 3)) ? best.each : undefined;
}

/** The number of letters to insert, delete, change, or swap with their neighbors (Damerau-Levenshtein). */
function editDistance(a: string, b: string): number {
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
    [before, row] = [row, next];
  }
  return at(row, b.length);
}

const at = (row: readonly number[], index: number): number => row[index] ?? Infinity;
