/** Reads environment variables, in runtimes that have them: Node, Deno and Bun. A browser has none. */

type Runtime = { process?: { env?: Readonly<Record<string, string | undefined>> } };

/** Whether this runtime has environment variables. A bundler may define `process` in a browser. */
export const hasEnvironment = (): boolean => (globalThis as Runtime).process?.env !== undefined && !("document" in globalThis);

/** Returns the value of an environment variable. One that is empty counts as not set. */
export function readVariable(name: string): string | undefined {
  if (!hasEnvironment()) return undefined;
  try {
    return (globalThis as Runtime).process?.env?.[name] || undefined;
  } catch {
    // Deno throws where the program may not read the variable.
    return undefined;
  }
}
