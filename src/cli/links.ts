/** godwit links: how every link is doing, as the nodes that have it open said within the last seconds. */
import { listLinks } from "../links/list-links.ts";
import { simulatorLink } from "../routing/link.ts";
import { print, withDatabase, type Command } from "./command.ts";

export const links: Command = {
  name: "links",
  usage: ["links [--json]"],
  flags: {},
  async run(input) {
    await withDatabase(input, "links", async ({ db, config: { plan, simulatorSpeed } }) => {
      const records = await listLinks(db, [simulatorLink(simulatorSpeed), ...plan.links]);
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
