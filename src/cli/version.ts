/** godwit version: prints the version. */
import { VERSION } from "../version.ts";
import { type Command } from "./command.ts";
import { print } from "./output.ts";

export const version: Command = {
  name: "version",
  about: ["Tells the version of godwit and of the Node it runs on."],
  usage: ["version [--json]"],
  flags: {},
  settings: "none",
  examples: [["For a report:", "godwit version --json"]],
  run: async ({ flags }) => {
    if (flags["json"] === true) print(flags, { godwit: VERSION, node: process.versions.node });
    else process.stdout.write(`godwit ${VERSION} (node ${process.versions.node})\n`);
  },
};
