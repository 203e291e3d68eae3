/** Secrets: environment variables, files that NAME_FILE names, such as mounted secrets of containers, and credentials of systemd. Files do not show up in
 *  the environment of a process, in `docker inspect` or in the output of a crash. */
import { readFileSync } from "node:fs";
import { join } from "node:path";

type Variables = Readonly<Record<string, string | undefined>>;

const valueOf = (text: string | undefined): string | undefined => (text === undefined || text.trim() === "" ? undefined : text.trim());

/** Returns a function that looks up a secret by the name of its variable. A file that cannot be read is a fault, and so is a secret with two
 *  sources of which one would be ignored. */
export function secretReader(env: Variables, faults: string[]): (name: string) => string | undefined {
  return (name) => {
    const literal = valueOf(env[name]);
    const path = valueOf(env[`${name}_FILE`]);
    if (literal !== undefined && path !== undefined) faults.push(`${name}_FILE: ${name} is set as well; unset one of them`);
    if (literal !== undefined) return literal;
    return path === undefined ? readCredential(env, name) : readSecretFile(name, path, faults);
  };
}

function readSecretFile(name: string, path: string, faults: string[]): string | undefined {
  try {
    const text = valueOf(readFileSync(path, "utf8"));
    if (text === undefined) faults.push(`${name}_FILE: ${path} is empty`);
    return text;
  } catch (error) {
    faults.push(`${name}_FILE: ${(error as Error).message}`);
    return undefined;
  }
}

/** systemd's LoadCredential puts the files into a folder that only the service can read. */
function readCredential(env: Variables, name: string): string | undefined {
  const folder = env["CREDENTIALS_DIRECTORY"];
  if (folder === undefined || !/^\w+$/.test(name)) return undefined;
  try {
    return valueOf(readFileSync(join(folder, name), "utf8"));
  } catch {
    return undefined;
  }
}
