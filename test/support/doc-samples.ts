/** The samples of the documentation: fenced blocks, with the comments of the page that control how they are run. */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";

export const ROOT = join(import.meta.dirname, "..", "..");

export type Sample = {
  page: string;
  line: number;
  language: string;
  text: string;
  /** `<!-- not run: why -->` above a block, or `<!-- sh not run: why -->` anywhere above it for all blocks that follow. */
  notRun: string | undefined;
  /** `<!-- answers: 422 recipient_opted_out -->` above a block: the response to its last request. Without the comment, a 2xx. */
  answers: { status: string; code: string | undefined } | undefined;
};

/** The pages with samples; the README of the TypeScript SDK has its own test. */
export const pages = (): string[] => ["README.md", "sdk-python/README.md", ...globSync("docs/*.md", { cwd: ROOT }).toSorted()];

export function samplesOf(page: string, text = readFileSync(join(ROOT, page), "utf8")): Sample[] {
  const lines = text.split("\n");
  const samples: Sample[] = [];
  let comments: string[] = [];
  let shNotRun: string | undefined;
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at] ?? "";
    const comment = /^<!-- (.*) -->$/.exec(line)?.[1];
    if (comment !== undefined) comments.push(comment);
    shNotRun = comment === undefined ? shNotRun : (after(comment, "sh not run: ") ?? shNotRun);
    const language = /^```(\w*)/.exec(line)?.[1];
    if (language === undefined) {
      if (comment === undefined && line.trim() !== "") comments = [];
      continue;
    }
    const end = lines.indexOf("```", at + 1);
    if (end < 0) throw new Error(`${page}:${at + 1} starts a block that has no end`);
    const notRun = find(comments, "not run: ") ?? (language === "sh" ? shNotRun : undefined);
    samples.push({ page, line: at + 1, language, text: lines.slice(at + 1, end).join("\n"), notRun, answers: answersOf(comments) });
    comments = [];
    at = end;
  }
  return samples;
}

const after = (text: string, start: string): string | undefined => (text.startsWith(start) ? text.slice(start.length) : undefined);
const find = (comments: readonly string[], start: string): string | undefined =>
  comments.map((text) => after(text, start)).find((text) => text !== undefined);

function answersOf(comments: readonly string[]): Sample["answers"] {
  const [status, code] = find(comments, "answers: ")?.split(" ") ?? [];
  return status === undefined ? undefined : { status, code };
}

/** The members of a sample that the response lacks, or has with another type. The values may differ. */
export function differences(shown: unknown, real: unknown, at = ""): string[] {
  if (shown === null || real === null) return [];
  if (kind(shown) !== kind(real)) return [`${at} is shown as ${kind(shown)} and is ${kind(real)}`];
  if (Array.isArray(shown))
    return shown.length === 0 || (real as unknown[]).length === 0 ? [] : listDifferences(shown, real as unknown[], at);
  if (typeof shown !== "object") return [];
  return Object.entries(shown).flatMap(([name, value]) =>
    name in (real as object)
      ? differences(value, (real as Record<string, unknown>)[name], `${at}/${name}`)
      : [`${at}/${name} is shown, and the response does not have it`],
  );
}

/** The texts of a problem, which a page must show unchanged. Undefined for other values. */
export function problemTexts(value: unknown): { detail: unknown; errors: unknown } | undefined {
  if (typeof value !== "object" || value === null || !("code" in value && "detail" in value)) return undefined;
  return { detail: value.detail, errors: "errors" in value ? value.errors : undefined };
}

/** Every item of the sample must match an item of the response. */
const listDifferences = (shown: readonly unknown[], real: readonly unknown[], at: string): string[] =>
  shown.flatMap((item, index) => {
    const found = real.map((other) => differences(item, other, `${at}/${index}`));
    return found.some((list) => list.length === 0) ? [] : (found[0] ?? []);
  });

const kind = (value: unknown): string => (Array.isArray(value) ? "array" : typeof value);
