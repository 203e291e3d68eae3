/** Writes docs/openapi.json, the committed copy of what the service serves at /openapi.json. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { openApiDocument } from "../src/api/openapi.ts";
import { allRoutes, apiSurroundings } from "../src/routes.ts";

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
  keys: nobody,
  suppressions: nobody,
  templates: nobody,
  streams: nobody,
  routing: nobody,
});
const document = openApiDocument(routes, apiSurroundings);
writeFileSync(
  join(import.meta.dirname, "..", "docs", "openapi.json"),
  `${JSON.stringify(document, null, 2)}
`,
);
