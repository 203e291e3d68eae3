/** godwit profiles: lists the stored profiles, selects the current one, and removes them. */
import { environmentVariables, type EnvironmentVariables } from "../config.ts";
import { UsageError, type Command } from "./command.ts";
import { print, say } from "./output.ts";
import { readProfiles, writeProfiles, type Profiles } from "./profile-store.ts";

const HINT_CHARACTERS = "gw_test_".length + 4;

export const profiles: Command = {
  name: "profiles",
  about: [
    "A profile is the URL and the API key of a service under a name, which godwit login stores. The current profile is used by send, listen and the other commands that use the API, when neither a flag nor a variable names a key or another profile.",
    "remove deletes the stored key only. To make the key unusable, revoke it with godwit keys revoke.",
  ],
  usage: ["profiles list [--json]", "profiles use NAME [--json]", "profiles remove NAME [--json]"],
  flags: {},
  settings: "none",
  examples: [
    ["The stored profiles:", "godwit profiles list"],
    ["Work with another service from now on:", "godwit profiles use prod"],
  ],
  async run({ flags, words: [verb, name] }) {
    const env = environmentVariables();
    const stored = readProfiles(env);
    if (verb === "list") return print(flags, describe(stored));
    if (name === undefined || stored.profiles[name] === undefined)
      throw new UsageError(
        name === undefined
          ? "name the profile; godwit profiles list lists them"
          : `there is no profile ${name}; godwit login ${name} adds it`,
      );
    return verb === "use" ? use(env, stored, name, flags) : remove(env, stored, name, flags);
  },
};

type Flags = Parameters<typeof print>[0];

function use(env: EnvironmentVariables, stored: Profiles, name: string, flags: Flags): void {
  writeProfiles(env, { ...stored, current: name });
  print(flags, { current: name, url: stored.profiles[name]?.url });
}

function remove(env: EnvironmentVariables, { current, profiles: all }: Profiles, name: string, flags: Flags): void {
  const { [name]: _, ...rest } = all;
  writeProfiles(env, { current: current === name ? null : current, profiles: rest });
  print(flags, { removed: name });
  if (current === name) say("there is no current profile now: choose one with godwit profiles use NAME");
}

/** The keys themselves are not shown. */
const describe = ({ current, profiles: all }: Profiles): object[] =>
  Object.entries(all).map(([name, { url, key }]) => ({
    name,
    current: name === current,
    url,
    key: `${key.slice(0, HINT_CHARACTERS)}…`,
  }));
