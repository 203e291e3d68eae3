/** What doctor says of one thing it looked at. */

export type Check = { name: string; status: "ok" | "warn" | "fail"; detail: string; /** What to do. */ hint: string | null };

export const ok = (name: string, detail: string): Check => ({ name, status: "ok", detail, hint: null });
export const warn = (name: string, detail: string, hint: string): Check => ({ name, status: "warn", detail, hint });
export const fail = (name: string, detail: string, hint: string): Check => ({ name, status: "fail", detail, hint });

export const reason = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** A look that fails is an answer too. */
export async function guarded(name: string, look: () => Promise<Check>): Promise<Check> {
  try {
    return await look();
  } catch (error) {
    return fail(name, `could not be looked at: ${reason(error)}`, "the database may be in trouble, or its role may not read this");
  }
}

/** Looks at everything, a few at a time. */
export async function lookAtAll<T, R>(things: readonly T[], atOnce: number, look: (thing: T) => Promise<R>): Promise<R[]> {
  const found: R[] = [];
  const queue = things.entries();
  const work = async (): Promise<void> => {
    for (const [index, thing] of queue) found[index] = await look(thing);
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  return found;
}
