/** The form of the search index, for the build that writes it and for the browser that reads it. */
import type { Options } from "minisearch";

/** A part of a page below one heading. `start`: its first words, for the list of results. */
export type Section = { id: string; path: string; page: string; heading: string; text: string; start: string };

export const SEARCH_OPTIONS: Options<Section> = {
  fields: ["page", "heading", "text"],
  storeFields: ["path", "page", "heading", "start"],
  searchOptions: { boost: { heading: 4, page: 3 }, prefix: true, fuzzy: (term) => (term.length > 4 ? 0.2 : false), combineWith: "AND" },
};
