/** godwit templates: lists and shows templates through the API of a running service. */
import { CHANNELS } from "../links/channel.ts";
import { TEMPLATE_STATUSES } from "../templates/template.ts";
import { ApiClient, LIST_FLAGS, neededWord, oneLine, pathOf, printList, type ApiRecord } from "./client.ts";
import { textFlag, type Command } from "./command.ts";
import { print } from "./output.ts";

const PATH = "/v1/templates";

export const templates: Command = {
  name: "templates",
  about: [
    "Shows the templates of the environment of the API key, through the HTTP API of a running service, with a key that has the scope templates:read. Archived templates are listed only with --status archived.",
  ],
  usage: ["templates list [flags]", "templates get NAME|ID [--json]"],
  flags: {
    status: { type: "string", value: "STATUS", choices: TEMPLATE_STATUSES, help: "only templates with this status" },
    channel: { type: "string", value: "CHANNEL", choices: CHANNELS, help: "only templates for this channel" },
    name: { type: "string", value: "NAME", help: "only templates with this name" },
    ...LIST_FLAGS,
  },
  settings: "client",
  hasTables: true,
  examples: [
    ["Templates that a carrier has rejected:", "godwit templates list --status rejected"],
    ["One template, by its name:", "godwit templates get order_shipped"],
  ],
  async run(input) {
    const { flags, words } = input;
    if (words[0] === "get") {
      const path = pathOf(PATH, neededWord(input, "the template by its name or its id, tpl_…"));
      return print(flags, await new ApiClient(flags).get(path));
    }
    const query = { status: textFlag(flags, "status"), channel: textFlag(flags, "channel"), name: textFlag(flags, "name") };
    return printList(input, { path: PATH, query, toRow });
  },
};

const toRow = ({ name, status, channels, language, version, updated_at, body }: ApiRecord): object => ({
  name,
  status,
  channels,
  language,
  version,
  updated_at,
  text: oneLine(body),
});
