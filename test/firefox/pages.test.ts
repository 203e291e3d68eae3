/** The tests of test/browser again, in Firefox: the console and the documentation work and fit the same. */
import { globSync } from "node:fs";
import { join } from "node:path";
import { runTogether } from "../support/together.ts";
import { useBrowser } from "../support/visitor.ts";

useBrowser("Firefox");
runTogether(globSync("test/browser/*.test.ts", { cwd: join(import.meta.dirname, "..", "..") }).toSorted(), " in Firefox");
