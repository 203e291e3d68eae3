/** godwit version */
import { VERSION } from "../version.ts";
import { print, type Command } from "./command.ts";

export const version: Command = {
  name: "version",
  usage: ["version [--json]"],
  flags: {},
  run: async ({ flags }) => {
    if (flags["json"] === true) print(flags, { godwit: VERSION, node: process.versions.node });
    else process.stdout.write(`godwit ${VERSION} (node ${process.versions.node})\n`);
  },
};
