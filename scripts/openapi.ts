/** Writes docs/openapi.json, the committed copy of what the service serves at /openapi.json. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { openApiDocument } from "../src/api/openapi.ts";
import { allRoutes, documentParts } from "../src/routes.ts";

// The document needs only the rows of the routes, so their handlers get nothing to work with.
const unused: never = undefined as never;
const routes = allRoutes({
  db: unused,
  clock: unused,
  acceptor: unused,
  composer: unused,
  batches: unused,
  verifier: unused,
  messages: unused,
  endpoints: unused,
  keys: unused,
  suppressions: unused,
  consentSettings: unused,
  templates: unused,
  streams: unused,
  setup: unused,
  links: unused,
  linkTester: unused,
  senders: unused,
  routes: unused,
  eraser: unused,
  exporter: unused,
});
const document = openApiDocument(routes, documentParts);
writeFileSync(
  join(import.meta.dirname, "..", "docs", "openapi.json"),
  `${JSON.stringify(document, null, 2)}
`,
);
