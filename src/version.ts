/** The version of this checkout or package. */
import { readFileSync } from "node:fs";
import { join } from "node:path";

export const VERSION = (JSON.parse(readFileSync(join(import.meta.dirname, "..", "package.json"), "utf8")) as { version: string }).version;
