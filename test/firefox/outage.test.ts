/** The tests of test/browser/outage.test.ts, in Firefox. */
import { useBrowser } from "../support/visitor.ts";

useBrowser("Firefox");
await import("../browser/outage.test.ts");
