/** The tests of the console again, in Firefox. */
import { runTogether } from "../../scripts/test/together.ts";
import { useBrowser } from "../support/visitor.ts";

useBrowser("Firefox");
runTogether(
  ["carriers", "conversations", "journeys", "messages", "outage", "pages"].map((name) => `test/browser/${name}.test.ts`),
  " in Firefox",
);
