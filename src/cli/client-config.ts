/** The settings of commands that call the API of a running service: its URL and an API key. */
import { ConfigError, environmentVariables, hostInUrl, nonEmpty, nonEmptyFlag, type EnvironmentVariables, type Flags } from "../config.ts";
import { SETTINGS, type Setting } from "../settings.ts";

export const CLIENT_SETTINGS = {
  url: {
    flag: "url",
    value: "URL",
    env: "GODWIT_URL",
    fallback: "http://127.0.0.1:8080",
    help: "where the server is; without it, where GODWIT_HOST and GODWIT_PORT say",
  },
  key: {
    flag: "key",
    env: "GODWIT_KEY",
    value: "KEY",
    isSecret: true,
    help: "an API key. Others on this machine can read what stands on a command line: the variable is the safer place",
  },
} as const satisfies Record<string, Setting>;

export type ClientConfig = { url: string; key: string };

export function readClientConfig(flags: Flags, env: EnvironmentVariables = environmentVariables()): ClientConfig {
  const { url, key } = CLIENT_SETTINGS;
  const address = nonEmptyFlag(flags[url.flag]) ?? nonEmpty(env[url.env]) ?? ownAddress(env) ?? url.fallback;
  const secret = nonEmptyFlag(flags[key.flag]) ?? nonEmpty(env[key.env]);
  const faults: string[] = [];
  if (!/^https?:$/.test(URL.parse(address)?.protocol ?? ""))
    faults.push(`${url.env}: must be a URL such as ${url.fallback}, not "${address}"`);
  // The key is the only credential, and URLs end up in logs.
  else if (URL.parse(address)?.username !== "") faults.push(`${url.env}: must not have a name or password in it`);
  if (secret === undefined) faults.push(`${key.env}: is needed; make a key with: godwit keys create`);
  // The key is sent in a header, which permits no other characters. The message does not show the value, which may contain a real key.
  else if (!/^[\x21-\x7e]+$/.test(secret)) faults.push(`${key.env}: is not an API key`);
  if (faults.length > 0 || secret === undefined) throw new ConfigError(faults);
  return { url: address, key: secret };
}

/** Returns the URL of the service that these environment variables configure, if they do. */
function ownAddress(env: EnvironmentVariables): string | undefined {
  const [host, port] = [nonEmpty(env[SETTINGS.host.env]), nonEmpty(env[SETTINGS.port.env])];
  // With port 0 the service picks a free port at its start, which is not known here.
  if ((host === undefined && port === undefined) || port === "0") return undefined;
  const scheme = nonEmpty(env[SETTINGS.tlsCert.env]) === undefined ? "http" : "https";
  return `${scheme}://${hostInUrl(host ?? SETTINGS.host.fallback)}:${port ?? SETTINGS.port.fallback}`;
}
