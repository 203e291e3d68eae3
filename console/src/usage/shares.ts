/** Counts as shares of the whole. */

export type Share = { word: string; messages: number; share: number };

/** The most first. */
export const sharesOf = (counts: Readonly<Record<string, number>>, all: number): Share[] =>
  Object.entries(counts)
    .map(([word, messages]) => ({ word, messages, share: all === 0 ? 0 : messages / all }))
    .toSorted((a, b) => b.messages - a.messages || a.word.localeCompare(b.word));
