/** Reads environment variables, in runtimes that have them: Node, Deno and Bun. A browser has none. */

type Names = Readonly<Record<string, string | undefined>>;
type Runtime = { process?: { env?: Names; versions?: Names } };

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

/** Returns the runtime with its version, such as `node/24.1.0`. Undefined in a browser, which has its own User-Agent. */
export function runtimeName(): string | undefined {
  if ("document" in globalThis) return undefined;
  const versions = (globalThis as Runtime).process?.versions ?? {};
  // The others also have a version of Node.
  const name = ["deno", "bun", "node"].find((each) => versions[each] !== undefined);
  return name === undefined ? undefined : `${name}/${versions[name]}`;
}
