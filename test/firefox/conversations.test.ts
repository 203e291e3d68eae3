/** The tests of test/browser/conversations.test.ts, in Firefox. */
import { useBrowser } from "../support/visitor.ts";

useBrowser("Firefox");
await import("../browser/conversations.test.ts");
