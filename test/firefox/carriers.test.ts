/** The tests of test/browser/carriers.test.ts, in Firefox. */
import { useBrowser } from "../support/visitor.ts";

useBrowser("Firefox");
await import("../browser/carriers.test.ts");
