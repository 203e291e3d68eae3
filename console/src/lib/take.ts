/** Collects the first items of an iterable, across as many pages as necessary. */
export async function take<T>(items: AsyncIterable<T>, most: number): Promise<T[]> {
  const taken: T[] = [];
  for await (const item of items) if (taken.push(item) >= most) break;
  return taken;
}
