/** The settings of commands that call the API of a running service: its URL and an API key, from flags, variables or a profile. */
import { ConfigError, environmentVariables, hostInUrl, nonEmpty, nonEmptyFlag, type EnvironmentVariables, type Flags } from "../config.ts";
import { SETTINGS, type Setting } from "../settings.ts";
import { readProfiles, type Profile } from "./profile-store.ts";

export const CLIENT_SETTINGS = {
  url: {
    flag: "url",
    value: "URL",
    env: "GODWIT_URL",
    fallback: "http://127.0.0.1:8080",
    help: "the URL of the service; without it, that of the profile, or the one that GODWIT_HOST and GODWIT_PORT name",
  },
  key: {
    flag: "key",
    env: "GODWIT_KEY",
    value: "KEY",
    isSecret: true,
    help: "an API key. Other users of this machine can read the command line: prefer the variable, or godwit login",
  },
  profile: {
    flag: "profile",
    env: "GODWIT_PROFILE",
    value: "NAME",
    help: "the profile with URL and key that godwit login stored; without it, the current profile if no key is given",
  },
} as const satisfies Record<string, Setting>;

export type ClientConfig = { url: string; key: string };

/** Reads the URL and the key. A flag takes precedence over a variable, and a variable over the current profile. The profile of --profile is a
 *  flag. A profile that no flag names is used only if no key is given, so that a key never goes to the service of another key. */
export function readClientConfig(flags: Flags, env: EnvironmentVariables = environmentVariables()): ClientConfig {
  const { url, key } = CLIENT_SETTINGS;
  const [flagUrl, flagKey] = [nonEmptyFlag(flags[url.flag]), nonEmptyFlag(flags[key.flag])];
  const [envUrl, envKey] = [nonEmpty(env[url.env]), nonEmpty(env[key.env])];
  const { named, current } = findProfiles(flags, env, (flagKey ?? envKey) === undefined);
  const address = flagUrl ?? named?.url ?? serviceUrl({}, env, current?.url);
  const secret = flagKey ?? named?.key ?? envKey ?? current?.key;
  const faults = [...urlFaults(address), ...keyFaults(secret)];
  if (current !== undefined && flagUrl === undefined && envUrl !== undefined && !isSameOrigin(envUrl, current.url))
    faults.push(`${url.env}: is not the URL of the current profile, whose key would be sent there: set ${key.env}, or unset ${url.env}`);
  if (faults.length > 0 || secret === undefined) throw new ConfigError(faults);
  return { url: address, key: secret };
}

type FoundProfiles = { named: Profile | undefined; current: Profile | undefined };

function findProfiles(flags: Flags, env: EnvironmentVariables, isKeyMissing: boolean): FoundProfiles {
  const { flag, env: variable } = CLIENT_SETTINGS.profile;
  const named = nonEmptyFlag(flags[flag]);
  if (named === undefined && !isKeyMissing) return { named: undefined, current: undefined };
  const { current, profiles } = readProfiles(env);
  const find = (name: string | null | undefined, from: string): Profile | undefined => {
    if (name === null || name === undefined) return undefined;
    if (profiles[name] !== undefined) return profiles[name];
    const known = Object.keys(profiles).join(", ") || "none";
    throw new ConfigError([`${from}: there is no profile ${name}; stored profiles: ${known}. godwit login ${name} adds it`]);
  };
  if (named !== undefined) return { named: find(named, `--${flag}`), current: undefined };
  const fromVariable = nonEmpty(env[variable]);
  return { named: undefined, current: fromVariable === undefined ? find(current, "current") : find(fromVariable, variable) };
}

export function urlFaults(address: string): string[] {
  const { env, fallback } = CLIENT_SETTINGS.url;
  const parsed = URL.parse(address);
  if (!/^https?:$/.test(parsed?.protocol ?? "")) return [`${env}: must be a URL such as ${fallback}, not "${address}"`];
  // The key is the only credential, and URLs end up in logs.
  return parsed?.username === "" ? [] : [`${env}: must not have a name or password in it`];
}

// The form of an API key, with the current checksum or the first one. An access token has another form.
const KEY_FORM = /^gw_(?:test|live)_(?:[0-9A-Za-z]{40}|[0-9A-Za-z]{38})$/;

/** The messages do not show the value, which may contain a real key. */
export function keyFaults(key: string | undefined): string[] {
  const { env } = CLIENT_SETTINGS.key;
  if (key === undefined)
    return [
      `${env}: is needed: set it, or store it with: godwit login. Create a key with: godwit keys create --environment test --scopes send`,
    ];
  // The key is sent in a header, which permits no other characters.
  if (!/^[\x21-\x7e]+$/.test(key)) return [`${env}: is not an API key`];
  if (key.startsWith("gw_") && !KEY_FORM.test(key))
    return [
      `${env}: is mistyped or incomplete: gw_test_ or gw_live_ and 40 letters and digits are expected, not ${key.length} characters in all`,
    ];
  return [];
}

const isSameOrigin = (a: string, b: string): boolean => URL.parse(a)?.origin === URL.parse(b)?.origin;

/** The URL by the flag, the variable, a profile, the settings of the service in the environment, or the default. */
export const serviceUrl = (flags: Flags, env: EnvironmentVariables, stored?: string): string =>
  nonEmptyFlag(flags[CLIENT_SETTINGS.url.flag]) ??
  nonEmpty(env[CLIENT_SETTINGS.url.env]) ??
  stored ??
  ownAddress(env) ??
  CLIENT_SETTINGS.url.fallback;

/** Returns the URL of the service that these environment variables configure, if they do. */
function ownAddress(env: EnvironmentVariables): string | undefined {
  const [host, port] = [nonEmpty(env[SETTINGS.host.env]), nonEmpty(env[SETTINGS.port.env])];
  // With port 0 the service picks a free port at its start, which is not known here.
  if ((host === undefined && port === undefined) || port === "0") return undefined;
  const scheme = nonEmpty(env[SETTINGS.tlsCert.env]) === undefined ? "http" : "https";
  return `${scheme}://${hostInUrl(host ?? SETTINGS.host.fallback)}:${port ?? SETTINGS.port.fallback}`;
}
