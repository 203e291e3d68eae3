/** Writes the table of log events into docs/operation.md, between two markers. A test fails when the page is out of date. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { LOG_EVENTS } from "../src/model/log-events.ts";

const PAGE = join(import.meta.dirname, "..", "docs", "operation.md");
const BEGIN = "<!-- Log events: npm run log-events -->";
const END = "<!-- End of the log events -->";

/** Returns the current text of the page, and the text that it should have. */
export function readPage(): { is: string; shouldBe: string } {
  const is = readFileSync(PAGE, "utf8");
  const [from, to] = [is.indexOf(BEGIN), is.indexOf(END)];
  if (from < 0 || to < from) throw new Error(`${PAGE} lacks the markers of the log events`);
  return { is, shouldBe: `${is.slice(0, from) + BEGIN}\n\n${table()}\n\n${is.slice(to)}` };
}

const table = (): string =>
  [
    "| event | level | meaning | what to do |",
    "|---|---|---|---|",
    ...Object.entries(LOG_EVENTS)
      .toSorted(([one], [other]) => (one < other ? -1 : 1))
      .map(([event, { level, meaning, action }]) => `| \`${event}\` | ${level} | ${meaning} | ${action} |`),
  ].join("\n");

if (import.meta.main) writeFileSync(PAGE, readPage().shouldBe);
