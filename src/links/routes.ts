/** The HTTP routes of links. */
import { route, type Route } from "../api/route.ts";
import { Type } from "../http/schema.ts";
import type { Clock } from "../storage/database-clock.ts";
import type { Database } from "../storage/database.ts";
import type { LinkChooser } from "./choose-links.ts";
import { SIMULATOR_LINK } from "./link.ts";
import { LinkRecord, listLinksFor } from "./link-record.ts";

const LinkList = Type.Object({ data: Type.Array(LinkRecord) }, { title: "LinkList" });

export const linkRoutes = (db: Database, clock: Clock, linkChooser: LinkChooser): Route[] => [
  route({
    method: "GET",
    path: "/v1/links",
    summary: "List links",
    description:
      "How each link is doing, as the nodes that have it open said within the last seconds, with the messages of this environment. `test` has the simulator alone.",
    tag: "Links",
    scope: "links:read",
    isIdempotent: false,
    reply: { status: 200, description: "The links of this environment.", schema: LinkList },
    problems: [],
    handle: async ({ credential }) => {
      const links = linkChooser.links.filter(({ name }) => credential.environment === "live" || name === SIMULATOR_LINK);
      return { status: 200, body: JSON.stringify({ data: await listLinksFor(credential, db, links, clock.now()) }) };
    },
  }),
];
