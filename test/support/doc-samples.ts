/** The samples of the documentation: fenced blocks with what the page says about running them. */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";

export const ROOT = join(import.meta.dirname, "..", "..");

export type Sample = {
  page: string;
  line: number;
  language: string;
  text: string;
  /** `<!-- not run: why -->` above a block, or `<!-- sh not run: why -->` anywhere above it for all that follow. */
  notRun: string | undefined;
  /** `<!-- answers: 422 recipient_opted_out -->` above a block: what its last request is answered with. A 2xx unless told. */
  answers: { status: string; code: string | undefined } | undefined;
};

/** README.md and docs/*.md; the SDK's README has a test of its own. */
export const pages = (): string[] => ["README.md", ...globSync("docs/*.md", { cwd: ROOT }).toSorted()];

export function samplesOf(page: string, text = readFileSync(join(ROOT, page), "utf8")): Sample[] {
  const lines = text.split("\n");
  const samples: Sample[] = [];
  let said: string[] = [];
  let shNotRun: string | undefined;
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at] ?? "";
    const comment = /^<!-- (.*) -->$/.exec(line)?.[1];
    if (comment !== undefined) said.push(comment);
    shNotRun = comment === undefined ? shNotRun : (after(comment, "sh not run: ") ?? shNotRun);
    const language = /^```(\w*)/.exec(line)?.[1];
    if (language === undefined) {
      if (comment === undefined && line.trim() !== "") said = [];
      continue;
    }
    const end = lines.indexOf("```", at + 1);
    if (end < 0) throw new Error(`${page}:${at + 1} is a block without an end`);
    const notRun = find(said, "not run: ") ?? (language === "sh" ? shNotRun : undefined);
    samples.push({ page, line: at + 1, language, text: lines.slice(at + 1, end).join("\n"), notRun, answers: answersOf(said) });
    said = [];
    at = end;
  }
  return samples;
}

const after = (text: string, start: string): string | undefined => (text.startsWith(start) ? text.slice(start.length) : undefined);
const find = (said: readonly string[], start: string): string | undefined =>
  said.map((text) => after(text, start)).find((text) => text !== undefined);

function answersOf(said: readonly string[]): Sample["answers"] {
  const [status, code] = find(said, "answers: ")?.split(" ") ?? [];
  return status === undefined ? undefined : { status, code };
}

/** What a sample shows and the answer lacks, or has as something else. `…` and values may differ; members and their types may not. */
export function differences(shown: unknown, real: unknown, at = ""): string[] {
  if (shown === null || real === null) return [];
  if (kind(shown) !== kind(real)) return [`${at} is shown as ${kind(shown)} and is ${kind(real)}`];
  if (Array.isArray(shown))
    return shown.length === 0 || (real as unknown[]).length === 0 ? [] : listDifferences(shown, real as unknown[], at);
  if (typeof shown !== "object") return [];
  return Object.entries(shown).flatMap(([name, value]) =>
    name in (real as object)
      ? differences(value, (real as Record<string, unknown>)[name], `${at}/${name}`)
      : [`${at}/${name} is shown, and the answer has none`],
  );
}

/** Each that is shown is like one of those that are there. */
const listDifferences = (shown: readonly unknown[], real: readonly unknown[], at: string): string[] =>
  shown.flatMap((item, index) => {
    const found = real.map((other) => differences(item, other, `${at}/${index}`));
    return found.some((list) => list.length === 0) ? [] : (found[0] ?? []);
  });

const kind = (value: unknown): string => (Array.isArray(value) ? "array" : typeof value);
