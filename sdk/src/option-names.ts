/** Refuses options that do not exist. They would be ignored: a mistyped `idempotencyKey` sends twice, and a mistyped limit has no effect. */

/** The names of the options of a type. A record, which the compiler compares with the type. */
export type OptionNames<Options> = Readonly<Record<keyof Options, true>>;

/** Throws a `TypeError` for options that are no object, and for an unknown name. `owner` has the options, such as `a call`. */
export function checkOptions(options: unknown, names: Readonly<Record<string, true>>, owner: string): void {
  const known = Object.keys(names);
  if (typeof options !== "object" || options === null)
    throw new TypeError(`the options of ${owner} must be an object, such as { ${known[0]}: … }, and their type is ${typeOf(options)}`);
  const unknown = Object.keys(options).find((name) => !known.includes(name));
  if (unknown === undefined) return;
  const meant = nearest(unknown, known);
  const hint = meant === undefined ? `its options are ${known.join(", ")}` : `did you mean ${meant}?`;
  throw new TypeError(`${owner} has no option ${unknown}; ${hint}`);
}

/** The type in place of the value, which may be a secret. */
export const typeOf = (value: unknown): string => (value === null ? "null" : typeof value);

// An edit distance of two is one mistake in a short name, such as two letters in the wrong order.
const MAX_DISTANCE = 2;
// Longer than any option. The distance takes the product of the lengths.
const MAX_LENGTH = 64;
const lettersOf = (name: string): string => name.slice(0, MAX_LENGTH).toLowerCase().replaceAll(/[_-]/g, "");

/** Returns the option that was meant: in another spelling (`base_url`), without a part (`timeout`), or with a typing error. */
function nearest(name: string, known: readonly string[]): string | undefined {
  const typed = lettersOf(name);
  const near = known.find((each) => distanceOf(typed, lettersOf(each)) <= MAX_DISTANCE);
  return near ?? (typed.length < 3 ? undefined : known.find((each) => lettersOf(each).includes(typed)));
}

/** The number of letters to insert, delete or change. */
function distanceOf(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1)
      next.push(Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1)));
    row = next;
  }
  return row[b.length] ?? 0;
}
