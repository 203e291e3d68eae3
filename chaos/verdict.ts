/** The outcome of the check of one promise. */

/** `checked` counts the cases. A violation is a text with the id to look at. */
export type Verdict = { promise: string; checked: number; violations: string[] };

/** Checks each case. `violationOf` returns undefined where the promise holds. */
export function verdict<T>(promise: string, cases: Iterable<T>, violationOf: (each: T) => string | undefined): Verdict {
  const all = [...cases];
  return { promise, checked: all.length, violations: all.map(violationOf).filter((text) => text !== undefined) };
}
