/** The tests of test/browser/journeys.test.ts, in Firefox. */
import { useBrowser } from "../support/visitor.ts";

useBrowser("Firefox");
await import("../browser/journeys.test.ts");
