/** The search index: for the build, which writes it, and for the browser, which searches it. */
import MiniSearch, { type Options, type QueryCombination, type SearchResult } from "minisearch";
import { entriesFor, stem, STOP_WORDS } from "./search-words.ts";

/** A part of a page below one heading. `operation`: method, path and id of an operation of the API. */
export type Section = { id: string; path: string; page: string; heading: string; operation?: string; text: string };

/** A part of an excerpt, and whether it is a word that was found. */
type ExcerptPart = { text: string; isMatch: boolean };

export type Found = Pick<Section, "path" | "page" | "heading"> & { excerpt: ExcerptPart[] };

const MAX_RESULTS = 12;
const MAX_EXCERPT = 160;
// The characters before the first word that was found.
const EXCERPT_LEAD = 30;

const OPTIONS: Options<Section> = {
  fields: ["page", "heading", "operation", "text"],
  storeFields: ["path", "page", "heading", "text"],
  processTerm: stem,
  searchOptions: {
    boost: { heading: 4, operation: 4, page: 3 },
    prefix: true,
    fuzzy: (term) => (term.length > 4 ? 0.2 : false),
    // A guide explains the words that are only the names of operations. The ids of its sections have an anchor.
    boostDocument: (id: string) => (id.includes("#") ? 1 : 0.5),
  },
};

export type SearchIndex = MiniSearch<Section>;

/** Writes the sections as an index. */
export function writeIndex(sections: readonly Section[]): string {
  const index: SearchIndex = new MiniSearch(OPTIONS);
  index.addAll(sections);
  return JSON.stringify(index);
}

export const readIndex = (text: string): Promise<SearchIndex> => MiniSearch.loadJSONAsync<Section>(text, OPTIONS);

const WORD = /[^\n\r\p{Z}\p{P}]+/gu;
const wordsOf = (text: string): string[] => text.match(WORD) ?? [];

/** The best results in their order: those with more words of the query first. */
export function findSections(index: SearchIndex, text: string): Found[] {
  const all = wordsOf(text);
  const meaningful = all.filter((word) => !STOP_WORDS.has(word.toLowerCase()));
  const scores = new Map<string, { result: SearchResult; words: number; score: number }>();
  for (const { query, words } of queriesOf(meaningful.length === 0 ? all : meaningful))
    for (const result of index.search(query)) {
      const found = scores.get(result.id as string);
      if (found === undefined) scores.set(result.id as string, { result, words, score: result.score });
      else {
        found.result.terms.push(...result.terms);
        found.words += words;
        found.score += result.score;
      }
    }
  return [...scores.values()]
    .toSorted((one, other) => other.words * other.score - one.words * one.score)
    .slice(0, MAX_RESULTS)
    .map(({ result }) => {
      const { path, page, heading, text: body } = result as SearchResult & Section;
      return { path, page, heading, excerpt: excerptOf(body, new Set(result.terms)) };
    });
}

/** `words`: the number of words of the question that a section with this query matches. */
type PartOfQuestion = { query: QueryCombination; words: number };

/** A section matches a word by the word itself, or by all words of one of its phrases; and several words by one of theirs. */
function queriesOf(words: readonly string[]): PartOfQuestion[] {
  const entries = entriesFor(words);
  const phrasesOf = (word: string): QueryCombination[] =>
    entries.filter(({ stems }) => stems.length === 1 && stems[0] === stem(word)).flatMap(({ phrases }) => phrases.map(phraseQuery));
  return [
    ...[...new Set(words)].map((word) => ({ query: anyOf([word, ...phrasesOf(word)]), words: 1 })),
    ...entries
      .filter(({ stems }) => stems.length > 1)
      .map(({ stems, phrases }) => ({ query: anyOf(phrases.map(phraseQuery)), words: stems.length })),
  ];
}

const anyOf = (queries: (string | QueryCombination)[]): QueryCombination => ({ combineWith: "OR", queries });

/** A phrase of several words has the weight of one word. */
function phraseQuery(phrase: string): QueryCombination {
  const weight = 1 / wordsOf(phrase).length;
  return { combineWith: "AND", fuzzy: false, prefix: false, boostTerm: () => weight, queries: [phrase] };
}

/** The place of the text with the most of the terms. */
function excerptOf(text: string, terms: ReadonlySet<string>): ExcerptPart[] {
  const matches = [...text.matchAll(WORD)].flatMap(({ 0: word, index }) => {
    const term = stem(word);
    return terms.has(term) ? [{ term, from: index, to: index + word.length }] : [];
  });
  const within = (from: number): typeof matches =>
    matches.filter((match) => match.from >= from && match.to <= from + MAX_EXCERPT - EXCERPT_LEAD);
  const variety = (from: number): number => new Set(within(from).map(({ term }) => term)).size;
  let first = matches[0]?.from ?? 0;
  let most = variety(first);
  for (const { from } of matches) {
    const here = variety(from);
    if (here > most) [first, most] = [from, here];
  }
  const start = first <= EXCERPT_LEAD ? 0 : text.indexOf(" ", first - EXCERPT_LEAD) + 1;
  const end = start + MAX_EXCERPT;
  const parts: ExcerptPart[] = [];
  let at = start;
  for (const { from, to } of matches) {
    if (from < start || to > end) continue;
    parts.push({ text: text.slice(at, from), isMatch: false }, { text: text.slice(from, to), isMatch: true });
    at = to;
  }
  parts.push({ text: text.slice(at, end) + (end < text.length ? " …" : ""), isMatch: false });
  if (start > 0) parts.unshift({ text: "… ", isMatch: false });
  return parts.filter((part) => part.text !== "");
}
