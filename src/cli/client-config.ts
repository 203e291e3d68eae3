/** The settings of commands that call the API of a running service: its URL and an API key. */
import { parseBoundedUrl } from "../lib/urls.ts";
import { ConfigError, environmentVariables, hostInUrl, nonEmpty, nonEmptyFlag, type EnvironmentVariables, type Flags } from "../config.ts";
import { secretReader } from "../lib/secret-files.ts";
import { SETTINGS, type Setting } from "../settings.ts";

export const CLIENT_SETTINGS = {
  url: {
    flag: "url",
    value: "URL",
    env: "GODWIT_URL",
    fallback: "http://127.0.0.1:8080",
    help: "the URL of the service; without it, the one that GODWIT_HOST and GODWIT_PORT name",
  },
  key: {
    flag: "key",
    env: "GODWIT_KEY",
    value: "KEY",
    isSecret: true,
    help: "an API key. Other users of this machine can read the command line: prefer the variable",
  },
} as const satisfies Record<string, Setting>;

export type ClientConfig = { url: string; key: string };

/** Reads the URL and the key. A flag takes precedence over a variable. */
export function readClientConfig(flags: Flags, env: EnvironmentVariables = environmentVariables()): ClientConfig {
  const { url, key } = CLIENT_SETTINGS;
  const address = nonEmptyFlag(flags[url.flag]) ?? nonEmpty(env[url.env]) ?? ownAddress(env) ?? url.fallback;
  const faults = urlFaults(address);
  const secret = nonEmptyFlag(flags[key.flag]) ?? secretReader(env, faults)(key.env);
  faults.push(...keyFaults(secret));
  if (faults.length > 0 || secret === undefined) throw new ConfigError(faults);
  return { url: address, key: secret };
}

function urlFaults(address: string): string[] {
  const { env, fallback } = CLIENT_SETTINGS.url;
  const parsed = parseBoundedUrl(address);
  if (!/^https?:$/.test(parsed?.protocol ?? "")) return [`${env}: must be a URL such as ${fallback}, not "${address}"`];
  // The key is the only credential, and URLs end up in logs.
  return parsed?.username === "" ? [] : [`${env}: must not have a name or password in it`];
}

// The form of an API key, with the current checksum or the first one. An access token has another form.
const KEY_FORM = /^gw_(?:test|live)_(?:[0-9A-Za-z]{40}|[0-9A-Za-z]{38})$/;

/** The messages do not show the value, which may contain a real key. */
function keyFaults(key: string | undefined): string[] {
  const { env } = CLIENT_SETTINGS.key;
  if (key === undefined) return [`${env}: is needed: create a key with: godwit keys create --environment test --scopes send`];
  // The key is sent in a header, which permits no other characters.
  if (!/^[\x21-\x7e]+$/.test(key)) return [`${env}: is not an API key`];
  if (key.startsWith("gw_") && !KEY_FORM.test(key))
    return [
      `${env}: is mistyped or incomplete: gw_test_ or gw_live_ and 40 letters and digits are expected, not ${key.length} characters in all`,
    ];
  return [];
}

/** Returns the URL of the service that these environment variables configure, if they do. */
function ownAddress(env: EnvironmentVariables): string | undefined {
  const [host, port] = [nonEmpty(env[SETTINGS.host.env]), nonEmpty(env[SETTINGS.port.env])];
  // With port 0 the service picks a free port at its start, which is not known here.
  if ((host === undefined && port === undefined) || port === "0") return undefined;
  const scheme = nonEmpty(env[SETTINGS.tlsCert.env]) === undefined ? "http" : "https";
  return `${scheme}://${hostInUrl(host ?? SETTINGS.host.fallback)}:${port ?? SETTINGS.port.fallback}`;
}
