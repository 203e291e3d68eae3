/** Writes docs/openapi.json, which the service serves at /openapi.json. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { currentDocument } from "./openapi/current.ts";

writeFileSync(join(import.meta.dirname, "..", "docs", "openapi.json"), `${JSON.stringify(currentDocument(), null, 2)}\n`);
