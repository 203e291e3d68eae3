/** The tests of the look of all pages, and of the documentation, again, in Firefox. */
import { runTogether } from "../../scripts/test/together.ts";
import { useBrowser } from "../support/visitor.ts";

useBrowser("Firefox");
runTogether(["test/browser/docs.test.ts", "test/browser/look.test.ts"], " in Firefox");
