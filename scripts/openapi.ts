/** Writes docs/openapi.json, the committed copy of what the service serves at /openapi.json. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { openApiDocument } from "../src/api/openapi.ts";
import { Event } from "../src/events/event.ts";
import { allRoutes } from "../src/service.ts";
import { VERSION } from "../src/version.ts";

// A document needs the rows, not what their handlers work with.
const nobody: never = undefined as never;
const routes = allRoutes({
  db: nobody,
  clock: nobody,
  acceptor: nobody,
  composer: nobody,
  batches: nobody,
  verifier: nobody,
  messages: nobody,
  endpoints: nobody,
  suppressions: nobody,
  templates: nobody,
  streams: nobody,
  routing: nobody,
});
const document = openApiDocument(routes, VERSION, Event);
writeFileSync(
  join(import.meta.dirname, "..", "docs", "openapi.json"),
  `${JSON.stringify(document, null, 2)}
`,
);
