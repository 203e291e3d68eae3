/** The profiles of the user: the URL and the API key of services under names, in a file that only the user can read. */
import { chmodSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { ConfigError, nonEmpty, type EnvironmentVariables } from "../config.ts";

export type Profile = { url: string; key: string };
/** `current` is the profile that is used when no other is named. */
export type Profiles = { current: string | null; profiles: Readonly<Record<string, Profile>> };

const NONE: Profiles = { current: null, profiles: {} };

/** Follows the XDG Base Directory Specification. */
const profilesPath = (env: EnvironmentVariables): string =>
  join(nonEmpty(env["XDG_CONFIG_HOME"]) ?? join(homedir(), ".config"), "godwit", "profiles.json");

export function readProfiles(env: EnvironmentVariables): Profiles {
  const path = profilesPath(env);
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    // Without a home folder, as in some containers, there are no profiles.
    if (["ENOENT", "ENOTDIR"].includes((error as NodeJS.ErrnoException).code ?? "")) return NONE;
    throw new ConfigError([`${path} cannot be read: ${(error as Error).message}`]);
  }
  const parsed = parseProfiles(text);
  if (parsed === undefined) throw new ConfigError([`${path} is not a file of profiles: remove it, and run godwit login again`]);
  return parsed;
}

function parseProfiles(text: string): Profiles | undefined {
  try {
    const { current = null, profiles } = JSON.parse(text) as Partial<Profiles>;
    if (typeof profiles !== "object" || profiles === null || (current !== null && typeof current !== "string")) return undefined;
    const isProfile = (value: Partial<Profile> | null): boolean => typeof value?.url === "string" && typeof value.key === "string";
    return Object.values(profiles).every(isProfile) ? { current, profiles } : undefined;
  } catch {
    return undefined;
  }
}

/** Writes a new file and renames it, so that a crash leaves the old or the new profiles. */
export function writeProfiles(env: EnvironmentVariables, profiles: Profiles): string {
  const path = profilesPath(env);
  const unfinished = `${path}.${process.pid}`;
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    writeFileSync(unfinished, `${JSON.stringify(profiles, undefined, 2)}\n`, { mode: 0o600 });
    // The mode of an existing file would stay.
    chmodSync(unfinished, 0o600);
    renameSync(unfinished, path);
  } catch (error) {
    throw new ConfigError([`${path} cannot be written: ${(error as Error).message}`]);
  }
  return path;
}
