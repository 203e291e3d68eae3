/** What doctor says of one thing it looked at. */

export type Check = { name: string; status: "ok" | "warn" | "fail"; detail: string; /** What to do. */ hint: string | null };

export const ok = (name: string, detail: string): Check => ({ name, status: "ok", detail, hint: null });
export const warn = (name: string, detail: string, hint: string): Check => ({ name, status: "warn", detail, hint });
export const fail = (name: string, detail: string, hint: string): Check => ({ name, status: "fail", detail, hint });

export const errorMessage = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** A look that fails is an answer too. */
export async function runCheck(name: string, check: () => Promise<Check>): Promise<Check> {
  try {
    return await check();
  } catch (error) {
    return fail(name, `could not be looked at: ${errorMessage(error)}`, "the database may be in trouble, or its role may not read this");
  }
}

/** Looks at everything, a few at a time. */
export async function mapConcurrently<T, R>(items: readonly T[], concurrency: number, work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  const queue = items.entries();
  const worker = async (): Promise<void> => {
    for (const [index, item] of queue) results[index] = await work(item);
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
  return results;
}
