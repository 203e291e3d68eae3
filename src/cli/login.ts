/** godwit login: stores the URL and the API key of a service as a profile of this user. */
import { createInterface } from "node:readline";
import { Writable } from "node:stream";
import { ConfigError, environmentVariables, nonEmpty, nonEmptyFlag } from "../config.ts";
import { StartupError } from "../database/startup-error.ts";
import { callApi, explainProblem } from "./api.ts";
import { CLIENT_SETTINGS, keyFaults, serviceUrl, urlFaults } from "./client-config.ts";
import { textFlag, UsageError, type Command, type Input } from "./command.ts";
import { print, say } from "./output.ts";
import { readProfiles, writeProfiles, type Profile } from "./profile-store.ts";

const DEFAULT_NAME = "default";
const PROFILE_NAME = /^[A-Za-z0-9_.-]{1,64}$/;

export const login: Command = {
  name: "login",
  about: [
    "Stores the URL and an API key of a service under a name, so that send, listen and the other commands that use the API need no variables. The key is read from the terminal without showing it, from the standard input, or from GODWIT_KEY. The service is asked whether it accepts the key before anything is stored.",
    "The profile becomes the current one. It is stored in godwit/profiles.json in $XDG_CONFIG_HOME (~/.config by default), which only you can read. Another profile is named with --profile or GODWIT_PROFILE; godwit profiles lists them.",
    "The order of precedence: --url and --key, then --profile, then GODWIT_URL and GODWIT_KEY, then GODWIT_PROFILE, then the current profile. A profile that is not named by --profile is not used at all when a key is given.",
  ],
  usage: ["login [NAME] [--json]"],
  flags: {},
  settings: "client",
  examples: [
    ["The service on this machine:", "godwit login"],
    ["Another service, under the name prod:", "godwit login prod --url https://sms.example.com"],
    ["In a script, with the key in a file:", "cat key.txt | godwit login ci --url https://sms.example.com"],
  ],
  exitCodes: { 1: "the service was not reached, or refused the key; nothing was stored" },
  async run(input) {
    const env = environmentVariables();
    const name = input.words[0] ?? textFlag(input.flags, "profile") ?? DEFAULT_NAME;
    if (!PROFILE_NAME.test(name)) throw new UsageError("the name of a profile has up to 64 letters, digits, dots, dashes and underscores");
    const { profiles } = readProfiles(env);
    const url = serviceUrl(input.flags, env, profiles[name]?.url);
    const wrongUrl = urlFaults(url);
    if (wrongUrl.length > 0) throw new ConfigError(wrongUrl);
    const key = await readKey(input, nonEmpty(env[CLIENT_SETTINGS.key.env]), url);
    const faults = keyFaults(key);
    if (faults.length > 0) throw new ConfigError(faults);
    const credential = await checkKey({ url, key });
    const path = writeProfiles(env, { current: name, profiles: { ...profiles, [name]: { url, key } } });
    print(input.flags, {
      profile: name,
      url,
      environment: credential["environment"],
      key_id: credential["key_id"],
      name: credential["name"],
    });
    say(`stored in ${path}; this is the current profile now`);
  },
};

async function readKey({ flags }: Input, fromEnvironment: string | undefined, url: string): Promise<string> {
  const given = nonEmptyFlag(flags["key"]) ?? fromEnvironment;
  if (given !== undefined) return given;
  return (process.stdin.isTTY ? await askForKey(url) : await firstLine()).trim();
}

/** Reads a line from the terminal without showing it. */
async function askForKey(url: string): Promise<string> {
  const hidden = new Writable({ write: (_chunk, _encoding, done) => done() });
  const terminal = createInterface({ input: process.stdin, output: hidden, terminal: true });
  // The terminal shows no input from here on.
  process.stderr.write(`API key for ${url} (not shown): `);
  try {
    return await new Promise<string>((resolve, reject) => {
      terminal.once("line", resolve);
      terminal.once("SIGINT", () => reject(new UsageError("no key was entered; nothing was stored")));
      terminal.once("close", () => resolve(""));
    });
  } finally {
    terminal.close();
    say("");
  }
}

async function firstLine(): Promise<string> {
  for await (const line of createInterface({ input: process.stdin })) return line;
  return "";
}

async function checkKey(profile: Profile): Promise<Readonly<Record<string, unknown>>> {
  const result = await callApi(profile, { method: "GET", path: "/v1/credential" }, new AbortController().signal);
  if (result.kind === "no_response") throw new StartupError(`nothing was stored: ${result.reason} (${profile.url})`);
  if (result.status !== 200 || result.json?.["object"] !== "credential")
    throw new StartupError(`nothing was stored: ${explainProblem(result)}`);
  return result.json;
}
