/** The tests of test/browser/docs.test.ts, in Firefox. */
import { useBrowser } from "../support/visitor.ts";

useBrowser("Firefox");
await import("../browser/docs.test.ts");
