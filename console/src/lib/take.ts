/** The first of what comes one after another, however many pages that is. */
export async function take<T>(items: AsyncIterable<T>, most: number): Promise<T[]> {
  const taken: T[] = [];
  for await (const item of items) if (taken.push(item) >= most) break;
  return taken;
}
