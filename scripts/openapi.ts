/** Writes docs/openapi.json, the committed copy of what the service serves at /openapi.json. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { openApiDocument } from "../src/api/openapi.ts";
import { Event } from "../src/events/event.ts";
import { allRoutes } from "../src/service.ts";
import { VERSION } from "../src/version.ts";

// A document needs the rows, not what their handlers work with.
const nobody = undefined as never;
writeFileSync(
  join(import.meta.dirname, "..", "docs", "openapi.json"),
  `${JSON.stringify(openApiDocument(allRoutes({ db: nobody, clock: nobody, acceptor: nobody, messages: nobody, endpoints: nobody, streams: nobody }), VERSION, Event), null, 2)}\n`,
);
