/** The tests of test/browser/messages.test.ts, in Firefox. */
import { useBrowser } from "../support/visitor.ts";

useBrowser("Firefox");
await import("../browser/messages.test.ts");
