/** godwit version: prints the version. */
import { VERSION } from "../version.ts";
import { type Command } from "./command.ts";
import { print } from "./output.ts";

export const version: Command = {
  name: "version",
  about: ["Prints the versions of godwit and of Node."],
  usage: ["version [--json]"],
  flags: {},
  settings: "none",
  examples: [["For a bug report:", "godwit version --json"]],
  run: async ({ flags }) => {
    if (flags["json"] === true) print(flags, { godwit: VERSION, node: process.versions.node });
    else process.stdout.write(`godwit ${VERSION} (node ${process.versions.node})\n`);
  },
};
