/** godwit links: shows the state of every link, as the nodes that have it open reported in the last seconds. */
import { simulatorLink } from "../links/link.ts";
import { listLinks } from "../links/link-record.ts";
import { type Command } from "./command.ts";
import { print } from "./output.ts";
import { withDatabase } from "./with-database.ts";

export const links: Command = {
  name: "links",
  about: [
    "A link is one configured connection to a carrier. The nodes that have it open say every few seconds how it is doing: connected, connecting, throttled, paused; down is a link that no node has open.",
    "The links are those of the configuration file: give the same --config as to the service.",
  ],
  usage: ["links [--json]"],
  flags: {},
  settings: "database",
  examples: [
    ["How are they?", "godwit links --config godwit.toml"],
    ["Those that are not connected:", `godwit links --config godwit.toml --json | jq '.[] | select(.state != "connected")'`],
  ],
  async run(input) {
    await withDatabase(input, "links", async ({ db, clock, config: { plan, simulatorSpeed } }) => {
      const records = await listLinks(db, [simulatorLink(simulatorSpeed), ...plan.links], clock.now());
      const brief = records.map(({ name, provider, state, reason, rate, window, in_flight, last_error }) => ({
        name,
        provider,
        state,
        reason,
        rate,
        window,
        in_flight,
        last_error,
      }));
      print(input.flags, input.flags["json"] === true ? records : brief);
    });
  },
};
