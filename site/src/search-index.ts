/** The search index: for the build, which writes it, and for the browser, which searches it. */
import MiniSearch, { type Options } from "minisearch";

/** A part of a page below one heading. `start`: its first words, for the list of results. `operation`: method, path and id of an
 *  operation of the API. */
export type Section = { id: string; path: string; page: string; heading: string; operation?: string; text: string; start: string };

export type Found = Pick<Section, "path" | "page" | "heading" | "start">;

const MAX_RESULTS = 12;

const OPTIONS: Options<Section> = {
  fields: ["page", "heading", "operation", "text"],
  storeFields: ["path", "page", "heading", "start"],
  searchOptions: {
    boost: { heading: 4, operation: 4, page: 3 },
    prefix: true,
    fuzzy: (term) => (term.length > 4 ? 0.2 : false),
    combineWith: "AND",
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

/** The best results, in their order. */
export const findSections = (index: SearchIndex, text: string): Found[] => index.search(text).slice(0, MAX_RESULTS) as unknown as Found[];
